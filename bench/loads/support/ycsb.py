# SPDX-License-Identifier: Apache-2.0
"""YCSB as the client of a Java store: its own artifacts and the store's through Maven, bindings of ours compiled,
results read."""
import json
import os
import re
import subprocess

from command import Failure, last_lines, say
from java import Classes, add_options as add_java_options, java_of

SOURCES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "ycsb_stores")
WORKLOADS = {"a": {"readproportion": 0.5, "updateproportion": 0.5},
             "b": {"readproportion": 0.95, "updateproportion": 0.05},
             "f": {"readproportion": 0.5, "updateproportion": 0, "readmodifywriteproportion": 0.5},
             "update": {"readproportion": 0, "updateproportion": 1}}
OPERATIONS_A_SECOND, RUN_MS = "OVERALL], Throughput(ops/sec)", "OVERALL], RunTime(ms)"


def add_options(parser):
    add_java_options(parser, "store")
    parser.add_argument("--records", type=int, default=100000, help="(default: %(default)s)")
    parser.add_argument("--operations", type=int, default=200000, help="run: (default: %(default)s)")
    parser.add_argument("--seconds", type=int, help="run: end after so many, even if operations are left")
    parser.add_argument("--rate", type=int, help="run: at most so many operations a second")
    parser.add_argument("--workload", choices=WORKLOADS, default="a",
                        help="YCSB's, or nothing but updates (default: %(default)s)")
    parser.add_argument("--property", action="append", default=[], metavar="K=V",
                        help="load, run, check: one more of YCSB's")
    parser.add_argument("--threads", type=int, default=8, help="of the client (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="taken for the other loads' sake; YCSB has no seed")


def check_options(parser, asked):
    if asked.records < 1 or asked.operations < 1 or asked.threads < 1:
        parser.error("--records, --operations and --threads want numbers above 0")


class Ycsb:
    def __init__(self, asked, pom, folder, bindings):
        self.asked, self.java = asked, java_of(asked)
        self.classes = Classes(self.java, pom, folder, [os.path.join(SOURCES, name) for name in bindings])

    def fetch(self, what, *definitions):
        self.classes.fetch(f"{what} and YCSB", *definitions)

    def results(self, mode, store, flags, log, properties):
        """Of one run of the client, by name; `flags` are its JVM's."""
        asked = self.asked
        common = {"workload": "site.ycsb.workloads.CoreWorkload", "recordcount": asked.records,
                  "operationcount": asked.operations, "requestdistribution": "zipfian", "scanproportion": 0,
                  "insertproportion": 0, "dataintegrity": "true", "readallfields": "true", **properties,
                  **dict(pair.split("=", 1) for pair in asked.property)}
        words = [word for key, value in common.items() for word in ("-p", f"{key}={value}")]
        with open(log, "wb") as file:
            done = subprocess.run([self.java, *flags, "-cp", self.classes.path, "site.ycsb.Client", f"-{mode}", "-db",
                                   f"io.tributary.bench.{store}", "-threads", str(asked.threads), *words],
                                  stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, check=False)
        with open(log, encoding="utf-8", errors="replace") as file:
            text = file.read()
        results = {name: float(value) for name, value in re.findall(r"^\[([\w-]+\], [^,]+), ([\d.]+)$", text, re.M)}
        bad = [name for name in results if "Return=" in name and not name.endswith("Return=OK")]
        if done.returncode != 0 or bad or OPERATIONS_A_SECOND not in results:
            said = ", ".join([str(done.returncode), *bad])
            raise Failure(f"YCSB failed ({said}); the end of {log}:\n{last_lines(log)}")
        return results

    def load(self, results_of):
        say(f"inserting {self.asked.records} rows")
        say(f"{results_of('load', {})[OPERATIONS_A_SECOND]:.0f} rows a second")

    def run(self, results_of, **told):
        """Prints one line of JSON, and returns it."""
        asked = self.asked
        limit = {"maxexecutiontime": asked.seconds} if asked.seconds else {}
        rate = {"target": asked.rate} if asked.rate else {}
        say(f"running workload {asked.workload}")
        results = results_of("t", {**WORKLOADS[asked.workload], **limit, **rate})
        told = {**told, "workload": asked.workload, "records": asked.records, "operations": asked.operations,
                "operations_per_second": results[OPERATIONS_A_SECOND], "seconds": results[RUN_MS] / 1000}
        print(json.dumps(told), flush=True)
        return told

    def check(self, results_of, **told):
        rows = self.asked.records
        results = results_of("t", {"readproportion": 1, "updateproportion": 0, "operationcount": rows,
                                   "requestdistribution": "sequential", "store.checksum": "true"})
        right = results.get("VERIFY], Return=OK", 0)
        if right != rows:
            raise Failure(f"of {rows} rows {right:.0f} are what was written")
        say(f"{rows} rows are what was written")
        print(json.dumps({**told, "rows": rows, "checksum": f"{int(results['CHECKSUM], Sum']):012x}"}), flush=True)
