#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A subset of MariaDB's own tests, suites main and innodb: mariadb.py BUILD.

Debian's mariadb-test, unpacked. The subset is a rule, not a choice: of each suite's test files, sorted by name, every
STEP-th. mysql-test-run, the servers that it starts, kills and starts again, and the clients are all hooked. Root runs
them as an ordinary user of a user namespace, because tests are skipped for root.
"""
import glob
import os
import re
import shutil

from suite import FAIL, PASS, SKIP, Unavailable, main, packages

SUITES = {"main": ("main", 5), "innodb": ("suite/innodb/t", 20)}  # folder and STEP
VERDICTS = {"pass": PASS, "fail": FAIL, "skipped": SKIP, "disabled": SKIP}
LINE = re.compile(r"^((?:main|innodb)\.\S+(?: '[^']*')?) +(?:w\d+ +)?\[ (\w+) \]", re.M)


def subset(tests):
    """The names of the tests to run."""
    names = []
    for suite, (folder, step) in SUITES.items():
        files = sorted(os.path.basename(path)[:-len(".test")] for path in glob.glob(f"{tests}/{folder}/*.test"))
        names += [f"{suite}.{name}" for name in files[::step]]
    return names


def prepare():
    root, archives = packages("mariadb", ["mariadb-test", "mariadb-server-core", "mariadb-client-core",
                                          "mariadb-client"])
    tests = f"{root}/usr/share/mysql/mysql-test"
    if not shutil.which("perl") or not os.path.isfile(f"{tests}/mysql-test-run.pl"):
        raise Unavailable("no perl, or no mysql-test-run.pl")

    def suite(side, only):
        # A temporary table of main.sum_distinct-big is millions of writes of 17 bytes; the default ring is full of them
        # before a busy machine gives the recorder a processor.
        side.options = ["--set", "process-ring=262144"]
        start = os.path.getsize(side.log())
        names = subset(tests) if only is None else sorted({case.split(" ")[0] for case in only if "." in case})
        ordinary = ["unshare", "--user", "--map-user=1000", "--map-group=1000", "--"] if os.geteuid() == 0 else []
        status = side.run([*ordinary, "perl", "./mysql-test-run.pl", f"--vardir={side.folder}/var", "--force",
                           "--retry=0", "--max-test-fail=0", "--parallel=2", "--testcase-timeout=20",
                           "--suite-timeout=300", *names], cwd=tests,
                          env={"LD_LIBRARY_PATH": f"{root}/usr/lib/x86_64-linux-gnu"})
        with open(side.log(), "rb") as log:
            log.seek(start)
            text = log.read().decode(errors="replace")
        verdicts = {" ".join(case.split()): VERDICTS.get(verdict, FAIL) for case, verdict in LINE.findall(text)}
        verdicts["exit status"] = PASS if status == 0 else FAIL
        return verdicts

    return next(re.search(r"_([^_]+)_", name)[1] for name in archives if name.startswith("mariadb-test_")), suite


if __name__ == "__main__":
    main("mariadb", prepare, least=200)
