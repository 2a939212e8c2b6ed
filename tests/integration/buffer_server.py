#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A real server under TPC-C with libtributary-mysql.so: buffer_server.py mysql|mariadb run|crash LIBRARY.

run    at least 99 % of the pool's page writes must have a front end, and the server's own checks must find no fault
crash  kill -9 at ten random moments: after each, every commit that the client saw acknowledged is there, every table is
       whole, TPC-C's consistency conditions hold and the server is hooked again; at the end every page's checksum fits

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


ROUNDS = 10


def hook(library, folder):
    return ["--pool", "16M", "--preload", library, "--env", "TRIBUTARY_BUFFER=report=on",
            "--env", f"TRIBUTARY=policy=none,drive=none,trace={folder}/trace"]


def run(do, library, folder):
    do("start", "--fresh", *hook(library, folder))
    try:
        do("load")
        do("run", "--seconds", "40")
        do("check")
    finally:
        do("stop")
    do("check")  # the files' checksums


def crash(do, library, folder):
    try:
        do("crash", "--fresh", "--rounds", str(ROUNDS), "--seconds", "6", "--threads", "2", "--seed", str(os.getpid()),
           *hook(library, folder))
    finally:
        do("stop")
    do("check")


def main():
    server, what, library = sys.argv[1:]
    load = [sys.executable, os.path.join(ROOT, "bench", "loads", server)]
    if subprocess.run([*load, "fetch"], check=False).returncode:
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="trib-server-") as folder:
        data = os.path.join(folder, "d")

        def do(action, *more):
            subprocess.run([*load, action, "--data", data, "--scale", "1", "--divide", "5", *more], check=True)

        {"run": run, "crash": crash}[what](do, library, folder)
        with open(data + ".log", encoding="utf-8", errors="replace") as log:
            found = FIGURES.findall(log.read())
    if not found:
        print("buffer_server: the server's log has no figures of the hook")
        return 1
    pages, noted, front = int(found[-1][0]), float(found[-1][1]), found[-1][2]
    print(f"buffer_server: {pages} pages, {noted} % with a front end, {front}")
    enough = what == "crash" or (pages >= 1000 and noted >= 99)  # recovery writes pages which nobody changed
    return 0 if enough and front.endswith("hooked") else 1


if __name__ == "__main__":
    sys.exit(main())
