# SPDX-License-Identifier: Apache-2.0
"""Steps of a long run, told to a person: one line when a step starts, progress while it lasts, its time when it ends.

On a terminal progress overwrites its line; elsewhere it is a line every half minute.
"""
import subprocess
import sys
import time


class Failure(Exception):
    """What went wrong and what to do, in a sentence or two."""


class Steps:
    QUIET_S = 30  # between progress lines where they cannot be overwritten

    def __init__(self, total, started=None):
        self.total = total
        self.number = 0
        self.started = started or time.time()
        self.terminal = sys.stdout.isatty()
        self.last_progress = 0.0
        self.step_started = self.started
        self.drawn = False

    def elapsed(self):
        return time.time() - self.started

    def begin(self, what):
        self.number += 1
        self.step_started = self.last_progress = time.time()
        print(f"[{self.number}/{self.total}] {clock(self.elapsed())} {what}", flush=True)

    def progress(self, text):
        now = time.time()
        if not self.terminal and now - self.last_progress < self.QUIET_S:
            return
        self.last_progress = now
        end = "\r" if self.terminal else "\n"
        clear = "\x1b[K" if self.terminal else ""
        print(f"      {clock(now - self.step_started)} {text}"[:79] + clear, end=end, flush=True)
        self.drawn = self.terminal

    def end(self, text=""):
        if self.drawn:
            print("\x1b[K", end="")
            self.drawn = False
        took = time.time() - self.step_started
        print(f"      done in {took:.0f} s{'; ' + text if text else ''}", flush=True)

    def run(self, command, log, progress=None, **options):
        """Runs a command with its output in the file `log`; a failure shows the end of it."""
        with open(log, "ab") as output:
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, **options)
            try:
                while process.poll() is None:
                    time.sleep(0.2)
                    self.progress(progress() if progress else "")
            except BaseException:
                process.terminate()
                process.wait()
                raise
        if process.returncode != 0:
            tail = last_lines(log, 15)
            raise Failure(f"{command[0]} failed ({process.returncode}); the end of {log}:\n{tail}")


def clock(seconds):
    return f"{int(seconds) // 60:2d}:{int(seconds) % 60:02d}"


def last_lines(path, count):
    with open(path, "rb") as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - 16384))
        lines = file.read().decode(errors="replace").replace("\r", "\n").splitlines()
    return "\n".join("    " + line[:160] for line in lines[-count:])
