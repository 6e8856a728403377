#!/usr/bin/env python3
"""The rooms keep to the table of includes, and a room that does not is found."""

import os
import re
import tempfile
import unittest

import include_direction

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
HEADERS = [f"{room}/a.hpp" for room in include_direction.ROOMS] + [
    "comm/include/weft/weft.hpp", "tests/comm/a.hpp", "bench/a.hpp"]


def faults_of(files):
    """What is found in a tree with a header in every room and these files: their texts by paths."""
    with tempfile.TemporaryDirectory() as root:
        for name, content in {**dict.fromkeys(HEADERS, ""), **files}.items():
            file = os.path.join(root, name)
            os.makedirs(os.path.dirname(file), exist_ok=True)
            with open(file, "w", encoding="utf-8") as out:
                out.write(content)
        return list(include_direction.faults(root))


def faults_of_one(path, text):
    return faults_of({path: text})


class Table(unittest.TestCase):
    def test_has_no_cycle(self):
        for room, others in include_direction.ROOMS.items():
            for other in others:
                self.assertNotIn(room, include_direction.reach(other))

    def test_is_what_the_build_links(self):
        calls = []
        for name in ["CMakeLists.txt", "cli/CMakeLists.txt"]:
            with open(os.path.join(ROOT, name), encoding="utf-8") as file:
                calls += re.findall(
                    r"^weft_(?:mpi_)?room\((\S+)(?: [A-Z]+)*? DEPENDS ([^)]*)\)",
                    file.read(), re.MULTILINE)
        self.assertGreater(len(calls), 0)
        for room, words in calls:
            linked = [word for word in re.split(r" PRIVATE |\s+FOLDERS ", words)[0].split()
                      if word in include_direction.ROOMS]
            self.assertEqual(sorted(linked), sorted(self.libraries_of(room, calls)), room)

    def libraries_of(self, room, calls):
        """The rooms that it may include; those without a library by what they may include."""
        for other in include_direction.ROOMS[room]:
            if other in [built for built, _ in calls]:
                yield other
            else:
                yield from self.libraries_of(other, calls)


class Repository(unittest.TestCase):
    def test_keeps_to_the_table(self):
        self.assertGreater(len(include_direction.sources(ROOT)), 50)
        self.assertEqual(list(include_direction.faults(ROOT)), [])


class Planted(unittest.TestCase):
    def test_every_arrow_is_judged_by_the_table(self):
        rooms = list(include_direction.ROOMS)
        planted = "".join(f'#include "{room}/a.hpp"\n' for room in rooms)
        expected = [f"{room}/planted.cpp:{line}: {room} may not include {other}/a.hpp"
                    for room in rooms for line, other in enumerate(rooms, 1)
                    if other not in include_direction.reach(room)]
        found = faults_of({f"{room}/planted.cpp": planted for room in rooms})
        self.assertEqual(sorted(found), sorted(expected))

    def assert_fault(self, path, text, line):
        self.assertEqual([fault.split(":")[1] for fault in faults_of_one(path, text)], [str(line)])

    def test_a_source_includes_its_own_header_first(self):
        self.assertEqual(faults_of_one("plan/a.cpp", '// Why.\n#include "plan/a.hpp"\n'), [])
        self.assertEqual(faults_of_one("plan/b.cpp", "#include <vector>\n"), [])
        for text in ["int x;\n", '#include <vector>\n\n#include "plan/a.hpp"\n']:
            self.assertEqual(faults_of_one("plan/a.cpp", text),
                             ["plan/a.cpp: does not include plan/a.hpp first"])

    def test_the_line_is_named(self):
        self.assert_fault("plan/b.hpp", "#pragma once\n\n  #  include <comm/a.hpp>  // why\n", 3)

    def test_folders_below_belong_to_their_room(self):
        self.assert_fault("cli/deep/b.cpp", '#include "mpi/pmpi/a.hpp"\n', 1)
        self.assert_fault("verbs/channel/b.cpp", '#include "verbs/soft/abi/a.hpp"\n', 1)
        self.assert_fault("verbs/soft/abi/b.cpp", '#include "verbs/channel/a.hpp"\n', 1)
        self.assertEqual(faults_of_one("mpi/pmpi/b/b.cpp", '#include "mpi/pmpi/a.hpp"\n'), [])

    def test_rooms_do_not_see_tests_or_benchmarks(self):
        self.assert_fault("comm/b.cpp", '#include "tests/comm/a.hpp"\n', 1)
        self.assert_fault("cli/b.cpp", '#include "bench/a.hpp"\n', 1)
        self.assertEqual(faults_of_one("tests/plan/b.cpp", '#include "tests/comm/a.hpp"\n'), [])
        self.assertEqual(faults_of_one("tests/plan/b.cpp", '#include "verbs/soft/abi/a.hpp"\n'), [])

    def test_examples_see_what_is_installed_alone(self):
        self.assertEqual(faults_of_one("examples/b.cpp", '#include "weft/weft.hpp"\n'), [])
        self.assert_fault("examples/b.c", '#include "base/a.hpp"\n', 1)
        self.assert_fault("tests/install/b.c", '#include "comm/a.hpp"\n', 1)

    def test_includes_are_named_from_the_root(self):
        self.assert_fault("plan/b.cpp", '#include "a.hpp"\n', 1)
        self.assertEqual(faults_of_one("tests/comm/b.cpp", '#include "a.hpp"\n'), [])

    def test_other_libraries_are_no_matter(self):
        includes = "#include <vector>\n#include <fmt/format.h>\n"
        self.assertEqual(faults_of_one("base/b.cpp", includes), [])

    def test_a_folder_that_is_no_room_is_found(self):
        self.assertEqual(len(faults_of_one("attic/b.cpp", "int x;\n")), 1)


if __name__ == "__main__":
    unittest.main()
