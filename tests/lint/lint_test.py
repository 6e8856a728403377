#!/usr/bin/env python3
"""tools/lint passes a clean tree, and finds one fault of each kind that is planted in it."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
TAKEN = ["tools/lint", ".clang-format", ".clang-tidy", "tests/lint/include_direction.py"]
CLEAN = """namespace weft {

int twice(int number) {
  return 2 * number;
}

}  // namespace weft
"""


class Lint(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="weft-lint-")
        self.addCleanup(shutil.rmtree, self.root)
        for name in TAKEN:
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            shutil.copy(os.path.join(ROOT, name), self.path(name))
        self.write("base/a.cpp", CLEAN)
        self.write(".gitignore", "/build/\n")
        self.write("build/compile_commands.json", json.dumps([{
            "directory": self.root, "file": self.path("base/a.cpp"),
            "command": f"c++ -std=c++20 -I{self.root} -c {self.path('base/a.cpp')}"}]))
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("add", ".")
        self.git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "first")

    def path(self, name):
        return os.path.join(self.root, name)

    def git(self, *words):
        subprocess.run(["git", "-C", self.root, *words], check=True, timeout=60)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def lint(self, *words):
        return subprocess.run(
            [self.path("tools/lint"), "--build", self.path("build"), *words], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=240, check=False)

    def assert_fails(self, part, *words):
        done = self.lint(*words)
        failed = [line for line in done.stdout.splitlines() if line.endswith("FAILED")]
        self.assertEqual(failed, [f"lint: {part}: FAILED"], done.stdout)
        self.assertEqual(done.returncode, 1)

    def test_a_clean_tree_passes(self):
        done = self.lint()
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("clang-tidy on 1 files", done.stdout)

    def test_layout(self):
        self.write("base/a.cpp", CLEAN.replace("  return", "   return"))
        self.assert_fails("layout")
        self.assertEqual(self.lint("--format").returncode, 0)
        self.assertEqual(self.lint().returncode, 0)

    def test_text(self):
        for text in ("a\tb\n", "a \n", "a" * 101 + "\n", "no end"):
            self.write("cmake/b.cmake", text)
            self.assert_fails("text")

    def test_includes(self):
        self.write("plan/a.hpp", "#pragma once\n")
        self.write("base/a.cpp", '#include "plan/a.hpp"\n\n' + CLEAN)
        self.assert_fails("includes")

    def test_shell_scripts(self):
        self.write("tools/more", "#!/usr/bin/env bash\ncd $1\n")
        self.assert_fails("shell scripts")

    def test_clang_tidy(self):
        self.write("base/a.cpp", CLEAN.replace("twice(", "Twice("))
        self.assert_fails("clang-tidy")

    def test_clang_tidy_takes_no_unity_build(self):
        self.write("build/compile_commands.json", json.dumps([{
            "directory": self.root, "file": self.path("build/base.dir/Unity/unity_0_cxx.cxx"),
            "command": "c++"}]))
        self.assert_fails("clang-tidy")

    def test_changed_files_alone(self):
        self.write("cmake/b.cmake", "a \n")
        self.assert_fails("text", "--changed")
        self.git("add", ".")
        self.git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "second")
        self.assertEqual(self.lint("--changed").returncode, 0)
        self.assert_fails("text", "--changed", "HEAD~1")

    def test_what_there_is_not(self):
        self.assertEqual(self.lint("--changed", "nowhere").returncode, 2)
        self.assertEqual(self.lint("--loud").returncode, 2)


if __name__ == "__main__":
    unittest.main()
