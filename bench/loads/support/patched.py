# SPDX-License-Identifier: Apache-2.0
"""A server built from Debian's source with a patch of mysql-buffer-hook/patches, in a folder. The patch names the
release that it was made for; another one of the same series is as good if the patch applies."""
import glob
import os
import shutil
import subprocess

from command import Failure, ROOT, need, run, say
from packages import Archive

PATCHES = os.path.join(ROOT, "mysql-buffer-hook", "patches")
HEADER = os.path.join(ROOT, "mysql-buffer-hook", "include", "tributary", "buffer.h")


def the_patch(series):
    """The path of the patch for postgresql-15, mariadb-10.11, ..."""
    found = glob.glob(f"{glob.escape(os.path.join(PATCHES, series))}.*.patch")
    if len(found) != 1:
        raise Failure(f"{PATCHES} has {len(found)} patches for {series}")
    return found[0]


def newest_source(folder, name):
    """(version, upstream archive) of the newest release that the mirror gives out, not only lists."""
    archive = Archive(folder, kind="deb-src")
    for version in archive.source_versions(name):
        try:
            return version, archive.source(name, version)
        except Failure:
            say(f"{name} {version} cannot be fetched")
    raise Failure(f"no source of {name} can be fetched; see {archive.log}")


def patched_source(archive, into, series, header_goes, log):
    """Unpacks the archive into the fresh folder `into` and patches it; the header goes below `header_goes`."""
    shutil.rmtree(into, ignore_errors=True)
    os.makedirs(into)
    run(["tar", "-xf", archive, "-C", into, "--strip-components=1"], log)
    os.makedirs(f"{into}/{header_goes}/tributary", exist_ok=True)
    shutil.copy(HEADER, f"{into}/{header_goes}/tributary/buffer.h")
    run([need("patch", "patch"), "-p1", "-i", the_patch(series)], log, cwd=into)


def checksum_of_inputs(series, version):
    files = [the_patch(series), HEADER]
    return version + "\n" + subprocess.run(["sha256sum", *files], stdout=subprocess.PIPE, text=True, check=True).stdout


# What a server, its initdb and its checks are made of; programs that only talk to it come from the packages.
POSTGRES_PARTS = ("src/backend", "src/include", "src/timezone", "src/interfaces/libpq", "src/pl/plpgsql",
                  "src/backend/snowball", "src/backend/utils/mb/conversion_procs", "src/bin/initdb",
                  "src/bin/pg_checksums", "contrib/amcheck")


def postgres(asked, folder):
    """Builds PostgreSQL 15 below `folder` unless it is there; the folder of its programs and its version."""
    log, made, stamp = f"{folder}/build.log", f"{folder}/installed", f"{folder}/installed/of"
    os.makedirs(folder, exist_ok=True)
    if os.path.exists(stamp):
        with open(stamp, encoding="utf-8") as file:
            kept = file.read()
        version = kept.split("\n", 1)[0]
        if kept == checksum_of_inputs("postgresql-15", version):
            return f"{made}/bin", f"postgresql-15_{version}_patched"
    version, archive = newest_source(asked.dir, "postgresql-15")
    say(f"building PostgreSQL {version} with the patch, in {folder}")
    patched_source(archive, f"{folder}/source", "postgresql-15", "src/include", log)
    shutil.rmtree(made, ignore_errors=True)
    run(["./configure", f"--prefix={made}", "--without-readline", "--without-zlib", "--without-icu",
         "CFLAGS=-O2 -fno-omit-frame-pointer"], log, cwd=f"{folder}/source")
    # Before anything in parallel: make's folders do not wait for them.
    run(["make", "-s", "-C", "src/backend", "generated-headers"], log, cwd=f"{folder}/source")
    for part in POSTGRES_PARTS:
        run(["make", "-s", f"-j{os.cpu_count()}", "-C", part, "all"], log, cwd=f"{folder}/source")
        run(["make", "-s", "-C", part, "install"], log, cwd=f"{folder}/source")
    with open(stamp, "w", encoding="utf-8") as file:
        file.write(checksum_of_inputs("postgresql-15", version))
    shutil.rmtree(f"{folder}/source")
    return f"{made}/bin", f"postgresql-15_{version}_patched"
