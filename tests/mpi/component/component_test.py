#!/usr/bin/env python3
"""The component for Open MPI as people have it: `weft install --openmpi`, Open MPI's own tool, and
what the library shows.

    component_test.py LAUNCHER TOOL COMPONENT PROGRAM
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import launch

LAUNCHER = TOOL = COMPONENT = PROGRAM = ""


def run(*words, home, **settings):
    done = subprocess.run(words, env=launch.environment() | {"HOME": home} | settings, text=True,
                          capture_output=True, timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


class Component(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="weft-home-")
        self.addCleanup(shutil.rmtree, self.home)
        self.link = os.path.join(self.home, ".openmpi/components/mca_coll_weft.so")
        self.report = os.path.join(self.home, "report.json")

    def install(self, *options):
        return run(TOOL, "install", "--openmpi", *options, home=self.home)

    def calls_taken(self):
        """Of a program that is run as it is; None where weft was not there."""
        if os.path.exists(self.report):
            os.remove(self.report)
        code, output, errors = run(LAUNCHER, "--oversubscribe", "-n", "3", PROGRAM, "20", "1",
                                   home=self.home, WEFT_REPORT=self.report, WEFT_AFTER="0")
        self.assertEqual(code, 0, output + errors)
        if not os.path.exists(self.report):
            return None
        with open(self.report, encoding="utf-8") as file:
            return sum(entry["calls"] for entry in json.load(file)["collectives"])

    def test_is_there_until_it_is_removed(self):
        self.assertIsNone(self.calls_taken())
        for _ in range(2):
            code, output, errors = self.install()
            self.assertEqual((code, errors), (0, ""))
            self.assertEqual(output, f"{self.link} -> {os.path.realpath(COMPONENT)}\n")
            self.assertGreater(self.calls_taken(), 0)
        for what in ("removed", "not there"):
            self.assertEqual(self.install("--remove"), (0, f"{self.link}: {what}\n", ""))
            self.assertIsNone(self.calls_taken())

    def test_goes_into_another_folder(self):
        folder = os.path.join(self.home, "a/b")
        code, _, errors = self.install("--prefix", folder)
        self.assertEqual((code, errors), (0, ""))
        self.assertFalse(os.path.lexists(self.link))
        self.assertTrue(os.path.samefile(os.path.join(folder, "mca_coll_weft.so"), COMPONENT))

    def test_leaves_what_is_not_its_own(self):
        os.makedirs(os.path.dirname(self.link))
        with open(self.link, "w", encoding="utf-8") as file:
            file.write("mine")
        for options in ([], ["--remove"]):
            code, _, errors = self.install(*options)
            self.assertEqual(code, 1)
            self.assertIn("left as it is", errors)
        with open(self.link, encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine")

    def test_replaces_a_link_that_leads_nowhere(self):
        os.makedirs(os.path.dirname(self.link))
        os.symlink("/gone/mca_coll_weft.so", self.link)
        self.assertEqual(self.install()[0], 0)
        self.assertTrue(os.path.samefile(self.link, COMPONENT))

    def test_usage(self):
        self.assertEqual(run(TOOL, "install", home=self.home)[0], 2)

    def test_parameters(self):
        self.install()
        info = os.path.join(os.path.dirname(LAUNCHER), "ompi_info")
        code, output, errors = run(info, "--param", "coll", "weft", "--level", "9", "--parsable",
                                   home=self.home, WEFT_NODES="1+2",
                                   OMPI_MCA_coll_weft_alltoall="bruck")
        self.assertEqual(code, 0, errors)
        values = {}
        for line in output.splitlines():
            words = line.split(":", 6)
            if words[:4] == ["mca", "coll", "weft", "param"] and words[5] == "value":
                values[words[4]] = words[6].strip('"')
        self.assertEqual(values["coll_weft_priority"], "95")
        self.assertEqual(values["coll_weft_nodes"], "1+2")
        self.assertEqual(values["coll_weft_alltoall"], "bruck")
        # All settings of the tool's table but those of other ways to start.
        code, output, _ = run(TOOL, "info", "--json", home=self.home)
        known = {entry["name"] for entry in json.loads(output)["settings"]}
        self.assertEqual({f"coll_weft_{name.removeprefix('WEFT_').lower()}" for name in known}
                         - set(values),
                         {f"coll_weft_{name}" for name in ("rank", "size", "root", "secret_file",
                                                           "connect_timeout", "shared_heap")})

    def test_shows_one_symbol(self):
        _, output, _ = run("nm", "--dynamic", "--defined-only", COMPONENT, home=self.home)
        self.assertEqual([line.split()[-1] for line in output.splitlines()],
                         ["mca_coll_weft_component"])


if __name__ == "__main__":
    LAUNCHER, TOOL, COMPONENT, PROGRAM = sys.argv[1:5]
    unittest.main(argv=sys.argv[:1])
