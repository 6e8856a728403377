#!/usr/bin/env python3
"""Recordings of programs whose calls are known (WEFT_TRACE), as `weft replay` sees them.

    recording_test.py LAUNCHER ADDON PROGRAM TOOL [COMPONENT]

With COMPONENT Open MPI loads that, and nothing is preloaded.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

from launch import COMPONENT_PATH, environment

LAUNCHER = ADDON = PROGRAM = TOOL = COMPONENT = ""
CALLS, BARRIERS = 20, 5  # as in report_calls.c
LATE = 0.020


class Recording(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="weft-recording-")
        self.addCleanup(self.folder.cleanup)
        self.trace = os.path.join(self.folder.name, "run.trace")

    def run_program(self, ranks, *words, code=0, **settings):
        """Standard error of the job."""
        openmpi = "openmpi" in os.path.basename(LAUNCHER)
        settings = {"WEFT_AFTER": "0", "WEFT_TRACE": self.trace} | settings
        if COMPONENT:
            settings[COMPONENT_PATH] = f"SYSTEM_DEFAULT:{os.path.dirname(COMPONENT)}"
        else:
            settings["LD_PRELOAD"] = ADDON
        line = [LAUNCHER, "-n", str(ranks)] + (["--oversubscribe"] if openmpi else [])
        for name, value in settings.items():
            line += ["-x", f"{name}={value}"] if openmpi else ["-env", name, value]
        ended = subprocess.run(line + [PROGRAM, *words],
                               env=environment() | ({COMPONENT_PATH: settings[COMPONENT_PATH]}
                                                    if COMPONENT else {}), text=True,
                               timeout=120, errors="replace", stdin=subprocess.DEVNULL,
                               capture_output=True, check=False)
        if code is not None:
            self.assertEqual(ended.returncode, code, ended.stderr)
        return ended.stderr

    def tool(self, *words, code=0):
        ended = subprocess.run([TOOL, "replay", self.trace, *words], capture_output=True,
                               text=True, timeout=120, check=False)
        self.assertEqual(ended.returncode, code, ended.stderr)
        return ended.stdout if code == 0 else ended.stderr

    def replay(self, *words):
        return json.loads(self.tool("--nic", "soft", "--json", *words))

    @staticmethod
    def calls(replay, collective, **values):
        """{bytes: calls} of the calls of a collective."""
        found = {}
        for one in replay["calls"]:
            if one["collective"] == collective and values.items() <= one.items():
                size = one["recorded_bytes"]
                found[size] = found.get(size, 0) + one["calls"]
        return found

    def check_calls(self, replay, ranks):
        self.assertEqual(self.calls(replay, "alltoall"), {16: CALLS, 3000: CALLS})
        half = [one for one in replay["calls"] if one["collective"] == "allgather"
                and one["recorded_bytes"] == 8]
        if COMPONENT:  # Open MPI's own in MPI_Comm_split
            half = [one for one in half if one["recorded_on"]["ranks"] != ranks]
        self.assertAlmostEqual(sum(one["calls"] for one in half), CALLS)
        self.assertEqual({one["recorded_on"]["ranks"] for one in half}, {ranks // 2})
        self.assertEqual(self.calls(replay, "barrier"), {0: BARRIERS})
        of_all = {"ranks": ranks, "nodes": 2}
        found = [one["calls"] for one in replay["calls"]
                 if one["collective"] == "allreduce" and one["recorded_on"] == of_all]
        self.assertEqual(found, [BARRIERS])

    def test_has_the_calls_that_weft_serves(self):
        self.run_program(4, "some", WEFT_NODES="2")
        replay = self.replay()
        self.assertEqual((replay["recorded_on"], replay["notes"]), ("2x2", []))
        self.check_calls(replay, 4)
        self.assertEqual(os.listdir(self.folder.name), ["run.trace"])
        self.assertLess(os.path.getsize(self.trace), 32 << 10)

    def test_has_the_calls_that_are_passed_through(self):
        everything = ("alltoall,alltoallv,broadcast,scatter,gather,allgather,barrier,reduce,"
                      "allreduce,reduce_scatter,scan,exscan")
        for disabled in ("alltoall,allgather,barrier", everything):
            self.run_program(4, "some", WEFT_NODES="2", WEFT_DISABLE=disabled)
            replay = self.replay()
            nodes = {one["recorded_on"]["nodes"] for one in replay["calls"]}
            if disabled == everything:  # which settings are not looked at then
                self.assertEqual(nodes, {1})
                self.assertEqual(self.calls(replay, "alltoall"), {16: CALLS, 3000: CALLS})
                self.assertEqual(self.calls(replay, "barrier"), {0: BARRIERS})
            else:
                self.check_calls(replay, 4)

    def test_has_the_first_calls_too(self):
        self.run_program(4, "some", WEFT_NODES="2", WEFT_AFTER="auto")
        self.check_calls(self.replay(), 4)

    def test_sees_who_waits(self):
        self.run_program(2, "some", "late")
        replay = self.replay()
        barrier = next(one for one in replay["calls"] if one["collective"] == "barrier")
        # One of two ranks waits for the other each time.
        for what in ("recorded", "predicted"):
            waited = barrier[f"{what}_waiting_seconds"]
            self.assertGreater(waited, 0.7 * BARRIERS * LATE / 2)
            self.assertLessEqual(waited, barrier[f"{what}_seconds"])
        self.assertAlmostEqual(replay["recorded"]["seconds_in_collectives"],
                               sum(one["recorded_seconds"] for one in replay["calls"]))

    def test_is_predicted_elsewhere(self):
        self.run_program(2, "some")
        weak = self.replay("--nodes", "8", "--ppn", "4")
        strong = self.replay("--nodes", "8", "--ppn", "4", "--scaling", "strong")
        self.assertEqual({one["predicted_bytes"] for one in weak["calls"]
                          if one["collective"] == "alltoall"}, {1, 188})
        self.assertEqual({one["predicted_bytes"] for one in strong["calls"]
                          if one["collective"] == "alltoall"}, {1, 12})
        self.assertLess(strong["predicted"]["own_work_seconds"],
                        weak["predicted"]["own_work_seconds"])

    def test_a_job_that_is_ended_leaves_parts(self):
        if COMPONENT:
            self.skipTest("a component is not told of MPI_Abort")
        self.run_program(2, "abort", code=None)
        self.assertEqual(os.path.getsize(self.trace), 0)
        self.assertTrue(os.path.exists(self.trace + ".part1"))
        replay = self.replay()
        self.assertEqual(self.calls(replay, "alltoall"), {16: CALLS, 3000: CALLS})
        self.assertIn("0 of 2 ranks came to their ends", replay["notes"][0])

    def test_a_place_that_cannot_be_written_is_a_line_and_the_job_goes_on(self):
        """As where WEFT_REPORT names one."""
        self.trace = os.path.join(self.folder.name, "missing/run.trace")
        errors = self.run_program(2, "some")
        line = f"weft: WEFT_TRACE={self.trace}: No such file or directory; nothing is recorded\n"
        self.assertEqual(errors.count("weft:"), 1, errors)
        self.assertIn(line, errors)

    def test_other_files_are_refused(self):
        with open(self.trace, "w", encoding="utf-8") as file:
            file.write("{}")
        self.assertEqual(self.tool(code=2), f"weft: {self.trace}: no recording of weft\n")


if __name__ == "__main__":
    LAUNCHER, ADDON, PROGRAM, TOOL = sys.argv[1:5]
    COMPONENT = sys.argv[5] if len(sys.argv) > 5 else ""
    unittest.main(argv=sys.argv[:1])
