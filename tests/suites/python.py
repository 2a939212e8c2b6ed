#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""CPython's own tests of files, processes, signals, threads and maps: python.py BUILD.

Debian's python3.11 and libpython3.11-testsuite, unpacked together so that both have one version.
"""
import os
import re
import xml.etree.ElementTree as xml

from suite import FAIL, PASS, SKIP, Unavailable, main, packages

MODULES = ("test_os", "test_io", "test_subprocess", "test_mmap", "test_signal", "test_threading", "test_posix",
           "test_fcntl")
VERDICTS = {"failure": FAIL, "error": FAIL, "skipped": SKIP}


def read(report):
    """{case: verdict} of one module; a module that died on its way has the cases that it came to."""
    try:
        cases = xml.parse(report).getroot().iter("testcase")
    except (OSError, xml.ParseError):
        return {}
    verdicts = {}
    for case in cases:
        found = [VERDICTS[child.tag] for child in case if child.tag in VERDICTS]
        name = case.get("name")
        # A case with subtests has an entry for each that fails, besides its own.
        verdicts[name] = FAIL if FAIL in (*found, verdicts.get(name)) else (found or [PASS])[0]
    return verdicts


def prepare():
    root, archives = packages("python", ["python3.11", "libpython3.11-testsuite"])
    python = f"{root}/usr/bin/python3.11"
    if not os.path.isdir(f"{root}/usr/lib/python3.11/test"):
        raise Unavailable(f"{root} has no test suite")

    def suite(side, only):
        verdicts = {}
        for module in MODULES:
            wanted = None if only is None else [case for case in only if case.startswith(f"test.{module}.")
                                                or case == module]
            if wanted == []:
                continue
            report = os.path.join(side.base, "report.xml")
            if os.path.exists(report):
                os.unlink(report)
            matches = [word for case in wanted or () if case != module for word in ("-m", case.split(" ")[0])]
            status = side.run([python, "-m", "test", "--junit-xml", report, "--timeout", "1200", "-v", *matches,
                               module], env={"LC_ALL": "C.UTF-8"})
            verdicts.update(read(report))
            verdicts[module] = PASS if status == 0 else FAIL
        return verdicts

    mine = next(name for name in archives if name.startswith("libpython3.11-testsuite_"))
    return re.search(r"_([^_]+)_", mine)[1], suite


if __name__ == "__main__":
    main("python", prepare, least=1000)
