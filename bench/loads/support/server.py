# SPDX-License-Identifier: Apache-2.0
"""A database server that lives in a folder: fetched, started with or without a hook, loaded, run, checked, killed.

A server is a subclass (mysql_family.py, postgres) that knows its packages, commands and SQL.
"""
import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import time

from command import Failure, add_folder_options, last_lines, say
from ledger import Ledger
from packages import Archive
from sysbench import Sysbench
import tpcc

ACTIONS = """\
actions:
  fetch   download and extract server, client and sysbench; the others do it when needed
  start   start the server, initialising its data folder when there is none; waits until it answers
  load    create the tables of --bench and fill them
  run     run --bench for --seconds; prints one line of JSON at the end
  check   server running: check every table, and TPC-C's consistency conditions; stopped: checksums of every page
  stop    shut down in order
  kill    kill -9
  crash   --rounds times: run, kill -9 at a random moment, start, check, and nothing acknowledged may be lost
  all     start, load, run, check, stop, check; with --fresh from an empty data folder
"""


def parse(server_class, arguments=None):
    parser = argparse.ArgumentParser(prog=server_class.name, description=server_class.__doc__, epilog=ACTIONS,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = [line.split()[0] for line in ACTIONS.splitlines()[1:]]
    parser.add_argument("action", choices=actions, metavar="ACTION", help="see below")
    add_folder_options(parser)
    parser.add_argument("--fresh", action="store_true", help="start: throw the data folder away first")
    parser.add_argument("--preload", type=os.path.abspath, metavar="LIB",
                        help="start: a library to preload into the server only")
    parser.add_argument("--env", action="append", default=[], metavar="K=V",
                        help="start: environment of the server only")
    parser.add_argument("--option", action="append", default=[], metavar="K=V",
                        help="start: one more option of the server")
    parser.add_argument("--pool", default="128M", help="start: the buffer pool (default: %(default)s)")
    if server_class.can_be_patched:
        parser.add_argument("--patched", action="store_true",
                            help="start: the server built here, of Debian's source with a patch of mysql-buffer-hook")
    if server_class.has_doublewrite:
        parser.add_argument("--doublewrite", choices=("on", "off"), default="on", help="start: (default: %(default)s)")
    parser.add_argument("--bench", choices=server_class.benches, default="tpcc", help="(default: %(default)s)")
    parser.add_argument("--scale", type=int, default=4,
                        help="warehouses of about 100 MB, or tables of 250,000 rows (default: %(default)s)")
    parser.add_argument("--divide", type=int, default=1,
                        help="tpcc: divide a warehouse's customers, orders and items by this (default: %(default)s)")
    parser.add_argument("--seconds", type=int, default=60, help="run: how long (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=4, help="of the client (default: %(default)s)")
    parser.add_argument("--rate", type=int, default=0, help="transactions a second at most (default: no limit)")
    parser.add_argument("--seed", type=int, default=1, help="of data, load and crash moments (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="crash: how often (default: %(default)s)")
    asked = parser.parse_args(arguments)
    for number in ("scale", "divide", "seconds", "threads", "rounds"):
        if getattr(asked, number) < 1:
            parser.error(f"--{number} wants a number above 0")
    for pair in asked.env + asked.option:
        if "=" not in pair:
            parser.error(f"'{pair}' is not K=V")
    if asked.preload and not os.path.exists(asked.preload):
        parser.error(f"--preload: {asked.preload} does not exist")
    return asked


def process_lives(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def process_gone(pid):
    """Reaped, too: PostgreSQL does not start while anything has the number of its former process."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass  # not started by this script
    return not os.path.exists(f"/proc/{pid}")


def processor_s(pid):
    """What a process and those of its children that have ended used of the processors, in user and in kernel mode."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def wait_until(condition, seconds, pause_s=0.1):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(pause_s)
    return True


class Server:
    name = None
    suite = None  # of Debian; None: this machine's own release
    packages = ()
    benches = ("tpcc",)
    has_doublewrite = False
    can_be_patched = False
    START_S = STOP_S = 300  # recovery and writing out a pool take their time on a busy machine

    def __init__(self, asked):
        self.asked = asked
        self.folder = os.path.join(asked.dir, self.name)
        self.root = os.path.join(self.folder, "root")
        self.data = asked.data or os.path.join(self.folder, "data")
        self.log = self.data + ".log"
        self.started_as = self.data + ".started.json"

    # What a subclass says: initialise(folder), command(), environment(), sql(text, database), pid(), check_running(),
    # check_stopped(), sysbench_options(database), fresh_database(name), own_processes(pid), client_command(database).

    def fetch(self):
        archives = Archive(self.asked.dir, self.suite).extract(self.packages, self.root)
        self.version = next(name for name in archives if name.startswith(self.packages[0] + "_"))
        self.sysbench = Sysbench(self.asked)

    def running(self):
        pid = self.pid()
        return pid if pid and process_lives(pid) else None

    def must_run(self):
        if not self.running():
            raise Failure(f"the server does not run: {self.name} start")

    def start(self):
        keys = ("preload", "env", "option", "pool", "doublewrite", "patched")
        wanted = {key: getattr(self.asked, key, None) for key in keys}
        if self.running():
            with open(self.started_as, encoding="utf-8") as file:
                if json.load(file) == wanted and not self.asked.fresh:
                    return say(f"{self.name} runs already, pid {self.running()}")
            raise Failure("the server runs with other options; stop it first")
        self.prepare_data()
        with open(self.started_as, "w", encoding="utf-8") as file:
            json.dump(wanted, file)
        command, environment = self.command(), dict(os.environ, **self.environment())
        environment.update(pair.split("=", 1) for pair in self.asked.env)
        with open(self.log, "ab") as log:
            server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment,
                                      cwd=self.data, start_new_session=True)
        wait_until(lambda: self.answers() or server.poll() is not None, self.START_S)
        if server.poll() is not None or not self.answers():
            server.kill()
            raise Failure(f"the server did not start; the end of {self.log}:\n{last_lines(self.log)}")
        say(f"{self.name} runs, pid {self.running()}{', with ' + self.asked.preload if self.asked.preload else ''}")

    def prepare_data(self):
        if self.asked.fresh:
            shutil.rmtree(self.data, ignore_errors=True)
        if os.path.exists(self.data):
            return
        say(f"initialising {self.data}")
        shutil.rmtree(self.data + ".new", ignore_errors=True)
        os.makedirs(os.path.dirname(self.data), exist_ok=True)
        self.initialise(self.data + ".new")
        os.rename(self.data + ".new", self.data)

    def answers(self):
        try:
            return bool(self.pid()) and self.sql("SELECT 1").strip() == "1"
        except Failure:
            return False

    def stop(self):
        pid = self.running()
        if not pid:
            return say(f"{self.name} does not run")
        os.kill(pid, self.STOP_SIGNAL)
        if not wait_until(lambda: process_gone(pid), self.STOP_S):
            raise Failure(f"pid {pid} did not stop within {self.STOP_S} s; see {self.log}")
        say(f"{self.name} stopped")

    STOP_SIGNAL = signal.SIGTERM

    def kill(self):
        pid = self.running()
        if not pid:
            return say(f"{self.name} does not run")
        everyone = self.own_processes(pid)
        for process in everyone:
            os.kill(process, signal.SIGKILL)
        wait_until(lambda: all(map(process_gone, everyone)), 60)
        say(f"{self.name} killed, pid {pid}")

    def own_processes(self, pid):
        return [pid]

    def processor_s(self):
        return sum(map(processor_s, self.own_processes(self.running())))

    def load(self):
        self.must_run()
        self.fresh_database(self.asked.bench)
        self.sysbench.prepare(self.sysbench_options(self.asked.bench))

    def run(self):
        self.must_run()
        before_s = self.processor_s()
        result = self.sysbench.run(self.sysbench_options(self.asked.bench))
        result["server_processor_s"] = round(self.processor_s() - before_s, 2)
        print(json.dumps({"load": self.name, "version": self.version, "bench": self.asked.bench,
                          "scale": self.asked.scale, "seed": self.asked.seed, "preload": self.asked.preload, **result}),
              flush=True)

    def check(self):
        if not self.running():
            return self.check_stopped()
        tables = self.check_running()
        say(f"{tables} tables are whole")
        if self.has_tables("tpcc"):
            tpcc.check(lambda text: self.sql(text, "tpcc"))
            say("TPC-C's consistency conditions hold")

    def background_load(self, seed):
        return self.sysbench.start(self.sysbench_options(self.asked.bench), seed)

    def crash(self):
        """Every acknowledged commit must be there after kill -9: a ledger counts them from outside of the server."""
        moments = random.Random(self.asked.seed)
        self.start()
        if not self.has_tables(self.asked.bench):
            self.load()
        self.fresh_database("ledger")
        for number in range(self.asked.rounds):
            load = self.background_load(self.asked.seed + number)
            ledger = Ledger(self)
            time.sleep(moments.uniform(2, 2 + self.asked.seconds))
            if load.poll() is not None:
                raise Failure(f"the load ended before the kill; see {self.sysbench.log} and {self.log}")
            self.kill()
            acknowledged = ledger.end()
            load.wait()
            self.asked.fresh = False
            self.start()
            self.check()
            kept = ledger.kept()
            if not acknowledged or kept < acknowledged:
                raise Failure(f"round {number + 1}: {acknowledged} commits acknowledged, {kept} kept")
            say(f"round {number + 1} of {self.asked.rounds}: {acknowledged} commits acknowledged, {kept} kept")

    def all(self):
        self.start()
        try:
            self.load()
            self.run()
            self.check()
        finally:
            self.stop()
        self.check()


def main(server_class):
    asked = parse(server_class)
    server = server_class(asked)
    server.fetch()
    if asked.action != "fetch":
        getattr(server, asked.action)()
