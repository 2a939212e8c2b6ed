#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL with the patch of mysql-buffer-hook, in a session under pgbench: buffer_postgres.py TRIB LIBRARY.

A backend dirties a page, the checkpointer or another backend writes it. At least 99 % of the pages that the pool writes
must have a front end, whose functions the trace knows, and PostgreSQL's own checks must find nothing wrong.

Exit code 77: the server cannot be fetched here, or what builds it is missing.
"""
import json
import os
import subprocess
import sys
import tempfile

SKIPPED = 77
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
UNNOTED = 0x70616765  # tributary/page.h: trib_page_unnoted_signature() >> 32


def read(trib, trace):
    """The signatures of page writes, one per write, and those whose frames the trace has."""
    written, known = [], set()
    with subprocess.Popen([trib, "inspect", "--events", "--json", trace], stdout=subprocess.PIPE) as process:
        for line in process.stdout:
            item = json.loads(line)
            if item["item"] == "signature":
                known.add(int(item["signature"], 16))
            elif item["item"] == "event" and item["kind"] == "write" and "page_class" in item["who"]:
                written.append(int(item["signature"], 16))
    if process.returncode:
        sys.exit(f"buffer_postgres: {trace} cannot be read")
    return written, known


def main():
    trib, library = sys.argv[1:]
    load = [sys.executable, os.path.join(ROOT, "bench", "loads", "postgres")]
    if subprocess.run([*load, "fetch", "--patched"], check=False).returncode:
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="trib-server-") as folder:
        subprocess.run([trib, "record", "--trace", f"{folder}/trace", "--preload", library, "--", *load, "all",
                        "--fresh", "--patched", "--data", f"{folder}/d", "--pool", "4M", "--bench", "tpcb",
                        "--scale", "4", "--seconds", "20"], check=True)
        written, known = read(trib, f"{folder}/trace")
    noted = [signature for signature in written if signature >> 32 != UNNOTED]
    nameless = sum(signature not in known for signature in noted)
    print(f"buffer_postgres: {len(written)} pages, {len(noted)} with a front end, {nameless} of which without names")
    return 0 if len(written) >= 1000 and len(noted) >= 0.99 * len(written) and not nameless else 1


if __name__ == "__main__":
    sys.exit(main())
