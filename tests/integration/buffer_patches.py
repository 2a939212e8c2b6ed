#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The patches of mysql-buffer-hook/patches apply to the sources that they name, from Debian's mirror.

Exit code 77: not one of the sources can be fetched here (sources of older versions leave the mirror).
"""
import os
import subprocess
import sys
import tempfile

SKIPPED = 77
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "bench", "loads", "support"))

from packages import archives, codename  # noqa: E402 (the path comes first)

# patch, Debian source, upstream archive, the folder of the archive, suite
SOURCES = (
    ("mysql-9.7.2", "mysql-9.7=9.7.2-4", "mysql-9.7_9.7.2.orig.tar.gz", "mysql-9.7.2", "sid"),
    ("mariadb-10.11.18", "mariadb=1:10.11.18-0+deb12u1", "mariadb_10.11.18.orig.tar.gz", "mariadb-10.11.18", None),
    ("postgresql-15.18.sketch", "postgresql-15=15.18-0+deb12u1", "postgresql-15_15.18.orig.tar.bz2", "postgresql-15.18",
     None),
)


def apt(folder, suite, *arguments):
    here = os.path.join(folder, suite or "release")
    os.makedirs(os.path.join(here, "lists", "partial"), exist_ok=True)
    with open(os.path.join(here, "sources.list"), "w", encoding="utf-8") as file:
        for address, name in archives():
            if suite is None or name == codename():
                file.write(f"deb-src {address} {suite or name} main\n")
    options = {"Dir::Etc::sourcelist": f"{here}/sources.list", "Dir::Etc::sourceparts": "-", "Debug::NoLocking": "1",
               "Dir::State::lists": f"{here}/lists", "Dir::Cache": here, "APT::Sandbox::User": ""}
    return subprocess.run(["apt-get", "-q", *(f"-o{key}={value}" for key, value in options.items()), *arguments], cwd=here,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0, here


def applies(folder, patch, source, archive, top, suite):
    """True, False, or None where the source cannot be had."""
    text = os.path.join(ROOT, "mysql-buffer-hook", "patches", patch + ".patch")
    apt(folder, suite, "update")
    there, here = apt(folder, suite, "source", "--download-only", source)
    if not there:
        return None
    with open(text, encoding="utf-8") as file:
        names = [line.split("/", 1)[1].strip() for line in file if line.startswith("--- a/")]
    subprocess.run(["tar", "-xf", os.path.join(here, archive), "-C", here, *(f"{top}/{name}" for name in names)], check=True)
    return subprocess.run(["patch", "--dry-run", "--fuzz=0", "-p1", "-i", text], cwd=os.path.join(here, top),
                          check=False).returncode == 0


def main():
    with tempfile.TemporaryDirectory(prefix="trib-patches-") as folder:
        results = {source[0]: applies(folder, *source) for source in SOURCES}
    for patch, result in results.items():
        print(f"buffer_patches: {patch} {'cannot be fetched' if result is None else 'applies' if result else 'DOES NOT APPLY'}")
    if False in results.values():
        return 1
    return 0 if True in results.values() else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
