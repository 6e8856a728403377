#!/usr/bin/env python3
"""Campaign of faults: programs of random collectives under Open MPI, each with one fault at a
random moment. Where weft can go on it must, with right answers; where it cannot, every rank that is
left gets an error within the time that the settings promise. Never a wrong answer, never a hang,
nothing left behind. Ends with a table of kinds and outcomes."""

import argparse
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import outcomes

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "mpi"))
import launch  # noqa: E402  (environment of a launcher: in the folder just named)

RECOVERY_S = 4
TIMEOUT_S = 20
# A peer that says nothing is given up after the one, a wait after the other; the rest is for a busy
# machine.
BOUND_S = RECOVERY_S + TIMEOUT_S + 6
SETTINGS = {"WEFT_AFTER": "0", "WEFT_RECOVERY": str(RECOVERY_S), "WEFT_TIMEOUT": str(TIMEOUT_S),
            "WEFT_CONNECT_TIMEOUT": str(TIMEOUT_S), "WEFT_SOFT_LINK": "infiniband"}
# Of the program's calls, so that the fault comes while they go on.
CALLS = {"kill": 10**6, "exit": 10**6, "abort": 10**6, "long stop": 3000,
         "stop of a minute": 3000}


def device_fault(text, expected="right", **settings):
    def draw(rng, ranks):
        return {"WEFT_SOFT_FAULTS": f"rank={rng.randrange(ranks)}; " +
                                    text.format(at=rng.randint(1, 400), every=rng.randint(20, 400),
                                                qp=rng.randint(1, 3))} | settings, expected
    return draw


def failing_call(call, error):
    def draw(rng, ranks):
        return {"FAIL_CALL": f"{call}:{rng.randint(1, 60)}", "FAIL_ERROR": str(error),
                "FAIL_RANK": str(rng.randrange(ranks))}, "right"
    return draw


RAILS = {"WEFT_SOFT_DEVICES": "2", "WEFT_DEVICE": "weft_soft0,weft_soft1"}
# By kind: (settings, expectation) for a number of ranks. Between nodes.
ON_THE_DEVICE = {
    "error": device_fault("error:at={at}"),
    "errors": device_fault("error:every={every}"),
    "lost answer": device_fault("lost-answer:at={at}"),
    "error of a queue pair": device_fault("qp-error:at={at}"),
    "errors of one queue pair": device_fault("error:every={every},qp={qp}"),
    "port down and up": device_fault("port-down:at={at},for=300ms"),
    "port down for good": device_fault("port-down:at={at}", "error"),
    "one rail of two": device_fault("port-down:at={at}", **RAILS),
    "delay": device_fault("delay:every={every},by=2ms,jitter=1ms"),
    "slow peer": device_fault("slow-peer:by=100us"),
    "death at a message": device_fault("die:at={at}", "error"),
}
CALLS_THAT_FAIL = {
    "no memory": failing_call("mmap", 12),
    "no memory file": failing_call("memfd_create", 24),
    "no descriptor": failing_call("openat", 24),
    "no thread": failing_call("pthread_create", 11),
}
# By the program itself: what it is to do, and what is expected.
TROUBLES = {"kill": ("kill", "error"), "exit": ("exit", "error"), "abort": ("abort", "ended"),
            "stop": ("stop:2", "right"), "long stop": ("stop:8", "right"),
            "stop of a minute": ("stop:60", "right")}
# Not drawn unless they are named: they take long.
RARE = {"stop of a minute"}


def draw_case(number, arguments):
    rng = random.Random(f"{arguments.seed} {number}")
    nodes = rng.choice(arguments.nodes)
    ranks = rng.randint(max(2, nodes), 6)
    kinds = [*TROUBLES, *CALLS_THAT_FAIL, "full /dev/shm", *(ON_THE_DEVICE if nodes > 1 else [])]
    kind = rng.choice([kind for kind in kinds if kind in arguments.kinds] or
                      [kind for kind in kinds if kind not in RARE])
    case = outcomes.Case(number, kind, nodes, ranks, rng.randrange(10**9), rng.randrange(ranks), [],
                         {}, "right")
    if kind in TROUBLES:
        after_us = rng.randrange(400_000) if arguments.after_us is None else arguments.after_us
        trouble, case.expected = TROUBLES[kind]
        case.program_words = [trouble, str(case.victim), str(after_us)]
        if kind in RARE:
            case.settings = {"WEFT_TIMEOUT": "100"}  # a rank that is stopped for longer is missed
    elif kind == "full /dev/shm":
        case.before = [str(arguments.confined), "all", "shm=64", "--"]
    else:
        draw = ON_THE_DEVICE.get(kind) or CALLS_THAT_FAIL[kind]
        case.settings, case.expected = draw(rng, ranks)
        case.silent = 0 if kind == "port down for good" else 1
    return case


def words_of(case, arguments, folder):
    settings = SETTINGS | {"LD_PRELOAD": str(arguments.addon), "WEFT_NODES": str(case.nodes)}
    settings |= case.settings
    if "FAIL_CALL" in settings:
        settings["LD_PRELOAD"] = f"{arguments.shim} {arguments.addon}"
    # Open MPI lets the other ranks live where one has died, so that they can say what they got.
    words = [arguments.launcher, "--oversubscribe", "--enable-recovery", "-n", str(case.ranks)]
    for key, value in settings.items():
        words += ["-x", f"{key}={value}"]
    return [*words, *case.before, str(arguments.program), str(folder),
            str(CALLS.get(case.kind, 1500)), str(case.seed), *case.program_words]


def own_processes(mark):
    """Processes whose environment names the folder of the run."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit():
                with open(f"/proc/{entry}/environ", "rb") as file:
                    if mark.encode() in file.read():
                        found.append(int(entry))
        except OSError:
            continue
    return found


def ends_of(folder, ranks):
    found = {}
    for rank in range(ranks):
        path = folder / str(rank)
        if path.exists():
            found[rank] = path.read_text(errors="replace").strip()
    return found


def wait_for_end(job, case, folder, deadline):
    """Until the launcher has ended, or every rank but a dead one has said how it ended."""
    while time.monotonic() < deadline:
        if job.poll() is not None:
            return True
        if case.expected == "error" and len(ends_of(folder, case.ranks)) >= case.ranks:
            return True
        try:
            job.wait(timeout=0.05)
        except subprocess.TimeoutExpired:
            pass
    return False


def run_case(case, arguments):
    """(outcome, what is wrong or None, seconds)"""
    with tempfile.TemporaryDirectory(prefix="weft-chaos-") as name:
        folder = pathlib.Path(name)
        shared_before = set(os.listdir("/dev/shm"))
        environment = launch.environment() | {"TMPDIR": name, "WEFT_CHAOS_FOLDER": name}
        began = time.monotonic()
        with open(folder / "output", "w+", encoding="utf-8", errors="replace") as output:
            with subprocess.Popen(words_of(case, arguments, folder), env=environment,
                                  stdin=subprocess.DEVNULL, stdout=output,
                                  stderr=subprocess.STDOUT, start_new_session=True) as job:
                ended = wait_for_end(job, case, folder, began + 2 * BOUND_S + 30)
                seconds = time.monotonic() - began
                if ended and job.poll() is None:
                    try:
                        job.wait(timeout=5)
                    except subprocess.TimeoutExpired:
                        pass
                if job.poll() is None:
                    os.killpg(job.pid, signal.SIGKILL)
            output.seek(0)
            said = output.read()
        ends = ends_of(folder, case.ranks)
        deadline = time.monotonic() + 10
        while (left := own_processes(name)) and ended and time.monotonic() < deadline:
            time.sleep(0.05)
        for process in left:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if not ended:
            return "hang", f"not over after {seconds:.0f} s; ends {ends}; {said[-600:]}", seconds
        outcome, fault = outcomes.judge_ends(case, job.returncode, ends, BOUND_S)
        if fault is None and left and case.expected != "error":
            outcome, fault = "leftover", f"{len(left)} processes"
        files = {name for name in set(os.listdir("/dev/shm")) - shared_before if "weft" in name}
        if files:
            outcome, fault = "leftover", f"in /dev/shm: {sorted(files)}"
        if fault is not None:
            fault += f"; {said[-400:]}" if said else ""
        return outcome, fault, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--launcher", default=shutil.which("mpirun.openmpi") or "mpirun")
    for name in ("addon", "shim", "confined", "program"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    outcomes.add_arguments(
        parser, {*TROUBLES, *CALLS_THAT_FAIL, *ON_THE_DEVICE, "full /dev/shm"}, faults=200)
    parser.add_argument("--nodes", type=lambda text: tuple(map(int, text.split(","))),
                        default=(1, 2, 3), metavar="N,N...", help="virtual nodes (default: 1,2,3)")
    parser.add_argument("--after-us", type=int, metavar="US",
                        help="when a rank is killed, stopped or ends: so long after its first call "
                             "(default: drawn, up to 400000)")
    arguments = parser.parse_args()
    return outcomes.run_all(lambda number: draw_case(number, arguments),
                            lambda case: run_case(case, arguments), arguments)


if __name__ == "__main__":
    sys.exit(main())
