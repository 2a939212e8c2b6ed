#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A load killed (kill -9) twenty times while it is recorded: killed_load.py sqlite-tpcc|gcc-kernel BUILD.

Nothing may be lost that would not be without a hook (the load's own checks), and the record must come to its end.
Exit code 77: the load cannot be had here.
"""
import json
import os
import subprocess
import sys
import tempfile

SKIPPED = 77
ROUNDS = 20
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OPTIONS = {"sqlite-tpcc": ["--divide=100"], "gcc-kernel": ["--share=0.05"]}


def main():
    name, build = sys.argv[1:]
    load = [sys.executable, os.path.join(ROOT, "bench", "loads", name)]
    options = OPTIONS[name] + ([f"--build={build}"] if name == "sqlite-tpcc" else [])
    if subprocess.run([*load, "fetch", *options], check=False).returncode:
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="trib-killed-") as folder:
        summary = os.path.join(folder, "summary.json")
        subprocess.run([os.path.join(build, "cli", "trib"), "record", f"--trace={folder}/trace", f"--json={summary}",
                        f"--preload={build}/preload/libtributary-preload.so", "--", *load, "crash",
                         f"--rounds={ROUNDS}",
                        f"--data={folder}/data", *options], check=True)
        with open(summary, encoding="utf-8") as file:
            recorded = json.load(file)
    print(f"killed_load: {recorded['events']} events, {recorded['events_lost']} lost with the killed")
    return 0 if recorded["complete"] and recorded["events"] > 10000 and recorded["processes_left"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
