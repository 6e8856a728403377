#!/usr/bin/env python3
"""The README's table of settings has every environment variable that the code reads, no other."""

import os
import re
import unittest

import include_direction

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


class Settings(unittest.TestCase):
    def test_the_table_is_whole(self):
        in_code = set()
        for path in include_direction.sources(ROOT):
            if include_direction.room_of(path) in include_direction.ROOMS:
                in_code |= set(re.findall(r'\w\(\s*"(WEFT_\w+)"\s*[,)]', read(path)))
        # One for each collective, whose names make theirs.
        collectives = re.findall(r'\{Collective::\w+, "(\w+)"\}', read("plan/problem.cpp"))
        self.assertGreater(len(collectives), 10)
        in_code |= {"WEFT_" + name.upper() for name in collectives}
        rows = re.findall(r"^\| (`WEFT_[^|]*) \|", read("README.md"), re.MULTILINE)
        in_table = [name for row in rows for name in re.findall(r"WEFT_\w+", row)]
        self.assertGreater(len(in_code), 10)
        self.assertEqual(sorted(in_table), sorted(in_code))


if __name__ == "__main__":
    unittest.main()
