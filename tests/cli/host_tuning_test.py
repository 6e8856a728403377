#!/usr/bin/env python3
"""weft tune --format on the ranks of a real MPI: the MPI loads the file, and runs what it says.

Arguments: the tool, the launcher, the MPI (openmpi, mpich), and the program order_of_sums for it.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

RANKS = 4
# What order_of_sums shows as neither MPI's own choice, and how each MPI is told to use it.
CHOSEN = {"openmpi": "recursive_halving", "mpich": "pairwise"}
FORCED = {
    "openmpi": {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
                "OMPI_MCA_coll_tuned_reduce_scatter_block_algorithm": "3"},
    "mpich": {"MPIR_CVAR_REDUCE_SCATTER_BLOCK_DEVICE_COLLECTIVE": "0",
              "MPIR_CVAR_REDUCE_SCATTER_BLOCK_INTRA_ALGORITHM": "pairwise"}}
LOADED = {
    "openmpi": lambda path: {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
                             "OMPI_MCA_coll_tuned_dynamic_rules_filename": path},
    "mpich": lambda path: {"MPIR_CVAR_REDUCE_SCATTER_BLOCK_DEVICE_COLLECTIVE": "0",
                           "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE": path}}


def environment(more):
    result = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    if os.geteuid() == 0:
        result["OMPI_ALLOW_RUN_AS_ROOT"] = "1"
        result["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    result["OMPI_MCA_rmaps_base_oversubscribe"] = "1"
    return result | more


class Job:
    def __init__(self, tool, launcher, mpi, program):
        self.tool, self.launcher, self.mpi, self.program = tool, launcher, mpi, program

    def run(self, words, ranks=RANKS, more=None):
        return subprocess.run([self.launcher, "-n", str(ranks), *words],
                              env=environment(more or {}),
                              capture_output=True, text=True, timeout=250, check=False)

    def tune(self, *words):
        ended = self.run([self.tool, "tune", "reduce_scatter", "--format", self.mpi, "--bytes",
                          "128", "--operation", "commutative", "--json", *words])
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    def sums(self, ranks=RANKS, more=None):
        ended = self.run([self.program], ranks, more)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.strip()

    def refusal(self, ended):
        assert ended.returncode != 0, ended.stdout
        return ended.stderr


def make_fastest(journal, algorithm):
    """Writes into the journal that the algorithm takes no time for 128 bytes; it has been tried."""
    head, *lines = journal.read_text().splitlines()
    measurements = [json.loads(line) for line in lines]
    chosen = [one for one in measurements
              if (one["method"], one["bytes"]) == (algorithm, 128)]
    assert len(chosen) == 1, measurements
    chosen[0]["seconds"] = 1e-9
    journal.write_text("\n".join([head, *map(json.dumps, measurements)]) + "\n")


def check_file(job, folder):
    journal, table = folder / "journal", folder / "rules"
    files = ["--journal", str(journal), "--table", str(table), "--experiments", "exhaustive"]
    first = job.tune(*files)
    assert first["ranks"] == RANKS and first["experiments"] > 4, first
    part = first["collectives"][0]
    assert [one["bytes"] for one in part["results"]] == [128], part
    assert all(0 < one["time_us"] and 0 < one["own_time_us"] for one in part["results"]), part
    assert len(journal.read_text().splitlines()) == 1 + first["experiments"]

    make_fastest(journal, CHOSEN[job.mpi])
    again = job.tune(*files)
    assert again["experiments"] == 0 and again["from_journal"] == first["experiments"], again
    result = again["collectives"][0]["results"][0]
    assert result["algorithm"] == CHOSEN[job.mpi], result

    own, forced = job.sums(), job.sums(more=FORCED[job.mpi])
    assert own != forced, "the algorithm cannot be told from the MPI's own choice"
    assert job.sums(more=LOADED[job.mpi](str(table))) == forced
    # Communicators of other sizes are left alone.
    for ranks in (2, 5):
        loaded = job.sums(ranks, LOADED[job.mpi](str(table)))
        assert loaded == job.sums(ranks), ranks


def check_refusals(job):
    alone = subprocess.run([job.tool, "tune", "--format", job.mpi], capture_output=True, text=True,
                           env=environment({}), timeout=60, check=False)
    assert alone.returncode == 2, alone
    assert "must be run by that MPI's launcher" in alone.stderr, alone.stderr
    other = "mpich" if job.mpi == "openmpi" else "openmpi"
    assert f"this job was started by {job.mpi}" in job.refusal(
        job.run([job.tool, "tune", "--format", other], 2))
    assert "scatter: --format" in job.refusal(
        job.run([job.tool, "tune", "scatter", "--format", job.mpi], 2))


def main():
    job = Job(*sys.argv[1:])
    check_refusals(job)
    with tempfile.TemporaryDirectory() as folder:
        check_file(job, pathlib.Path(folder))


if __name__ == "__main__":
    main()
