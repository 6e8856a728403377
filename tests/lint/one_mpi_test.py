#!/usr/bin/env python3
"""What only one MPI has is named in one place: mpi/host/host.hpp says how MPIs differ, and the
other sources of mpi/ ask it. They compile with the header of MPI 5's standard ABI, then.

    one_mpi_test.py             looks for names of one MPI elsewhere
    one_mpi_test.py abi TREE    compiles the sources with that header, as the build tree does with
                                another; ends with 77 where there is no such header:
                                WEFT_MPI_ABI_HEADER names it, else mpicc_abi -show
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
# The component is Open MPI's alone, by what it is. The guide and the launchers' key-value spaces
# know names of variables and libraries, which are no matter of a header.
ELSEWHERE = ("mpi/host/host.hpp", "mpi/ompi_coll/")
SKIPPED = 77
# Macros and types that the standard does not have.
FOREIGN = re.compile(r"\b(OPEN_MPI|OMPI_(?!COMM_WORLD)\w+|MPICH(_\w+)?|MPIR_\w+|MPID_\w+|"
                     r"ompi_\w+|opal_\w+|mca_\w+)\b")


def sources():
    for folder, _, names in os.walk(os.path.join(ROOT, "mpi")):
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), ROOT)
            if name.endswith((".c", ".cpp", ".h", ".hpp", ".inc")) and \
                    not path.startswith(ELSEWHERE):
                yield path


def code_of(text):
    """Without comments and texts in quotes, which may speak of MPIs."""
    text = re.sub(r'"(\\.|[^"\\\n])*"', '""', text)
    text = re.sub(r"/\*.*?\*/", lambda match: "\n" * match[0].count("\n"), text, flags=re.DOTALL)
    return re.sub(r"//.*", "", text)


def foreign_names(text):
    return [match[0] for match in FOREIGN.finditer(code_of(text))]


class OneMpi(unittest.TestCase):
    def test_names_of_one_mpi_are_in_its_place(self):
        found = []
        for path in sources():
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                found += [f"{path}: {name}" for name in foreign_names(file.read())]
        self.assertEqual(found, [], "say in mpi/host/host.hpp how MPIs differ, and ask that")

    def test_finds_them(self):
        self.assertEqual(foreign_names("#ifdef OPEN_MPI\n#if MPICH_NUMVERSION > 4\n"
                                       "ompi_request_t* x;"),
                         ["OPEN_MPI", "MPICH_NUMVERSION", "ompi_request_t"])
        self.assertEqual(foreign_names('// MPICH spins\nf("OMPI_X", "MPICH"); /* OPEN_MPI */'), [])


def abi_header():
    named = os.environ.get("WEFT_MPI_ABI_HEADER")
    if named:
        return named
    wrapper = shutil.which("mpicc_abi")
    if wrapper is None:
        return None
    words = shlex.split(subprocess.run([wrapper, "-show"], capture_output=True, text=True,
                                       timeout=60, check=True).stdout)
    for folder in (word.removeprefix("-I") for word in words if word.startswith("-I")):
        for name in ("mpi_abi.h", "mpi.h"):
            if os.path.exists(os.path.join(folder, name)):
                return os.path.join(folder, name)
    return None


def sources_of(entry):
    """The source, or those of which CMake has made one."""
    if "/Unity/unity_" not in entry["file"]:
        return [entry["file"]]
    with open(entry["file"], encoding="utf-8") as file:
        return re.findall(r'^#include "(.*)"$', file.read(), re.MULTILINE)


def compile_with(header, tree):
    """The sources that do not compile."""
    with open(os.path.join(tree, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    wrong, seen = [], set()
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.abspath(header), os.path.join(folder, "mpi.h"))
        for source, entry in ((one, entry) for entry in entries for one in sources_of(entry)):
            path = os.path.relpath(source, ROOT)
            words = shlex.split(entry["command"])
            if not path.startswith("mpi/") or path.startswith(ELSEWHERE) or path in seen or \
                    not any("mpi.h" in os.listdir(word) for word in words if os.path.isdir(word)):
                continue
            seen.add(path)
            words = [word for word in words if word != "ccache"]
            pch = words.index("-include") if "-include" in words else None
            if pch is not None:
                del words[pch:pch + 2]
            cut = words.index("-o")
            words = [words[0], f"-I{folder}", "-fsyntax-only", *words[1:cut], source]
            done = subprocess.run(words, cwd=entry["directory"], capture_output=True, text=True,
                                  timeout=300, check=False)
            if done.returncode != 0:
                wrong.append(f"{path}\n{done.stderr}")
    print(f"{len(seen)} sources compiled with {header}")
    return wrong if seen else ["no source of mpi/ is in compile_commands.json"]


if __name__ == "__main__":
    if sys.argv[1:2] != ["abi"]:
        unittest.main()
    found_header = abi_header()
    if found_header is None:
        print("skipped: no header of the standard ABI of MPI here (WEFT_MPI_ABI_HEADER, mpicc_abi)")
        sys.exit(SKIPPED)
    faults = compile_with(found_header, sys.argv[2])
    print("\n".join(faults))
    sys.exit(1 if faults else 0)
