#!/usr/bin/env python3
"""The benchmarks of bench/ run, check their answers and write what programs and people can read."""

import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = sys.argv.pop(1)
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "bench"))
import chart  # noqa: E402  pylint: disable=wrong-import-position
import measure  # noqa: E402  pylint: disable=wrong-import-position

SVG = "{http://www.w3.org/2000/svg}"
TINY = ["--repeats", "1", "--milliseconds", "0.1"]


def run(name, *arguments):
    command = [os.path.join(ROOT, "bench", name), *arguments, "--build", BUILD]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class Names(unittest.TestCase):
    def test_all_is_what_the_tool_knows(self):
        for collective, names in measure.ALGORITHMS.items():
            if not names:  # of those that the tool has no plans of
                continue
            refused = subprocess.run(
                [os.path.join(BUILD, "weft"), "plan", collective, "--algorithm", "nonsense",
                 "--nodes", "1", "--bytes", "8"], capture_output=True, text=True, check=False)
            known = set(re.findall(r"[\w-]+", refused.stderr.split("not one of")[1]))
            self.assertLessEqual({name.split(":")[0] for name in names}, known, collective)
            if collective == "alltoall":
                self.assertEqual({name.split(":")[0] for name in names}, known)

    def test_a_collective_with_skew_is_named_as_the_program_takes_it(self):
        self.assertEqual(measure.subject("alltoall"), "alltoall")
        self.assertEqual(measure.subject("alltoallv", "one"), "alltoallv:one")
        self.assertEqual(measure.subject("alltoallv", "random", 7), "alltoallv:random=7")


class Chart(unittest.TestCase):
    def test_larger_lies_further_right_and_slower_further_up(self):
        figures = {"a < b & c": {1: 3.0, 64: 30.0, 4096: 2900.0}, "d": {1: 4.0}}
        tree = xml.fromstring(chart.plot("<title>", "bytes", figures))
        lines = tree.findall(f"{SVG}polyline")
        self.assertEqual(len(lines), 2)
        points = [[float(word) for word in point.split(",")]
                  for point in lines[0].get("points").split()]
        self.assertEqual(points, sorted(points))
        heights = [y for _, y in points]
        self.assertEqual(heights, sorted(heights, reverse=True))
        # Both axes are logarithmic: equal ratios are equal distances.
        self.assertAlmostEqual(points[1][0] - points[0][0], points[2][0] - points[1][0], delta=0.2)
        for x, y in points:
            self.assertTrue(0 <= x <= float(tree.get("width")))
            self.assertTrue(0 <= y <= float(tree.get("height")))
        words = [text.text for text in tree.findall(f"{SVG}text")]
        for expected in ("<title>", "a < b & c", "d", "bytes", "1 B", "64 B", "4 KiB", "10 µs"):
            self.assertIn(expected, words)


class Files(unittest.TestCase):
    def check_files(self, folder, names, sizes, compared):
        """What --csv, --json and --plot wrote says the same of the same runs."""
        with open(os.path.join(folder, "a.csv"), encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([(row["series"], int(row["bytes"])) for row in rows],
                         [(name, size) for name in names for size in sizes])
        medians = {(row["series"], row["bytes"]): float(row["median_us"]) for row in rows}
        for row in rows:
            self.assertGreater(float(row["median_us"]), 0)
            self.assertLessEqual(float(row["least_us"]), float(row["median_us"]))
            self.assertLessEqual(float(row["median_us"]), float(row["most_us"]))
            for other in compared:
                self.assertAlmostEqual(
                    float(row[f"over {other}"]),
                    medians[row["series"], row["bytes"]] / medians[other, row["bytes"]])
        with open(os.path.join(folder, "a.json"), encoding="utf-8") as file:
            told = json.load(file)
        self.assertEqual(told["compared"], compared)
        self.assertEqual([{name: str(value) for name, value in row.items()}
                          for row in told["results"]], rows)
        tree = xml.parse(os.path.join(folder, "a.svg")).getroot()
        lines = tree.findall(f"{SVG}polyline")
        self.assertEqual([len(line.get("points").split()) for line in lines],
                         [len(sizes)] * len(names))
        words = [text.text for text in tree.findall(f"{SVG}text")]
        for name in names:
            self.assertIn(name, words)
        return told

    def measure(self, name, *arguments):
        folder = tempfile.TemporaryDirectory(prefix="weft-bench-test-")
        self.addCleanup(folder.cleanup)
        files = [word for kind in ("csv", "json", "svg")
                 for word in (f"--{'plot' if kind == 'svg' else kind}",
                              os.path.join(folder.name, f"a.{kind}"))]
        done = run(name, *arguments, *TINY, *files)
        if done.returncode == 77:
            sys.exit(77)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return folder.name, done.stdout


class Here(Files):
    def test_collective_writes_a_row_for_each_series_and_size(self):
        folder, said = self.measure(
            "collective", "alltoallv", "--ranks", "2", "--nodes", "2", "--skew", "random", "--seed",
            "3", "--rounds", "2", "--sizes", "1", "100", "--compare", "openmpi", "--algorithms", "",
            "sa")
        told = self.check_files(folder, ["openmpi", "weft (its choice)", "weft sa"], [1, 100],
                                ["openmpi"])
        self.assertEqual((told["collective"], told["nodes"], told["skew"], told["seed"]),
                         ("alltoallv", "2", "random", 3))
        self.assertEqual({row["batches"] for row in told["results"]}, {2})
        self.assertIn("random counts", said)

    def test_collective_runs_every_scheme(self):
        for collective in ("alltoall", "alltoallv"):
            folder, _ = self.measure("collective", collective, "--ranks", "3", "--nodes", "2",
                                     "--skew", "one" if collective == "alltoallv" else "equal",
                                     "--rounds", "1", "--sizes", "7", "--compare", "none",
                                     "--algorithms", "all")
            self.check_files(folder, [f"weft {name}" for name in measure.ALGORITHMS[collective]],
                             [7], [])

    def test_the_program_checks_every_collective(self):
        for collective in measure.ALGORITHMS:
            self.measure("collective", collective, "--ranks", "3", "--rounds", "1", "--sizes", "13",
                         "--compare", "openmpi")

    def test_barriers_may_stand_between_all_calls(self):
        _, said = self.measure("collective", "alltoallw", "--ranks", "3", "--rounds", "1",
                               "--sizes", "13", "--compare", "openmpi", "--barriers", "all")
        self.assertIn("as in OSU's benchmarks", said)

    def test_inside_node_gives_ratios(self):
        done = run("inside_node", "--ranks", "2", "--collectives", "alltoall", "--sizes", "8",
                   "--rounds", "1", "--peers", "openmpi", *TINY)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^alltoall +2 +8 ")

    def test_communicators_gives_every_figure(self):
        with tempfile.TemporaryDirectory(prefix="weft-bench-test-") as folder:
            path = os.path.join(folder, "a.json")
            done = run("communicators", "--rounds", "1", "--subjects", "kept", "pairs", "nothing",
                       "--series", "plain", "2 nodes", "--json", path)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            with open(path, encoding="utf-8") as file:
                told = {(row["unit"], row["ranks"]): row for row in json.load(file)["results"]}
        self.assertEqual(set(told), {("us", 8), ("descriptors", 8), ("mappings", 8), ("threads", 8),
                                     ("KiB", 8), ("ms", 2), ("ms", 8)})
        self.assertTrue(all(row[series] is not None
                            for row in told.values() for series in ("plain", "2 nodes")))
        self.assertEqual(told["descriptors", 8]["plain"], 0)
        self.assertGreater(told["us", 8]["plain"], 0)

    def test_regret_gives_errors(self):
        done = run("regret", "--ranks", "2", "--sizes", "8", "--rounds", "1", *TINY)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, "regret of the choice: median")

    def test_what_cannot_be_is_refused_at_once(self):
        for arguments, why in ((["alltoall", "--skew", "one"], "alltoall takes none"),
                               (["alltoall", "--csv", "/nowhere/a.csv"], "no folder"),
                               (["alltoall", "--compare", "lam"], "invalid choice")):
            done = run("collective", *arguments)
            self.assertEqual(done.returncode, 2)
            self.assertIn(why, done.stderr)


class Rig(Files):
    def test_rig_collective_writes_the_same(self):
        folder, said = self.measure("rig_collective", "alltoallv", "--ranks", "1", "--skew", "one",
                                    "--sizes", "1", "2048", "--algorithms", "", "sa", "--timeout",
                                    "600")
        hosts = ["Open MPI, UCX", "Open MPI, TCP"]
        self.check_files(folder, [*hosts, "weft (its choice)", "weft sa"], [1, 2048], hosts)
        self.assertIn("guest time", said)


if __name__ == "__main__":
    unittest.main()
