#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Redis's own tests of its files (AOF, RDB, replication, forks) and types: redis.py BUILD.

Debian's source, built as upstream does but for the allocator (libc's); `runtest` with the files listed below, without
the tests that Redis calls slow.
"""
import collections
import os
import re
import shutil

from suite import FAIL, PASS, SKIP, Unavailable, main, run_logged, source

FILES = ("unit/printver", "unit/dump", "unit/auth", "unit/protocol", "unit/keyspace", "unit/scan", "unit/info",
         "unit/type/string", "unit/type/incr", "unit/type/hash", "unit/expire", "unit/multi", "unit/quit",
         "unit/aofrw", "unit/acl", "unit/other", "unit/scripting", "unit/pubsub", "unit/introspection",
         "unit/bitfield", "unit/shutdown", "integration/aof", "integration/aof-multi-part", "integration/rdb",
         "integration/corrupt-dump", "integration/convert-zipmap-hash-on-load", "integration/logging",
         "integration/redis-cli")
LINE = re.compile(r"^\[(ok|err|exception|skip|ignore|timeout)\]: (.*?)(?: \(\d+ ms\))?$")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
VERDICTS = {"ok": PASS, "err": FAIL, "exception": FAIL, "timeout": FAIL, "skip": SKIP, "ignore": SKIP}


def build(folder, log):
    run_logged(["make", "-j2", "MALLOC=libc", "OPT=-O2"], log, cwd=folder)


def read(text, file):
    """{case: verdict}; a name that comes again in the file gets a number, a failure's reason does not belong to it."""
    verdicts, times = {}, collections.Counter()
    for line in COLOURS.sub("", text).splitlines():
        match = LINE.match(line)
        if not match:
            continue
        name = match[2].split(" in tests/")[0] if match[1] == "err" else match[2]
        times[name] += 1
        verdicts[f"{file}: {name}" + (f" #{times[name]}" if times[name] > 1 else "")] = VERDICTS[match[1]]
    return verdicts


def prepare():
    if not shutil.which("tclsh8.6") and not shutil.which("tclsh"):
        raise Unavailable("tclsh is not installed (Debian package tcl)")
    folder, version = source("redis", build)

    def suite(side, only):
        verdicts = {}
        tree = os.path.join(side.folder, "redis")
        shutil.copytree(folder, tree, symlinks=True)
        for file in FILES:
            if only is not None and not any(case.startswith(f"{file}:") for case in only):
                continue
            start = os.path.getsize(side.log())
            status = side.run(["./runtest", "--single", file, "--clients", "1", "--tags", "-slow",
                               "--timeout", "600"], cwd=tree)
            with open(side.log(), "rb") as log:
                log.seek(start)
                verdicts.update(read(log.read().decode(errors="replace"), file))
            verdicts[f"{file}: exit status"] = PASS if status == 0 else FAIL
        return verdicts

    return version, suite


if __name__ == "__main__":
    main("redis", prepare, least=500)
