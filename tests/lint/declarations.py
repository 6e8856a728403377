#!/usr/bin/env python3
"""Finds functions and variables that a header of one room declares and another room defines.

    declarations.py ROOT LIST

LIST is a file with a line "ROOM LIBRARY" for each room: a folder below ROOT, and what was built of
it. A room's headers are those of its folder that are in no other room's. Prints one line for each
such declaration. Exits with 1 when there is one, else with 0.

Linking a room alone does not find these: base may declare what engine defines, as long as nothing
in base calls it.

Names are compared, not types: a name that its own room defines once is its own. Definitions that a
header holds itself (inline, templates) are weak symbols, and no matter here.
"""

import os
import re
import subprocess
import sys

NOISE = re.compile(r"""//[^\n]*|/\*.*?\*/|R"\(.*?\)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'""",
                   re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
# Parentheses that are not a function's.
DECORATION = re.compile(r"\[\[[^\]]*\]\]|__attribute__\s*\(\([^)]*\)\)"
                        r"|\b(?:alignas|decltype|noexcept|explicit|asm)\s*\([^()]*\)")
NAMESPACE = re.compile(r"\bnamespace\s+([\w:]+)\s*$")
CLASS = re.compile(r"\b(?:class|struct|union)\s+(?:\w+\s+)*?(\w+(?:::\w+)*)\s*(?:final\s*)?"
                   r"(?::[^:].*)?$", re.DOTALL)
FUNCTION = re.compile(r"((?:\w+::)*(?:operator\s*(?:\(\)|[^\s\w(]+|\w+)|~?\w+))\s*\(")
VARIABLE = re.compile(r"\b(\w+)\s*(?:\[[^\]]*\]\s*)*$")
TRANSPARENT = object()


def without_angles(text):
    """The text without template arguments, operators such as << apart."""
    text = re.sub(r"operator\s*[<>=]+", lambda match: match[0].translate({60: 1, 62: 2}), text)
    before = None
    while before != text:
        before = text
        text = re.sub(r"<[^<>]*>", " ", text)
    return text.replace("\1", "<").replace("\2", ">")


def declared_by(statement, in_class):
    """The name that a statement of a namespace or a class declares and does not define; or None."""
    text = DECORATION.sub(" ", statement)
    text = re.sub(r"^\s*(?:(?:public|private|protected)\s*:\s*)*", "", text)
    if re.match(r"(?:template|using|typedef|friend|static_assert|enum|namespace)\b", text):
        return None
    if re.search(r"=\s*(?:delete|default|0)\s*$", text):
        return None
    text = without_angles(text)
    if "operator" not in text:
        text = re.sub(r"^([^(=]*)=.*", r"\1", text, flags=re.DOTALL)  # an initializer
    if (function := FUNCTION.search(text)):
        return re.sub(r"\s+", "", function[1])
    elsewhere = re.match(r"static\b" if in_class else r"extern\b", text)
    if not elsewhere or re.search(r"\b(?:constexpr|inline)\b", text):
        return None
    variable = VARIABLE.search(text)
    return variable[1] if variable else None


def declarations(text):
    """The qualified names that a header's text declares without defining them."""
    text = DIRECTIVE.sub("", NOISE.sub(lambda match: '""' if match[0][0] == '"' else " ", text))
    found, scopes, statement, skipped = set(), [], "", 0
    for part in re.split(r"([{};])", text):
        if skipped:  # in a body, an initializer or an enumeration
            skipped += {"{": 1, "}": -1}.get(part, 0)
        elif part == "{":
            plain = without_angles(DECORATION.sub(" ", statement))
            if re.search(r'\bextern\s*""\s*$', plain):
                scopes.append((TRANSPARENT, False))
            elif (match := NAMESPACE.search(plain)):
                scopes.append((match[1], False))
            elif "(" not in plain and "=" not in plain and not re.search(r"\benum\b", plain) \
                    and (match := CLASS.search(plain)):
                scopes.append((match[1], True))
            elif re.search(r"\bnamespace\s*$", plain):
                scopes.append((TRANSPARENT, False))
            else:
                skipped = 1
                if plain.count("(") > plain.count(")"):  # an argument's default
                    continue
            statement = ""
        elif part == "}":
            if scopes:
                scopes.pop()
            statement = ""
        elif part == ";":
            in_class = bool(scopes) and scopes[-1][1]
            name = declared_by(statement.strip(), in_class)
            if name:
                around = [scope for scope, _ in scopes if scope is not TRANSPARENT]
                found.add("::".join([*around, name]))
            statement = ""
        else:
            statement += part
    return found


def definitions(library):
    """The qualified names that a library defines for others, weak ones apart."""
    lines = subprocess.run(["nm", "--demangle", "--defined-only", "--extern-only", library],
                           check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()
    found = set()
    for line in lines:
        match = re.match(r"[0-9a-f]+ ([TDBRC]) (.+)$", line)
        if not match or "(anonymous namespace)" in match[2]:
            continue
        name = re.sub(r"\[abi:\w+\]", "", match[2])
        call = re.match(r"(.*?operator\(\)|[^(]*)", name)[1]
        if re.search(r"\b(?:for|to) ", call):  # vtable for .., guard variable for ..
            continue
        found.add(without_angles(call).replace(" ", "") if "<" in call else call.replace(" ", ""))
    return found


def headers_by_room(root, rooms):
    """Paths from the root of each room's headers, sorted."""
    found = {room: [] for room in rooms}
    for top in sorted({room.split("/")[0] for room in rooms}):
        for folder, _, files in os.walk(os.path.join(root, top)):
            for name in files:
                path = os.path.relpath(os.path.join(folder, name), root)
                fitting = [room for room in rooms if path.startswith(room + "/")]
                if fitting and name.endswith((".h", ".hpp")):
                    found[max(fitting, key=len)].append(path)
    return {room: sorted(paths) for room, paths in found.items()}


def faults(root, libraries):
    """One line for each declaration whose definition is another room's alone."""
    defined = {room: definitions(library) for room, library in libraries.items()}
    for room, headers in headers_by_room(root, libraries).items():
        for header in headers:
            with open(os.path.join(root, header), encoding="utf-8") as file:
                names = declarations(file.read())
            for name in sorted(names - defined[room]):
                elsewhere = [other for other in defined if name in defined[other]]
                if elsewhere:
                    yield f"{header}: declares {name}, which {', '.join(elsewhere)} defines"


def main():
    root, listed = sys.argv[1:]
    with open(listed, encoding="utf-8") as file:
        libraries = dict(line.split(maxsplit=1) for line in file.read().splitlines())
    found = list(faults(root, libraries))
    print("\n".join(found) if found else "declarations: each room defines what it declares")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
