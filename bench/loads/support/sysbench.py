# SPDX-License-Identifier: Apache-2.0
"""sysbench from Debian's package, in a folder: Debian's oltp_write_only and our tpcc.lua."""
import os
import re
import subprocess

from command import Failure, ROOT, last_lines, run, say
from packages import Archive

OLTP_ROWS = 250000
TRANSACTIONS = re.compile(r"^ *transactions: +(\d+) +\(([\d.]+) per sec", re.M)
RESTARTS = re.compile(r"^ *ignored errors: +(\d+)", re.M)
NEW_ORDERS = re.compile(r"^tpcc: new orders (\d+)", re.M)
P95 = re.compile(r"^ *95th percentile: +([\d.]+)", re.M)


class Sysbench:
    def __init__(self, asked):
        self.asked = asked
        self.root = os.path.join(asked.dir, "sysbench", "root")
        self.log = os.path.join(asked.dir, "sysbench", "log")
        Archive(asked.dir).extract(("sysbench",), self.root)

    def command(self, action, connection, seed):
        asked = self.asked
        if asked.bench == "tpcc":
            script = os.path.join(ROOT, "bench", "loads", "tpcc.lua")
            size = [f"--warehouses={asked.scale}", f"--divide={asked.divide}"]
        else:
            script = os.path.join(self.root, "usr", "share", "sysbench", f"{asked.bench}.lua")
            size = [f"--tables={asked.scale}", f"--table-size={OLTP_ROWS // asked.divide}"]
        return [os.path.join(self.root, "usr", "bin", "sysbench"), script, *size, *connection, f"--rand-seed={seed}",
                f"--threads={asked.threads}", f"--rate={asked.rate}", action]

    def environment(self):
        libraries = os.path.join(self.root, "usr", "lib", "x86_64-linux-gnu")
        return dict(os.environ, LUA_PATH=f"{self.root}/usr/share/sysbench/?.lua;;",
                    MARIADB_PLUGIN_DIR=os.path.join(libraries, "libmariadb3", "plugin"),  # MySQL's passwords
                    LD_LIBRARY_PATH=":".join(filter(None, [libraries, os.environ.get("LD_LIBRARY_PATH")])))

    def prepare(self, connection):
        say(f"filling the tables of {self.asked.bench}, scale {self.asked.scale}")
        for action in ("create", "fill", "index") if self.asked.bench == "tpcc" else ("prepare",):
            run(self.command(action, connection, self.asked.seed), self.log, env=self.environment())

    def start(self, connection, seed):
        """In the background, until it is stopped or the server dies."""
        with open(self.log, "ab") as log:
            return subprocess.Popen(self.command("run", [*connection, "--time=0"], seed), env=self.environment(),
                                    stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def run(self, connection):
        say(f"running {self.asked.bench} for {self.asked.seconds} s")
        command = self.command("run", [*connection, f"--time={self.asked.seconds}", "--report-interval=10"],
                               self.asked.seed)
        client = subprocess.Popen(command, env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
        lines = []
        for line in client.stdout:
            lines.append(line)
            if line.startswith("["):
                say(line.strip()[:100])
        text = "".join(lines)
        with open(self.log, "a", encoding="utf-8") as file:
            file.write(text)
        counted = TRANSACTIONS.search(text)
        if client.wait() != 0 or not counted:
            raise Failure(f"sysbench failed ({client.returncode}); the end of {self.log}:\n{last_lines(self.log)}")
        result = {"seconds": self.asked.seconds, "transactions": int(counted[1]), "tps": float(counted[2]),
                  "p95_ms": float(P95.search(text)[1]), "restarts": int(RESTARTS.search(text)[1])}
        if new_orders := NEW_ORDERS.findall(text):
            result["tpm_c"] = round(sum(map(int, new_orders)) * 60 / self.asked.seconds, 1)
        return result
