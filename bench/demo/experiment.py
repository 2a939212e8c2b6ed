# SPDX-License-Identifier: Apache-2.0
"""An experiment is a committed .ini file: what the engine does, the drive, the rows of the table."""
import configparser

from steps import Failure

SECTIONS = ("engine", "drive", "table")
DRIVE_KEYS = ("superblock", "over_provisioning", "streams", "fill", "cold", "live_capacity", "live_cold")
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def size_bytes(text):
    text = text.strip()
    unit = UNITS.get(text[-1:].upper())
    return int(text[:-1]) * unit if unit else int(text)


class Experiment:
    """Attributes: path; engine, drive: dicts of text; gcs: list; rows: list of (label, policy and options)."""

    def __init__(self, path):
        parser = configparser.ConfigParser(delimiters=("=",), interpolation=None)
        parser.optionxform = str
        try:
            with open(path, encoding="utf-8") as file:
                parser.read_file(file)
        except (OSError, configparser.Error) as error:
            raise Failure(f"cannot read the experiment: {error}") from None
        unknown = [name for name in parser.sections() if name not in SECTIONS]
        missing = [name for name in SECTIONS if not parser.has_section(name)]
        if unknown or missing:
            raise Failure(f"{path}: sections must be {', '.join(SECTIONS)}; "
                          f"unknown: {', '.join(unknown) or '-'}, missing: {', '.join(missing) or '-'}")
        self.path = path
        self.engine = dict(parser["engine"])
        self.drive = dict(parser["drive"])
        if sorted(self.drive) != sorted(DRIVE_KEYS):
            raise Failure(f"{path}: [drive] must have exactly the keys {', '.join(DRIVE_KEYS)}")
        table = dict(parser["table"])
        self.gcs = table.pop("gc", "same,shared").split(",")
        self.rows = list(table.items())

    def scale(self, factor):
        """A smaller run of the same shape on a smaller drive; for smoke tests, not for figures."""
        self.engine["num"] = str(max(1, int(int(self.engine["num"]) * factor)))
        capacity = int(size_bytes(self.drive["live_capacity"]) * factor)
        self.drive["live_capacity"] = f"{-(-capacity >> 20)}M"

    @property
    def operations(self):
        """All that db_bench will do, over its benchmarks that write."""
        writing = [name for name in self.engine["benchmarks"].split(",") if name != "stats"]
        return int(self.engine["num"]) * self.databases * len(writing)

    @property
    def databases(self):
        return max(1, int(self.engine.get("num_multi_db", "1")))

    @property
    def sst_bytes(self):
        return int(self.engine["target_file_size_base"])

    def live_options(self):
        """Of the pipeline inside db_bench, and of the replay that must agree with it."""
        drive = self.drive
        return (f"policy=pcstream,drive=emulated,capacity={drive['live_capacity']},cold={drive['live_cold']},"
                f"op={drive['over_provisioning']},superblock={drive['superblock']},streams={drive['streams']},gc=same")
