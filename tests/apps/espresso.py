"""What the programs of Quantum ESPRESSO here share."""

import gzip
import pathlib
import re

from harness import Skip, numbers

EXAMPLES = pathlib.Path("/usr/share/doc/quantum-espresso/examples")
PSEUDO = pathlib.Path("/usr/share/espresso/pseudo")
PACKAGES = ("quantum-espresso", "quantum-espresso-data")


def read_example(name):
    path = EXAMPLES / name
    if not path.exists():
        raise Skip(f"no {path}: Debian's packages may be installed without documents")
    with gzip.open(path, "rt") as file:
        return file.read()


def set_values(text, values):
    """Sets variables of a namelist that it has."""
    for name, value in values.items():
        text, found = re.subn(rf"\b{name}(\s*)=[^,\n]*", rf"{name}\1= {value}", text, count=1)
        if found != 1:
            raise Skip(f"the packaged example has no {name}")
    return text


def total_energies(output, _folder):
    return numbers(r"total energy\s*=\s*([-\d.]+)", output, "energy")


def wall_seconds(program):
    """Reads "CP : 1.23s CPU 4.56s WALL", which the program prints at its end."""
    def read(output):
        found = re.search(rf"^\s*{program}\s*:.*CPU\s+(?:(\d+)m)?\s*([\d.]+)s WALL", output,
                          re.MULTILINE)
        return 60 * int(found[1] or 0) + float(found[2])
    return read
