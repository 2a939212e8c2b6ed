# SPDX-License-Identifier: Apache-2.0
"""Programs of this project that the loads need: from a build that exists, else from build/release."""
import os

from command import Failure, ROOT, run, say


def add_option(parser):
    parser.add_argument("--build", type=os.path.abspath, metavar="DIR",
                        help="a build that exists, instead of building build/release")


def program(asked, path, target, package=None):
    """The program's path; builds `target` unless --build says where it is."""
    if asked.build:
        found = os.path.join(asked.build, path)
        if not os.path.exists(found):
            raise Failure(f"{found} is not there; build the target {target}")
        return found
    log = os.path.join(asked.dir, "build.log")
    run(["cmake", "--preset", "release"], log, cwd=ROOT)
    found = os.path.join(ROOT, "build", "release", path)
    if not os.path.exists(found):
        say(f"building {target}")
    try:
        run(["cmake", "--build", "--preset", "release", "--target", target], log, cwd=ROOT)
    except Failure as failure:
        hint = f"\nDoes it lack {package}? scripts/setup --with loads" if package else ""
        raise Failure(f"{failure}{hint}") from failure
    return found
