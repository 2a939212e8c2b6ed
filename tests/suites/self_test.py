#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Can a suite's comparison fail? self_test.py BUILD: made-up suites of one or two cases, and what must come of them."""
import argparse
import itertools
import os
import sys

from suite import FAIL, PASS, compare

WRITES, WRITES_NOT = ["/bin/sh", "-c", "echo >file; exit 0"], ["/bin/sh", "-c", "exit 0"]


def same(side, _):
    return {"a": PASS if side.run(WRITES) == 0 else FAIL, "b": FAIL}


def unhooked(side, _):
    side.run(WRITES_NOT)
    return {"a": PASS}


def breaks(side, _):
    side.run(WRITES)
    return {"a": PASS, "b": FAIL if side.hooked else PASS}


def loses(side, _):
    side.run(WRITES)
    return {"a": PASS} if side.hooked else {"a": PASS, "b": PASS}


def breaks_once():
    runs = itertools.count()  # the second run is the first hooked one

    def suite(side, _):
        side.run(WRITES)
        return {"a": FAIL if next(runs) == 1 else PASS}
    return suite


def flaky():
    runs = itertools.count()

    def suite(side, _):
        side.run(WRITES)
        return {"a": PASS if next(runs) % 3 == 0 else FAIL}
    return suite


def status(side, _):
    side.run(["/bin/sh", "-c", 'echo >file; exit "$1"', "sh", "3" if side.hooked else "0"])
    return {"a": PASS}


def too_few(side, _):
    side.run(WRITES)
    return {}


def main():
    asked = argparse.Namespace(build=os.path.abspath(sys.argv[1]))
    wanted = {"same": (same, 0), "unhooked": (unhooked, 1), "breaks": (breaks, 1), "loses": (loses, 1),
              "breaks-once": (breaks_once(), 1), "flaky": (flaky(), 0), "status": (status, 1),
              "too-few": (too_few, 1)}
    wrong = []
    for name, (suite, code) in wanted.items():
        os.makedirs(os.path.join(asked.build, "suites", f"self-{name}"), exist_ok=True)
        got = compare(asked, f"self-{name}", "1", suite, least=1)
        if got != code:
            wrong.append(f"{name}: {got} instead of {code}")
    print("self_test:", "; ".join(wrong) or "every difference was noticed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
