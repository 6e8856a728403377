#!/usr/bin/env python3
"""The report of programs whose calls are known: as JSON, as a table, as a page.

    report_test.py LAUNCHER ADDON PROGRAM TOOL
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

from launch import check_schema, environment

LAUNCHER = ADDON = PROGRAM = TOOL = ""
CALLS, BARRIERS, LATE = 20, 5, 0.020  # as in report_calls.c


class Report(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="weft-report-")
        self.addCleanup(self.folder.cleanup)

    def run_program(self, ranks, report, *words, code=0, **settings):
        """Standard error of the job."""
        openmpi = "openmpi" in os.path.basename(LAUNCHER)
        settings = {"LD_PRELOAD": ADDON, "WEFT_AFTER": "0", "WEFT_REPORT": report} | settings
        line = [LAUNCHER, "-n", str(ranks)] + (["--oversubscribe"] if openmpi else [])
        for name, value in settings.items():
            line += ["-x", f"{name}={value}"] if openmpi else ["-env", name, value]
        ended = subprocess.run(line + [PROGRAM, *words], env=environment(), text=True, timeout=120,
                               errors="replace", stdin=subprocess.DEVNULL, capture_output=True,
                               check=False)
        if code is not None:
            self.assertEqual(ended.returncode, code, ended.stderr)
        return ended.stderr

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def report(self, ranks, *words, **settings):
        path = self.path("run.json")
        self.run_program(ranks, path, *words, **settings)
        return self.load(path)

    def load(self, path):
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        check_schema(report)
        return report

    def tool(self, *words, code=0):
        ended = subprocess.run([TOOL, "report", *words], capture_output=True, text=True, timeout=60,
                               check=False)
        self.assertEqual(ended.returncode, code, ended.stderr)
        return ended.stdout

    def served(self, report, collective, **values):
        """{size: calls} of the entries of a collective with these values."""
        found = {}
        for entry in report["collectives"]:
            if entry["collective"] == collective and values.items() <= entry.items():
                size = entry["block_bytes_at_most"]
                found[size] = found.get(size, 0) + entry["calls"]
        return found

    def test_counts_calls_by_shape_and_size(self):
        report = self.report(4, "some", WEFT_NODES="2")
        self.assertEqual((report["ranks"], report["nodes"], report["machine"], report["complete"]),
                         (4, 2, "2x2", True))
        self.assertEqual(self.served(report, "alltoall", ranks=4, nodes=2),
                         {16: CALLS, 4096: CALLS})
        # Ranks of one parity: two, on both nodes.
        self.assertEqual(self.served(report, "allgather", ranks=2, nodes=2), {8: CALLS})
        self.assertEqual(self.served(report, "barrier", ranks=4), {0: BARRIERS})
        self.assertEqual(self.served(report, "allreduce", ranks=4), {4: BARRIERS})
        alone = [entry for entry in report["passed"]
                 if entry["why"] == "a communicator of one rank"]
        self.assertEqual([(entry["collective"], entry["ranks"], entry["nodes"], entry["calls"])
                          for entry in alone], [("allreduce", 1, 1, CALLS)])
        self.assertGreater(alone[0]["seconds_least"], 0)
        # To each rank of the world, and the other of the half.
        for rank, times in enumerate(report["by_rank"]):
            self.assertEqual(times["rank"], rank)
            self.assertEqual(times["sent"],
                             [CALLS * (16 + 3000 + (8 if (rank - to) % 2 == 0 else 0))
                              for to in range(4)])
            parts = times["served_seconds"] + times["setup_seconds"] + times["passed_seconds"]
            self.assertLessEqual(parts, times["seconds"] * 1.05)
            self.assertGreater(times["setup_seconds"], 0)
            self.assertLessEqual(times["waiting_seconds"], times["served_seconds"])

    def test_tells_who_waits_for_whom(self):
        report = self.report(3, "some", "late")
        least = BARRIERS * LATE / 2
        waiting = [times["waiting_seconds"] for times in report["by_rank"]]
        self.assertGreater(min(waiting[:2]), least)
        barrier = [entry for entry in report["collectives"] if entry["collective"] == "barrier"][0]
        self.assertGreater(barrier["waiting_seconds"], least)
        self.assertLess(barrier["waiting_seconds_least"], least)

    def test_of_first_calls_has_the_hosts_times_by_size(self):
        report = self.report(2, "some", WEFT_AFTER="auto")
        first = {entry["block_bytes_at_most"]: entry["calls"] for entry in report["passed"]
                 if entry["why"] == "the first calls of a communicator"
                 and entry["collective"] == "alltoall"}
        self.assertEqual(set(first), {16, 4096})
        served = self.served(report, "alltoall")
        for size, calls in first.items():
            self.assertEqual(calls + served.get(size, 0), CALLS)

    def test_of_no_call(self):
        for ranks in (1, 3):
            report = self.report(ranks, "nothing")
            self.assertEqual((report["collectives"], report["passed"]), ([], []))
            self.assertIn("no collective was called", self.tool(self.path("run.json")))
        self.assertIn("no collective was called", self.run_program(2, "1", "nothing"))

    def test_of_one_rank(self):
        report = self.report(1, "some")
        self.assertEqual(report["collectives"], [])
        self.assertEqual({entry["why"] for entry in report["passed"]},
                         {"a communicator of one rank"})

    def test_of_an_aborted_job_is_of_the_rank_that_ended_it(self):
        path = self.path("run.json")
        self.run_program(3, path, "abort", code=None)
        report = self.load(path)
        self.assertEqual((report["complete"], [times["rank"] for times in report["by_rank"]]),
                         (False, [1]))
        self.assertEqual(self.served(report, "alltoall"), {16: CALLS, 4096: CALLS})
        self.assertIn("The job was ended: of 1 rank alone", self.tool(path))

    def test_of_disabled_collectives(self):
        report = self.report(2, "some", WEFT_DISABLE="alltoall")
        found = [entry for entry in report["passed"] if entry["collective"] == "alltoall"]
        self.assertEqual([(entry["why"], entry["calls"], entry["ranks"]) for entry in found],
                         [("WEFT_DISABLE names it", 2 * CALLS, 0)])
        self.assertGreater(found[0]["seconds"], 0)

    def test_page_is_the_one_that_the_tool_makes(self):
        page = self.path("run.html")
        self.run_program(4, page, "some", WEFT_NODES="2")
        with open(page, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("4 ranks on 2 nodes", text)
        self.assertEqual(text.count("<svg"), 4)
        for outside in ("http", "src=", "href=", "url(", "<script"):
            self.assertNotIn(outside, text)
        self.report(2, "some")
        self.assertEqual(self.tool(self.path("run.json"), "--html", self.path("b.html")), "")
        self.assertTrue(os.path.getsize(self.path("b.html")) > 4000)

    def test_tool_compares_runs(self):
        self.run_program(2, self.path("a.json"), "some", WEFT_ALLTOALL="isend")
        self.run_program(2, self.path("b.json"), "some", WEFT_ALLTOALL="bruck")
        text = self.tool(self.path("a.json"), self.path("b.json"))
        self.assertIn("isend -> bruck", text)
        result = json.loads(self.tool(self.path("a.json"), self.path("b.json"), "--json"))
        found = {calls["collective"]: calls for calls in result["by_collective"]}
        self.assertEqual(found["alltoall"]["before"]["calls"], 2 * CALLS)
        self.assertEqual((found["alltoall"]["before"]["ways"], found["alltoall"]["after"]["ways"]),
                         (["isend"], ["bruck"]))
        before, after = (found["alltoall"][side]["seconds"] for side in ("before", "after"))
        self.assertAlmostEqual(found["alltoall"]["ratio"], after / before, places=4)
        self.assertEqual(json.loads(self.tool(self.path("a.json"), "--json")),
                         self.load(self.path("a.json")))
        with open(self.path("wrong.json"), "w", encoding="utf-8") as file:
            file.write("{}")
        self.tool(self.path("wrong.json"), code=2)


if __name__ == "__main__":
    TOOL, PROGRAM, ADDON, LAUNCHER = (sys.argv.pop() for _ in range(4))
    unittest.main()
