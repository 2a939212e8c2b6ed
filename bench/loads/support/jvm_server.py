# SPDX-License-Identifier: Apache-2.0
"""A server in a JVM of its own, in a folder, on the loopback: started with or without the agent, attached to, killed.

A server is a subclass (cassandra, kafka) that knows its libraries, its configuration and what its log says when up.
"""
import json
import os
import re
import shutil
import signal
import socket
import subprocess

from command import Failure, last_lines, output_of, say
from java import beside, java_of
from server import process_lives, wait_until


def add_start_options(parser, option):
    """`option` is the form of one more line of the server's configuration."""
    parser.add_argument("--fresh", action="store_true", help="start: throw the data folder away first")
    parser.add_argument("--preload", type=os.path.abspath, metavar="LIB",
                        help="start: a library to preload into the server only")
    parser.add_argument("--env", action="append", default=[], metavar="K=V",
                        help="start: environment of the server only")
    parser.add_argument("--option", action="append", default=[], metavar=option,
                        help="start: one more line of the server's configuration")
    parser.add_argument("--heap", default="1G", help="start: (default: %(default)s)")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class JvmServer:
    name = None
    up = None  # what its log says when it answers
    ports = ()
    START_S = STOP_S = 300

    def __init__(self, asked):
        self.asked = asked
        self.folder = os.path.join(asked.dir, self.name, asked.version)
        self.data = asked.data or os.path.join(self.folder, "data")
        self.log, self.state = self.data + ".log", self.data + ".json"
        self.java = java_of(asked)

    # What a subclass says: fetch(), configure(ports) into the data folder, command(ports).

    def known(self):
        """What `start` wrote of the server that it started: pid, agent, preload, ports."""
        try:
            with open(self.state, encoding="utf-8") as file:
                return json.load(file)
        except OSError:
            return {}

    def running(self):
        pid = self.known().get("pid")
        return pid if pid and process_lives(pid) else None

    def must_run(self):
        if not self.running():
            raise Failure(f"the server does not run: {self.name} start")

    def start(self):
        if self.running():
            raise Failure("the server runs already; stop it first")
        if self.asked.fresh:
            shutil.rmtree(self.data, ignore_errors=True)
            self.asked.fresh = False
        os.makedirs(self.data, exist_ok=True)
        ports = {name: free_port() for name in self.ports}
        self.configure(ports)
        environment = dict(os.environ, **dict(pair.split("=", 1) for pair in self.asked.env))
        if self.asked.preload:
            environment["LD_PRELOAD"] = self.asked.preload
        with open(self.log, "wb") as log:
            server = subprocess.Popen(self.command(ports), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                      env=environment, cwd=self.data, start_new_session=True)
        with open(self.state, "w", encoding="utf-8") as file:
            json.dump({"pid": server.pid, "agent": self.asked.agent, "preload": self.asked.preload, **ports}, file)
        wait_until(lambda: self.answers() or server.poll() is not None, self.START_S)
        if server.poll() is not None or not self.answers():
            server.kill()
            raise Failure(f"{self.name} did not start; the end of {self.log}:\n{last_lines(self.log)}")
        agent = f", with {self.asked.agent}" if self.asked.agent else ""
        say(f"{self.name} {self.asked.version} runs, pid {server.pid}{agent}")

    def answers(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return self.up in file.read()

    def tell_agent(self, options):
        library = os.path.abspath(self.asked.agent.partition("=")[0])
        told = output_of([beside(self.java, "jcmd"), str(self.running()), "JVMTI.agent_load", library, f'"{options}"'])
        if "return code: 0" not in told:
            raise Failure(f"the agent refuses {options}: {told.strip()}; see {self.log}")

    def attach(self):
        if not self.running() or not self.asked.agent:
            raise Failure("attach wants a server that runs, and --agent LIB=OPTIONS")
        self.tell_agent(self.asked.agent.partition("=")[2])
        say(f"{self.asked.agent} is attached")

    def end(self, number, word):
        pid = self.running()
        if not pid:
            return say(f"{self.name} does not run")
        os.kill(pid, number)
        if not wait_until(lambda: not process_lives(pid), self.STOP_S):
            raise Failure(f"pid {pid} did not end within {self.STOP_S} s; see {self.log}")
        return say(f"{self.name} {word}")

    def stop(self):
        self.end(signal.SIGTERM, "stopped")

    def kill(self):
        self.end(signal.SIGKILL, "killed")

    def resident_mib(self):
        with open(f"/proc/{self.running()}/status", encoding="ascii") as file:
            return int(re.search(r"^VmRSS:\s+(\d+)", file.read(), re.M)[1]) >> 10
