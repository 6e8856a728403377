#!/usr/bin/env python3
"""Every relative link in a Markdown file of the repository leads to a file, and every anchor to a
heading. Every decision is in the index of decisions."""

import os
import re
import tempfile
import unittest

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")


def pages(root):
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != "build" and not name.startswith(".")]
        for name in names:
            if name.endswith(".md"):
                yield os.path.join(folder, name)


def read(path):
    with open(path, encoding="utf-8") as file:
        return FENCED.sub("", file.read())


def anchors(path):
    """The anchors that GitHub gives a page's headings."""
    found = set()
    for heading in re.findall(r"^#+ +(.*?)\s*$", read(path), re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        number = 0
        while f"{anchor}-{number}" in found or (number == 0 and anchor in found):
            number += 1
        found.add(f"{anchor}-{number}" if number else anchor)
    return found


def broken(root):
    """A line for each link that leads nowhere."""
    for page in sorted(pages(root)):
        text = re.sub(r"`[^`\n]*`", "", read(page))
        for link in LINK.findall(text):
            if re.match(r"\w+:", link):
                continue
            path, _, anchor = link.partition("#")
            target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            where = f"{os.path.relpath(page, root)}: ({link})"
            if not os.path.exists(target):
                yield f"{where}: no such file"
            elif anchor and (not target.endswith(".md") or anchor not in anchors(target)):
                yield f"{where}: no such heading"


class Decisions(unittest.TestCase):
    def test_are_all_in_their_index(self):
        text = read(os.path.join(ROOT, "docs/decisions.md"))
        index = text[text.index("## Index"):text.index("\n## 2")]
        linked = set(re.findall(r"\(#([^)]*)\)", index))
        missing = anchors(os.path.join(ROOT, "docs/decisions.md")) - linked
        self.assertEqual(missing, {"decisions", "index"})


class Links(unittest.TestCase):
    def test_lead_somewhere(self):
        self.assertGreater(len(list(pages(ROOT))), 5)
        self.assertEqual(list(broken(ROOT)), [])

    def test_that_lead_nowhere_are_found(self):
        with tempfile.TemporaryDirectory() as root:
            with open(os.path.join(root, "a.md"), "w", encoding="utf-8") as file:
                file.write("# One\n## It's `two`: [three](b.md)\n## One\n"
                           "[](#one) [](#its-two-three) [](#one-1) [](a.md#one) [](https://x.y)\n"
                           "`[](in-code.md)`\n```\n[](fenced.md)\n```\n"
                           "[](#four) [](a.md#two)\n")
            self.assertEqual(list(broken(root)), [
                "a.md: (b.md): no such file", "a.md: (#four): no such heading",
                "a.md: (a.md#two): no such heading"])


if __name__ == "__main__":
    unittest.main()
