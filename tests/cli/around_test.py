#!/usr/bin/env python3
"""weft exec around a launcher, or a script that runs one: the ranks run over weft. And in an
environment as Slurm's srun makes it: one rank speaks, and Python is found.

    around_test.py TOOL LAUNCHER PROGRAM
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = LAUNCHER = PROGRAM = ""


def environment(**more):
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("WEFT_", "SLURM_", "PMI", "OMPI_COMM"))}
    return env | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} | more


def run(words, **more):
    return subprocess.run(words, env=environment(**more), capture_output=True, text=True,
                          timeout=100, check=False, stdin=subprocess.DEVNULL)


class Around(unittest.TestCase):
    def launch(self, *program):
        options = ["--oversubscribe"] if "openmpi" in os.path.basename(LAUNCHER) else []
        return [LAUNCHER, *options, "-n", "2", *program]

    def assert_served(self, words):
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "report.json")
            done = run([TOOL, "exec", "WEFT_AFTER=0", f"WEFT_REPORT={report}", *words])
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertNotIn("weft:", done.stderr)
            with open(report, encoding="utf-8") as file:
                self.assertGreater(len(json.load(file)["collectives"]), 0)

    def test_of_a_launcher(self):
        self.assert_served(self.launch(PROGRAM))

    def test_of_a_script_that_runs_a_launcher(self):
        line = " ".join(self.launch(PROGRAM))
        self.assert_served(["sh", "-c", f"true | cat; {line}; exit $?"])


    @unittest.skipUnless(shutil.which("busybox"), "no busybox")
    def test_of_a_shell_that_is_linked_statically(self):
        """Which says so, and starts the program with the add-on all the same."""
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "report.json")
            done = run(self.launch(TOOL, "exec", "WEFT_AFTER=0", f"WEFT_REPORT={report}", "busybox",
                                   "sh", "-c", f"{PROGRAM}; exit $?"))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertLessEqual(done.stderr.count("weft:"), 1)
            self.assertTrue(os.path.exists(report))

    def test_of_a_program_on_the_hosts_of_a_file(self):
        """Without -x: the settings are words."""
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "report.json")
            hosts = os.path.join(folder, "hosts")
            openmpi = "openmpi" in os.path.basename(LAUNCHER)
            with open(hosts, "w", encoding="utf-8") as file:
                file.write("localhost slots=2\n" if openmpi else "localhost:2\n")
            done = run([LAUNCHER, "--hostfile" if openmpi else "-f", hosts, "-n", "2", TOOL, "exec",
                        "WEFT_AFTER=0", f"WEFT_REPORT={report}", PROGRAM])
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertTrue(os.path.exists(report))


class Slurm(unittest.TestCase):
    def test_one_rank_says_why_a_program_runs_plain(self):
        for rank in ("0", "1"):
            done = run([TOOL, "exec", "--show", "--mpi", "mpich" if "openmpi" in LAUNCHER else
                        "openmpi", PROGRAM], SLURM_PROCID=rank, SLURM_NTASKS="2")
            self.assertIn(len(done.stderr.splitlines()), (0, 1))
            if rank == "1":
                self.assertEqual(done.stderr, "")

    @unittest.skipUnless(os.path.exists("/usr/lib/python3/dist-packages/mpi4py"), "no mpi4py")
    def test_python_in_a_shell_gets_the_add_on_of_its_mpi4py(self):
        tell = "import os; print(os.path.basename(os.environ[\"LD_PRELOAD\"].split(\":\")[0]))"
        words = [TOOL, "exec", "sh", "-c", f"/usr/bin/python3 -c '{tell}'"]
        for launcher in ({"SLURM_PROCID": "0"}, {"PMIX_RANK": "0"}, {"PMI_RANK": "1"}):
            done = run(words, **launcher)
            self.assertEqual(done.stdout, "libweft-openmpi.so\n", done.stderr)
        # Outside of jobs nobody looks for it.
        self.assertEqual(run(words).stdout, "libweft-guide.so\n")


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(3)
    LAUNCHER = sys.argv.pop(2)
    TOOL = os.path.abspath(sys.argv.pop(1))
    unittest.main()
