#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of a page and compares what they print with what the page shows.

usage: run_page.py PAGE FOLDER_OF_TRIB FOLDER_OF_LIBRARIES

Blocks fenced as "console run" hold "$ command" lines, each followed by what it prints. All blocks of a page are one
shell in an empty folder. A whole number below 10, 0 above all, is compared as it stands, with its unit; other numbers,
sizes, times and runs of spaces may differ, but nothing is 0 that the page does not show as 0. "..." stands for any
text, alone on a line for any lines, and a rule of dashes for one of any length. A command must succeed, unless
"# exit N" ends its line. What a command in the background prints is waited for for five seconds."""
import os
import re
import subprocess
import sys
import tempfile
import time


def commands_of(page):
    found, command, inside = [], None, False
    with open(page, encoding="utf-8") as lines:
        for line in lines.read().split("\n"):
            if line.startswith("```"):
                inside, command = line == "```console run", None
            elif inside and line.startswith("$ "):
                command = (line[2:], [])
                found.append(command)
            elif inside and command:
                command[1].append(line)
            elif inside:
                sys.exit(f"{page}: '{line}' belongs to no command")
    return found


# In text that re.escape has seen: a time, or digits and the unit behind them.
NUMBER = r"\b[0-9]+(?::[0-9][0-9])+\b|\b[0-9](?:[0-9]|,(?=[0-9])|\\\.(?=[0-9]))*(?:\\s\+(?:[KMGT]i)?B\b)?"
NOT_ZERO = r"(?![0,.]+(?![0-9,.]))"


def pattern_of_number(number):
    if ":" in number[0]:
        return r"[0-9]+(?::[0-9][0-9])+"
    digits, unit = re.fullmatch(r"([0-9,.\\]+?)((?:\\s\+(?:[KMGT]i)?B)?)", number[0]).groups()
    if re.fullmatch("[0-9]", digits):
        return r"(?<![0-9.,])" + digits + r"(?![0-9]|[.,][0-9])" + unit
    return NOT_ZERO + r"[0-9][0-9,.]*" + (r"\s+(?:[KMGT]i)?B" if unit else "")


def pattern_of(shown):
    parts = []
    for line in shown:
        if line.strip() == "...":
            parts.append(r"(?:[^\n]*\n)*?")
            continue
        if re.fullmatch("-+", line):
            parts.append(r"-+\n")
            continue
        text = re.escape(line.strip())
        text = re.sub(r"(\\ )+", r"\\s+", text)
        text = text.replace(re.escape("..."), ".*")
        text = re.sub(NUMBER, pattern_of_number, text)
        parts.append(r"[ \t]*" + text + r"[ \t]*\n")
    return re.compile("".join(parts))


class Shell:
    def __init__(self, folder, environment):
        self.out = open(os.path.join(folder, ".out"), "w+b")
        self.shell = subprocess.Popen(["bash", "--norc"], stdin=subprocess.PIPE, stdout=self.out,
                                      stderr=subprocess.STDOUT, cwd=folder, env=environment, start_new_session=True)
        self.at, self.number = 0, 0

    def text(self):
        self.out.flush()
        with open(self.out.name, "rb") as now:
            return now.read()[self.at:].decode("utf-8", "replace")

    def run(self, command):
        self.number += 1
        mark = f"@@{self.number}@@"
        self.shell.stdin.write(f"{command}\necho \"{mark}$?@@\"\n".encode())
        self.shell.stdin.flush()
        for _ in range(1200):
            end = re.search(re.escape(mark) + r"(\d+)@@\n", self.text())
            if end:
                return int(end[1])
            time.sleep(0.05)
        sys.exit(f"'{command}' did not end within a minute")

    def printed(self):
        return re.sub(r"@@\d+@@\d+@@\n", "", self.text())

    def forget(self):
        self.at = os.path.getsize(self.out.name)

    def close(self):
        self.shell.stdin.close()
        self.shell.wait(10)


def check(shell, command, shown, page):
    wanted = re.search(r"# exit (\d+)$", command)
    while shown and not shown[-1].strip():
        shown.pop()
    pattern, is_aside = pattern_of(shown), command.rstrip().endswith("&")
    shell.forget()
    code = shell.run(command)
    tries = 100 if is_aside else 1
    for _ in range(tries):
        if pattern.fullmatch(shell.printed()):
            break
        time.sleep(0.05)
    else:
        sys.exit(f"{page}: '{command}' prints\n{shell.printed()}\nbut the page shows\n" + "\n".join(shown))
    if code != (int(wanted[1]) if wanted else 0):
        sys.exit(f"{page}: '{command}' ended with {code}")


def main():
    page, programs, libraries = sys.argv[1:4]
    commands = commands_of(page)
    if not commands:
        sys.exit(f"{page}: no command to run")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TRIBUTARY", "LD_"))}
    environment.update(PATH=programs + ":" + environment["PATH"], LD_LIBRARY_PATH=libraries, LC_ALL="C.UTF-8")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        shell = Shell(folder, environment)
        try:
            for command, shown in commands:
                check(shell, command, shown, page)
        finally:
            shell.run("kill $(jobs -p) 2>/dev/null; wait 2>/dev/null; true")
            shell.close()
    print(f"{page}: {len(commands)} commands do what it shows")


main()
