# SPDX-License-Identifier: Apache-2.0
"""What the suites share: a real test suite runs without the hook and with it, and every case must end in the same way.

A suite is a function run(side, only): it runs the cases named in `only` (all of them for None; more than those is
fine) through side.run(COMMAND) and returns {case: verdict}. Where the first pair of runs differs, the difference runs
again, three times each way. A case whose verdicts differ among the runs without the hook is flaky; any other
difference is the hook's, and the test fails.

Exit code 77: the suite cannot be had here.
"""
import argparse
import collections
import json
import os
import shutil
import signal
import subprocess
import sys
import time

SKIPPED = 77
REPEATS = 3
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PASS, FAIL, SKIP = "pass", "fail", "skip"

sys.dont_write_bytecode = True  # the source tree stays clean
sys.path.insert(0, os.path.join(ROOT, "bench", "loads", "support"))

from command import Failure, last_lines, run as run_logged, say  # noqa: E402 (the path comes first)
from packages import Archive  # noqa: E402
from patched import newest_source  # noqa: E402

UNMET = {"TRIBUTARY", "TRIBUTARY_SESSION", "LD_PRELOAD"}  # of whoever runs this test


class Unavailable(Exception):
    """Why the suite cannot be had here."""


def cache():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = os.path.join(base, "tributary", "suites")
    os.makedirs(folder, exist_ok=True)
    return folder


def packages(name, wanted):
    """(folder, archives): Debian's packages and what the machine lacks of theirs, unpacked below the cache."""
    folder = os.path.join(cache(), name, "root")
    try:
        return folder, Archive(cache()).extract(wanted, folder)
    except (Failure, OSError) as problem:
        raise Unavailable(str(problem)) from problem


def source(name, build):
    """(folder, version) of Debian's source package, unpacked; `build(folder, log)` makes it, once."""
    folder = os.path.join(cache(), name, "source")
    stamp = os.path.join(folder, ".built")
    if os.path.exists(stamp):
        with open(stamp, encoding="utf-8") as file:
            return folder, file.read()
    try:
        version, upstream = newest_source(cache(), name)
    except (Failure, OSError) as problem:
        raise Unavailable(str(problem)) from problem
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    log = os.path.join(cache(), name, "build.log")
    run_logged(["tar", "-xf", upstream, "-C", folder, "--strip-components=1"], log)
    say(f"building {name} {version}")
    build(folder, log)
    with open(stamp, "w", encoding="utf-8") as file:
        file.write(version)
    return folder, version


class Side:
    """One run of the suite, hooked or not. Both have the same folder, which is fresh, and the same environment."""

    def __init__(self, asked, name, hooked):
        self.asked, self.hooked, self.name = asked, hooked, name
        self.base = os.path.join(asked.build, "suites", name)
        self.folder = os.path.join(self.base, "work")
        self.record = collections.Counter()
        self.statuses, self.programs, self.seconds = [], set(), 0.0
        self.options = []  # of the recorder, for a suite that needs more than the default
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        open(self.log(), "ab").close()

    def log(self):
        return os.path.join(self.base, "hooked.log" if self.hooked else "unhooked.log")

    def environment(self, more):
        return {**{key: value for key, value in os.environ.items() if key not in UNMET}, **more}

    def run(self, command, env=None, cwd=None, timeout_s=3600):
        """Runs a command with its output in the log and returns its exit status."""
        summary, trace = os.path.join(self.base, "summary.json"), os.path.join(self.base, "trace")
        for old in os.listdir(self.base):
            if old == "summary.json" or old == "trace" or old.startswith("trace."):
                os.unlink(os.path.join(self.base, old))
        if self.hooked:
            command = [os.path.join(self.asked.build, "cli", "trib"), "record", f"--trace={trace}", f"--json={summary}",
                       f"--preload={self.asked.build}/preload/libtributary-preload.so", "--users", *self.options,
                       "--", *command]
        began = time.monotonic()
        with open(self.log(), "ab") as log:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, check=False,
                                  env=self.environment(env or {}), cwd=cwd or self.folder, timeout=timeout_s)
        self.seconds += time.monotonic() - began
        self.statuses.append(done.returncode)
        if self.hooked:
            self.count(summary, trace)
        return done.returncode

    def count(self, summary, trace):
        """What the recorder saw: without processes and events nothing was hooked, and the comparison would be void."""
        try:
            with open(summary, encoding="utf-8") as file:
                seen = json.load(file)
        except (OSError, ValueError) as problem:
            raise Failure(f"trib record left no summary ({problem}):\n{last_lines(self.log())}") from problem
        for key in ("processes", "events", "events_lost", "lost_full", "lost_alone", "lost_killed", "joins_refused",
                    "written_bytes"):
            self.record[key] += seen[key]
        self.record["incomplete"] += not seen["complete"]
        self.record["not_covered"] += seen.get("not_covered", {}).get("starts", 0)
        self.programs.update(seen.get("not_covered", {}).get("programs", "").split(", "))
        self.record["trace_bytes"] += os.path.getsize(trace)


def run_once(asked, name, suite, hooked, only=None):
    side = Side(asked, name, hooked)
    verdicts = suite(side, only)
    if only is not None:
        verdicts = {case: verdict for case, verdict in verdicts.items() if case in only}
    say(f"{'hooked' if hooked else 'unhooked'}: {counts(verdicts)}, {side.seconds:.0f} s")
    return side, verdicts


def counts(verdicts):
    found = collections.Counter(verdicts.values())
    return {verdict: found[verdict] for verdict in (PASS, FAIL, SKIP)}


def differences(plain, hooked):
    return {case for case in plain.keys() | hooked.keys() if plain.get(case) != hooked.get(case)}


def judge(asked, name, suite, plain, hooked):
    """({case: {unhooked: [...], hooked: [...]}} by the hook, those that are flaky without it)."""
    differing = differences(plain, hooked)
    seen = {case: {"unhooked": [plain.get(case)], "hooked": [hooked.get(case)]} for case in differing}
    for _ in range(REPEATS if differing else 0):
        for side in ("unhooked", "hooked"):
            _, verdicts = run_once(asked, name, suite, side == "hooked", differing)
            for case in differing:
                seen[case][side].append(verdicts.get(case))
    flaky = {case: runs for case, runs in seen.items() if len(set(runs["unhooked"])) > 1}
    return {case: runs for case, runs in seen.items() if case not in flaky}, flaky


def compare(asked, name, version, suite, least):
    """Runs the suite both ways; the exit code. `least` cases must have passed without the hook."""
    plain_side, plain = run_once(asked, name, suite, False)
    hooked_side, hooked = run_once(asked, name, suite, True)
    different, flaky = judge(asked, name, suite, plain, hooked)
    record = dict(hooked_side.record)
    result = {"suite": name, "version": version, "cases": len(plain), "unhooked": counts(plain),
              "hooked": counts(hooked), "unhooked_s": round(plain_side.seconds, 1),
              "hooked_s": round(hooked_side.seconds, 1), "unhooked_status": plain_side.statuses,
              "hooked_status": hooked_side.statuses, "record": record,
              "not_covered": sorted(hooked_side.programs - {""}), "different": different, "flaky": flaky}
    with open(os.path.join(asked.build, "suites", f"{name}.json"), "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1, sort_keys=True)
    print(json.dumps(result, indent=1, sort_keys=True))
    problems = []
    if different:
        problems.append(f"{len(different)} cases end differently with the hook: {', '.join(sorted(different)[:20])}")
    if plain_side.statuses != hooked_side.statuses and not flaky:
        problems.append(f"exit status {hooked_side.statuses} instead of {plain_side.statuses}")
    if counts(plain)[PASS] < least:
        problems.append(f"only {counts(plain)[PASS]} cases pass without the hook, {least} should")
    if record["processes"] == 0 or record["events"] == 0 or record["incomplete"]:
        problems.append(f"not hooked, or the record has no end: {record}")
    if record["lost_full"] or record["lost_alone"]:  # what a process was killed in the middle of is nobody's fault
        problems.append(f"events were lost: {record}")
    for problem in problems:
        print(f"{name}: {problem}", file=sys.stderr)
    return 1 if problems else 0


def main(name, prepare, least):
    """`prepare()` fetches and builds, and returns (version, suite)."""
    parser = argparse.ArgumentParser(description=f"{name}: unhooked against hooked, case by case")
    parser.add_argument("build", type=os.path.abspath, help="the build folder with cli/trib and the preload library")
    asked = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):  # a job in the background inherits them ignored
        signal.signal(number, signal.default_int_handler)
    os.makedirs(os.path.join(asked.build, "suites", name), exist_ok=True)
    for log in ("hooked.log", "unhooked.log"):
        open(os.path.join(asked.build, "suites", name, log), "wb").close()

    def work():
        version, suite = prepare()
        return compare(asked, name, version, suite, least)

    finish(name, work)


def finish(name, work):
    """Ends with what work() returns, or with why it cannot be done here, or what went wrong."""
    try:
        sys.exit(work())
    except Unavailable as reason:
        print(f"{name}: skipped: {reason}", file=sys.stderr)
        sys.exit(SKIPPED)
    except Failure as failure:
        print(f"{name}: {failure}", file=sys.stderr)
        sys.exit(1)
