#!/usr/bin/env python3
"""Fails system calls and verbs of the add-on on one rank, each at each count: the program must end
with the right answers, without a word on standard error, and leave nothing behind."""

import argparse
import concurrent.futures
import errno
import json
import os
import subprocess
import sys
import tempfile

from launch import environment

RANKS = 3
TIMEOUT = 40

SYSTEM_CALLS = [
    "memfd_create", "ftruncate", "fallocate", "posix_fallocate", "mmap", "open", "openat",
    "opendir", "stat", "fstat", "fcntl", "pthread_create", "process_vm_readv", "process_vm_writev",
    "pidfd_open", "kcmp", "poll", "eventfd", "pipe", "fork", "getrandom", "sched_getaffinity"]
# Of several nodes only.
DEVICE_CALLS = [
    "socket", "bind", "listen", "connect", "accept4", "sendmsg", "recvmsg", "epoll_create1",
    "epoll_ctl", "userfaultfd", "ibv_get_device_list", "ibv_open_device",
    "ibv_query_device", "ibv_query_port", "ibv_query_gid", "ibv_query_pkey", "ibv_alloc_pd",
    "ibv_create_comp_channel", "ibv_create_cq", "ibv_create_qp", "ibv_modify_qp", "ibv_query_qp",
    "ibv_reg_mr", "ibv_create_ah"]


# The software device's threads make these while data moves: where they fail for good, the device
# has broken, and that is no set-up any more.
WHILE_DATA_MOVES = {"socket", "connect", "accept4", "sendmsg", "recvmsg", "epoll_ctl"}

# That a signal may interrupt: weft makes them again.
INTERRUPTIBLE = ["fallocate", "posix_fallocate", "process_vm_readv", "process_vm_writev", "poll",
                 "getrandom", "connect", "accept4", "sendmsg", "recvmsg", "recv", "epoll_wait"]


def counts(calls, thin):
    """Which calls fail, of so many. The counts of two runs may differ a little."""
    if calls == 0:
        return []
    if thin:
        return sorted({1, 2, calls // 2, calls} - {0})
    step = max(1, calls // 20)
    return sorted(set(range(1, min(calls, 10) + 1)) | set(range(1, calls + 1, step)))


class Runner:
    def __init__(self, arguments, folder):
        self.arguments = arguments
        self.folder = folder
        self.runs = 0

    def run(self, nodes, rank, call):
        """(what went wrong or None, number of calls, notes of the report)"""
        self.runs += 1
        name = os.path.join(self.folder, f"{nodes}-{rank}-{call}".replace(":", "-"))
        settings = {"LD_PRELOAD": f"{self.arguments.shim} {self.arguments.addon}",
                    "WEFT_AFTER": "0", "WEFT_NODES": str(nodes), "WEFT_REPORT": name + ".json",
                    "FAIL_CALL": call, "FAIL_RANK": str(rank), "FAIL_COUNT": name + ".count"}
        if self.arguments.interrupted:
            settings["FAIL_ERROR"] = str(errno.EINTR)
        for item in self.arguments.env:
            key, value = item.split("=", 1)
            settings[key] = value
        words = [self.arguments.launcher, "-n", str(RANKS), "--oversubscribe"]
        for key, value in settings.items():
            words += ["-x", f"{key}={value}"]
        words.append(self.arguments.program)
        with subprocess.Popen(words, env=environment(), text=True, errors="replace",
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            try:
                _, errors = process.communicate(timeout=TIMEOUT)
            except subprocess.TimeoutExpired:
                process.terminate()  # the launcher ends its ranks
                process.communicate()
                return "timeout", 0, []
        if process.returncode != 0 or errors:
            return f"exit code {process.returncode}: {errors[:400]}", 0, []
        try:
            with open(name + ".count", encoding="utf-8") as file:
                calls = int(file.read())
            with open(name + ".json", encoding="utf-8") as file:
                report = json.load(file)
        except OSError as error:
            return str(error), 0, []
        taken = sum(entry["calls"] for entry in report["collectives"])
        if taken == 0 and not report["notes"]:
            return "weft took no call, and no note says why", calls, []
        if self.arguments.interrupted and report["notes"]:
            return f"notes: {report['notes']}", calls, []
        return None, calls, report["notes"]


def judge(runner, nodes, rank, name, thin):
    """Yields a line for each injected failure: (good, text)."""
    fault, calls, _ = runner.run(nodes, rank, f"{name}:0")
    if fault is not None:
        yield False, f"{nodes} nodes, nothing fails: {fault}"
        return
    for number in counts(calls, thin):
        ways = ["", "+"] if number <= 3 else [""]
        if thin:
            ways = ["+"] if number == 2 else [""]
        if name in WHILE_DATA_MOVES or runner.arguments.interrupted:
            ways = [""]
        for way in ways:
            call = f"{name}:{number}{way}"
            fault, _, notes = runner.run(nodes, rank, call)
            text = f"nodes {nodes} rank {rank} {call} of {calls}: {fault or '; '.join(notes)}"
            yield fault is None, text


def own_processes(folder):
    """Numbers of processes whose environment names `folder`."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit():
                with open(f"/proc/{entry}/environ", "rb") as file:
                    if folder.encode() in file.read():
                        found.append(entry)
        except OSError:
            pass
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--launcher", required=True, help="path of mpirun.openmpi")
    parser.add_argument("--addon", required=True)
    parser.add_argument("--shim", required=True, help="shared object of fail_calls.c")
    parser.add_argument("--program", required=True)
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--thin", action="store_true", help="a few counts of each call")
    parser.add_argument("--interrupted", action="store_true",
                        help="calls that a signal may interrupt fail as if one had: no harm done")
    parser.add_argument("--calls", help="these alone, comma-separated")
    parser.add_argument("--nodes", type=int, choices=[1, 2], help="this many nodes only")
    parser.add_argument("--rank", type=int, help="on this rank only")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    wanted = arguments.calls.split(",") if arguments.calls else None
    cases = [(nodes, rank, name) for nodes in (1, 2) for rank in (0, 2)
             for name in (INTERRUPTIBLE if arguments.interrupted else
                          SYSTEM_CALLS + (DEVICE_CALLS if nodes == 2 else []))
             if wanted is None or name in wanted]
    if arguments.nodes:
        cases = [case for case in cases if case[0] == arguments.nodes]
    if arguments.rank is not None:
        cases = [case for case in cases if case[1] == arguments.rank]
    if arguments.thin:  # each on one of the ranks
        cases = [case for i, case in enumerate(sorted(cases, key=lambda one: one[2]))
                 if arguments.rank is not None or case[1] == 2 * (i // 2 % 2)]
    before = set(os.listdir("/dev/shm"))
    failures = 0
    with tempfile.TemporaryDirectory(prefix="weft-test-") as folder:
        runner = Runner(arguments, folder)
        work = concurrent.futures.ThreadPoolExecutor(arguments.jobs)
        for lines in work.map(lambda case: list(judge(runner, *case, arguments.thin)), cases):
            for good, text in lines:
                failures += not good
                print("" if good else "FAILED: ", text, sep="", flush=True)
        if runner.runs <= len(cases) or not cases:
            failures += 1
            print("FAILED: no call was counted")
    for left in sorted(set(os.listdir("/dev/shm")) - before):
        if "weft" in left:
            failures += 1
            print(f"FAILED: left in /dev/shm: {left}")
    for process in own_processes(folder):
        failures += 1
        print(f"FAILED: process {process} is left")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
