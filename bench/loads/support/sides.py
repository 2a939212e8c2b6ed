# SPDX-License-Identifier: Apache-2.0
"""One thing with and without another, at the same time: each has one half of the processors, and they change halves
from pair to pair. What else happens to the machine happens to both."""
import concurrent.futures
import os

from command import Failure

LOAD_QUIET = 1.0  # load average from which on a difference of some percent means little


def halves():
    """Two lists of processors for taskset, as large as each other."""
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) < 2:
        raise Failure("two processors are wanted: one for each side")
    half = len(processors) // 2
    return [",".join(map(str, part)) for part in (processors[:half], processors[half:2 * half])]


def pair(number, measure):
    """{False: measure(False, half), True: measure(True, other half)}"""
    both = halves()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        runs = {side: pool.submit(measure, side, both[(number + side) % 2]) for side in (False, True)}
        return {side: run.result() for side, run in runs.items()}
