#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A real server under TPC-C with libtributary-mysql.so: buffer_server.py mysql|mariadb LIBRARY.

At least 99 % of the pool's page writes must have a front end, and the server's own checks must find nothing wrong.
Exit code 77: the server cannot be fetched here.
"""
import os
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FIGURES = re.compile(r"^tributary: pages=(\d+) noted=([\d.]+)% .* front=(.*)$", re.M)


def main():
    server, library = sys.argv[1:]
    load = [sys.executable, os.path.join(ROOT, "bench", "loads", server)]
    if subprocess.run([*load, "fetch"], check=False).returncode:
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="trib-server-") as folder:
        data, trace = os.path.join(folder, "d"), os.path.join(folder, "trace")
        scale = ["--data", data, "--scale", "1", "--divide", "5"]

        def do(action, *more):
            subprocess.run([*load, action, *scale, *more], check=True)

        do("start", "--fresh", "--pool", "16M", "--preload", library, "--env", "TRIBUTARY_BUFFER=report=on",
           "--env", f"TRIBUTARY=policy=none,drive=none,trace={trace}")
        try:
            do("load")
            do("run", "--seconds", "40")
            do("check")
        finally:
            do("stop")
        do("check")  # the files' checksums
        with open(data + ".log", encoding="utf-8", errors="replace") as log:
            found = FIGURES.findall(log.read())
    if not found:
        print("buffer_server: the server's log has no figures of the hook")
        return 1
    pages, noted, front = int(found[-1][0]), float(found[-1][1]), found[-1][2]
    print(f"buffer_server: {pages} pages, {noted} % with a front end, {front}")
    return 0 if pages >= 1000 and noted >= 99 and front.endswith("hooked") else 1


if __name__ == "__main__":
    sys.exit(main())
