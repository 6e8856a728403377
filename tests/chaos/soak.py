#!/usr/bin/env python3
"""Soak: random collectives on 8 ranks of virtual nodes for an hour, with a fault a minute that weft
has to mend. All answers are right, and at the end each rank has no more memory, descriptors and
queue pairs than it had in the first half."""

import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "mpi"))
import launch  # noqa: E402  (environment of a launcher: in the folder just named)

RECOVERY_S = 10
# Caches of layouts, calls and plans go on filling for a while, up to their bounds.
MEMORY_SLACK_KIB = 4096
# A rank opens the channel of each peer on the other node when it first asks after that peer.
DESCRIPTOR_SLACK = 4


def words_of(arguments, folder):
    settings = {"LD_PRELOAD": str(arguments.addon), "WEFT_AFTER": "0", "WEFT_TIMEOUT": "120",
                "WEFT_NODES": str(arguments.nodes), "WEFT_RECOVERY": str(RECOVERY_S),
                "SOAK_DEVICE": str(arguments.device)}
    if arguments.plain:
        settings = {"SOAK_DEVICE": str(arguments.device)}
    words = [arguments.launcher, "--oversubscribe", "-n", "8"]
    for key, value in settings.items():
        words += ["-x", f"{key}={value}"]
    return [*words, str(arguments.program), str(folder), str(arguments.seconds),
            str(arguments.every), str(arguments.seed)]


def judge(rank, lines):
    """What is wrong, as text."""
    if lines[-1:] != ["right"]:
        return f"rank {rank}: {lines[-1] if lines else 'no word'}"
    measures = [[float(word) for word in line.split()] for line in lines[:-1]]
    if len(measures) < 3:
        return f"rank {rank}: {len(measures)} measures are too few"
    last = measures[-1]
    wrong = []
    slacks = ((3, "KiB", MEMORY_SLACK_KIB), (4, "descriptors", DESCRIPTOR_SLACK),
              (5, "queue pairs", 0))
    for index, what, slack in slacks:
        most = max(measure[index] for measure in measures[:(len(measures) + 1) // 2])
        if last[index] > most + slack:
            wrong.append(f"{most:.0f} {what} became {last[index]:.0f}")
    return f"rank {rank}: {', '.join(wrong)}" if wrong else None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--launcher", default=shutil.which("mpirun.openmpi") or "mpirun")
    for name in ("addon", "device", "program"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=int, default=3600)
    parser.add_argument("--every", type=float, default=60, help="seconds between faults")
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plain", action="store_true", help="without weft and faults, to compare")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="weft-soak-") as name:
        folder = pathlib.Path(name)
        with subprocess.Popen(words_of(arguments, folder), stdin=subprocess.DEVNULL,
                              env=launch.environment() | {"TMPDIR": name, "WEFT_SOAK": name},
                              start_new_session=True) as job:
            try:
                code = job.wait(timeout=arguments.seconds * 1.1 + 180)
            except subprocess.TimeoutExpired:
                code = "hang"
                job.terminate()
            finally:
                for process in launch.processes_of(name):
                    if code == "hang":
                        os.kill(int(process), signal.SIGKILL)
        lines = {rank: (folder / str(rank)).read_text(encoding="utf-8").splitlines()
                 if (folder / str(rank)).exists() else [] for rank in range(8)}
    print("rank | seconds, calls, faults, KiB, descriptors, queue pairs: second, last")
    for rank, said in lines.items():
        print(f"{rank} | {said[1] if len(said) > 1 else ''} | {' | '.join(said[-2:])}")
    faults = [fault for fault in (judge(rank, said) for rank, said in lines.items()) if fault]
    if code != 0:
        faults.append(f"exit code {code}")
    print("\n".join(faults) or "all right")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
