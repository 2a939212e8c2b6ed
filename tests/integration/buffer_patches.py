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

from command import Failure  # noqa: E402 (the path comes first)
from packages import Archive  # noqa: E402

# patch, source package, version, the folder of its archive, suite
SOURCES = (
    ("mysql-9.7.2", "mysql-9.7", "9.7.2-4", "mysql-9.7.2", "sid"),
    ("mariadb-10.11.18", "mariadb", "1:10.11.18-0+deb12u1", "mariadb-10.11.18", None),
    ("postgresql-15.18", "postgresql-15", "15.18-0+deb12u1", "postgresql-15.18", None),
)


def applies(folder, patch, name, version, top, suite):
    """True, False, or None where the source cannot be had."""
    text = os.path.join(ROOT, "mysql-buffer-hook", "patches", patch + ".patch")
    try:
        archive = Archive(folder, suite, kind="deb-src")
        archive.apt("update")
        upstream = archive.source(name, version)
    except Failure:
        return None
    with open(text, encoding="utf-8") as file:
        names = [line.split("/", 1)[1].strip() for line in file if line.startswith("--- a/")]
    subprocess.run(["tar", "-xf", upstream, "-C", folder, *(f"{top}/{name}" for name in names)], check=True)
    return subprocess.run(["patch", "--dry-run", "--fuzz=0", "-p1", "-i", text], cwd=os.path.join(folder, top),
                          check=False).returncode == 0


def main():
    with tempfile.TemporaryDirectory(prefix="trib-patches-") as folder:
        results = {source[0]: applies(folder, *source) for source in SOURCES}
    for patch, result in results.items():
        said = "cannot be fetched" if result is None else "applies" if result else "DOES NOT APPLY"
        print(f"buffer_patches: {patch} {said}")
    if False in results.values():
        return 1
    return 0 if True in results.values() else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
