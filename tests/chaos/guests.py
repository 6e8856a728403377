#!/usr/bin/env python3
"""Campaign of faults over real verbs: guests with Soft-RoCE run a program of random collectives
under Open MPI, and something happens to one of them at a random moment. As chaos.py, of which this
is the same on machines of their own: there are links that go down, frames that are lost, a machine
that dies, and the kernel's own queue pairs and memory, of which nothing may be left. Ends with a
table of kinds and outcomes, and with 77 when this machine lacks what guests need."""

import argparse
import dataclasses
import pathlib
import random
import re
import shlex
import sys
import time

import outcomes

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "rig"))
from rigging import parts, wire  # noqa: E402  pylint: disable=wrong-import-position
from rigging.failure import Failure, Missing  # noqa: E402  pylint: disable=wrong-import-position
from rigging.job import Job, run  # noqa: E402  pylint: disable=wrong-import-position

SKIPPED = 77
RECOVERY_S = 20
TIMEOUT_S = 60
# Guests are emulated, and their clocks a second apart.
BOUND_S = RECOVERY_S + TIMEOUT_S + 20
SETTINGS = {"WEFT_AFTER": "0", "WEFT_RECOVERY": str(RECOVERY_S), "WEFT_TIMEOUT": str(TIMEOUT_S),
            "WEFT_CONNECT_TIMEOUT": str(TIMEOUT_S), "WEFT_RC_TIMEOUT": "17", "WEFT_RC_RETRY": "3"}
CALLS = 300
ENDLESS = 10**6  # for faults after which no rank comes to its end
FIRST_RAIL, SECOND_RAIL = {"WEFT_DEVICE": "rxe0"}, {"WEFT_DEVICE": "rxe1"}
BOTH_RAILS = {"WEFT_DEVICE": "rxe0,rxe1"}
# By kind: (what chaos_program is to do, expectation, calls, settings). Open MPI itself sends by the
# first rail's interface.
TROUBLES = {
    "kill": ("kill", "error", ENDLESS, FIRST_RAIL),
    "exit": ("exit", "error", ENDLESS, FIRST_RAIL),
    "abort": ("abort", "ended", ENDLESS, FIRST_RAIL),
    "stop": ("stop:2", "right", CALLS, FIRST_RAIL),
    "long stop": ("stop:8", "right", CALLS, FIRST_RAIL),
    "frames lost": ("run:wire drop {frames} {ms}", "right", CALLS, FIRST_RAIL),
    "link down and up": ("run:link down 1; sleep {seconds}; link up 1", "right", CALLS,
                         SECOND_RAIL),
    "link down for good": ("run:link down 1", "error", ENDLESS, SECOND_RAIL),
    "one rail of two": ("run:link down 1", "right", CALLS, BOTH_RAILS),
    "machine that dies": ("run:echo c >/proc/sysrq-trigger", "error", ENDLESS, FIRST_RAIL),
}
CALLS_THAT_FAIL = {"no memory": ("mmap", 12), "no memory file": ("memfd_create", 24),
                   "no descriptor": ("openat", 24), "no thread": ("pthread_create", 11)}
KINDS = (*TROUBLES, *CALLS_THAT_FAIL, "full /dev/shm")

# On node 1. Says what each rank said, the launcher's exit code, and what each node has more of
# than before: processes, files in /dev/shm, objects of its rxe devices.
SCRIPT = """
holds() {{
  for node in {living}; do
    echo "$(rsh node$node 'rdma resource show; echo "files $(ls /dev/shm | wc -l)"
      echo "processes $(pgrep -c chaos_program)"' | sed "s/^/node$node: /")"
  done
}}
ends() {{ find "$OUT" -name '[0-9]*' ! -name '*.part' | wc -l; }}
# Some rank is running, or the trouble is to come.
goes_on() {{
  if [[ ! -e $OUT/began ]]; then return 0; fi
  for node in {living}; do
    if [[ $(rsh node$node 'pgrep -c chaos_program') != 0 ]]; then return 0; fi
  done
  return 1
}}
holds >/run/tmp/before
mpi --enable-recovery {words} &
launcher=$!
while kill -0 $launcher 2>/dev/null && (($(ends) < {ends})) && goes_on; do sleep 0.2; done
# A launcher whose ranks have ended ends, but for one that misses a rank or a machine, or, on three
# nodes, one whose job was aborted.
for ((i = 0; i < {patience} && $(jobs -r | wc -l) > 0; ++i)); do sleep 0.2; done
kill $launcher 2>/dev/null
for ((i = 0; i < 50 && $(jobs -r | wc -l) > 0; ++i)); do sleep 0.2; done
kill -KILL $launcher 2>/dev/null
wait $launcher
echo "CODE $?"
for ((i = 0; i < 50; ++i)); do
  holds >/run/tmp/after
  if cmp -s /run/tmp/before /run/tmp/after; then break; fi
done
diff /run/tmp/before /run/tmp/after | sed -n 's/^> /LEFT /p'
for file in $(find "$OUT" -name '[0-9]*' ! -name '*.part'); do
  echo "END ${{file##*/}} $(cat "$file")"
done
"""


@dataclasses.dataclass
class Case(outcomes.Case):
    places: list = dataclasses.field(default_factory=list)  # ranks of each node
    dies: int | None = None  # a node


def draw_case(number, arguments):
    rng = random.Random(f"guests {arguments.seed} {number}")
    places = [rng.randint(1, 2) for _ in range(rng.choice((2, 2, 3)))]
    kind = rng.choice([kind for kind in KINDS if kind in arguments.kinds] or KINDS)
    ranks = sum(places)
    case = Case(number, kind, len(places), ranks, rng.randrange(10**9), rng.randrange(ranks),
                [str(CALLS)], dict(FIRST_RAIL), "right", places=places)
    after_us = rng.randrange(2_000_000)  # emulated, set-ups alone take half of that
    if kind in TROUBLES:
        trouble, case.expected, calls, settings = TROUBLES[kind]
        if kind == "machine that dies":
            # Not the one with the launcher.
            case.victim = rng.randrange(places[0], ranks)
            case.dies = node_of(case.victim, places)
            case.silent = places[case.dies - 1]
        elif kind == "link down for good":
            case.silent = 0
        case.program_words = [str(calls), str(case.seed), trouble.format(
            frames=rng.randint(1, 300), ms=rng.choice((100, 500, 1500)),
            seconds=rng.choice((0.2, 1, 3))), str(case.victim), str(after_us)]
        case.settings = dict(settings)
    else:
        case.program_words = [str(CALLS), str(case.seed)]
        if kind == "full /dev/shm":
            case.before = [str(arguments.build / "tests/mpi/mpi_confined"), "all", "shm=64", "--"]
        else:
            call, error = CALLS_THAT_FAIL[kind]
            case.settings |= {"FAIL_CALL": f"{call}:{rng.randint(1, 60)}",
                              "FAIL_ERROR": str(error), "FAIL_RANK": str(case.victim)}
    return case


def node_of(rank, places):
    """From 1 on; ranks fill the nodes in turn."""
    for node, count in enumerate(places, 1):
        if rank < count:
            return node
        rank -= count
    raise ValueError(f"rank {rank} of {places}")


def script_of(case, arguments):
    words = [*case.before, str(arguments.build / "chaos_program"), "/run/job/out",
             *case.program_words]
    return SCRIPT.format(
        words=shlex.join(words),
        living=" ".join(str(node) for node in range(1, case.nodes + 1) if node != case.dies),
        ends=case.ranks - (case.silent if case.expected == "error" else 0),
        patience=300 if case.expected == "right" else 25)


def run_case(case, arguments, made):
    addon = arguments.build / "libweft-openmpi.so"
    shim = arguments.build / "tests/mpi/mpi_fail_calls.so"
    preload = f"{shim}:{addon}" if "FAIL_CALL" in case.settings else str(addon)
    job = Job(script_of(case, arguments), case.places, SETTINGS | case.settings, preload=preload,
              timeout=420, rails=2, may_end=() if case.dies is None else (case.dies,))
    began = time.monotonic()
    try:
        result = run(job, made)
    except Failure as failure:
        return "hang", str(failure), time.monotonic() - began
    ends = {int(rank): end for rank, end in re.findall(r"^END (\d+) (.*)$", result.output, re.M)}
    code = int(re.search(r"^CODE (\d+)$", result.output, re.M)[1])
    seconds = result.seconds - result.boot_seconds
    outcome, fault = outcomes.judge_ends(case, code, ends, BOUND_S)
    left = re.findall(r"^LEFT (.*)$", result.output, re.M)
    if fault is None and left:
        outcome, fault = "leftover", "; ".join(left)
    if outcome == "right" and wire.total(result.marks, "messages") == 0:
        outcome, fault = "not tried", "nothing crossed RoCE"
    if fault is None and case.dies is not None and result.ended != [case.dies]:
        outcome, fault = "not tried", f"guest {case.dies} did not die"
    if fault is not None:
        fault += f"; {result.output[-800:]} {result.errors[-800:]}"
    return outcome, fault, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=lambda text: pathlib.Path(text).resolve(), required=True,
                        help="build tree of weft")
    outcomes.add_arguments(parser, KINDS, faults=50)
    arguments = parser.parse_args()
    try:
        made = parts.prepare(str(TESTS.parent / "build" / "rig"))
    except Missing as error:
        print(f"skipped: {error}")
        return SKIPPED
    return outcomes.run_all(lambda number: draw_case(number, arguments),
                            lambda case: run_case(case, arguments, made), arguments)


if __name__ == "__main__":
    sys.exit(main())
