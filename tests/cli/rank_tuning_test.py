#!/usr/bin/env python3
"""weft tune on the ranks of a job: what it finds is in its table, and a program runs it.

Arguments: the tool, the launcher, the add-on, and the program report_calls for its MPI.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

RANKS = 3
BYTES = 3000  # of report_calls' alltoalls
# What weft does not take by itself for such an alltoall, neither on one node nor on two.
CHOSEN = "pairwise-ring"


def environment(more):
    result = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    if os.geteuid() == 0:
        result["OMPI_ALLOW_RUN_AS_ROOT"] = "1"
        result["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    result["OMPI_MCA_rmaps_base_oversubscribe"] = "1"
    return result | more


class Job:
    def __init__(self, tool, launcher, addon, program, folder):
        self.tool, self.launcher, self.addon, self.program = tool, launcher, addon, program
        self.folder = folder

    def run(self, words, more):
        ended = subprocess.run([self.launcher, "-n", str(RANKS), *words], env=environment(more),
                               capture_output=True, text=True, timeout=250, check=False)
        return ended

    def tune(self, more, *words):
        ended = self.run([self.tool, "tune", *words, "--json"], more)
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    def algorithm(self, more):
        """By which the program's alltoalls ran."""
        report = str(self.folder / "report.json")
        more = more | {"WEFT_REPORT": report, "WEFT_AFTER": "0"}
        ended = self.run(["env", f"LD_PRELOAD={self.addon}", self.program, "some"], more)
        assert ended.returncode == 0, ended.stderr
        entries = json.loads(pathlib.Path(report).read_text())["collectives"]
        found = {one["algorithm"] for one in entries
                 if one["collective"] == "alltoall" and one["block_bytes_at_most"] == 4096}
        assert len(found) == 1, entries
        return found.pop()


def make_fastest(journal, algorithm):
    """Writes into the journal that the algorithm takes no time, whenever it is tried."""
    head, *lines = journal.read_text().splitlines()
    measurements = [json.loads(line) for line in lines]
    for one in measurements:
        if one["method"].split("@")[0] == algorithm:
            one["seconds"] = 1e-9
    first = next(one for one in measurements if one["method"] == algorithm)
    measurements += [first | {"method": f"{algorithm}@{trial}"} for trial in (1, 2)]
    journal.write_text("\n".join([head, *map(json.dumps, measurements)]) + "\n")


def check_table(job, nodes):
    settings = {"WEFT_NODES": nodes}
    journal, table = job.folder / f"journal{nodes}", job.folder / f"table{nodes}"
    words = ["alltoall", "--bytes", str(BYTES), "--experiments", "exhaustive",
             "--journal", str(journal), "--table", str(table)]
    # What the environment asks for is not what is measured.
    first = job.tune(settings | {"WEFT_ALLTOALL": CHOSEN, "WEFT_TABLE": "/nowhere"}, *words)
    assert first["ranks"] == RANKS and first["experiments"] > 4, first
    result, = first["collectives"][0]["results"]
    assert result["bytes"] == BYTES, first
    assert 0 < result["time_us"] <= result["own_time_us"], result
    own = job.algorithm(settings)
    assert own == result["own_algorithm"] and own != CHOSEN, (own, result)
    assert len(journal.read_text().splitlines()) == 1 + first["experiments"]

    make_fastest(journal, CHOSEN)
    again = job.tune(settings, *words)
    # All but weft's own choice once more, in turn with the new one.
    assert again["experiments"] <= 2 and again["from_journal"] >= first["experiments"], again
    result, = again["collectives"][0]["results"]
    assert result["algorithm"] == CHOSEN, result
    assert job.algorithm(settings | {"WEFT_TABLE": str(table)}) == CHOSEN
    assert job.algorithm(settings) == own


def check_searches(job):
    nodes = {"WEFT_NODES": "2"}
    path = job.folder / "page.html"
    found = job.tune(nodes, "barrier,broadcast", "--bytes", "64", "--html", str(path))
    page = path.read_text()
    for part in found["collectives"]:
        algorithm = part["results"][0]["algorithm"]
        assert re.search(rf"<title>\d+ B on .*: {re.escape(algorithm)}</title>", page), page
    assert page.count("<title>measured: ") == 1 and page.count("<title>predicted: ") == 1, page
    # By the profile of the device.
    assert (found["search"], found["prior"], found["adapter"]) == ("prior", "soft", "soft"), found
    assert [part["collective"] for part in found["collectives"]] == ["barrier", "broadcast"]
    for part in found["collectives"]:
        assert all(one["predicted_time_us"] > 0 for one in part["results"]), part
    assert found["experiments"] <= found["experiments_of_exhaustive"] + 8
    found = job.tune({"WEFT_NODES": "1"}, "exscan", "--bytes", "8")
    assert (found["search"], found["prior"], found["adapter"]) == ("smgd", None, "none"), found
    assert found["collectives"][0]["results"][0]["predicted_time_us"] is None


def check_recording(job):
    path = str(job.folder / "program.weft")
    ended = job.run(["env", f"LD_PRELOAD={job.addon}", job.program, "some"],
                    {"WEFT_TRACE": path, "WEFT_AFTER": "0"})
    assert ended.returncode == 0, ended.stderr
    found = job.tune({}, "alltoall,barrier,scan", "--trace", path)
    calls = {part["collective"]: {one["bytes"]: one["calls"] for one in part["results"]}
             for part in found["collectives"]}
    # As in report_calls.c; it has no scans.
    assert calls == {"alltoall": {16: 20, BYTES: 20}, "barrier": {0: 5}}, calls


def check_refusals(job):
    for words, message in [(["alltoallv"], "alltoallv: on the ranks of a job tables are for"),
                           (["gather", "--root", "1"], "--root: not on the ranks of a job"),
                           (["gather", "--experiments", "pipeline"], "on ranks, must be one of")]:
        ended = job.run([job.tool, "tune", *words], {})
        assert ended.returncode != 0 and message in ended.stderr, ended


def main():
    with tempfile.TemporaryDirectory() as folder:
        job = Job(*sys.argv[1:], pathlib.Path(folder))
        check_refusals(job)
        check_searches(job)
        check_recording(job)
        for nodes in ("1", "2"):
            check_table(job, nodes)


if __name__ == "__main__":
    main()
