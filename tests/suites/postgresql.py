#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL's regression suite against a server of its own: postgresql.py BUILD.

Debian's newest source that the mirror has, built in a folder; initdb, the server, psql and pg_regress are all hooked.
Root runs them as an ordinary user of a user namespace, because PostgreSQL refuses root.
"""
import os
import re

from suite import FAIL, PASS, main, run_logged, source

PARTS = ("src/backend", "src/include", "src/timezone", "src/interfaces/libpq", "src/pl/plpgsql",
         "src/backend/snowball", "src/backend/utils/mb/conversion_procs", "src/backend/replication/libpqwalreceiver",
         "src/bin/initdb", "src/bin/pg_ctl", "src/bin/psql")
# "test tablespace ... ok 12 ms", in a parallel group "     boolean ... FAILED 12 ms"
LINE = re.compile(r"^(?:test )? *(\w+) +\.\.\. (ok|FAILED|failed \(ignored\))", re.M)
SCRIPT = """
set -e
initdb -D data -U postgres --auth=trust --encoding=UTF8 --locale=C >initdb.log
pg_ctl -w -D data -l server.log -o "-k $PWD -c listen_addresses=" start
trap 'pg_ctl -w -D data -m fast stop' EXIT
"$TREE/src/test/regress/pg_regress" --inputdir="$TREE/src/test/regress" --outputdir="$PWD" --bindir="$TREE/made/bin" \
    --dlpath="$TREE/src/test/regress" --host="$PWD" --user=postgres --max-concurrent-tests=20 "$@"
"""


def build(folder, log):
    run_logged(["./configure", f"--prefix={folder}/made", "--without-readline", "--without-zlib", "--without-icu",
                "CFLAGS=-O2"], log, cwd=folder)
    # Before anything in parallel: make's folders do not wait for them.
    run_logged(["make", "-s", "-C", "src/backend", "generated-headers"], log, cwd=folder)
    for part in PARTS:
        run_logged(["make", "-s", "-j2", "-C", part, "all"], log, cwd=folder)
        run_logged(["make", "-s", "-C", part, "install"], log, cwd=folder)
    run_logged(["make", "-s", "-j2", "-C", "src/test/regress", "all"], log, cwd=folder)


def schedule(tree):
    return os.path.join(tree, "src/test/regress/parallel_schedule")


def prepare():
    folder, version = source("postgresql-15", build)

    def suite(side, only):
        # A case needs the tables of others before it: the difference is the whole suite again.
        start = os.path.getsize(side.log())
        for name in ("sql", "expected", "results", "testtablespace"):
            os.makedirs(os.path.join(side.folder, name), exist_ok=True)
        ordinary = ["unshare", "--user", "--map-user=1000", "--map-group=1000", "--"] if os.geteuid() == 0 else []
        status = side.run([*ordinary, "/bin/sh", "-c", SCRIPT, "sh", f"--schedule={schedule(folder)}"],
                          env={"TREE": folder, "PATH": f"{folder}/made/bin:{os.environ['PATH']}", "LC_ALL": "C",
                               "LD_LIBRARY_PATH": f"{folder}/made/lib"})
        with open(side.log(), "rb") as log:
            log.seek(start)
            text = log.read().decode(errors="replace")
        verdicts = {case: PASS if verdict == "ok" else FAIL for case, verdict in LINE.findall(text)}
        verdicts["exit status"] = PASS if status == 0 else FAIL
        return verdicts

    return version, suite


if __name__ == "__main__":
    main("postgresql", prepare, least=180)
