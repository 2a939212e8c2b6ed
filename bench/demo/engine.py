# SPDX-License-Identifier: Apache-2.0
"""One db_bench run through the RocksDB adapter: a trace, the live drive's figures, and how much the fill wrote."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time

from steps import Failure, last_lines

GIB = 1 << 30
FINISHED = re.compile(rb"finished (\d+) ops")
RESULT = re.compile(r"^(fillrandom|filluniquerandom|fillseq|overwrite) +: +([\d.]+) micros/op (\d+) ops/sec", re.M)
WRITTEN = re.compile(r"^Cumulative (?:WAL: .*written|compaction): ([\d.]+) (KB|MB|GB|TB)", re.M)
SCALE = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}


def database_bytes(experiment):
    """What the databases need at most, roughly: universal compaction holds two copies while it merges all of one."""
    data = int(experiment.engine["num"]) * int(experiment.engine["value_size"])
    return data * (2 * experiment.databases + (experiment.engine.get("compaction_style") == "1"))


def memory_available():
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    return 0


def database_parent(experiment, out, asked):
    """Memory if there is plenty, because thousands of small files, each synced, would measure the disk instead."""
    need = database_bytes(experiment)
    shm = "/dev/shm"
    if not asked and os.access(shm, os.W_OK) and shutil.disk_usage(shm).free > need \
            and memory_available() > need + GIB:
        return shm
    parent = asked or out
    if shutil.disk_usage(parent).free < need:
        raise Failure(f"{parent} has {shutil.disk_usage(parent).free / GIB:.1f} GiB free, the database needs up to "
                      f"{need / GIB:.1f}: free some, or give another directory with --database-in")
    return parent


class Output:
    """Reads db_bench's stderr so that the pipe never fills; keeps the progress and the last lines."""

    def __init__(self, stream):
        self.operations_before = self.operations = 0
        self.tail = b""
        self.thread = threading.Thread(target=self.read, args=(stream,), daemon=True)
        self.thread.start()

    def read(self, stream):
        while chunk := os.read(stream.fileno(), 1 << 16):
            for match in FINISHED.finditer(chunk):
                done = int(match[1])
                if done < self.operations:  # the next benchmark counts from 0
                    self.operations_before += self.operations
                self.operations = done
            self.tail = (self.tail + chunk)[-8192:]

    def done(self):
        return self.operations_before + self.operations


class Recording:
    """Attributes: command, environment (texts for people), trace, live (dict), fill_share, throughput, seconds,
    database_peak_bytes, database_parent."""


def flags(experiment):
    engine = dict(experiment.engine)
    # The statistics after each benchmark say how much of the trace belongs to the fill.
    benchmarks = [name for each in engine.pop("benchmarks").split(",") for name in (each, "stats")]
    return [f"--benchmarks={','.join(benchmarks)}"] + [f"--{key}={value}" for key, value in engine.items()]


def fill_share(text, databases=1):
    """Bytes written by the end of the first benchmark, as a share of all. After each benchmark there is a dump for each
    database: a figure for compaction and flush, and one for the WAL."""
    figures = [float(match[1]) * SCALE[match[2]] for match in WRITTEN.finditer(text)]
    dumps = [sum(figures[i:i + 2]) for i in range(0, len(figures), 2)]
    total = sum(dumps[-databases:])
    if len(dumps) < 2 * databases or total <= 0:
        raise Failure("db_bench printed no statistics that could be read; is it RocksDB 7.8's?")
    return sum(dumps[:databases]) / total


def directory_bytes(path):
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                total += os.stat(os.path.join(folder, name)).st_size
            except FileNotFoundError:
                pass  # compaction deletes while we look
    return total


def record(experiment, build, out, parent, steps):
    """Runs db_bench; throws Failure. The database is gone afterwards, whatever happens."""
    shim = f"{build}/rocksdb-env/libtributary-rocksdb.so"
    db_bench = shutil.which("db_bench")
    if not db_bench:
        raise Failure("db_bench is not installed; run scripts/setup (Debian package rocksdb-tools)")
    recording = Recording()
    recording.trace = f"{out}/run.trib"
    stats, stdout = f"{out}/live.json", f"{out}/db_bench.out"
    for stale in (recording.trace, stats):
        if os.path.exists(stale):
            os.remove(stale)
    options = f"trace={recording.trace},stats={stats},{experiment.live_options()}"
    recording.environment = f"LD_PRELOAD=libtributary-rocksdb.so TRIBUTARY_OPTIONS={experiment.live_options()},trace=…"
    recording.command = " ".join(["db_bench", "--fs_uri=tributary://", "--db=…", *flags(experiment)])
    recording.database_parent = parent
    recording.database_peak_bytes = 0
    database = tempfile.mkdtemp(prefix="tributary-demo-", dir=parent)
    started = time.time()
    try:
        with open(stdout, "wb") as file:
            process = subprocess.Popen(
                [db_bench, "--fs_uri=tributary://", f"--db={database}", *flags(experiment)],
                stdout=file, stderr=subprocess.PIPE,
                env=dict(os.environ, TRIBUTARY_OPTIONS=options, LD_PRELOAD=shim))
        try:
            output = Output(process.stderr)
            watch(process, output, database, recording, experiment, steps)
        except BaseException:
            process.kill()
            process.wait()
            raise
    finally:
        shutil.rmtree(database, ignore_errors=True)
    recording.seconds = time.time() - started
    if process.returncode != 0 or not os.path.exists(stats):
        tail = output.tail.decode(errors="replace").splitlines()[-10:]
        raise Failure(f"db_bench failed ({process.returncode}); the end of its output:\n"
                      + last_lines(stdout, 5) + "\n" + "\n".join("    " + line[:160] for line in tail))
    with open(stdout, encoding="utf-8", errors="replace") as file:
        text = file.read()
    with open(stats, encoding="utf-8") as file:
        recording.live = json.load(file)
    recording.throughput = {match[1]: int(match[3]) for match in RESULT.finditer(text)}
    recording.fill_share = fill_share(text, experiment.databases)
    return recording


def watch(process, output, database, recording, experiment, steps):
    while process.poll() is None:
        time.sleep(0.5)
        recording.database_peak_bytes = max(recording.database_peak_bytes, directory_bytes(database))
        done = min(output.done(), experiment.operations)
        steps.progress(f"{100 * done / experiment.operations:3.0f} % of {experiment.operations:,} writes; database "
                       f"{recording.database_peak_bytes / 1e9:.1f} GB")
    output.thread.join()
