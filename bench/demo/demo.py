# SPDX-License-Identifier: Apache-2.0
USAGE = """\
The demo: unmodified db_bench on an emulated multi-stream drive, from nothing to a report.

usage: scripts/demo [--fill PERCENT] [--compaction level|universal] [--quick]
                    [--keep-trace FILE] [--from-trace FILE] [--experiment FILE]
                    [--out DIR] [--database-in DIR]

Installs what is missing, builds, records one db_bench run through the RocksDB adapter (file system and engine
untouched), replays that trace under each policy on one emulated drive, prints the table, and writes to
demo-out/: result.json, report.html, compare.json and the trace. About 7 minutes on 2 cores.

  --fill PERCENT     live data at their peak, percent of the drive: 90 (default), 95 or 70 are interesting
  --compaction KIND  level (default) or universal, for which RocksDB gives no write hints
  --quick            an eighth of the data on an eighth of the drive: a smoke test, no regime for figures
  --keep-trace FILE  also copy the trace to FILE
  --from-trace FILE  use a recorded trace instead of running db_bench; no live drive to compare with
  --experiment FILE  another experiment (bench/experiments/*.ini)
  --out DIR          results, default demo-out in the source tree
  --database-in DIR  where the database lives while db_bench runs; default: /dev/shm if it is large enough,
                     else the results' directory. It is deleted afterwards.
"""
import argparse
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True  # the source tree stays clean
sys.path.insert(0, os.path.join(ROOT, "bench", "demo"))

import engine  # noqa: E402 (the path comes first)
import result  # noqa: E402
from experiment import Experiment  # noqa: E402
from steps import Failure, Steps, clock  # noqa: E402

QUICK = 1 / 8


def arguments():
    parser = argparse.ArgumentParser(usage=USAGE, add_help=False, allow_abbrev=False)
    parser.add_argument("--fill", type=float)
    parser.add_argument("--compaction", choices=("level", "universal"), default="level")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--keep-trace")
    parser.add_argument("--from-trace")
    parser.add_argument("--experiment")
    parser.add_argument("--out", default=os.path.join(ROOT, "demo-out"))
    parser.add_argument("--database-in")
    parser.add_argument("--started", type=float, help=argparse.SUPPRESS)  # when scripts/demo began
    asked = parser.parse_args()
    if asked.fill is not None and not 0 < asked.fill <= 100:
        parser.error("--fill wants a percentage above 0 and up to 100")
    if asked.from_trace and asked.keep_trace:
        parser.error("--keep-trace has nothing to keep with --from-trace")
    return asked


def load_experiment(asked):
    name = "demo-universal.ini" if asked.compaction == "universal" else "demo.ini"
    experiment = Experiment(asked.experiment or os.path.join(ROOT, "bench", "experiments", name))
    if asked.fill is not None:
        experiment.drive["fill"] = f"{asked.fill:g}"
    if asked.quick:
        experiment.scale(QUICK)
    return experiment


TARGETS = ("trib", "tributary-rocksdb", "tributary-preload")  # the last for the README's next example


def build(steps, out):
    """Release build in build/release. Returns that directory."""
    steps.begin("build")
    log, directory = f"{out}/build.log", f"{ROOT}/build/release"
    if os.path.exists(log):
        os.remove(log)
    steps.run(["cmake", "--preset", "release", "-DTRIB_BUILD_TESTS=OFF"], log, cwd=ROOT)
    steps.run(["cmake", "--build", directory, "--target", *TARGETS], log, cwd=ROOT,
              progress=lambda: last_line(log))
    if not os.path.exists(f"{directory}/rocksdb-env/libtributary-rocksdb.so"):
        raise Failure(f"the RocksDB adapter was not built; see {log} (package librocksdb-dev)")
    steps.end()
    return directory


def last_line(path):
    with open(path, "rb") as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - 512))
        return file.read().decode(errors="replace").rstrip().rsplit("\n", 1)[-1]


def record(asked, experiment, directory, out, steps):
    steps.begin("record db_bench through the RocksDB adapter, on a live emulated drive")
    if asked.from_trace:
        steps.end(f"skipped, using {asked.from_trace}")
        return None
    parent = engine.database_parent(experiment, out, asked.database_in)
    print(f"      database in {parent}, up to {engine.database_bytes(experiment) / 1e9:.1f} GB; deleted afterwards")
    recording = engine.record(experiment, directory, out, parent, steps)
    speed = ", ".join(f"{name} {rate:,} writes/s" for name, rate in recording.throughput.items())
    steps.end(f"{speed}")
    if asked.keep_trace:
        shutil.copyfile(recording.trace, asked.keep_trace)
    return recording


def check_replay(experiment, directory, recording, trace, out, steps):
    """The live drive and the replay of its trace must say the same. Returns result.json's "live", or None."""
    steps.begin("replay the trace on the same drive: does it agree with the live run?")
    if not recording:
        steps.end("skipped, there was no live run")
        return None
    if recording.live["drive_errors"]:
        raise Failure(f"the live drive refused {recording.live['drive_errors']:,} writes: the database grew larger "
                      f"than {experiment.path} expects; raise live_capacity there")
    policy, _, drive = experiment.live_options().removeprefix("policy=").partition(",drive=")
    found = f"{out}/replay.json"
    steps.run([f"{directory}/cli/trib", "replay", "--trace", trace, "--policy", policy, "--drive", drive,
               "--set", "latency=off", f"--json={found}"], f"{out}/replay.log")
    live = result.live_figures(recording.live, result.load(found))
    steps.end(f"live WAF {live['waf']:.4f}, replay {live['replay_waf']:.4f}, "
              f"difference {100 * live['difference']:.3f} %")
    return live


def compare(experiment, directory, trace, out, steps):
    steps.begin("compare policies on the same trace and drive")
    found = f"{out}/compare.json"
    drive = experiment.drive
    command = [f"{directory}/cli/trib", "compare", "--trace", trace, "--gc", ",".join(experiment.gcs),
               "--fill", drive["fill"], "--cold", drive["cold"], "--op", drive["over_provisioning"],
               "--superblock", drive["superblock"], "--streams", drive["streams"]]
    for label, policy in experiment.rows:
        command += ["--policy", f"{label}:{policy}"]
    command.append(f"--json={found}")
    run_shown(command, steps)
    steps.end()
    return result.load(found), shlex.join(["trib"] + command[1:]).replace(out, "demo-out")


def run_shown(command, steps):
    """trib's own progress bar and table go to the person."""
    process = subprocess.run(command, check=False)
    if process.returncode != 0:
        raise Failure(f"trib {command[1]} failed ({process.returncode})")


def report(out, steps):
    steps.begin("report")
    steps.run(["/usr/bin/python3", f"{ROOT}/bench/report/report.py", f"{out}/result.json", f"{out}/compare.json",
               f"{out}/report.html"], f"{out}/report.log")
    steps.end()


def main():
    asked = arguments()
    out = os.path.abspath(asked.out)
    os.makedirs(out, exist_ok=True)
    steps = Steps(total=5, started=asked.started)
    experiment = load_experiment(asked)
    directory = build(steps, out)
    recording = record(asked, experiment, directory, out, steps)
    trace = os.path.abspath(asked.from_trace) if asked.from_trace else recording.trace
    live = check_replay(experiment, directory, recording, trace, out, steps)
    compared, command = compare(experiment, directory, trace, out, steps)
    summary = result.assemble(ROOT, experiment, compared, live, recording, command)
    if asked.quick:
        summary["checks"] = []
        summary["notes"].insert(0, "a quick run: it shows that everything works, its figures mean nothing")
    with open(f"{out}/result.json", "w", encoding="utf-8") as file:
        json.dump(summary, file, indent=2)
        file.write("\n")
    report(out, steps)
    print("\n" + result.text(summary))
    print(f"report  {out}/report.html\nfigures {out}/result.json\ntrace   {trace} "
          f"({os.path.getsize(trace) / 1e6:.0f} MB; trib inspect shows it)")
    print(f"{clock(steps.elapsed()).strip()} minutes in all")
    return 0 if not live or live["agrees"] else 1


if __name__ == "__main__":
    for number in (signal.SIGTERM, signal.SIGHUP):  # leave no database and no db_bench behind
        signal.signal(number, lambda received, _: sys.exit(128 + received))
    try:
        sys.exit(main())
    except Failure as failure:
        print(f"\ndemo: {failure}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("\ndemo: interrupted", file=sys.stderr)
        sys.exit(130)
