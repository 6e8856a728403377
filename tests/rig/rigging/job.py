"""One job on a rig: from the boot of its guests to its result."""

import fcntl
import os
import shlex
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, field

from .failure import Failure
from .guests import Guests
from .parts import HERE
from .wire import read_marks

POLL_SECONDS = 0.05
BOOT_SECONDS = 200  # of a boot that takes 3 s on an idle machine
BOOTS = 3  # tries; an emulated guest now and then hangs before it is up


@dataclass
class Job:
    """What to run, and on what. The command is a bash script for node 1."""
    command: str
    ranks: list  # of each node
    settings: dict = field(default_factory=dict)  # environment of the command and of all ranks
    preload: str = ""  # library to preload into the ranks
    timeout: float = 120  # seconds, with the boot
    inner: bool = False  # all nodes in one guest, in counted time
    host_mpi: str = "tcp"
    mtu: int = 9000
    rails: int = 1  # rxe devices of a node; not with inner
    may_end: tuple = ()  # guests that may end before the job does

    @property
    def machines(self):
        return 1 if self.inner else len(self.ranks)

    @property
    def memory_mib(self):
        return 1024 + 200 * sum(self.ranks) if self.inner else 1024


@dataclass
class Result:
    status: int  # of the command
    output: str
    errors: str
    marks: list  # see wire.py
    ended: list  # guests that ended before the job did
    boot_seconds: float
    seconds: float  # in all


class Follower:
    """Passes on what a file grows by."""

    def __init__(self, path, target):
        self.file = open(path, encoding="utf-8", errors="replace")
        self.target = target
        self.parts = []

    def step(self):
        text = self.file.read()
        if text:
            self.parts.append(text)
            if self.target is not None:
                self.target.write(text)
                self.target.flush()

    def finish(self):
        self.step()
        self.file.close()
        return "".join(self.parts)


def run(job, parts, output=None, errors=None, keep=None):
    """Boots, runs, ends everything. Failure when there is no result: a guest that ended, a timeout.

    What the command prints goes to `output` and `errors` while it runs; the logs of the guests are
    copied to the folder `keep`.
    """
    jobs = os.path.join(parts.folder, "jobs")
    os.makedirs(jobs, exist_ok=True)
    # Held until the folder has its lock: to others a folder without one is left over.
    with open(os.path.join(parts.folder, "jobs.lock"), "w", encoding="utf-8") as entry:
        fcntl.flock(entry, fcntl.LOCK_EX)
        sweep(jobs)
        folder = tempfile.mkdtemp(dir=jobs)
        lock = open(os.path.join(folder, "lock"), "w", encoding="utf-8")
        fcntl.flock(lock, fcntl.LOCK_EX)
    with lock:
        try:
            return run_in(job, parts, folder, output, errors)
        finally:
            if keep is not None:
                shutil.copytree(folder, keep, dirs_exist_ok=True)
            shutil.rmtree(folder, ignore_errors=True)


def sweep(jobs):
    """Removes the folders of rigs that were killed: nobody holds their lock any more, or it is
    gone, as a guest that was ending wrote its log after the rest had been removed."""
    for name in os.listdir(jobs):
        path = os.path.join(jobs, name)
        try:
            with open(os.path.join(path, "lock"), encoding="utf-8") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except FileNotFoundError:
            pass
        except OSError:
            continue
        shutil.rmtree(path, ignore_errors=True)


def fill(job, parts, folder):
    """What the guests read."""
    shutil.copytree(os.path.join(HERE, "guest"), os.path.join(folder, "guest"))
    os.mkdir(os.path.join(folder, "out"))
    settings = {
        "RIG_RANKS": " ".join(str(number) for number in job.ranks),
        "RIG_INNER": "1" if job.inner else "0", "RIG_RAILS": str(job.rails),
        "RIG_MTU": str(job.mtu), "RIG_FOLDER": os.getcwd(),
        # In counted time a sleep is as long as the emulator's whole wait for the next event.
        "RIG_NAP": "" if job.inner else parts.nap,
        "RIG_PRELOAD": job.preload, "RIG_HOST_MPI": job.host_mpi,
        "RIG_FORWARDED": " ".join(job.settings), **job.settings}
    with open(os.path.join(folder, "env"), "w", encoding="utf-8") as file:
        for name, value in settings.items():
            file.write(f"export {name}={shlex.quote(value)}\n")
    with open(os.path.join(folder, "command"), "w", encoding="utf-8") as file:
        file.write(job.command + "\n")


def run_in(job, parts, folder, output, errors):
    begin = time.monotonic()
    fill(job, parts, folder)
    for attempt in range(BOOTS):
        for name in ("stdout", "stderr"):
            open(os.path.join(folder, name), "w", encoding="utf-8").close()
        guests = Guests(job, parts, folder)
        followers = [Follower(os.path.join(folder, name), target)
                     for name, target in (("stdout", output), ("stderr", errors))]
        try:
            booted, status = wait(job, guests, folder, followers, begin)
        finally:
            ended = guests.ended()
            guests.end()
            texts = [follower.finish() for follower in followers]
        if status is not None:
            break
        why = f"guest {ended[0]} ended: {guests.last_words(ended[0])}"
        if booted is not None or attempt + 1 == BOOTS:
            raise Failure(why)
        print(f"rig: {why}; booting again", file=sys.stderr)
    marks = read_marks(os.path.join(folder, "wire")) if not job.inner else []
    return Result(status, *texts, marks, ended, booted, time.monotonic() - begin)


def wait(job, guests, folder, followers, begin):
    """(seconds to boot, the command's status). Either is None when a guest ended before."""
    booted = None
    while True:
        for follower in followers:
            follower.step()
        if booted is None and os.path.exists(os.path.join(folder, "ready")):
            booted = time.monotonic() - begin
        try:
            with open(os.path.join(folder, "status"), encoding="utf-8") as file:
                return booted or 0.0, int(file.read())
        except FileNotFoundError:
            pass
        if any(booted is None or number not in job.may_end for number in guests.ended()):
            return booted, None
        if time.monotonic() - begin > job.timeout:
            raise Failure(f"--timeout {job.timeout:g}: the {'job' if booted else 'boot'} "
                          "took longer")
        if booted is None and time.monotonic() - begin > BOOT_SECONDS:
            raise Failure(f"the guests had not booted after {BOOT_SECONDS} s")
        time.sleep(POLL_SECONDS)
