# SPDX-License-Identifier: Apache-2.0
"""One thing with and without another, at the same time: each has one half of the processors, and they change halves
from pair to pair. What else happens to the machine happens to both. Where it happens to one processor and not to
another, as on a machine that shares its host, the two can share a half: the scheduler then deals the good milliseconds
and the bad ones to both, and processor time is what can be compared, not throughput."""
import concurrent.futures
import os

from command import Failure

LOAD_QUIET = 1.0  # load average from which on a difference of some percent means little


def add_option(parser):
    parser.add_argument("--share", action="store_true",
                        help="both on the same half of the processors, for a machine whose processors differ from"
                             " minute to minute: compare processor times then")


def halves():
    """Two lists of processors for taskset, as large as each other."""
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) < 2:
        raise Failure("two processors are wanted: one for each side")
    half = len(processors) // 2
    return [",".join(map(str, part)) for part in (processors[:half], processors[half:2 * half])]


def pair(number, measure, share=False):
    """{False: measure(False, half), True: measure(True, other half)}; with share both on one, the next pair's on the
    other."""
    both = halves()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        runs = {side: pool.submit(measure, side, both[(number + (0 if share else side)) % 2])
                for side in (False, True)}
        return {side: run.result() for side, run in runs.items()}
