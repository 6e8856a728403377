#!/usr/bin/env python3
"""Campaign of faults: programs of random collectives under Open MPI, each with one fault at a
random moment. Where weft can go on it must, with right answers; where it cannot, every rank that is
left gets an error within the time that the settings promise. Never a wrong answer, never a hang,
nothing left behind. Ends with a table of kinds and outcomes."""

import argparse
import collections
import dataclasses
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

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
CALLS = {"kill": 10**6, "exit": 10**6, "abort": 10**6, "long-stop": 3000}


@dataclasses.dataclass
class Case:
    """A run to be made."""

    number: int
    kind: str
    nodes: int
    ranks: int
    seed: int
    victim: int
    program_words: list  # behind the program's own
    settings: dict
    expected: str  # right, error, ended
    before: list = dataclasses.field(default_factory=list)  # words in front of the program


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
# By the program itself: what it is to do.
TROUBLES = {"kill": "error", "exit": "error", "abort": "ended", "stop": "right",
            "long-stop": "right"}


def draw_case(number, arguments):
    rng = random.Random(f"{arguments.seed} {number}")
    nodes = rng.choice(arguments.nodes)
    ranks = rng.randint(max(2, nodes), 6)
    kinds = [*TROUBLES, *CALLS_THAT_FAIL, "full /dev/shm", *(ON_THE_DEVICE if nodes > 1 else [])]
    kind = rng.choice([kind for kind in kinds if kind in arguments.kinds] or kinds)
    case = Case(number, kind, nodes, ranks, rng.randrange(10**9), rng.randrange(ranks), [], {},
                "right")
    if kind in TROUBLES:
        after_us = rng.randrange(400_000) if arguments.after_us is None else arguments.after_us
        case.program_words = [kind, str(case.victim), str(after_us)]
        case.expected = TROUBLES[kind]
    elif kind == "full /dev/shm":
        case.before = [str(arguments.confined), "all", "shm=64", "--"]
    else:
        draw = ON_THE_DEVICE.get(kind) or CALLS_THAT_FAIL[kind]
        case.settings, case.expected = draw(rng, ranks)
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


def judge_ends(case, code, ends):
    """(outcome, what is wrong or None)"""
    wrong = [f"rank {rank}: {end}" for rank, end in ends.items() if end.startswith("wrong")]
    if wrong:
        return "wrong answer", "; ".join(wrong)
    errors = {rank: end.split(" ", 3) for rank, end in ends.items() if end.startswith("error")}
    if not errors and len(ends) == case.ranks:
        # Where a message was to break that was never sent, all is right as well.
        return "right", None if code == 0 or case.expected != "right" else f"exit code {code}"
    if case.expected == "ended":
        return "ended", None
    text = "; ".join(f"rank {rank}: {' '.join(parts)}" for rank, parts in errors.items())
    if case.expected == "right":
        return "error", text or f"exit code {code}, no word of ranks " \
            f"{sorted(set(range(case.ranks)) - set(ends))}"
    missing = set(range(case.ranks)) - set(ends)
    if len(missing) > (0 if case.kind == "port down for good" else 1):
        return "no error", f"ranks {sorted(missing)} said nothing; {text}"
    late = [rank for rank, parts in errors.items() if int(parts[2]) > BOUND_S * 1_000_000]
    if late:
        return "late error", text
    if len({parts[1] for parts in errors.values()}) > 1:
        return "different errors", text
    return "error on all", None


def run_case(case, arguments):
    """(outcome, what is wrong or None, seconds)"""
    with tempfile.TemporaryDirectory(prefix="weft-chaos-") as name:
        folder = pathlib.Path(name)
        (folder / "began").write_bytes(bytes(4096))
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
        outcome, fault = judge_ends(case, job.returncode, ends)
        if fault is None and left and case.expected != "error":
            outcome, fault = "leftover", f"{len(left)} processes"
        files = {name for name in set(os.listdir("/dev/shm")) - shared_before if "weft" in name}
        if files:
            outcome, fault = "leftover", f"in /dev/shm: {sorted(files)}"
        if fault is not None:
            fault += f"; {said[-400:]}" if said else ""
        return outcome, fault, seconds


def table(results):
    counts = collections.Counter((case.kind, outcome) for case, outcome, _, _ in results)
    slowest = collections.defaultdict(float)
    for case, _, _, seconds in results:
        slowest[case.kind] = max(slowest[case.kind], seconds)
    outcomes = sorted({outcome for _, outcome in counts})
    lines = [f"| fault | {' | '.join(outcomes)} | slowest run, s |",
             "|---" * (len(outcomes) + 2) + "|"]
    for kind in sorted(slowest):
        cells = [str(counts[kind, outcome] or "") for outcome in outcomes]
        lines.append(f"| {kind} | {' | '.join(cells)} | {slowest[kind]:.1f} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--launcher", default=shutil.which("mpirun.openmpi") or "mpirun")
    for name in ("addon", "shim", "confined", "program"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--faults", type=int, default=200, help="how many runs (default: 200)")
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nodes", type=lambda text: tuple(map(int, text.split(","))),
                        default=(1, 2, 3), metavar="N,N...", help="virtual nodes (default: 1,2,3)")
    parser.add_argument("--kinds", type=lambda text: tuple(text.split(",")), default=(),
                        help="these alone, as the table names them")
    parser.add_argument("--after-us", type=int, metavar="US",
                        help="when a rank is killed, stopped or ends: so long after its first call "
                             "(default: drawn, up to 400000)")
    parser.add_argument("--json", type=pathlib.Path, help="writes every run there")
    arguments = parser.parse_args()
    known = {*TROUBLES, *CALLS_THAT_FAIL, *ON_THE_DEVICE, "full /dev/shm"}
    if set(arguments.kinds) - known:
        parser.error(f"--kinds {','.join(sorted(set(arguments.kinds) - known))}: "
                     f"not one of {', '.join(sorted(known))}")
    results = []
    for number in range(arguments.first, arguments.first + arguments.faults):
        case = draw_case(number, arguments)
        outcome, fault, seconds = run_case(case, arguments)
        results.append((case, outcome, fault, seconds))
        if fault is not None:
            print(f"FAILED {case.kind}, {case.nodes} nodes, {case.ranks} ranks: {outcome}: "
                  f"{fault}\n  again: --seed {arguments.seed} --first {number} --faults 1\n"
                  f"  settings: {case.settings} words: {case.program_words}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(
            [dataclasses.asdict(case) | {"outcome": outcome, "fault": fault, "seconds": seconds}
             for case, outcome, fault, seconds in results], indent=1) + "\n")
    print(table(results))
    failed = sum(fault is not None for _, _, fault, _ in results)
    print(f"{len(results)} faults, {failed} with another outcome than allowed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
