#!/usr/bin/env python3
"""docs/settings.md against the code: it has every environment variable that the code reads and no
other, the defaults of `weft info`, and says what is allowed as the tool allows it.

    settings_test.py TOOL
"""

import json
import os
import re
import subprocess
import sys
import unittest

import include_direction

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
PAGE = "docs/settings.md"
# `weft info` reads these only where ranks are joined by TCP, so it cannot refuse them.
NOT_READ_BY_INFO = {"WEFT_CONNECT_TIMEOUT", "WEFT_ROOT"}
TOOL = ""


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def settings_in_code():
    names = set()
    for path in include_direction.sources(ROOT):
        if include_direction.room_of(path) in include_direction.ROOMS:
            names |= set(re.findall(r'\w\(\s*"(WEFT_\w+)"\s*[,)]', read(path)))
    # One for each collective, whose names make theirs.
    collectives = re.findall(r'\{Collective::\w+, "(\w+)"\}', read("plan/problem.cpp"))
    return names, {"WEFT_" + name.upper() for name in collectives}


def rows_of_page():
    """{name: (allowed, default)}; a name that is there twice is an error."""
    rows = {}
    for line in read(PAGE).splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) != 6 or not cells[1].startswith("`WEFT_"):
            continue
        for name in re.findall(r"WEFT_\w+", cells[1]):
            if name in rows:
                raise AssertionError(f"{PAGE}: {name} is there twice")
            rows[name] = (cells[2], cells[3])
    return rows


def info(settings=None, *options):
    """What `weft info` ends as with these settings alone."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("WEFT_")}
    return subprocess.run([TOOL, "info", *options], env=environment | (settings or {}),
                          capture_output=True, text=True, timeout=60, check=False)


def number(text):
    """Of a size such as 8K, else None."""
    match = re.fullmatch(r"(\d+)([KMGTE]?)", text)
    if not match:
        return None
    return int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30, "T": 40, "E": 60}[match[2]]


def refused(name, value):
    """Whether the tool names the value as none of those allowed; that a port has no such GID, say,
    is another complaint."""
    return f"{name}={value}: not " in info({name: value}).stderr


class Settings(unittest.TestCase):
    def test_the_page_has_what_the_code_reads(self):
        names, collectives = settings_in_code()
        self.assertGreater(len(names), 10)
        self.assertGreater(len(collectives), 10)
        self.assertEqual(sorted(rows_of_page()), sorted(names | collectives))

    def test_the_tool_shows_the_same(self):
        shown = {entry["name"]: entry["default"]
                 for entry in json.loads(info(None, "--json").stdout)["settings"]}
        rows = rows_of_page()
        self.assertEqual(sorted(rows), sorted(shown))
        for name, (_, default) in rows.items():
            value = number(default)
            self.assertEqual(default if value is None else str(value), shown[name], name)

    def test_ranges_are_those_of_the_tool(self):
        tried = 0
        for name, (allowed, _) in rows_of_page().items():
            match = re.match(r"(\w+) to (\w+)\b", allowed.replace("`", ""))
            if not match or name in NOT_READ_BY_INFO or match[1].startswith("0x"):
                continue
            low, high = number(match[1]), number(match[2])
            self.assertIsNotNone(low, f"{name}: {allowed}")
            self.assertIsNotNone(high, f"{name}: {allowed}")
            for value in (low, high):
                self.assertFalse(refused(name, str(value)), f"{name}={value} is refused")
            for value in (low - 1, high + 1):
                self.assertTrue(refused(name, str(value)), f"{name}={value} is not refused")
            tried += 1
        self.assertGreater(tried, 10)

    def test_words_are_those_of_the_tool(self):
        tried = 0
        for name, (allowed, _) in rows_of_page().items():
            words = re.findall(r"`([^`]*)`", allowed)
            if name in NOT_READ_BY_INFO or allowed != ", ".join(f"`{word}`" for word in words):
                continue
            for word in words:
                self.assertFalse(refused(name, word), f"{name}={word} is refused")
            self.assertTrue(refused(name, "another"), f"{name}=another is not refused")
            tried += 1
        self.assertGreater(tried, 5)


if __name__ == "__main__":
    TOOL = os.path.abspath(sys.argv.pop(1))
    unittest.main()
