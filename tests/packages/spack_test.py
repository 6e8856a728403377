#!/usr/bin/env python3
"""The recipe for Spack is one that Spack can read, and in step with what weft needs elsewhere:
tools/install-packages and CMake's files. Spack itself is not run.
"""

import ast
import os
import re
import unittest

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
# What tools/install-packages calls what is called otherwise by Spack; None: not needed there.
SPACK_NAMES = {
    "g++": "cxx", "cmake": "cmake", "ninja-build": "ninja", "pkg-config": "pkgconfig",
    "libfmt-dev": "fmt", "libcli11-dev": "cli11", "nlohmann-json3-dev": "nlohmann-json",
    "libhwloc-dev": "hwloc", "libhwy-dev": "highway", "libmimalloc-dev": "mimalloc",
    "libsodium-dev": "libsodium",
    "libibverbs-dev": "rdma-core", "libibverbs1": "rdma-core", "ibverbs-providers": "rdma-core",
    "libopenmpi-dev": "openmpi", "openmpi-bin": "openmpi", "libmpich-dev": "mpich",
    "mpich": "mpich", "libfftw3-dev": "fftw",
    "libboost-context-dev": "boost",
    "libgtest-dev": None, "librapidcheck-dev": None, "libbenchmark-dev": None, "python3": None,
}
# Of Spack alone: the C compiler comes with Debian's g++, gzip is essential there.
SPACK_ALONE = {"c", "gzip"}
DIRECTIVES = {"version", "variant", "depends_on", "conflicts", "license", "generator"}


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def debian_packages():
    listed = re.search(r"^build_packages='\n(.*?)'", read("tools/install-packages"),
                       re.MULTILINE | re.DOTALL)[1]
    return {line.split()[0] for line in listed.splitlines()}


class Recipe(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        text = read("packaging/spack/package.py")
        compile(text, "package.py", "exec")
        cls.tree = ast.parse(text)
        cls.recipe = next(node for node in cls.tree.body if isinstance(node, ast.ClassDef))
        cls.calls = [node.value for node in cls.recipe.body
                     if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]

    def arguments(self, directive):
        return [call.args[0].value for call in self.calls if call.func.id == directive]

    def test_is_one_package_by_cmake(self):
        self.assertEqual(self.recipe.name, "Weft")
        self.assertEqual([base.id for base in self.recipe.bases], ["CMakePackage"])
        self.assertEqual({call.func.id for call in self.calls} - DIRECTIVES, set())
        self.assertIn("cmake_args", [node.name for node in self.recipe.body
                                     if isinstance(node, ast.FunctionDef)])

    def test_depends_on_what_debian_installs(self):
        names = {text.split("@")[0] for text in self.arguments("depends_on")}
        packages = debian_packages()
        self.assertEqual(packages - SPACK_NAMES.keys(), set(), "give these a name of Spack's")
        wanted = {SPACK_NAMES[package] for package in packages} - {None}
        self.assertEqual(names - SPACK_ALONE, wanted)

    def test_asks_for_the_cmake_that_the_build_asks_for(self):
        least = re.search(r"cmake_minimum_required\(VERSION ([\d.]+)\)", read("CMakeLists.txt"))[1]
        self.assertIn(f"cmake@{least}:", self.arguments("depends_on"))

    def test_sets_variables_that_the_build_knows(self):
        known = set(re.findall(r"\b(WEFT_\w+)", read("CMakeLists.txt")))
        self.assertIn("WEFT_MPICC_${name}", read("cmake/WeftMpi.cmake"))
        self.assertIn("WEFT_MPIRUN_${name}", read("cmake/WeftMpi.cmake"))
        set_here = [call.args[0] for call in ast.walk(self.recipe) if isinstance(call, ast.Call)
                    and isinstance(call.func, ast.Attribute) and call.func.attr == "define"]
        names = {arg.value for arg in set_here if isinstance(arg, ast.Constant)}
        self.assertGreater(len(names), 2)
        self.assertEqual({name for name in names
                          if not name.startswith("WEFT_MPICC_")} - known, set())

    def test_has_the_license_of_the_sources(self):
        self.assertEqual(self.arguments("license"), ["BSD-3-Clause"])
        self.assertTrue(read("LICENSE").startswith("BSD 3-Clause License"))

    def test_releases_are_those_of_the_changelog(self):
        released = re.findall(r"^## \[([\d.]+)\]", read("CHANGELOG.md"), re.MULTILINE)
        self.assertEqual(self.arguments("version"), ["main", *released])


if __name__ == "__main__":
    unittest.main()
