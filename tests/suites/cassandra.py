#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Cassandra 5 in a JVM with the agent and without it, under YCSB A: cassandra.py BUILD.

bench/loads/cassandra does the work. Each step is a case, and so is each checksum of all rows, by its value: before a
restart, after a kill -9 and after a stop. YCSB writes what it wrote before, so all rows are written once more, longer,
before they are read: a write that got lost shows. Only the server is hooked; YCSB fails a step if an operation fails.
"""
import os
import re
import shlex
import subprocess

from suite import FAIL, PASS, ROOT, Failure, Unavailable, last_lines, main

VERSION, ROWS, OPERATIONS = "5.0.2", 50000, 100000
LOAD = os.path.join(ROOT, "bench", "loads", "cassandra")
LONGER = "--property=fieldlength=120"
STEPS = (("start", "--fresh"), ("load",), ("run",), ("load", LONGER), ("check", LONGER), ("kill",), ("start",),
         ("check", LONGER), ("stop",), ("start",), ("check", LONGER), ("stop",))
STARTS, CHECKS = (sum(step[0] == action for step in STEPS) for action in ("start", "check"))
DONE = re.compile(r"^done: (\S+)$|\"checksum\": \"(\w+)\"", re.M)


def names():
    return [f"{number}.{step[0]}" for number, step in enumerate(STEPS, 1)]


def script(side):
    """The steps for a shell, which ends at the first that fails and leaves no server behind."""
    common = [f"--version={VERSION}", f"--data={side.folder}/data", f"--records={ROWS}", f"--operations={OPERATIONS}",
              "--jvm=-XX:+PreserveFramePointer"]
    agent = [f"--agent={side.asked.build}/jni/libtributary-jvm.so"] if side.hooked else []
    lines = ["set -e", f"trap '{shlex.join([LOAD, 'kill', *common])}' EXIT"]
    for name, step in zip(names(), STEPS):
        lines += [shlex.join([LOAD, *step, *common, *(agent if step[0] == "start" else [])]), f"echo done: {name}"]
    return "\n".join(lines)


def read(text):
    """{case: verdict}; a checksum belongs to the step that is done next."""
    verdicts, checksum = dict.fromkeys(names(), FAIL), None
    for name, found in DONE.findall(text):
        if found:
            checksum = found
        else:
            verdicts[name] = PASS
            if checksum:
                verdicts[f"{name}: {checksum}"] = PASS
            checksum = None
    return verdicts


def suite(side, _):
    start = os.path.getsize(side.log())
    # The agent alone, loaded as a production server has it: nothing is preloaded.
    status = side.run(["env", "-u", "LD_PRELOAD", "sh", "-c", script(side)])
    with open(side.log(), "rb") as log:
        log.seek(start)
        verdicts = read(log.read().decode(errors="replace"))
    verdicts["exit status"] = PASS if status == 0 else FAIL
    if side.hooked and status == 0 and side.record["processes"] != STARTS:
        raise Failure(f"{side.record['processes']} servers of {STARTS} joined:\n{last_lines(side.log())}")
    return verdicts


def prepare():
    got = subprocess.run([LOAD, "fetch", f"--version={VERSION}"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                         text=True, check=False)
    if got.returncode != 0:
        raise Unavailable(got.stderr.strip())
    return VERSION, suite


if __name__ == "__main__":
    main("cassandra", prepare, least=len(STEPS) + CHECKS + 1)
