# SPDX-License-Identifier: Apache-2.0
"""Java programs: the JDK that runs them, their libraries through Maven, classes of ours compiled against those."""
import glob
import os
import re
import shutil
import subprocess

from command import Failure, need, run, say

RELEASE = "11"  # of our classes, which any later JDK runs


def add_options(parser, whose):
    parser.add_argument("--java", default=os.environ.get("JAVA_HOME"),
                        help="home of the JDK (default: JAVA_HOME, else the system's)")
    parser.add_argument("--agent", metavar="LIB[=OPTIONS]", help="the JVM agent")
    parser.add_argument("--jvm", action="append", default=[], metavar="FLAG",
                        help=f"one more flag of the {whose}'s JVM")


def java_of(asked):
    return os.path.join(asked.java, "bin", "java") if asked.java else need("java", "openjdk-17-jdk-headless")


def beside(java, tool):
    """Another program of the same JDK."""
    return os.path.join(os.path.dirname(os.path.realpath(java)), tool)


def release_of(java):
    """11, 17, ...; Java 8 and before: 1."""
    said = subprocess.run([java, "-XshowSettings:properties", "-version"], capture_output=True, text=True, check=False)
    found = re.search(r"java\.specification\.version = (\d+)", said.stderr)
    if not found:
        raise Failure(f"{java} -version failed ({said.returncode}): {said.stderr.strip()[:500]}")
    return int(found[1])


def agent_flags(asked):
    return [f"-agentpath:{os.path.abspath(asked.agent)}"] if asked.agent else []


class Classes:
    """What the Maven project `pom` depends on, in FOLDER/lib; `sources`, compiled, in FOLDER/classes."""

    def __init__(self, java, pom, folder, sources):
        self.java, self.pom, self.sources = java, pom, sources
        self.log = os.path.join(folder, "fetch.log")
        self.library, self.compiled = os.path.join(folder, "lib"), os.path.join(folder, "classes")
        self.path = f"{self.compiled}:{self.library}/*"

    def fetch(self, what, *definitions):
        if not os.path.isdir(self.library):
            say(f"fetching {what}")
            shutil.rmtree(self.library + ".new", ignore_errors=True)
            run([need("mvn", "maven"), "-q", "-B", "-f", self.pom, "dependency:copy-dependencies",
                 f"-DoutputDirectory={self.library}.new", *definitions], self.log)
            os.rename(self.library + ".new", self.library)
        compiled = glob.glob(os.path.join(self.compiled, "**", "*.class"), recursive=True)
        if not compiled or min(map(os.path.getmtime, compiled)) < max(map(os.path.getmtime, self.sources)):
            shutil.rmtree(self.compiled, ignore_errors=True)
            run([beside(self.java, "javac"), "-nowarn", "--release", RELEASE, "-cp", f"{self.library}/*",
                 "-d", self.compiled, *self.sources], self.log)
