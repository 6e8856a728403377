#!/usr/bin/env python3
"""Runs random MPI programs over weft, many in one start of MPI, in drawn surroundings: ranks,
virtual nodes, settings, the add-on or the component. What fails is made smaller, and the command to
see it again is printed.

    random_programs.py --build FOLDER [--mpi openmpi] [--seed 1] [--seconds 60]

Exits with 1 when something failed.
"""

import argparse
import dataclasses
import os
import random
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../mpi"))
import launch  # noqa: E402  pylint: disable=wrong-import-position

RANKS = 16  # in the file of arrivals
# What may be set besides nodes, each with the values to try.
SETTINGS = {
    "WEFT_VIEW": ["staged", "cma"],
    "WEFT_SHARED_HEAP": ["1"],
    "WEFT_EAGER": ["0", "64", "1M"],
    "WEFT_STAGE": ["64K"],
    "WEFT_REGISTRATION_CACHE": ["0", "64K"],
    "WEFT_PROGRESS_THREAD": ["1"],
    "WEFT_DETERMINISTIC": ["1"],
    "WEFT_PLACEMENT": ["immediate", "polled"],
    "WEFT_WAIT": ["spin", "sleep"],
    "WEFT_SOCKETS": ["2"],
    "WEFT_SOFT_PATH": ["agent", "cma"],
    "WEFT_SOFT_LINK": ["ethernet"],
    "WEFT_SOFT_DEVICES": ["3"],
    "WEFT_ALLTOALL": ["bruck", "sa", "leader", "rd", "isend"],
    "WEFT_ALLTOALLV": ["isend", "rd", "sa:cores=1,aggregate=64"],
}
# Options of the program that make it simpler.
SIMPLER = [["--blocking"], ["--no-persistent"], ["--keep-handles"], ["--alike"], ["--no-delays"],
           ["--depth", "0"], ["--elements", "1"], ["--elements", "8"], ["--elements", "100"],
           ["--elements", "2000"]]


@dataclasses.dataclass
class Run:
    """One start of MPI."""
    seed: int
    programs: int
    ranks: int
    settings: dict
    options: list
    steps: list = None
    served: bool = True  # False: plain

    def with_(self, **changes):
        return dataclasses.replace(self, **changes)


@dataclasses.dataclass
class Fault:
    text: str
    program: int  # in which it was seen
    slow: bool = False  # nothing moved


class Runner:
    def __init__(self, arguments):
        self.arguments = arguments
        self.folder = tempfile.mkdtemp(prefix="weft-random-programs-")
        self.where = os.path.join(self.folder, "where")
        build = arguments.build
        self.program = os.path.join(build, f"tests/fuzz/random_program_{arguments.mpi}")
        self.launcher = shutil.which(f"mpirun.{arguments.mpi}")
        self.addon = os.path.join(build, f"libweft-{arguments.mpi}.so")
        if arguments.way == "component":
            self.install()

    def install(self):
        subprocess.run([os.path.join(self.arguments.build, "weft"), "install", "--openmpi",
                        "--prefix", self.folder], check=True, stdout=subprocess.DEVNULL)

    def words(self, run, where=None):
        """The command, with the variables that it needs."""
        settings = dict(run.settings) if run.served else {}
        if self.arguments.way == "component" and run.served:
            settings[launch.COMPONENT_PATH] = f"SYSTEM_DEFAULT:{self.folder}"
        elif self.arguments.way == "preload" and run.served:
            settings["LD_PRELOAD"] = self.addon
        settings = [f"{name}={value}" for name, value in settings.items()]
        openmpi = self.arguments.mpi == "openmpi"
        words = [self.launcher] + (["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
                                   if openmpi else []) + ["-n", str(run.ranks), "env", *settings]
        words += [self.program, "--seed", str(run.seed), "--programs", str(run.programs)]
        words += run.options
        if run.steps is not None:
            words += ["--steps", ",".join(str(step) for step in run.steps)]
        return words + (["--where", where] if where else [])

    def places(self):
        """The program and the step of each rank."""
        try:
            with open(self.where, "rb") as file:
                data = file.read()
        except FileNotFoundError:
            return []
        size = len(data) // RANKS
        return [struct.unpack_from("QQ", data, rank * size) for rank in range(RANKS) if size]

    def start(self, run):
        if os.path.exists(self.where):
            os.remove(self.where)
        with open(os.path.join(self.folder, "output"), "wb") as output:
            return subprocess.Popen(self.words(run, self.where), stdout=output,
                                    stderr=subprocess.STDOUT, start_new_session=True,
                                    env=launch.environment() | {"RANDOM_PROGRAMS": self.folder})

    def fault(self, run, patience):
        """How it failed, or None. Nothing may move for `patience` seconds."""
        process = self.start(run)
        last, since = None, time.monotonic()
        while process.poll() is None:
            time.sleep(0.02)
            now = self.places()
            if now != last:
                last, since = now, time.monotonic()
            elif time.monotonic() - since > (patience if any(now) else max(patience, 60)):
                places = [place for place in self.places() if place != (0, 0)]
                self.stop(process)
                program = min(program for program, _ in places) if places else run.seed
                return Fault(f"nothing moves: (program, step) of ranks {places}", program, True)
        if process.returncode == 0:
            return None
        with open(os.path.join(self.folder, "output"), encoding="utf-8", errors="replace") as file:
            lines = [line.strip() for line in file]
        said = [line for line in lines if line.startswith(("FAILED:", "weft:"))]
        told = [line for line in said if line.startswith("FAILED: program ")]
        programs = [int(line.split()[2].strip(",")) for line in told]
        programs += [program for program, _ in self.places() if program]
        said = said or [line for line in lines if "Signal:" in line or "error" in line.lower()]
        return Fault("\n".join(said[:4] or lines[-4:]), min(programs, default=run.seed))

    def stop(self, process):
        """Ends the job; its ranks may lead sessions of their own."""
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for left in list(launch.processes_of(self.folder)):
            try:
                os.kill(int(left), signal.SIGKILL)
            except ProcessLookupError:
                pass

    def close(self):
        shutil.rmtree(self.folder)


class Shrinker:
    """Makes a run that fails smaller, as long as it still does."""

    def __init__(self, runner, tries=2, seconds=240):
        self.runner, self.tries, self.last = runner, tries, None
        self.end = time.monotonic() + seconds

    def fails(self, run):
        if time.monotonic() > self.end:
            return False
        for _ in range(self.tries):
            fault = self.runner.fault(run, 8)
            if fault is not None:
                self.last = fault
                return True
        return False

    def first(self, run, options):
        """The first change that still fails, or the run itself."""
        for changed in options:
            if self.fails(changed):
                return changed
        return run

    def shrink(self, run, fault):
        self.last = fault
        if run.programs > 1:
            alone = run.with_(seed=fault.program, programs=1)
            shorter = run.with_(programs=fault.program - run.seed + 1)
            run = self.first(run, [alone, shorter])
        # A list of nodes is as long as there are ranks.
        fewest = run.ranks if "," in run.settings.get("WEFT_NODES", "") else 1
        for ranks in range(fewest, run.ranks):
            run = self.first(run, [run.with_(ranks=ranks)])
            if run.ranks == ranks:
                break
        for name in [name for name in run.settings if name != "WEFT_AFTER"]:
            fewer = {key: value for key, value in run.settings.items() if key != name}
            run = self.first(run, [run.with_(settings=fewer)])
        for words in SIMPLER:
            if words[0] not in run.options:
                run = self.first(run, [run.with_(options=run.options + words)])
        return self.fewer_steps(run) if run.programs == 1 else run

    def fewer_steps(self, run):
        run = self.first(run, [run.with_(steps=list(range(40)))])
        if run.steps is None:
            return run
        part = 20
        while part >= 1:
            begin = 0
            while begin < len(run.steps):
                fewer = run.steps[:begin] + run.steps[begin + part:]
                if fewer and self.fails(run.with_(steps=fewer)):
                    run = run.with_(steps=fewer)
                else:
                    begin += part
            part //= 2
        return run


def draw_run(seed, programs, mpi, way, most_ranks):
    """Surroundings of a batch."""
    drawn = random.Random(seed)
    ranks = drawn.randint(1, most_ranks)
    settings, options = {}, []
    if way != "plain":
        nodes = drawn.choice(["", "", "2", "3", "in turn"])
        if nodes == "in turn":
            nodes = ",".join(str(rank % 2) for rank in range(ranks)) if ranks > 1 else ""
        if nodes:
            settings["WEFT_NODES"] = nodes
        settings["WEFT_AFTER"] = drawn.choice(["0", "0", "0", "auto"])
        for name in drawn.sample(sorted(SETTINGS), drawn.randint(0, 3)):
            settings[name] = drawn.choice(SETTINGS[name])
        if way == "component":
            settings.pop("WEFT_SHARED_HEAP", None)  # the add-on's alone
    # The MPIs' own collectives fail where ranks describe the same data by different datatypes, Open
    # MPI's where their communicator is freed meanwhile, MPICH's persistent ones, and its alltoallw
    # with derived datatypes.
    if settings.get("WEFT_AFTER") != "0":
        options.append("--alike")
        options.append("--keep-handles")
        if mpi == "mpich":
            options += ["--no-persistent", "--depth", "0"]
    # Under MPICH a rank that makes a communicator does not move its calls on (docs/status.md).
    if mpi == "mpich":
        options.append("--settle")
    return Run(seed, programs, ranks, settings, options)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--build", default="build/release", help="the build tree")
    parser.add_argument("--mpi", choices=["openmpi", "mpich"], default="openmpi")
    parser.add_argument("--way", choices=["preload", "component", "plain"], default="preload")
    parser.add_argument("--seed", type=int, default=1, help="of the first program")
    parser.add_argument("--seconds", type=float, default=60, help="begin nothing new after these")
    parser.add_argument("--batch", type=int, default=100, help="programs in a start of MPI")
    parser.add_argument("--ranks", type=int, default=8, help="at most")
    parser.add_argument("--faults", type=int, default=1, help="end after so many")
    parser.add_argument("--patience", type=float, default=60,
                        help="seconds after which a step that does not end is a hang")
    parser.add_argument("--no-shrink", action="store_true")
    arguments = parser.parse_args()
    arguments.build = os.path.abspath(arguments.build)
    return arguments


def fails_without_weft(runner, arguments, run):
    return arguments.way != "plain" and runner.fault(run.with_(served=False), 20) is not None


def main():
    arguments = parse_arguments()
    runner = Runner(arguments)
    end = time.monotonic() + arguments.seconds
    seed, faults, of_host, programs = arguments.seed, 0, 0, 0
    try:
        while time.monotonic() < end and faults < arguments.faults:
            run = draw_run(seed, arguments.batch, arguments.mpi, arguments.way, arguments.ranks)
            fault = runner.fault(run, arguments.patience)
            seed += arguments.batch
            programs += arguments.batch
            if fault is None:
                continue
            print(f"{fault.text}\n  {shlex.join(runner.words(run))}", flush=True)
            # What the MPIs' own collectives cannot is in programs that weft serves alone.
            fails_plain = "--alike" in run.options and fails_without_weft(runner, arguments, run)
            if not fails_plain and not arguments.no_shrink:
                shrinker = Shrinker(runner)
                run = shrinker.shrink(run, fault)
                print(f"smaller: {shrinker.last.text}\n  {shlex.join(runner.words(run))}",
                      flush=True)
                fails_plain = fails_without_weft(runner, arguments, run)
            if fails_plain:
                print("  the same fails without weft", flush=True)
                of_host += 1
            else:
                faults += 1
    finally:
        runner.close()
    print(f"{programs} programs from {arguments.seed} on, {faults} faults, "
          f"{of_host} of the MPI's own")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
