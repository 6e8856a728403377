#!/usr/bin/env python3
"""Every command of the tool that a page shows, and every option of it, is in the tool's own help.

    commands_test.py TOOL
"""

import functools
import os
import re
import subprocess
import sys
import unittest

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
PAGES = ["README.md", "CONTRIBUTING.md", *(f"docs/{name}" for name in (
    "README.md", "run-an-mpi-program.md", "read-the-report.md", "probe-an-adapter.md",
    "choose-and-tune.md", "software-device.md", "write-a-program.md", "add-an-algorithm.md",
    "when-it-hangs.md", "when-something-holds-it-back.md", "install.md", "status.md"))]
# `weft run -n 4 program --option`: what follows the program is the program's.
PROGRAM = re.compile(r"(run .*?-n \d+ )\S+.*")
TOOL = ""


@functools.lru_cache
def help_of(*command):
    done = subprocess.run([TOOL, *command, "--help"], capture_output=True, text=True, timeout=60,
                          check=False)
    return done.stdout if done.returncode == 0 else None


def code_of(page):
    """The code of a page: blocks, a line at a time, and what stands between backquotes."""
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        text = file.read()
    for block in re.findall(r"^```.*?\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        yield from block.replace("\\\n", " ").splitlines()
    yield from re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text,
                                                 flags=re.MULTILINE | re.DOTALL))


def commands_of(line):
    """(command, options) of each call of the tool in a line that is not of its own output."""
    if line.startswith("weft: "):
        return
    line = PROGRAM.sub(r"\1", line.split("  #")[0])
    for command, rest in re.findall(r"(?:^|[\s(/])weft ([a-z]+)\b([^)|;#`]*)", line):
        yield command, re.findall(r"(?<=\s)--?[a-z][a-z-]*", rest)


class Commands(unittest.TestCase):
    def test_of_pages_are_in_the_help(self):
        found, missing = 0, []
        shown = set(re.findall(r"^  ([a-z]+)  ", help_of(), re.MULTILINE))
        for page in PAGES:
            for line in code_of(page):
                for command, options in commands_of(line):
                    found += 1
                    if command not in shown:
                        missing.append(f"{page}: weft {command}")
                        continue
                    missing += [f"{page}: weft {command} {option}" for option in options
                                if not re.search(rf"(?<![\w-]){option}(?![\w-])",
                                                 help_of(command))]
        self.assertEqual(missing, [])
        self.assertGreater(found, 30)


if __name__ == "__main__":
    TOOL = os.path.abspath(sys.argv.pop(1))
    unittest.main()
