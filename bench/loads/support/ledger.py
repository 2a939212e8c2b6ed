# SPDX-License-Identifier: Apache-2.0
"""Commits counted from outside: one client inserts 1, 2, 3 ... and hears of each only after its commit."""
import subprocess
import threading


class Ledger:
    def __init__(self, server):
        self.server = server
        server.sql("CREATE TABLE IF NOT EXISTS ledger (id INT PRIMARY KEY)", "ledger")
        self.first = self.kept() + 1
        self.acknowledged = self.first - 1
        self.client = subprocess.Popen(server.client_command("ledger"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True, env=server.client_environment())
        self.thread = threading.Thread(target=self.insert, daemon=True)
        self.thread.start()

    def insert(self):
        number = self.first
        try:
            while True:
                self.client.stdin.write(f"INSERT INTO ledger VALUES ({number}); SELECT {number};\n")
                self.client.stdin.flush()
                if self.client.stdout.readline().strip() != str(number):
                    return
                self.acknowledged = number
                number += 1
        except OSError:
            return

    def end(self):
        """After the server died. The last number whose commit was acknowledged, 0 if none in this round."""
        self.client.kill()
        self.client.wait()
        self.thread.join()
        return self.acknowledged if self.acknowledged >= self.first else 0

    def kept(self):
        """How many of 1, 2, 3 ... are there without a gap."""
        count, last = self.server.sql("SELECT COUNT(*), COALESCE(MAX(id), 0) FROM ledger", "ledger").split()
        return int(last) if count == last else 0
