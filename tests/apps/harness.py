"""Harness of the programs here: runs one plain and with weft in turns, compares what it computes
and how long it takes, and keeps the figures in docs/programs.md.

A program is a script of its own that says which packages it comes from, how its input is made of
what they bring, how it is started, and what of its output is physics."""

import argparse
import dataclasses
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs" / "programs.md"
SKIPPED = 77  # SKIP_RETURN_CODE of ctest
MODES = ("plain", "preload", "exec", "component")


class Skip(Exception):
    """What is needed cannot be had here."""


class Wrong(Exception):
    """A run failed, or computed something else."""


@dataclasses.dataclass(frozen=True)
class Program:
    """What a script here tells of its program."""

    name: str
    packages: tuple[str, ...]
    does: str  # for the table
    #: Writes the input into the folder, where every run then starts.
    prepare: Callable[[pathlib.Path], None]
    #: The words behind mpirun's own for so many ranks.
    command: Callable[[int], list[str]]
    #: Numbers by name out of the output. The folder has the files that the run wrote.
    physics: Callable[[str, pathlib.Path], dict[str, float]]
    #: Relative difference of a number that rounding in another order may make.
    tolerance: float
    #: Seconds that the program says it took, of what is to be compared; None: the whole run.
    seconds: Callable[[str], float] | None = None
    ranks: tuple[int, ...] = (2, 4)
    needs: str | None = None  # a file that shows that the packages are there


@dataclasses.dataclass
class Run:
    seconds: float
    cpu_seconds: float
    physics: dict[str, float]
    taken: int  # calls by weft, of all ranks


def parse_arguments(program):
    parser = argparse.ArgumentParser(description=f"{program.name}: {program.does}")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release",
                        help="build tree of weft (default: build/release)")
    parser.add_argument("--ranks", type=lambda text: tuple(map(int, text.split(","))),
                        default=program.ranks, metavar="N,N...")
    parser.add_argument("--modes", type=lambda text: tuple(text.split(",")),
                        default=("plain", "preload", "exec"), metavar="MODE,MODE...",
                        help=f"out of {', '.join(MODES)} (default: plain,preload,exec)")
    parser.add_argument("--nodes", type=int, default=1, help="virtual nodes (WEFT_NODES)")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each mode, in turns")
    parser.add_argument("--mpirun", default=shutil.which("mpirun.openmpi") or "mpirun")
    parser.add_argument("--timeout", type=float, default=600, help="seconds a run")
    parser.add_argument("--install", action="store_true", help="installs missing packages")
    parser.add_argument("--write", action="store_true", help=f"keeps the figures in {TABLE.name}")
    arguments = parser.parse_args()
    unknown = set(arguments.modes) - set(MODES)
    if unknown:
        parser.error(f"--modes {','.join(sorted(unknown))}: not one of {', '.join(MODES)}")
    return arguments


def is_installed(package):
    asked = subprocess.run(["dpkg-query", "-W", "-f", "${Status}", package], text=True, check=False,
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return asked.returncode == 0 and asked.stdout == "install ok installed"


def require_packages(program, may_install):
    missing = [package for package in program.packages if not is_installed(package)]
    if not missing:
        return
    if not may_install:
        raise Skip(f"not installed: {' '.join(missing)} (--install does it)")
    words = ["apt-get", "install", "--yes", "--no-install-recommends", *missing]
    if os.geteuid() != 0:
        words = ["sudo", *words]
    if subprocess.run(words, check=False, stdout=subprocess.DEVNULL).returncode != 0:
        raise Skip(f"apt-get cannot install {' '.join(missing)}")


def environment(folder):
    result = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    if os.geteuid() == 0:
        result["OMPI_ALLOW_RUN_AS_ROOT"] = result["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    result["OMP_NUM_THREADS"] = "1"
    result["TMPDIR"] = str(folder)
    return result


def mode_words(mode, arguments):
    """(settings for every rank, words before the program)."""
    tool = arguments.build / "weft"
    if mode == "plain":
        return {}, []
    settings = {} if arguments.nodes == 1 else {"WEFT_NODES": str(arguments.nodes)}
    if mode == "exec":
        return settings, [str(tool), "exec"]
    if mode == "component":
        if not (arguments.build / "mca_coll_weft.so").exists():
            raise Skip(f"no component for Open MPI in {arguments.build}")
        path = f"SYSTEM_DEFAULT:{arguments.build.resolve()}"
        return settings | {"OMPI_MCA_mca_base_component_path": path}, []
    addon = subprocess.run([tool, "preload"], text=True, check=True,
                           stdout=subprocess.PIPE).stdout.strip()
    return settings | {"LD_PRELOAD": addon}, []


def run_once(program, arguments, ranks, mode, source):
    """One run in a copy of the folder `source`."""
    with tempfile.TemporaryDirectory(prefix="weft-app-") as name:
        folder = pathlib.Path(name)
        shutil.copytree(source, folder, dirs_exist_ok=True)
        settings, before = mode_words(mode, arguments)
        report = folder / "weft-report.json"
        if mode != "plain":
            settings["WEFT_REPORT"] = str(report)
        words = [arguments.mpirun, "--oversubscribe", "-n", str(ranks)]
        for key, value in settings.items():
            words += ["-x", f"{key}={value}"]
        words += before + program.command(ranks)
        began = time.monotonic()
        cpu = cpu_seconds()
        with subprocess.Popen(words, cwd=folder, env=environment(folder), text=True,
                              errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, start_new_session=True) as process:
            try:
                output, _ = process.communicate(timeout=arguments.timeout)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise Wrong(
                    f"{mode}, {ranks} ranks: not over after {arguments.timeout} s") from None
        seconds = time.monotonic() - began
        if process.returncode != 0:
            raise Wrong(f"{mode}, {ranks} ranks: exit code {process.returncode}\n{output[-4000:]}")
        taken = 0
        if mode != "plain":
            if not report.exists():
                raise Wrong(f"{mode}, {ranks} ranks: weft wrote no report\n{output[-2000:]}")
            taken = sum(entry["calls"]
                        for entry in json.loads(report.read_text())["collectives"])
        if program.seconds is not None:
            seconds = program.seconds(output)
        return Run(seconds, cpu_seconds() - cpu, program.physics(output, folder), taken)


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compare(program, plain, other, what):
    if plain.keys() != other.keys():
        raise Wrong(f"{what}: printed {sorted(other)}, plain {sorted(plain)}")
    for name, value in plain.items():
        scale = max(abs(value), abs(other[name]))
        if abs(value - other[name]) > program.tolerance * scale:
            raise Wrong(f"{what}: {name} is {other[name]!r}, plain {value!r}")


def measure(program, arguments, ranks, source):
    """Runs by mode."""
    runs = {mode: [] for mode in arguments.modes}
    reference = None
    for turn in range(arguments.repeats):
        # Forwards and backwards, so that a machine that gets slower is at nobody's cost.
        for mode in arguments.modes[::1 if turn % 2 == 0 else -1]:
            run = run_once(program, arguments, ranks, mode, source)
            print(f"{program.name}, {ranks} ranks, {mode}, {turn + 1} of {arguments.repeats}: "
                  f"{run.seconds:.3f} s, {run.cpu_seconds:.2f} s of processor, "
                  f"{run.taken} calls by weft", flush=True)
            if not run.physics:
                raise Wrong(f"{mode}: no physics was found in the output")
            if reference is None:
                reference = run.physics
            compare(program, reference, run.physics, f"{mode}, {ranks} ranks")
            runs[mode].append(run)
    return runs


def median(runs, field):
    return statistics.median(getattr(run, field) for run in runs)


def ratio(runs, plain, field):
    """Of the runs of one turn, as text: the median of all turns, and its standard error. A machine
    whose speed drifts spoils a ratio of medians, but not these."""
    ratios = [getattr(run, field) / getattr(other, field)
              for run, other in zip(runs, plain, strict=True)]
    text = f"{statistics.median(ratios):.3f}"
    if len(ratios) < 4:
        return text
    low, _, high = statistics.quantiles(ratios, n=4)
    # Of a normal distribution with these quartiles.
    return f"{text} ± {0.93 * (high - low) / len(ratios) ** 0.5:.3f}"


def rows(program, arguments, ranks, runs):
    """Lines of the table, one a mode of weft."""
    plain = runs.get("plain")
    for mode, some in runs.items():
        if mode == "plain" or plain is None:
            continue
        yield (f"| {program.name} | {ranks} | {arguments.nodes} | {mode} | "
               f"{median(plain, 'seconds'):.3f} | {median(some, 'seconds'):.3f} | "
               f"{ratio(some, plain, 'seconds')} | {ratio(some, plain, 'cpu_seconds')} | "
               f"{len(some)} | {int(median(some, 'taken'))} |")


CELLS = ("program", "ranks", "virtual nodes", "mode", "plain, s", "with weft, s", "ratio",
         "of processor time", "runs", "calls by weft")
HEAD = f"| {' | '.join(CELLS)} |\n{'|---' * len(CELLS)}|\n"


def keep(new_rows):
    """Puts the rows in the place of those with the same first four cells, or behind all others."""
    text = TABLE.read_text()
    begin = text.index(HEAD) + len(HEAD)
    end = re.compile(r"^(?!\|)", re.MULTILINE).search(text, begin).start()
    kept = {tuple(line.split("|")[1:5]): line for line in text[begin:end].splitlines()}
    for line in new_rows:
        kept[tuple(line.split("|")[1:5])] = line
    TABLE.write_text(text[:begin] + "".join(f"{kept[key]}\n" for key in kept) + text[end:])


def main(program):
    arguments = parse_arguments(program)
    try:
        require_packages(program, arguments.install)
        with tempfile.TemporaryDirectory(prefix="weft-app-") as name:
            program.prepare(pathlib.Path(name))
            found = []
            for ranks in arguments.ranks:
                runs = measure(program, arguments, ranks, pathlib.Path(name))
                found += rows(program, arguments, ranks, runs)
    except Skip as reason:
        print(f"skipped: {reason}")
        return SKIPPED
    except Wrong as reason:
        print(f"{program.name}: {reason}", file=sys.stderr)
        return 1
    print(HEAD + "\n".join(found))
    if arguments.write:
        keep(found)
    return 0


def numbers(pattern, output, name):
    """The numbers that `pattern` has as its group, by their place in the output."""
    return {f"{name} {index}": float(text.replace("D", "E"))
            for index, text in enumerate(re.findall(pattern, output, re.MULTILINE))}
