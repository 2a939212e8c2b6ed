# SPDX-License-Identifier: Apache-2.0
"""What MariaDB and MySQL share: SQL, options, CHECK TABLE, innochecksum."""
import glob
import os

from command import Failure, output_of, say
from server import Server

SOCKET_PATH_MAX = 107  # sun_path, unix(7)
SYSTEM_SCHEMAS = "'mysql', 'sys', 'information_schema', 'performance_schema'"


class MySqlFamily(Server):
    benches = ("tpcc", "oltp_write_only")
    has_doublewrite = True
    client = None  # its file in root

    def __init__(self, asked):
        super().__init__(asked)
        self.socket = os.path.join(self.data, "s.sock")
        if len(self.socket) > SOCKET_PATH_MAX:
            raise Failure(f"{self.socket} is too long for a socket; give a shorter --dir or --data")

    def runnable(self, program):
        """The command that runs a program of root, and its environment, are the subclass's business."""
        raise NotImplementedError

    def server_options(self):
        on = {"on": "1", "off": "0"}
        return ["--no-defaults", *(["--user=root"] if os.geteuid() == 0 else []), f"--basedir={self.root}/usr",
                f"--datadir={self.data}", f"--socket={self.socket}", f"--pid-file={self.data}/server.pid",
                "--skip-networking", f"--innodb-buffer-pool-size={self.asked.pool}",
                f"--innodb-doublewrite={on[self.asked.doublewrite]}", *(f"--{pair}" for pair in self.asked.option)]

    def pid(self):
        try:
            with open(f"{self.data}/server.pid", encoding="ascii") as file:
                return int(file.read())
        except (OSError, ValueError):
            return None

    def client_command(self, database):
        return [*self.runnable(self.client), "--no-defaults", "-u", "root", f"--socket={self.socket}", "-N", "-B", "-n",
                *([f"--database={database}"] if database else [])]

    def client_environment(self):
        return dict(os.environ, **self.environment_of_programs())

    def sql(self, text, database=None):
        return output_of([*self.client_command(database), "-e", text], env=self.client_environment())

    def fresh_database(self, name):
        self.sql(f"DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name}")

    def has_tables(self, database):
        return int(self.sql(f"SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '{database}'")) > 0

    def sysbench_options(self, database):
        return ["--db-driver=mysql", f"--mysql-socket={self.socket}", "--mysql-user=root", f"--mysql-db={database}"]

    def check_running(self):
        names = self.sql("SELECT CONCAT('`', table_schema, '`.`', table_name, '`') FROM information_schema.tables WHERE"
                         f" table_type = 'BASE TABLE' AND table_schema NOT IN ({SYSTEM_SCHEMAS})").split()
        for name in names:
            verdict = self.sql(f"CHECK TABLE {name} EXTENDED").strip().splitlines()
            if not verdict or not verdict[-1].endswith("OK"):
                raise Failure(f"CHECK TABLE {name}: {' / '.join(verdict)[:500]}")
        return len(names)

    def page_ranges(self, _file):
        """innochecksum's options, once for each part of the file that holds pages of its own."""
        return [[]]

    def check_stopped(self):
        files = sorted(glob.glob(f"{self.data}/**/*.ibd", recursive=True) + glob.glob(f"{self.data}/ibdata*")
                       + glob.glob(f"{self.data}/undo*"))
        if not files:
            raise Failure(f"{self.data} has no tablespaces")
        for file in files:
            for pages in self.page_ranges(file):
                output_of([*self.runnable("usr/bin/innochecksum"), *pages, file], env=self.client_environment())
        say(f"innochecksum: every page of {len(files)} files is whole")
