#!/usr/bin/env python3
"""weft over real verbs: jobs on guests with Soft-RoCE, and the rig itself.

    rig_test.py BUILD [CLASS[.METHOD]...]

BUILD is a build tree with the product and the rig's programs. Ends with 77 when this machine lacks
what the rig needs.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from rigging import guests, parts, wire
from rigging.failure import Failure, Missing
from rigging.job import Job, run

HERE = os.path.dirname(os.path.abspath(__file__))
RIG = os.path.join(HERE, "rig")
WORK = os.path.join(os.path.dirname(os.path.dirname(HERE)), "build", "rig")
SECONDS = 420  # for a job: much more than it takes, as the machine may be busy
SKIPPED = 77
# Patient where nothing is meant to break: a guest may have to wait long for a core.
PATIENT = {"WEFT_DEVICE": "rxe0", "WEFT_RC_TIMEOUT": "19", "WEFT_TIMEOUT": "100"}


class OnRig(unittest.TestCase):
    build = ""
    made = None

    def program(self, name):
        path = os.path.join(self.build, name)
        self.assertTrue(os.path.exists(path), f"{path}: not built")
        return path

    def run_job(self, command, ranks, settings=None, **options):
        job = Job(command, ranks, dict(PATIENT, **(settings or {})), timeout=SECONDS, **options)
        result = run(job, self.made)
        print(f"{self.id()}: booted in {result.boot_seconds:.1f} s, {result.seconds:.1f} s in all\n"
              f"{result.output}{result.errors}" + "\n".join(wire.table(result.marks)), flush=True)
        return result


class Channel(OnRig):
    def test_across_guests(self):
        program = self.program("tests/rig/rig_channel")
        result = self.run_job(shlex.join(["mpi", program]), [1, 1])
        self.assertEqual(result.status, 0)
        self.assertIn("over rxe0 port 1 (RoCE)", result.output)
        self.assertEqual(result.output.count("holds: "), 7)
        for source, target in ((1, 2), (2, 1)):
            self.assertGreater(wire.total(result.marks, "roce_bytes", source, target), 20_000_000)


class Probe(OnRig):
    def test_across_guests(self):
        command = [self.program("weft"), "probe", "--quick", "--no-keep", "--json"]
        result = self.run_job(shlex.join(["mpi", *command]), [1, 1])
        self.assertEqual(result.status, 0)
        report = json.loads(result.output[result.output.index("{"):result.output.rindex("}") + 1])
        self.assertTrue(report["complete"])
        self.assertEqual(report["source"], "probed on rxe0")
        # Nothing is promised of Soft-RoCE, so writes are noticed by completions.
        adapter = report["profile"]["adapter"]
        self.assertFalse(adapter["in_order_placement"]["value"])
        self.assertGreater(adapter["latency_ns"]["value"], 0)
        self.assertGreater(adapter["bytes_per_ns"]["value"], 0)
        for latency in report["measurements"]["latency"]:
            self.assertGreater(latency["time_ns"], 0)
        for source, target in ((1, 2), (2, 1)):
            self.assertGreater(wire.total(result.marks, "roce_bytes", source, target), 5_000_000)


class Addressing(OnRig):
    def test_settings_are_followed(self):
        """Over IPv6 in small packets, and both ends refuse when they differ."""
        outage = [self.program("tests/rig/rig_outage"), "4", "20000", "isend"]
        differ = "WEFT_GID_FAMILY=ipv$((2 * RIG_NODE + 2)) exec " + shlex.join(outage)
        script = "\n".join([
            f"env -u WEFT_MTU -u WEFT_GID_FAMILY {self.program('weft')} info | grep GID",
            f"{self.program('weft')} info | grep GID", shlex.join(["ranks", *outage]),
            "wire mark small", shlex.join(["ranks", "bash", "-c", differ])])
        result = self.run_job(script, [1, 1], {"WEFT_GID_FAMILY": "ipv6", "WEFT_MTU": "1024",
                                               "WEFT_TRAFFIC_CLASS": "104"})
        self.assertIn(" GID 1 10.9.0.1 (RoCE v2), P_Key 0xffff, MTU 4096\n", result.output)
        self.assertRegex(result.output, r" GID 0 fe80::\S+ \(RoCE v2\), P_Key 0xffff, MTU 1024\n")
        self.assertEqual(result.output.count("4 rounds, longest"), 2)
        # Frames of four blocks each way, each in packets of 1024 bytes.
        small = result.marks[:1]
        self.assertEqual(small[0]["mark"], "small")
        self.assertGreater(wire.total(small, "roce_frames", 1, 2), 4 * 20000 // 1024)
        self.assertNotEqual(result.status, 0)
        refusals = re.findall(r"IPv(\d) here, IPv(\d) at the peer: .*WEFT_GID_FAMILY",
                              result.output)
        self.assertEqual(len(refusals), 2)
        self.assertEqual(set(refusals[0]), {"4", "6"})


class Schemes(OnRig):
    LINE = re.compile(r"(\S+ \d+ bytes): (\d+) messages, (\d+) payload bytes, over (.*)")

    def messages(self, ranks):
        """By scheme and size: messages that the plans have, and that the switch saw."""
        result = self.run_job(shlex.join(["mpi", self.program("tests/rig/rig_schemes")]), ranks)
        self.assertEqual(result.status, 0, "data or setup is wrong")
        crossed = {mark["mark"]: mark for mark in result.marks}
        seen = {}
        for what, planned, payload, device in self.LINE.findall(result.output):
            self.assertEqual(device, "rxe0 port 1 (RoCE)")
            mark = [crossed[what]]
            seen[what] = (int(planned), wire.total(mark, "messages"))
            self.assertGreaterEqual(wire.total(mark, "roce_bytes"), int(payload), what)
        self.assertEqual(len(seen), 36)
        # Each guest reached each other one.
        pairs = {(pair["from"], pair["to"]) for pair in crossed["isend 8 bytes"]["pairs"]
                 if pair["messages"] > 0}
        nodes = len(ranks)
        self.assertEqual(len(pairs), nodes * (nodes - 1))
        return seen

    def judge(self, seen):
        for what, (planned, crossed) in seen.items():
            # A message is a write where it is small; its data, the receiver's answer and the news
            # of its end where it goes straight into place. A packet repeated, or a rank that asks
            # after a silent peer, may add some.
            writes = {"8": planned, "3000": planned, "20000": 3 * planned}[what.split()[1]]
            self.assertGreaterEqual(crossed, writes, what)
            if what.endswith(" 8 bytes"):
                self.assertLess(crossed, 1.5 * planned + 4, what)
        for size in (8, 20000):
            flat = seen[f"isend {size} bytes"]
            for scheme in ("sa", "sa:direct=1", "sa:between=bruck", "rd", "leader"):
                aggregated = seen[f"{scheme} {size} bytes"]
                self.assertLess(aggregated[0], flat[0], scheme)
                self.assertLess(aggregated[1], flat[1], scheme)

    def test_two_guests_of_two_ranks(self):
        seen = self.messages([2, 2])
        self.judge(seen)
        # From each rank to both of the other node, or to the one of its own place there.
        self.assertEqual(seen["isend 8 bytes"][0], 8)
        self.assertEqual(seen["sa 8 bytes"][0], 4)

    def test_three_guests_of_one_two_three_ranks(self):
        self.judge(self.messages([1, 2, 3]))


class Preload(OnRig):
    def addon(self):
        return subprocess.run([self.program("weft"), "preload"], check=True, text=True,
                              capture_output=True).stdout.strip()

    def test_random_collectives(self):
        """Every collective, against sends and receives of the host MPI."""
        jobs = [shlex.join(["mpi", self.program(f"tests/mpi/mpi_random_{name}_openmpi"), "60", "5"])
                for name in ("collectives", "alltoallv")]
        script = " && ".join(f"{job} && echo '---' && cat /run/job/out/report.json" for job in jobs)
        result = self.run_job(script, [1, 2], {"WEFT_REPORT": "/run/job/out/report.json",
                                               "WEFT_AFTER": "0"},
                              preload=self.addon())
        self.assertEqual(result.status, 0)
        # As `weft plan` names them; those that sent messages to the other guest.
        crossed = {entry["collective"] for text in result.output.split("---\n")[1:]
                   for entry in json.JSONDecoder().raw_decode(text)[0]["collectives"]
                   if entry["messages"] > 0}
        self.assertGreaterEqual(crossed, {
            "barrier", "broadcast", "scatter", "gather", "allgather", "alltoall", "alltoallv",
            "reduce", "allreduce", "reduce_scatter", "scan", "exscan"})

    def test_fft3d(self):
        fft3d = shlex.join(["mpi", self.program("examples/fft3d"), "-n", "32", "-i", "3", "--json"])
        addon = self.addon()
        # The report is written by rank 0, on the node that runs the script.
        script = (f"RIG_PRELOAD= {fft3d} && echo '---' && {fft3d} && echo '---' && "
                  "cat /run/job/out/report.json")
        result = self.run_job(script, [2, 2], {"WEFT_REPORT": "/run/job/out/report.json",
                                               "WEFT_AFTER": "0"},
                              preload=addon)
        self.assertEqual(result.status, 0)
        plain, preloaded, report = (json.loads(text) for text in result.output.split("---\n"))
        self.assertTrue(plain["right"] and preloaded["right"])
        self.assertEqual(plain["checksum"], preloaded["checksum"])
        self.assertEqual(report["devices"], ["rxe0 port 1 (RoCE)"])
        crossed = sum(entry["wire_bytes"] for entry in report["collectives"])
        self.assertGreater(crossed, 0)
        self.assertGreaterEqual(wire.total(result.marks, "roce_bytes"), crossed)


class Outage(OnRig):
    def ranks(self, *words):
        return shlex.join(["ranks", self.program("tests/rig/rig_outage"), *words])

    def test_link_down_and_up(self):
        """Frames that are lost are repeated by the connection: the collective comes to its end."""
        script = " && ".join(self.ranks("40", size, "sa", "--drop", "20", "7", "1500")
                             for size in ("4000", "20000"))
        result = self.run_job(script, [2, 2], {"WEFT_RC_TIMEOUT": "17"})
        self.assertEqual(result.status, 0)
        longest = [int(ms) for ms in re.findall(r"40 rounds, longest (\d+) ms", result.output)]
        self.assertEqual(len(longest), 8)
        self.assertGreater(min(longest), 1000)
        self.assertGreater(sum(mark["dropped"] for mark in result.marks), 0)

    def test_guest_that_dies(self):
        """Every survivor says once who is gone, long before the timeout."""
        script = self.ranks("40", "4000", "sa", "--die", "20", "2")
        result = self.run_job(script, [1, 1, 1], {"WEFT_RC_TIMEOUT": "16", "WEFT_TIMEOUT": "30"},
                              may_end=(3,))
        self.assertEqual(result.status, 1)
        self.assertEqual(result.ended, [3])
        said = re.findall(r"^rank (\d): in round 20 after (\d+) ms: (.*)$", result.output, re.M)
        self.assertEqual(sorted(rank for rank, _, _ in said), ["0", "1"])
        for _, ms, why in said:
            self.assertIn("rank 2", why)
            self.assertLess(int(ms), 30_000)

    def test_rank_that_stays_away(self):
        """The report on a rank of another guest that never comes: who, and the edge that blocks."""
        script = self.ranks("40", "4000", "isend", "--leave", "20", "1")
        result = self.run_job(script, [1, 1], {"WEFT_TIMEOUT": "20"})
        self.assertEqual(result.status, 1)
        said = result.output + result.errors
        self.assertRegex(said, "rank 0: in round 20 after .*WEFT_TIMEOUT")
        for line in (r"  not arrived: rank 1: \S+ \(S\); has come out of alltoall of 4000 bytes",
                     r"    rank 1: on another node, outside of weft for \d",
                     r"  blocked at: rank 0 waits for 4000 bytes from rank 1, op \d+ of isend "
                     r"\(0 have moved; by the device, whose connection is whole: "
                     r"1 of 1 queue pair ready"):
            self.assertRegex(said, "weft: " + line)
        # Nothing is sent again and again to a rank that takes nothing.
        self.assertLess(wire.total(result.marks, "roce_frames"), 2_000)

    def test_rank_that_is_stopped(self):
        """Its neighbour on the node says so, and what the other node answers: the connection by
        which rank 0 waits."""
        script = self.ranks("40", "4000", "isend", "--stop", "20", "2")
        result = self.run_job(script, [1, 2], {"WEFT_TIMEOUT": "20"})
        self.assertEqual(result.status, 1)
        said = result.output + result.errors
        for line in (r"  stopped: rank 2: stopped \(T\); has come out of alltoall of 4000 bytes",
                     r"  blocked at: rank 0 waits for 4000 bytes from rank 2, op \d+ "
                     r"\(0 have moved; by the device, whose connection is whole: "
                     r"1 of 1 queue pair ready, \d+ requests not complete, made anew 0 times, "
                     r"\d slots of the ring .*\); rank 2 is stopped; 1 other waits for rank 2"):
            self.assertRegex(said, "weft: " + line)


class Rails(OnRig):
    def ranks(self, *words):
        return shlex.join(["ranks", self.program("tests/rig/rig_outage"), *words])

    def sent(self, result):
        """Bytes that a rank gave to a rail."""
        found = re.findall(r"^rank (\d): (rxe\d:1) sent (\d+) bytes$", result.output, re.M)
        return {(int(rank), rail): int(sent) for rank, rail, sent in found}

    def test_both_carry_and_one_is_cut(self):
        """Large blocks go by both. A rail whose interface goes down leaves all to the other."""
        whole = self.ranks("10", "300000", "sa")
        cut = self.ranks("20", "300000", "sa", "--cut", "5", "1", "rail1")
        result = self.run_job(f"{whole} && echo ---; {cut}", [1, 1],
                              {"WEFT_DEVICE": "rxe0,rxe1", "WEFT_RC_TIMEOUT": "16",
                               "WEFT_RC_RETRY": "2", "WEFT_RECOVERY": "60"}, rails=2)
        self.assertEqual(result.status, 0)
        self.assertEqual(len(re.findall("20 rounds", result.output)), 2)
        first, second = result.output.split("---\n")
        for output, least in ((first, 0.4), (second, 0.05)):
            result.output = output
            sent = self.sent(result)
            for rank in (0, 1):
                share = sent[rank, "rxe1:1"] / (sent[rank, "rxe0:1"] + sent[rank, "rxe1:1"])
                self.assertGreater(share, least)
                self.assertLess(share, 0.6 if output is first else 0.35)


class Itself(OnRig):
    def rig(self, *words):
        return subprocess.run([RIG, "run", "--work", WORK, *words], text=True, check=False,
                              capture_output=True, timeout=SECONDS)

    def test_output_and_status_come_back(self):
        with tempfile.TemporaryDirectory(prefix="weft-rig-") as folder:
            path = os.path.join(folder, "result.json")
            done = self.rig("--guests", "1", "--script", "--env", "WORD=a 'b'", "--result", path,
                            "--", "echo \"$WORD\"; echo loud >&2; wire mark here; exit 7")
            with open(path, encoding="utf-8") as file:
                result = json.load(file)
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertEqual(done.stdout, "a 'b'\n")
        self.assertIn("loud\n", done.stderr)
        self.assertEqual(result["status"], 7)
        self.assertEqual([mark["mark"] for mark in result["marks"]], ["here", "end"])

    def test_a_guest_that_panics(self):
        with self.assertRaisesRegex(Failure, "guest 1 ended: .*Kernel panic"):
            self.run_job("echo c > /proc/sysrq-trigger", [1])

    def test_timeout(self):
        done = self.rig("--guests", "1", "--timeout", "1", "--", "true")
        self.assertEqual(done.returncode, 125)
        self.assertEqual(done.stderr, "rig: --timeout 1: the boot took longer\n")

    def test_bad_usage(self):
        for words in (["--ranks", "1,x", "--", "true"], ["--guests", "0", "--", "true"],
                      ["--guests", "3", "--ranks", "1,2", "--", "true"], ["--env", "A", "true"],
                      []):
            done = self.rig(*words)
            self.assertEqual(done.returncode, 2, words)

    def test_nothing_is_left_behind(self):
        """Neither processes nor folders, when the rig is interrupted, ended or killed."""
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)):
            with subprocess.Popen([RIG, "run", "--work", WORK, "--", "true"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as rig:
                children = self.until(lambda: children_of(rig.pid, 3))
                rig.send_signal(number)
                self.assertEqual(rig.wait(timeout=30), status)
            self.until(lambda: not any(is_running(child) for child in children))
        # What a killed rig could not remove, the next one does, and what a guest wrote too late.
        late = os.path.join(WORK, "jobs", "late")
        os.makedirs(late, exist_ok=True)
        open(os.path.join(late, "guest2.log"), "w", encoding="utf-8").close()
        self.rig("--timeout", "0.01", "--", "true")
        self.assertEqual(os.listdir(os.path.join(WORK, "jobs")), [])

    def test_a_process_that_begins_as_the_rig_ends(self):
        ours, theirs = os.pipe()
        rig = os.fork()
        if rig == 0:
            rig = os.getpid()
            try:
                if os.fork() == 0:
                    while os.getppid() == rig:
                        time.sleep(0.001)
                    guests.die_with(rig)
                    os.write(theirs, b"goes on")
            finally:
                os._exit(0)
        os.waitpid(rig, 0)
        os.close(theirs)
        with open(ours, "rb") as end:
            self.assertEqual(end.read(), b"")

    def until(self, ask):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if answer := ask():
                return answer
            time.sleep(0.02)
        return self.fail("it takes too long")


def children_of(process, count):
    """The children, once there are so many."""
    try:
        with open(f"/proc/{process}/task/{process}/children", encoding="ascii") as file:
            children = [int(word) for word in file.read().split()]
    except FileNotFoundError:
        return []
    return children if len(children) >= count else []


def is_running(process):
    try:
        with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    OnRig.build = os.path.abspath(sys.argv[1])
    try:
        OnRig.made = parts.prepare(WORK)
    except Missing as error:
        print(f"skipped: {error}")
        return SKIPPED
    program = unittest.main(argv=[sys.argv[0], *sys.argv[2:]], exit=False, verbosity=2)
    return 0 if program.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
