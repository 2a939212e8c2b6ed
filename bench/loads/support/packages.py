# SPDX-License-Identifier: Apache-2.0
"""Debian packages, extracted into a folder. Nothing is installed, no root is needed.

The mirror is the one that the machine's apt is set up with; lists and archives live in a private folder, so neither the
machine's package lists nor its sources change.
"""
import functools
import glob
import hashlib
import os
import re
import shutil
import subprocess

from command import Failure, need, output_of, run, say

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
RELEASE_FILE = re.compile(r"^'(\S+?)/dists/(\S+?)/InRelease'")


def codename():
    with open("/etc/os-release", encoding="utf-8") as file:
        for line in file:
            if line.startswith("VERSION_CODENAME="):
                return line.split("=")[1].strip().strip('"')
    raise Failure("/etc/os-release names no VERSION_CODENAME: this is not a Debian release")


def archives():
    """[(address, suite)] of this Debian release, as apt's sources have them."""
    need("apt-get", "apt")
    mine = codename()
    suites = {mine, f"{mine}-updates", f"{mine}-security"}
    files = output_of(["apt-get", "update", "--print-uris"]).splitlines()
    found = [match.groups() for match in map(RELEASE_FILE.match, files) if match and match[2] in suites]
    if mine not in {suite for _, suite in found}:
        raise Failure(f"apt's sources have no archive of {mine}: see /etc/apt/sources.list.d")
    return found


def compare_versions(a, b):
    return 1 if subprocess.run(["dpkg", "--compare-versions", a, "gt", b], check=False).returncode == 0 else -1


class Archive:
    """One Debian suite, seen through private apt folders. `suite` None: this machine's release, whose installed
    packages count as there; else another suite, from which a package comes with all that it depends on, its libc
    too. `kind` deb-src: its sources."""

    def __init__(self, folder, suite=None, kind="deb"):
        self.foreign = suite is not None
        self.folder = os.path.join(folder, "apt", (suite or codename()) + ("-sources" if kind == "deb-src" else ""))
        self.log = os.path.join(self.folder, "log")
        sources = archives()
        if self.foreign:
            sources = [(address, suite) for address, name in sources if name == codename()]
        for part in ("lists/partial", "cache/archives/partial"):
            os.makedirs(os.path.join(self.folder, part), exist_ok=True)
        trusted = f"[signed-by={KEYRING}] " if os.path.exists(KEYRING) else ""
        with open(os.path.join(self.folder, "sources.list"), "w", encoding="utf-8") as file:
            file.writelines(f"{kind} {trusted}{address} {name} main\n" for address, name in sources)
        open(os.path.join(self.folder, "nothing-installed"), "w", encoding="utf-8").close()

    def options(self):
        options = {"Dir::Etc::sourcelist": f"{self.folder}/sources.list", "Dir::Etc::sourceparts": "-",
                   "Dir::State::lists": f"{self.folder}/lists", "Dir::Cache": f"{self.folder}/cache",
                   "Debug::NoLocking": "1", "APT::Sandbox::User": "", "APT::Install-Recommends": "0"}
        if self.foreign:
            options["Dir::State::status"] = f"{self.folder}/nothing-installed"
        return [f"-o{key}={value}" for key, value in options.items()]

    def apt(self, *arguments, **how):
        run(["apt-get", "-q", "-y", *self.options(), *arguments], self.log, **how)

    def source_versions(self, name):
        """Of a source package, the newest first."""
        self.apt("update")
        lines = output_of(["apt-cache", *self.options(), "showsrc", name]).splitlines()
        found = {line.split()[1] for line in lines if line.startswith("Version:")}
        return sorted(found, key=functools.cmp_to_key(compare_versions), reverse=True)

    def source(self, name, version):
        """Downloads a source package. The path of its upstream archive; Failure: the mirror has it no more, or not
        yet."""
        into = os.path.join(self.folder, "sources")
        os.makedirs(into, exist_ok=True)
        self.apt("source", "--download-only", f"{name}={version}", cwd=into)
        upstream = re.sub(r"^\d+:|-[^-]*$", "", version)
        return next(path for path in glob.glob(f"{into}/{name}_{upstream}.orig.tar.*") if not path.endswith(".asc"))

    def extract(self, packages, into):
        """Downloads and unpacks `packages` and what they need; does nothing when they are there already. Returns the
        names of the archives' files."""
        stamp = os.path.join(into, ".packages")
        key = hashlib.sha256(" ".join(packages).encode()).hexdigest()
        if os.path.exists(stamp):
            with open(stamp, encoding="utf-8") as file:
                lines = file.read().split("\n")
            if lines[0] == key:
                return lines[1:]
        say(f"fetching {' '.join(packages)} ({os.path.basename(self.folder)})")
        self.apt("update")
        self.apt("clean")
        self.apt("install", "--download-only", *([] if self.foreign else ["--reinstall"]), *packages)
        archives_there = sorted(glob.glob(f"{self.folder}/cache/archives/*.deb"))
        fresh = into + ".new"
        shutil.rmtree(fresh, ignore_errors=True)
        os.makedirs(fresh)
        for archive in archives_there:
            run(["dpkg-deb", "-x", archive, fresh], self.log)
        self.apt("clean")
        names = [os.path.basename(archive).replace("%3a", ":") for archive in archives_there]
        with open(os.path.join(fresh, ".packages"), "w", encoding="utf-8") as file:
            file.write("\n".join([key, *names]))
        shutil.rmtree(into, ignore_errors=True)
        os.rename(fresh, into)
        return names
