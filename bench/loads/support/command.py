# SPDX-License-Identifier: Apache-2.0
"""What every load needs to talk to a person and to run other programs."""
import os
import shutil
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
STARTED = time.monotonic()


class Failure(Exception):
    """What went wrong and what to do, in a sentence or two."""


def say(text):
    elapsed_s = int(time.monotonic() - STARTED)
    print(f"{elapsed_s // 60:3d}:{elapsed_s % 60:02d} {text}", flush=True)


def default_folder():
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(cache, "tributary", "loads")


def add_folder_options(parser):
    parser.add_argument("--dir", default=default_folder(), type=os.path.abspath,
                        help="programs and sources go below this folder, and data (default: %(default)s)")
    parser.add_argument("--data", type=os.path.abspath,
                        help="the folder of what the load writes (default: DIR/LOAD/data)")


def need(tool, package):
    """The path of a program that a Debian package provides."""
    found = shutil.which(tool)
    if not found:
        raise Failure(f"{tool} is not installed; run scripts/setup --with loads (Debian package {package})")
    return found


def last_lines(path, count=15):
    try:
        with open(path, "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 16384))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError as error:
        return f"    ({error})"
    return "\n".join("    " + line[:200] for line in lines[-count:])


def run(command, log, **options):
    """Runs a command with its output appended to the file `log`; a failure shows the end of it."""
    os.makedirs(os.path.dirname(log), exist_ok=True)
    with open(log, "ab") as output:
        done = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False,
                              **options)
    if done.returncode != 0:
        program = os.path.basename(command[0])
        raise Failure(f"{program} failed ({done.returncode}); the end of {log}:\n{last_lines(log)}")


def output_of(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                          check=False, **options)
    if done.returncode != 0:
        raise Failure(f"{' '.join(command)[:200]} failed ({done.returncode}): {done.stderr.strip()[-1000:]}")
    return done.stdout


def finish(name, main):
    """Runs main; a failure is one message on stderr and exit code 1. SIGTERM, too, runs what `finally` stops."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        sys.exit(main())
    except (Failure, OSError) as failure:
        print(f"{name}: {failure}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
