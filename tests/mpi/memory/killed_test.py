#!/usr/bin/env python3
"""Ranks that are killed leave nothing behind: no file in /dev/shm, no process.

killed_test.py LAUNCHER ADDON PROGRAM
"""

import os
import signal
import subprocess
import sys
import time

import launch


def ranks_of(program, session):
    """Processes of `program` in the session `session`, found in /proc."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            if os.readlink(f"/proc/{entry}/exe") == os.path.realpath(program):
                with open(f"/proc/{entry}/environ", "rb") as file:
                    if session in file.read():
                        found.append(int(entry))
        except OSError:
            continue
    return found


def maps_heap(process):
    try:
        with open(f"/proc/{process}/maps", encoding="utf-8", errors="replace") as file:
            return sum("weft-heap" in line for line in file)
    except OSError:
        return 0


def wait_until(what, condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"killed_test.py: {what}: not within {seconds} s")
        time.sleep(0.02)


def main():
    launcher, addon, program = sys.argv[1:]
    mark = f"WEFT_TEST_MARK={os.getpid()}"
    before = set(os.listdir("/dev/shm"))

    class Run:
        ranks = 2
        addon_of = None
        disabled_on = ""
        apart = None
        unshare = None
        launcher_option = []
    Run.launcher = launcher
    Run.program = [program, "1000000"]
    settings = {"LD_PRELOAD": addon, "WEFT_SHARED_HEAP": "1", "WEFT_AFTER": "0",
                "WEFT_TEST_MARK": str(os.getpid())}
    with subprocess.Popen(launch.command(Run, settings), env=launch.environment(),
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, start_new_session=True) as job:
        # Each maps its own heap and its peer's: a call is under way or near.
        def busy():
            ranks = ranks_of(program, mark.encode())
            return len(ranks) == 2 and all(maps_heap(rank) >= 2 for rank in ranks)
        wait_until("both ranks map two heaps", busy)
        during = set(os.listdir("/dev/shm"))
        for rank in ranks_of(program, mark.encode()):
            os.kill(rank, signal.SIGKILL)
        try:
            job.wait(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            sys.exit("killed_test.py: the launcher did not end")
    wait_until("no rank is left", lambda: not ranks_of(program, mark.encode()))
    # Files of the host MPI itself do not count.
    left = {name for name in (during | set(os.listdir("/dev/shm"))) - before if "weft" in name}
    if left:
        sys.exit(f"killed_test.py: left behind: {sorted(left)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
