"""Runs bench/mpi_collective.c, here or on emulated nodes, and writes down what it took: for the
benchmarks beside it."""

import contextlib
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading

from chart import plot

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build", "release")
# Of each collective, what `all` stands for; each scheme with its own step between nodes.
ALGORITHMS = {
    "alltoall": ["isend", "bruck", "pairwise-xor", "pairwise-ring", "fat-tree", "sa",
                 "sa:between=bruck", "rd", "leader", "two-step", "factors"],
    "neighbours": [],
    "alltoallv": ["isend", "pairwise-xor", "pairwise-ring", "fat-tree", "sa", "rd", "leader",
                  "two-step"],
    "allgather": ["ring", "bruck", "leader", "multi-object"],
    "allreduce": ["recursive-doubling", "halving-doubling", "leader", "leader:leaders=all",
                  "multi-doubling", "multi-ring"],
    "broadcast": ["binomial", "leader", "multi-object"],
    "reduce_scatter": ["pairwise", "recursive-halving", "leader:leaders=all"],
    "scatter": ["binomial", "leader", "multi-object"],
    "gather": ["binomial", "leader"],
    "reduce": ["binomial", "leader", "leader:leaders=all"],
    "scan": ["doubling", "leader"],
    # By counts of their own; served by what the regular ones name.
    "alltoallw": [],
    "allgatherv": [],
    "gatherv": [],
    "scatterv": [],
    "reduce_scatterv": [],
    "barrier": ["dissemination", "leader", "multi-object"],
}


def add_options(parser, repeats, milliseconds, timeout, algorithms):
    """What every benchmark of one collective takes."""
    parser.add_argument("collective", choices=ALGORITHMS)
    parser.add_argument("--build", default=BUILD, help="build tree (build/release)")
    parser.add_argument("--algorithms", nargs="+", default=algorithms, metavar="A",
                        help="of weft's runs, as WEFT_ALLTOALL, WEFT_.. take them; '': its choice; "
                        f"all: every scheme ({' '.join(map(repr, algorithms))})")
    parser.add_argument("--skew", choices=["equal", "one", "random"], default="equal",
                        help="blocks of alltoallv: all alike, rank 0 alone sends, or from 0 to "
                        "twice the size (equal)")
    parser.add_argument("--seed", type=int, default=1, help="of random blocks (1)")
    parser.add_argument("--repeats", type=int, default=repeats,
                        help=f"batches in a run ({repeats})")
    parser.add_argument("--milliseconds", type=float, default=milliseconds,
                        help=f"of a batch, at least ({milliseconds:g})")
    parser.add_argument("--timeout", type=float, default=timeout, help=f"seconds ({timeout:g})")
    parser.add_argument("--csv", metavar="FILE", help="a line for each size and series")
    parser.add_argument("--json", metavar="FILE", help="the same, and what was measured")
    parser.add_argument("--plot", metavar="FILE", help="time by size, both logarithmic (.svg)")


def finish_options(parser, arguments):
    """Puts names in the place of `all`, and makes sure that files can be written."""
    names = []
    for name in arguments.algorithms:
        names += ALGORITHMS[arguments.collective] if name == "all" else [name]
    arguments.algorithms = list(dict.fromkeys(names))
    if arguments.skew != "equal" and arguments.collective != "alltoallv":
        parser.error(f"--skew={arguments.skew}: {arguments.collective} takes none")
    if arguments.collective == "barrier":
        arguments.sizes = arguments.sizes[:1]
    for name in (arguments.csv, arguments.json, arguments.plot):
        folder = os.path.dirname(os.path.abspath(name)) if name else ROOT
        if not os.path.isdir(folder):
            parser.error(f"{name}: no folder {folder}")


def series_name(algorithm):
    return f"weft {algorithm or '(its choice)'}"


def variable(collective):
    """The setting that names its algorithm."""
    return f"WEFT_{collective.upper()}"


def subject(collective, skew="equal", seed=1):
    """The collective as the program takes it."""
    if skew == "equal":
        return collective
    return f"{collective}:one" if skew == "one" else f"{collective}:random={seed}"


@contextlib.contextmanager
def progress(text):
    """Shows what is being done, and for how long, where somebody looks."""
    over = threading.Event()

    def show():
        seconds = 0
        while not over.wait(1):
            seconds += 1
            print(f"\r{text}, {seconds} s \033[K", end="", file=sys.stderr, flush=True)

    shower = threading.Thread(target=show)
    if sys.stderr.isatty():
        print(f"\r{text} \033[K", end="", file=sys.stderr, flush=True)
        shower.start()
    try:
        yield
    finally:
        over.set()
        if shower.is_alive():
            shower.join()
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def call(command, timeout, environment=None):
    """What it prints; the end when it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False,
                              timeout=timeout, env=environment)
    except subprocess.TimeoutExpired:
        sys.exit(f"{sys.argv[0]}: {' '.join(command)}: not done after {timeout:g} s (--timeout)")
    if done.returncode != 0:
        sys.exit(f"{sys.argv[0]}: {' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def read_figures(text):
    """{bytes: [microseconds of each batch]}"""
    rows = [line.split() for line in text.splitlines()]
    return {int(row[0]): [float(word) for word in row[1:]]
            for row in rows if row and row[0].isdigit()}


def program_of(arguments, mpi="openmpi", name="collective"):
    return os.path.join(arguments.build, "bench", f"bench_mpi_{name}-{mpi}")


def run_here(arguments, mpi, ranks, what, sizes, settings=None, program="collective",
             as_installed=False, options=()):
    """{bytes: [microseconds of each batch]} of the collective, or of what another one of the
    programs takes, under an MPI of this machine: with weft where settings are given for it, else
    as it is."""
    command = [f"mpirun.{mpi}", "-n", str(ranks)]
    if settings is None:
        settings = {}
    else:
        settings = settings | {
            "LD_PRELOAD": os.path.join(arguments.build, f"libweft-{mpi}.so")}
        # Else what weft does is timed, and not when it takes over from the host.
        if not as_installed:
            settings["WEFT_AFTER"] = "0"
    if mpi == "openmpi":
        command.append("--oversubscribe")
    for name, value in settings.items():
        command += ["-x", f"{name}={value}"] if mpi == "openmpi" else ["-env", name, value]
    command += [program_of(arguments, mpi, program), *options, what, str(arguments.repeats),
                str(arguments.milliseconds)]
    environment = dict(os.environ)
    if os.geteuid() == 0:
        environment["OMPI_ALLOW_RUN_AS_ROOT"] = environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    return read_figures(call(command + [str(size) for size in sizes], arguments.timeout,
                             environment))


def preloaded(arguments, collective, algorithm):
    """What stands before a command in a guest, so that its ranks take weft with this algorithm."""
    addon = os.path.join(arguments.build, "libweft-openmpi.so")
    name = variable(collective)
    return f'RIG_PRELOAD={addon} {name}={algorithm} RIG_FORWARDED="$RIG_FORWARDED {name}"'


def run_on_guests(arguments, ranks, runs, folder=None, first=""):
    """{name: {bytes: [microseconds of guest time]}} of `runs`: {name: (what stands before the
    command, collective, sizes)}, behind the line `first` of the guests' script, which may write to
    $OUT: `folder`/out. Ends as the rig does where that cannot run."""
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="weft-bench-") as own:
            return run_on_guests(arguments, ranks, runs, own, first)
    lines = ["set -e", first]
    for number, (before, what, sizes) in enumerate(runs.values()):
        lines.append(f"{before} mpi {program_of(arguments)} {what} {arguments.repeats} "
                     f"{arguments.milliseconds} {' '.join(map(str, sizes))} >$OUT/{number}")
    command = [os.path.join(ROOT, "tests", "rig", "rig"), "run", "--inner", "--quiet",
               "--guests", str(arguments.guests), "--ranks", str(ranks),
               "--timeout", str(arguments.timeout), "--logs", folder, "--script", "--",
               "\n".join(lines)]
    with progress(f"{len(runs)} runs on {arguments.guests} guests"):
        done = subprocess.run(command, check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)
    figures = {}
    for number, name in enumerate(runs):
        with open(os.path.join(folder, "out", str(number)), encoding="utf-8") as file:
            figures[name] = read_figures(file.read())
    return figures


def medians(figures):
    """{name: {bytes: median}}"""
    return {name: {size: statistics.median(of) for size, of in by_size.items()}
            for name, by_size in figures.items()}


def rows_of(figures, compared):
    """A row for each series and size, with its ratio to each of `compared`. Below 1: faster."""
    middle = medians(figures)
    rows = []
    for name, by_size in figures.items():
        for size, batches in by_size.items():
            row = {"series": name, "bytes": size, "median_us": middle[name][size],
                   "least_us": min(batches), "most_us": max(batches), "batches": len(batches)}
            for other in compared:
                row[f"over {other}"] = middle[name][size] / middle[other][size]
            rows.append(row)
    return rows


def show(rows, compared):
    """A table, with ratios to the first of `compared`."""
    sizes = list(dict.fromkeys(row["bytes"] for row in rows))
    for begin in range(0, len(sizes), 6):
        some = sizes[begin:begin + 6]
        print(f"{'bytes':<24}" + "".join(f"{size:>19}" for size in some))
        for name in dict.fromkeys(row["series"] for row in rows):
            cells = []
            for row in rows:
                if row["series"] == name and row["bytes"] in some:
                    ratio = f" ({row['over ' + compared[0]]:.2f}x)" if compared else ""
                    cells.append(f"{row['median_us']:.2f}{ratio}")
            print(f"{name:<24}" + "".join(f"{cell:>19}" for cell in cells))


def write_csv(path, rows):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write(arguments, title, facts, figures, compared):
    """Prints the table and writes the files that were asked for."""
    rows = rows_of(figures, compared)
    print(title + (f" (times {compared[0]})" if compared else ""))
    show(rows, compared)
    if arguments.csv:
        write_csv(arguments.csv, rows)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(facts | {"compared": compared, "results": rows}, file, indent=1)
    if arguments.plot:
        with open(arguments.plot, "w", encoding="utf-8") as file:
            file.write(plot(title, "bytes of a block or vector", medians(figures)))
