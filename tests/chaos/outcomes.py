"""Runs of chaos_program: what is to come of them, what came, and the table of both."""

import collections
import dataclasses
import json
import pathlib
import sys


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
    silent: int = 1  # ranks that may end without a word, where an error is expected
    before: list = dataclasses.field(default_factory=list)  # words in front of the program


def judge_ends(case, code, ends, bound_s):
    """(outcome, what is wrong or None) of what the ranks said, by rank, and the exit code."""
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
    missing = set(range(case.ranks)) - set(ends)
    if case.expected == "right":
        return "error", text or f"exit code {code}, no word of ranks {sorted(missing)}"
    if len(missing) > case.silent:
        return "no error", f"ranks {sorted(missing)} said nothing; {text}"
    late = [rank for rank, parts in errors.items() if int(parts[2]) > bound_s * 1_000_000]
    if late:
        return "late error", text
    if len({parts[1] for parts in errors.values()}) > 1:
        return "different errors", text
    return "error on all", None


def table(results):
    """Markdown, of (case, outcome, what is wrong, seconds)."""
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


def add_arguments(parser, kinds, faults):
    """Those of every campaign. `kinds`: all that there are."""
    def some_kinds(text):
        chosen = tuple(text.split(","))
        if set(chosen) - set(kinds):
            parser.error(f"--kinds {text}: not of {', '.join(sorted(kinds))}")
        return chosen

    parser.add_argument("--faults", type=int, default=faults,
                        help=f"how many runs (default: {faults})")
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", type=some_kinds, default=(), metavar="KIND,KIND...",
                        help="these alone, as the table names them")
    parser.add_argument("--json", type=pathlib.Path, help="writes every run there")


def run_each(draw, run, arguments, results):
    for number in range(arguments.first, arguments.first + arguments.faults):
        case = draw(number)
        if sys.stderr.isatty():
            print(f"\r{len(results) + 1} of {arguments.faults}: {case.kind:<30}", end="",
                  file=sys.stderr, flush=True)
        outcome, fault, seconds = run(case)
        results.append((case, outcome, fault, seconds))
        if fault is not None:
            print(f"FAILED {case.kind}, {case.nodes} nodes, {case.ranks} ranks: {outcome}: "
                  f"{fault}\n  again: --seed {arguments.seed} --first {number} --faults 1\n"
                  f"  settings: {case.settings} words: {case.program_words}", flush=True)
    if sys.stderr.isatty():
        print("\r\33[K", end="", file=sys.stderr, flush=True)


def run_all(draw, run, arguments):
    """draw(number) gives a case, run(case) what became of it: (outcome, what is wrong or None,
    seconds). Prints the cases that end as they may not, and the table, also when it is interrupted.
    1 when there are such."""
    results = []
    try:
        run_each(draw, run, arguments, results)
    except KeyboardInterrupt:
        print(f"interrupted after {len(results)} of {arguments.faults}", file=sys.stderr)
    if arguments.json:
        arguments.json.write_text(json.dumps(
            [dataclasses.asdict(case) | {"outcome": outcome, "fault": fault, "seconds": seconds}
             for case, outcome, fault, seconds in results], indent=1) + "\n")
    print(table(results))
    failed = sum(fault is not None for _, _, fault, _ in results)
    print(f"{len(results)} faults, {failed} with another outcome than allowed", flush=True)
    return 1 if failed else 0
