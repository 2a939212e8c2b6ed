#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the demo's and the report's pure parts; tests/integration/report_test.cpp runs them under ctest."""
import glob
import os
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True  # the source tree stays clean
sys.path[:0] = [os.path.join(ROOT, "bench", "demo"), os.path.join(ROOT, "bench", "report")]

import engine  # noqa: E402
import result  # noqa: E402
import words  # noqa: E402
from experiment import Experiment, size_bytes  # noqa: E402
from steps import Failure  # noqa: E402

STATS = """
Cumulative compaction: {} GB write, 144.50 MB/s write, 18.13 GB read, 137.53 MB/s read, 59.0 seconds
Cumulative writes: 2000K writes, 2000K keys, 2000K commit groups, ingest: 1.92 GB, 14.58 MB/s
Cumulative WAL: 2000K writes, 0 syncs, 2000000.00 writes per sync, written: {} GB, 14.58 MB/s
"""


def demo():
    return Experiment(os.path.join(ROOT, "bench", "experiments", "demo.ini"))


def row(label, steady, gc="same", **more):
    return {"label": label, "gc": gc, "waf_steady": steady, "waf": steady, **more}


class Experiments(unittest.TestCase):
    def test_every_committed_experiment_loads_and_has_a_real_ratio(self):
        for path in glob.glob(os.path.join(ROOT, "bench", "experiments", "demo*.ini")):
            experiment = Experiment(path)
            self.assertGreaterEqual(size_bytes(experiment.drive["superblock"]), 8 * experiment.sst_bytes, path)
            self.assertLessEqual(int(experiment.engine["write_buffer_size"]), experiment.sst_bytes, path)
            self.assertIn("none", dict(experiment.rows), path)

    def test_a_wrong_file_is_told(self):
        for text in ("[engine]\nnum = 1\n", "[engine]\n[drive]\nfill = 90\n[table]\n", "num = 1\n",
                     "[engine]\n[drive]\n[table]\n[extra]\n"):
            with tempfile.NamedTemporaryFile("w", suffix=".ini") as file:
                file.write(text)
                file.flush()
                with self.assertRaises(Failure):
                    Experiment(file.name)
        with self.assertRaises(Failure):
            Experiment("/nonexistent.ini")

    def test_scaling_keeps_the_shape(self):
        full, small = demo(), demo()
        small.scale(1 / 8)
        self.assertEqual(int(small.engine["num"]) * 8, int(full.engine["num"]))
        self.assertEqual(small.engine["target_file_size_base"], full.engine["target_file_size_base"])
        self.assertAlmostEqual(size_bytes(small.drive["live_capacity"]) * 8 / size_bytes(full.drive["live_capacity"]),
                               1, places=2)

    def test_sizes(self):
        self.assertEqual(size_bytes("4096"), 4096)
        self.assertEqual(size_bytes("2M"), 2 << 20)


class Engine(unittest.TestCase):
    def test_fill_share(self):
        text = STATS.format("4.00", "1.00") + STATS.format("18.00", "2.00")
        self.assertAlmostEqual(engine.fill_share(text), 0.25)

    def test_fill_share_of_several_databases(self):
        fill = STATS.format("4.00", "1.00") + STATS.format("2.00", "1.00")
        text = fill + STATS.format("8.00", "2.00") + STATS.format("7.00", "3.00")
        self.assertAlmostEqual(engine.fill_share(text, 2), 0.4)
        with self.assertRaises(Failure):
            engine.fill_share(fill, 2)

    def test_fill_share_needs_statistics(self):
        for text in ("", STATS.format("4.00", "1.00")):
            with self.assertRaises(Failure):
                engine.fill_share(text)

    def test_statistics_follow_each_benchmark(self):
        self.assertEqual(engine.flags(demo())[0], "--benchmarks=fillrandom,stats,overwrite,stats,overwrite,stats")


class Checks(unittest.TestCase):
    LABELS = ("none", "rocksdb-hints", "manual", "pcstream", "pcstream+internal", "pcstream salted+internal")

    def met(self, *values):
        rows = [row(label, value) for label, value in zip(self.LABELS, values)]
        return [each["met"] for each in result.checks(demo(), rows)]

    def test_the_wanted_shape(self):
        self.assertEqual(self.met(1.6, 1.06, 1.07, 1.3, 1.2, 1.05), [True, True, True, True])

    def test_each_miss_is_seen(self):
        self.assertEqual(self.met(1.6, 1.06, 1.07, 1.2, 1.3, 1.05), [False, True, True, True])
        self.assertEqual(self.met(1.6, 1.06, 1.07, 1.5, 1.4, 1.05), [True, False, True, True])
        self.assertEqual(self.met(1.6, 1.01, 1.02, 1.3, 1.2, 1.05), [True, True, False, True])
        self.assertEqual(self.met(1.6, 1.20, 1.20, 1.3, 1.2, 1.20), [True, True, True, False])

    def test_text_fits_a_terminal(self):
        rows = [row(label, 1.6 if label == "none" else 1.1, gc) for gc in ("same", "shared") for label in self.LABELS]
        drive = {"over_provisioning_percent": 7.0, "live_peak_percent": 90.0, "cold_percent": 30.0,
                 "reclaim_unit_bytes": 2 << 20, "reclaim_units": 1000, "open_share_percent": 17.0,
                 "capacity_bytes": 2 << 30, "capacities_written": 8.0}
        compared = {"drive": drive, "rows": rows, "trace": {"host_bytes": 20 << 30}}
        summary = {"regime": result.regime(demo(), compared, None), "checks": result.checks(demo(), rows), "live": None,
                   "notes": ["a note " * 20]}
        self.assertTrue(all(each["met"] is not False for each in summary["regime"]))
        self.assertLessEqual(max(map(len, result.text(summary).splitlines())), 80)

    def test_a_waf_that_still_moves_is_told(self):
        def told(*windows):
            return result.drift({"series": [{"waf_window": waf} for waf in windows]})
        self.assertEqual(told(1.0, 1.2, 1.50, 1.54), [])
        self.assertEqual(told(1.0, 1.0, 1.0, 1.0), [])
        self.assertIn("1.50 in the third quarter of the writes, 1.60 in the last", told(1.0, 1.2, 1.5, 1.6)[0])
        self.assertEqual(len(told(1.0, 1.2, 1.6, 1.5)), 1)
        self.assertEqual(result.drift(None), [])

    def test_live_agrees_within_a_thousandth(self):
        live = {"host_pages": 1000000, "gc_pages": 100000, "erases": 1, "policy": "pcstream", "events": 1,
                "events_dropped": 0, "drive_errors": 0}
        for waf, agrees in ((1.1, True), (1.1005, True), (1.102, False), (1.098, False)):
            replay = {"waf": waf, "options": "", "host_pages": 1, "gc_pages": 1, "erases": 1}
            self.assertEqual(result.live_figures(live, replay)["agrees"], agrees, waf)


class Words(unittest.TestCase):
    def test_sizes(self):
        self.assertEqual(words.size(0), "0 B")
        self.assertEqual(words.size(1536), "1.50 KiB")
        self.assertEqual(words.size(200 << 20), "200 MiB")
        self.assertEqual(words.size(None), "–")

    def test_symbols(self):
        self.assertEqual(words.symbol("lib.so!rocksdb::DBImpl::Run(int)+0x1f"), "DBImpl::Run")
        self.assertEqual(words.symbol("lib.so+0x1f"), "")

    def test_short_path_keeps_both_ends(self):
        frames = [f"m!f{i}+0x1" for i in range(8)] + ["m!rocksdb::ThreadPoolImpl::Impl::BGThread+0x2", "m+0x3"]
        self.assertEqual(words.short_path(frames), "f7 › f6 › … › f1 › f0")
        self.assertEqual(words.short_path(["m+0x3"]), "m+0x3")
        self.assertEqual(words.short_path([]), "unknown")


if __name__ == "__main__":
    unittest.main()
