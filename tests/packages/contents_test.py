#!/usr/bin/env python3
"""Debian packages: what is in which, what they depend on, and what lintian says of them.

    contents_test.py BUILD_TREE CPACK
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = ""
CPACK = ""
# Fewer: a path of the package is none that policy knows, or there is no upload to close a bug.
LINTIAN_SKIPS = "initial-upload-closes-no-bugs,bogus-mail-host-in-debian-changelog"


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=280, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def commands():
    text = run(os.path.join(BUILD, "weft"), "--help")
    return re.findall(r"^  ([a-z]+)  ", text.split("Subcommands:")[1], re.MULTILINE)


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="weft-packages-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        run(CPACK, "-G", "DEB", "--config", os.path.join(BUILD, "CPackConfig.cmake"), "-B",
            cls.folder)
        cls.files = glob.glob(os.path.join(cls.folder, "*.deb"))
        cls.packages = {cls.field(file, "Package"): file for file in cls.files}
        version = cls.field(cls.packages["weft"], "Version")
        cls.minor = re.match(r"\d+\.\d+", version)[0]
        cls.full = version.removesuffix("-1")
        cls.mpis = [mpi for mpi in ("openmpi", "mpich")
                    if os.path.exists(os.path.join(BUILD, f"libweft-{mpi}.so"))]

    @staticmethod
    def field(file, name):
        return run("dpkg-deb", "--field", file, name).strip()

    def contents(self, package):
        """Its files, but for those that all have."""
        lines = run("dpkg-deb", "--contents", self.packages[package]).splitlines()
        for line in lines:
            self.assertRegex(line, r"^[-dl]r..r.[-x]r.[-x] root/root|^l", line)
        files = {line.split()[5].removeprefix("./") for line in lines if line[0] != "d"}
        texts = {f"usr/share/doc/{package}/copyright",
                 f"usr/share/doc/{package}/changelog.Debian.gz"}
        self.assertEqual(texts - files, set(), package)
        return files - texts

    def test_are_all_there(self):
        self.assertEqual(sorted(self.packages), sorted(
            ["weft", f"libweft{self.minor}", "libweft-dev", "weft-soft",
             *(f"weft-{mpi}" for mpi in self.mpis)]))
        for file in self.files:
            self.assertNotEqual(self.field(file, "Maintainer"), "")
            self.assertGreater(len(self.field(file, "Description").splitlines()), 2, file)

    def test_have_what_they_should(self):
        self.assertEqual(self.contents(f"libweft{self.minor}"), {
            f"usr/lib/libweft.so.{self.minor}", f"usr/lib/libweft.so.{self.full}"})
        self.assertEqual(self.contents("weft-soft"), {"usr/lib/weft/libweft-verbs-soft.so"})
        for mpi in self.mpis:
            self.assertLessEqual({f"usr/lib/weft/libweft-{mpi}.so",
                                  f"usr/lib/weft/libweft-job-{mpi}.so"},
                                 self.contents(f"weft-{mpi}"))
        headers = self.contents("libweft-dev")
        self.assertLessEqual({
            "usr/lib/libweft.so", "usr/lib/pkgconfig/weft.pc", "usr/include/weft/weft.h",
            "usr/include/weft/weft.hpp", "usr/include/weft/mpi.hpp",
            "usr/include/weft/bootstrap.hpp", "usr/include/weft/statistics.hpp",
            "usr/include/weft/soft/extensions.h", "usr/lib/cmake/weft/weft-config.cmake"}, headers)
        tool = self.contents("weft")
        pages = {f"usr/share/man/man1/weft-{command}.1.gz" for command in commands()}
        self.assertGreater(len(pages), 8)
        self.assertLessEqual(pages | {
            "usr/bin/weft", "usr/lib/weft/libweft-guide.so", "usr/share/man/man1/weft.1.gz",
            "usr/share/bash-completion/completions/weft",
            "usr/share/zsh/vendor-completions/_weft",
            "usr/share/fish/vendor_completions.d/weft.fish"}, tool)

    def test_have_together_all_that_is_installed_and_nothing_twice(self):
        packed = [file for package in self.packages for file in self.contents(package)]
        self.assertEqual(len(packed), len(set(packed)))
        with tempfile.TemporaryDirectory() as prefix:
            run("cmake", "--install", BUILD, "--prefix", prefix)
            installed = {os.path.join("usr", os.path.relpath(os.path.join(folder, name), prefix))
                         for folder, _, names in os.walk(prefix) for name in names}
        # CMake calls the list of targets by the build's configuration in both.
        self.assertEqual(set(packed), installed)

    def test_depend_on_what_they_need(self):
        depends = {package: self.field(file, "Depends") for package, file in self.packages.items()}
        if "openmpi" in self.mpis:
            self.assertRegex(depends["weft-openmpi"], r"libopenmpi3\b")
            self.assertNotIn("mpich", depends["weft-openmpi"])
        if "mpich" in self.mpis:
            self.assertRegex(depends["weft-mpich"], r"libmpich12\b")
            self.assertNotIn("openmpi", depends["weft-mpich"])
        same = f"(= {self.full}-1)"
        self.assertIn(f"libweft{self.minor} {same}", depends["libweft-dev"])
        self.assertIn("libhwloc15", depends["weft"])
        for package, text in depends.items():
            self.assertIn("libc6", text + "libc6" * (package == "libweft-dev"), package)
            # Verbs are opened at run time: nobody needs an adapter's libraries.
            self.assertNotIn("libibverbs", text, package)

    @unittest.skipUnless(shutil.which("lintian"), "no lintian")
    def test_lintian_finds_no_errors(self):
        done = subprocess.run(
            ["lintian", "--allow-root", "--fail-on", "error", "--suppress-tags", LINTIAN_SKIPS,
             *self.files], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=250, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    CPACK = sys.argv.pop(2)
    BUILD = os.path.abspath(sys.argv.pop(1))
    unittest.main()
