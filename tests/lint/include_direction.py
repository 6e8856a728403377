#!/usr/bin/env python3
"""Which room may include which: finds includes that go against the table, and sources that do not
include their own header first, which shows that it compiles alone.

    include_direction.py [ROOT]

Prints one line for each include that is not allowed or not in its place. Exits with 1 when there is
one, else with 0.
"""

import os
import re
import sys

# A room, and the rooms whose headers it may include besides its own and besides what those may
# include themselves. CMakeLists.txt links along the same arrows; the rooms of verbs/soft are one
# shared object. A folder below a room that is not in the table belongs to that room.
ROOMS = {
    "base": [],
    "kernels": ["base"],
    "plan": ["base"],
    "plan/verify": ["plan"],
    "plan/inspect": ["plan/verify"],
    "hierarchy": ["plan"],
    "algorithm": ["hierarchy"],
    "alltoall/flat": ["algorithm"],
    "alltoall/schemes": ["alltoall/flat"],
    "gather/flat": ["algorithm"],
    "gather/schemes": ["gather/flat"],
    "reduce/flat": ["algorithm"],
    "reduce/schemes": ["reduce/flat"],
    "registry": ["alltoall/schemes", "gather/schemes", "reduce/schemes"],
    "sim": ["hierarchy", "plan/inspect"],
    "nic_profiles": ["sim"],
    "nic_profiles/fit": ["nic_profiles"],
    "nic_profiles/probe": ["nic_profiles/fit"],
    "nic_profiles/report": ["nic_profiles/fit"],
    "tune": ["registry", "sim", "nic_profiles"],
    "tune/experiments": ["tune"],
    "tune/hosts": ["comm", "nic_profiles/fit"],
    "verbs/channel": ["base"],
    "verbs/device": ["base"],
    "verbs/control": ["verbs/device"],
    "verbs/recovery": ["verbs/channel", "verbs/control"],
    "verbs/connection": ["verbs/recovery"],
    "verbs/registration": ["verbs/connection"],
    "verbs/soft/faults": ["base"],
    "verbs/soft/segment": ["base"],
    "verbs/soft/process": ["verbs/soft/faults", "verbs/soft/segment"],
    "verbs/soft/queues": ["verbs/soft/process"],
    "verbs/soft/objects": ["verbs/soft/queues"],
    "verbs/soft/abi": ["verbs/soft/objects"],
    "engine/copying": ["kernels", "plan", "verbs/channel"],
    "engine/heap": ["base"],
    "engine/views": ["engine/heap", "verbs/channel"],
    "engine/program": ["plan"],
    "engine/board": ["plan"],
    "engine/node": ["engine/copying", "engine/program", "engine/views", "verbs/connection"],
    "engine/run": ["engine/board", "engine/node", "verbs/registration"],
    "comm": ["kernels"],
    "comm/bootstrap": ["comm"],
    "comm/setup": ["comm/bootstrap", "tune", "engine/run"],
    "comm/irregular": ["comm/setup"],
    "comm/calls": ["comm/irregular"],
    "comm/c_api": ["comm/calls"],
    "tune/ranks": ["comm/calls", "tune/hosts"],
    "device_measurements": ["comm/setup", "nic_profiles/fit"],
    "mpi/summary": ["base"],
    "mpi/recording": ["plan"],
    "mpi/replay": ["mpi/recording", "mpi/summary", "tune"],
    "mpi/report": ["comm/setup", "mpi/summary"],
    "mpi/allocator": ["engine/heap"],
    "mpi/fibers": ["base"],
    "mpi/host": ["mpi/report", "mpi/recording"],
    "mpi/datatypes": ["mpi/host"],
    "mpi/operations": ["mpi/datatypes"],
    "mpi/world": ["mpi/operations"],
    "mpi/calls": ["mpi/world"],
    "mpi/requests": ["mpi/calls", "mpi/fibers"],
    "mpi/pmpi": ["mpi/requests"],
    "mpi/ompi_coll": ["mpi/requests"],
    "mpi/launch": ["comm", "tune/hosts"],
    "mpi/guide": [],
    "cli/terminal": ["base"],
    "cli/options": ["cli/terminal", "nic_profiles", "registry"],
    "cli": ["cli/options", "comm/setup", "nic_profiles/probe", "nic_profiles/report",
            "device_measurements", "mpi/guide", "mpi/replay", "mpi/summary",
            "tune/experiments", "tune/hosts", "tune/ranks"],
}
# Examples are users' programs: they see what is installed, under comm/include.
PUBLIC = "comm/include"
# Tests and benchmarks look into every room; no room looks into them.
OUTSIDE = ["tests", "bench"]
SKIPPED = ["build", "docs", "cmake", "tools"]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SOURCES = (".c", ".cpp", ".h", ".hpp")


def reach(room):
    """The rooms that `room` may include."""
    found = {room}
    for other in ROOMS[room]:
        found |= reach(other)
    return found


def room_of(path):
    """The room of a path from the root: the longest that matches; None outside of all."""
    fitting = [room for room in [*ROOMS, *OUTSIDE, "examples"] if path.startswith(room + "/")]
    return max(fitting, key=len, default=None)


def sources(root):
    """Paths from the root of all C and C++ files, sorted."""
    found = []
    for folder, folders, files in os.walk(root):
        inside = os.path.relpath(folder, root)
        folders[:] = [name for name in folders if not name.startswith(".")
                      and not (inside == "." and name in SKIPPED)]
        found += [os.path.normpath(os.path.join(inside, name)) for name in files
                  if name.endswith(SOURCES)]
    return sorted(found)


def resolve(root, name, path):
    """The file that an include in `path` names, as a path from the root; None: none of ours."""
    # A test may name what lies beside it: it is a program of its own.
    beside = [os.path.dirname(path)] if room_of(path) in [*OUTSIDE, "examples"] else []
    for base in ["", PUBLIC, *beside]:
        path = os.path.normpath(os.path.join(base, name))
        if os.path.isfile(os.path.join(root, path)):
            return path
    return None


def own_header(root, path):
    """The header beside a source of a room that has its name, as a path from the root, or None."""
    header, extension = os.path.splitext(path)
    header += ".hpp"
    is_source = extension == ".cpp" and room_of(path) in ROOMS
    if is_source and os.path.isfile(os.path.join(root, header)):
        return header
    return None


def is_allowed(path, target):
    """Whether the file at `path` may include the file at `target`."""
    room, other = room_of(path), room_of(target)
    if path.startswith("tests/install/"):  # users' programs too
        room = "examples"
    if room == other or room in OUTSIDE:
        return other not in OUTSIDE or room == other
    if room == "examples":
        return target.startswith(PUBLIC + "/")
    return room in ROOMS and other in reach(room)


def faults(root):
    """One line for each include that is not allowed, in order of files and lines."""
    for path in sources(root):
        if room_of(path) is None:
            yield f"{path}: in no room of the table in tests/lint/include_direction.py"
            continue
        with open(os.path.join(root, path), encoding="utf-8") as file:
            lines = file.readlines()
        includes = [(number, match) for number, line in enumerate(lines, 1)
                    if (match := INCLUDE.match(line))]
        own = own_header(root, path)
        if own and (not includes or resolve(root, includes[0][1][2], path) != own):
            yield f"{path}: does not include {own} first"
        for number, match in includes:
            target = resolve(root, match[2], path)
            if target is None and match[1] == '"':
                yield f'{path}:{number}: "{match[2]}" is no file; includes are named from the root'
            elif target is not None and not is_allowed(path, target):
                yield f"{path}:{number}: {room_of(path)} may not include {target}"


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "../..")
    found = list(faults(root))
    print("\n".join(found) if found else "include direction: all arrows are in the table")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
