#!/usr/bin/env python3
"""The rooms of the software device are one shared object, so the linker does not hold their arrows:
no room may use a function that a room defines which it may not include.

usage: rooms_test.py object ...
"""
import os
import re
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path.insert(0, os.path.join(ROOT, "tests/lint"))
import include_direction  # noqa: E402


def room_of(path):
    """The room of an object: .../weft_verbs_soft.dir/queues/send.cpp.o is of verbs/soft/queues, and
    in a unity build .../weft_verbs_soft.dir/Unity/unity_queues_cxx.cxx.o is all of it."""
    unit = re.search(r"/unity_(\w+)_cxx\.cxx", path)
    if unit:
        return "verbs/soft/" + unit[1]
    return "verbs/soft/" + os.path.basename(os.path.dirname(path))


def symbols(path, option):
    """Names of the global symbols of an object, defined or undefined."""
    out = subprocess.run(["nm", "--extern-only", "--format=posix", option, path], check=True,
                         capture_output=True, text=True).stdout
    return {line.split()[0] for line in out.splitlines() if " W " not in line and " V " not in line}


def main():
    objects = [path for path in sys.argv[1:] if "/cmake_pch" not in path]
    rooms = {room_of(path) for path in objects}
    known = {room for room in include_direction.ROOMS if room.startswith("verbs/soft/")}
    if rooms != known:
        sys.exit(f"rooms of the device: {sorted(rooms)}, in the table: {sorted(known)}")
    definer = {name: room_of(path) for path in objects for name in symbols(path, "--defined-only")}
    wrong = {f"{room_of(path)} uses {name} of {definer[name]}" for path in objects
             for name in symbols(path, "--undefined-only")
             if name in definer and definer[name] not in include_direction.reach(room_of(path))}
    print("\n".join(sorted(wrong)) if wrong else f"{len(definer)} symbols, all arrows allowed")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
