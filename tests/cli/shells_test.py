#!/usr/bin/env python3
"""What is installed beside the tool for people at a terminal: completions work in the shells that
are here, and manual pages are without faults.

    shells_test.py TOOL
"""

import glob
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
SCRIPTS = os.path.join(ROOT, "cli/completion")
TOOL = ""


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False,
                          env={"PATH": os.path.dirname(TOOL) + ":/usr/bin:/bin", "HOME": "/nowhere",
                               "LC_ALL": "C.UTF-8", "TERM": "dumb"}, **options)
    return done.returncode, done.stdout, done.stderr


class Bash(unittest.TestCase):
    def complete(self, *words):
        """What bash has after the words, the last of them begun."""
        code, out, err = run(
            "bash", "--norc", "-c",
            'source "$1/weft.bash"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _weft; '
            'printf "%s\\n" "${COMPREPLY[@]}"', "bash", SCRIPTS, "weft", *words, cwd=SCRIPTS)
        self.assertEqual((code, err), (0, ""))
        return set(out.split())

    def test_completes_a_command_an_option_and_an_algorithm(self):
        self.assertEqual(self.complete("ex"), {"exec", "explain"})
        self.assertEqual(self.complete("preload", "--so"), {"--soft-device"})
        self.assertEqual(self.complete("plan", "alltoall", "--algorithm", "pair"),
                         {"pairwise-xor", "pairwise-ring"})
        self.assertEqual(self.complete("plan", "alltoall", "--algorithm", "=", "bru"), {"bruck"})

    def test_completes_files_and_programs(self):
        self.assertEqual(self.complete("probe", "--html", "weft.b"), {"weft.bash"})
        self.assertIn("mkdir", self.complete("exec", "mkdi"))

    def test_is_registered(self):
        code, out, _ = run("bash", "--norc", "-c", 'source "$1/weft.bash"; complete -p weft',
                           "bash", SCRIPTS)
        self.assertEqual((code, out), (0, "complete -F _weft weft\n"))


@unittest.skipUnless(shutil.which("fish"), "no fish")
class Fish(unittest.TestCase):
    def test_completes(self):
        with tempfile.TemporaryDirectory() as home:
            done = subprocess.run(
                ["fish", "--no-config", "-c",
                 f"source {SCRIPTS}/weft.fish; complete -C 'weft plan alltoall --algorithm bru'; "
                 "complete -C 'weft expl'"],
                env={"PATH": os.path.dirname(TOOL) + ":/usr/bin:/bin", "HOME": home},
                capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.stderr, "")
        self.assertEqual([line.split("\t")[0] for line in done.stdout.splitlines()],
                         ["bruck", "explain"])


@unittest.skipUnless(shutil.which("zsh"), "no zsh")
class Zsh(unittest.TestCase):
    def test_hands_the_words_on(self):
        """_describe gets them; what it shows needs a terminal."""
        code, out, err = run(
            "zsh", "-f", "-c",
            "_describe() { print -l -- ${(P)2} }; _files() { print files }; "
            "words=(weft plan alltoall --algorithm bru); CURRENT=5; source $1/_weft; "
            "words=(weft probe --html x); CURRENT=4; source $1/_weft", "zsh", SCRIPTS)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out.split(), ["bruck:", "files"])


class ManualPages(unittest.TestCase):
    @unittest.skipUnless(shutil.which("man") and shutil.which("groff"), "no man or groff")
    def test_have_no_faults(self):
        pages = glob.glob(os.path.join(os.path.dirname(TOOL), "man/*.1.gz"))
        self.assertGreater(len(pages), 8)
        for page in pages:
            code, out, err = run("man", "--warnings", "--encoding=UTF-8", "-l", page)
            self.assertEqual((code, err), (0, ""), page)
            self.assertIn("SYNOPSIS", out)

    def test_say_who_they_are(self):
        """As whatis needs it: NAME and one line."""
        for page in glob.glob(os.path.join(os.path.dirname(TOOL), "man/*.1.gz")):
            with gzip.open(page, "rt", encoding="utf-8") as file:
                lines = file.read().splitlines()
            name = os.path.basename(page).removesuffix(".1.gz").replace("-", "\\-")
            self.assertTrue(lines[lines.index(".SH NAME") + 1].startswith(name + " \\- "), page)


if __name__ == "__main__":
    TOOL = os.path.abspath(sys.argv.pop(1))
    unittest.main()
