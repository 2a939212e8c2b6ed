#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The units under a real systemd, with real servers: systemd.py BUILD.

A Debian with PostgreSQL and MariaDB, made by debootstrap and kept in the cache, boots in a container of systemd-nspawn
with this build in its /usr/local. There the commands of docs/operations/daemon.md are run as they stand, and then what
befalls a server: its daemon is killed, stopped, cannot be started. One thing that the page does not ask for is done
before: the container filters system calls, so TRIBUTARY_FILTERS is added to the servers' environment. Needs root,
debootstrap and systemd-nspawn (Debian's systemd-container); else it is skipped.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import time

from suite import ROOT, Failure, Unavailable, cache, finish, last_lines, run_logged, say
from packages import archives, codename

PAGE = os.path.join(ROOT, "docs", "operations", "daemon.md")
INCLUDED = ("systemd-sysv", "dbus", "procps", "postgresql", "mariadb-server", "libfmt9", "libncurses6", "libzstd1",
            "libxxhash0", "libinih1")
READY_S, RESTART_S = 60, 20


def base(log):
    """The folder of the Debian that boots; nothing is ever written into it again."""
    folder = os.path.join(cache(), "systemd", "root")
    made = folder + ".made"
    if os.path.exists(made):
        with open(made, encoding="utf-8") as file:
            if file.read() == " ".join(INCLUDED):
                return folder
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    address = next(address for address, suite in archives() if suite == codename())
    say(f"a Debian {codename()} with systemd and PostgreSQL, about two minutes")
    try:
        run_logged(["debootstrap", "--variant=minbase", f"--include={','.join(INCLUDED)}", codename(), folder, address],
                   log)
    except Failure as problem:
        raise Unavailable(str(problem)) from problem
    with open(made, "w", encoding="utf-8") as file:
        file.write(" ".join(INCLUDED))
    return folder


class Machine:
    """The container, booted. All that it writes stays in memory."""

    def __init__(self, folder, local, console):
        self.console = open(console, "wb")
        self.process = subprocess.Popen(
            ["systemd-nspawn", "--quiet", f"--directory={folder}", "--volatile=overlay", "--private-network",
             f"--bind-ro={local}:/usr/local", "--register=no", "--keep-unit", "--hostname=tributary-test", "--boot"],
            stdin=subprocess.DEVNULL, stdout=self.console, stderr=subprocess.STDOUT)
        self.leader = None

    def __enter__(self):
        try:
            self.boot()
        except BaseException:
            self.__exit__()
            raise
        return self

    def boot(self):
        def is_up():
            if self.process.poll() is not None:
                raise Unavailable(f"systemd-nspawn does not boot here:\n{last_lines(self.console.name)}")
            children = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
            with open(children, encoding="utf-8") as file:
                self.leader = file.read().split()
            return self.leader and self.run("systemctl", "is-system-running", check=False).stdout.strip() in (
                "running", "degraded")

        until(is_up, READY_S, "systemd is up")

    def __exit__(self, *_):
        if self.leader:
            self.run("systemctl", "poweroff", check=False)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.console.close()

    def run(self, *command, check=True):
        done = subprocess.run(["nsenter", f"--target={self.leader[0]}", "--mount", "--uts", "--ipc", "--net", "--pid",
                               "--root", "env", "-i", "--chdir=/", "PATH=/usr/local/bin:/usr/bin:/usr/sbin", *command],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120)
        if check and done.returncode != 0:
            raise Failure(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def property(self, unit, name):
        return self.run("systemctl", "show", "--property", name, "--value", unit).stdout.strip()


def until(met, seconds, what):
    end = time.monotonic() + seconds
    while not met():
        if time.monotonic() > end:
            raise Failure(f"after {seconds} s still not: {what}")
        time.sleep(0.2)


def expect(met, what, seen=""):
    if not met:
        raise Failure(f"{what}{': ' if seen != '' else ''}{seen}")
    say(f"ok: {what}")


class Server:
    """A server in the machine, and the names of its units."""

    def __init__(self, machine, name, unit, user, client):
        self.machine, self.name, self.unit, self.user, self.client = machine, name, unit, user, client
        self.socket, self.service = f"tributary@{name}.socket", f"tributary@{name}.service"

    def sql(self, statement):
        return self.machine.run("runuser", "-u", self.user, "--", *self.client, statement).stdout.strip()

    def is_up(self):
        return self.machine.run("runuser", "-u", self.user, "--", *self.client, "select 1",
                                check=False).returncode == 0

    def status(self):
        return json.loads(self.machine.run("trib", "status", self.name, "--json").stdout)

    def fill(self, first, last, letter):
        for begin in range(first, last, 2500):  # a command line has its limits
            values = ",".join(f"({number},repeat('{letter}',500))" for number in range(begin, begin + 2500))
            self.sql(f"insert into t (id, v) values {values}")
        self.flush()

    def flush(self):
        self.sql("checkpoint" if self.name == "postgresql" else "flush tables")

    def update(self):
        self.sql("update t set n = n + 1 where id < 100")
        self.flush()

    def rows(self):
        return self.sql("select count(*) from t where length(v) = 500")


def commands_of_page():
    with open(PAGE, encoding="utf-8") as file:
        return re.findall(r"```sh\n(systemd-sysusers.*?)```", file.read(), re.S)


def allow_filters(machine):
    """The container filters system calls; that its filters let a process join must be said, as in any container."""
    status = machine.run("cat", "/proc/1/status").stdout
    filters = re.search(r"^Seccomp_filters:\s+(\d+)", status, re.M)
    if filters:
        folder, line = "/etc/systemd/system/mariadb.service.d", f"TRIBUTARY_FILTERS={filters[1]}"
        machine.run("sh", "-euc", f"echo {line} >>/etc/postgresql/15/main/environment; mkdir -p {folder}; "
                                  f"printf '[Service]\\nEnvironment={line}\\n' >{folder}/filters.conf")


def check(server):
    machine, name = server.machine, server.name
    until(server.is_up, READY_S, f"{name} answers")
    expect(machine.property(server.socket, "ActiveState") == "active", f"{name}: the socket listens")
    server.sql("create table t (id int primary key, v text, n int default 0)")
    server.fill(0, 20000, "x")
    until(lambda: machine.property(server.service, "MainPID") != "0", RESTART_S, f"who joined started {name}'s daemon")
    daemon = machine.property(server.service, "MainPID")  # before `trib status`, which would start it, too
    until(lambda: server.status()["written_bytes"] > 10_000_000, RESTART_S, f"what {name} writes is recorded")
    status = server.status()
    expect(status["processes"] >= 1 and status["events_dropped"] == 0, f"{name}: joined, nothing is lost",
           {key: status[key] for key in ("processes", "events", "events_dropped", "written_bytes")})
    expect(machine.property(server.service, "MainPID") == daemon,
           f"{name}: the first who joined started the daemon that answers")
    expect(machine.run("stat", "-c", "%U", f"/proc/{daemon}").stdout.strip() == "tributary",
           f"{name}: the daemon is user tributary's")
    expect(machine.run("stat", "-c", "%U %a", f"/var/lib/tributary/{name}/state").stdout.strip() == "tributary 600",
           f"{name}: its state is 0600")

    machine.run("kill", "-9", daemon)
    until(lambda: machine.property(server.service, "MainPID") not in ("0", daemon), RESTART_S,
          "systemd starts the daemon again")
    server.fill(20000, 25000, "y")

    def joined_again():
        server.update()
        return server.status()["joins_again"] >= 1

    until(joined_again, RESTART_S, f"{name} joins the next daemon")
    expect(server.rows() == "25000", f"{name}: daemon killed, the server runs on and joined the next")

    machine.run("systemctl", "stop", server.socket, server.service)
    server.fill(25000, 30000, "z")
    expect(server.rows() == "30000", f"{name}: daemon and socket stopped, the server runs on")

    machine.run("systemctl", "mask", "--now", server.socket)
    machine.run("systemctl", "restart", server.unit)
    until(server.is_up, READY_S, f"{name} starts without the socket")
    expect(server.rows() == "30000", f"{name}: the socket cannot be started, the server starts all the same")
    machine.run("systemctl", "unmask", server.socket)
    machine.run("systemctl", "start", server.socket)

    def recorded():
        server.update()
        return machine.run("trib", "status", name, check=False).returncode == 0 and \
            server.status()["written_bytes"] > 0

    until(recorded, RESTART_S, f"the socket is back, and {name} joins by itself")
    expect(True, f"{name}: the socket is back, and the server joined by itself")


def check_all(machine):
    blocks = commands_of_page()
    expect(len(blocks) == 2, "the page has commands for PostgreSQL and MariaDB")
    allow_filters(machine)
    machine.run("ldconfig")
    for block in blocks:
        machine.run("sh", "-euc", block)
    check(Server(machine, "postgresql", "postgresql@15-main.service", "postgres", ("psql", "-qAtc")))
    machine.run("mariadb", "--execute", "create database test")
    check(Server(machine, "mysql", "mariadb.service", "root", ("mariadb", "--batch", "--skip-column-names", "test",
                                                               "--execute")))


def main():
    build = os.path.abspath(sys.argv[1])
    folder = os.path.join(build, "suites", "systemd")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    log = os.path.join(folder, "build.log")
    if os.geteuid() != 0:
        raise Unavailable("only root can boot a container")
    for program, package in (("debootstrap", "debootstrap"), ("systemd-nspawn", "systemd-container")):
        if not shutil.which(program):
            raise Unavailable(f"{program} is not installed (Debian package {package})")
    root = base(log)
    stage = os.path.join(folder, "stage")
    run_logged(["cmake", "--install", build, "--prefix", "/usr/local"], log, env={**os.environ, "DESTDIR": stage})
    with Machine(root, os.path.join(stage, "usr", "local"), os.path.join(folder, "console.log")) as machine:
        try:
            check_all(machine)
        finally:
            with open(os.path.join(folder, "journal.log"), "w", encoding="utf-8") as file:
                file.write(machine.run("journalctl", "--no-pager", check=False).stdout)
    say("systemd: all as the page says")


if __name__ == "__main__":
    finish("systemd", main)
