"""The processes of a rig: guests and the switch between them. Nothing else is ever ended."""

import ctypes
import os
import signal
import socket
import subprocess

# TCG executes "rep movsb" a byte at a time: libc and the kernel are kept off it.
CPU = "max,-erms,-fsrm"
KERNEL_OPTIONS = ("console=ttyS0 quiet panic=-1 mitigations=off nokaslr nowatchdog no_timer_check "
                  "clearcpuid=rep_good tsc=reliable tsc_early_khz={khz} rig_guest={number}")
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def die_with(rig):
    """In a new process of the rig, whose number that is: ends when the rig does, however."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != rig:  # it has ended already
        os._exit(1)


def spawn(words, **options):
    rig = os.getpid()
    # A session of its own: Ctrl-C is for the rig, which ends its processes itself.
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, start_new_session=True,
                            preexec_fn=lambda: die_with(rig), **options)


class Guests:
    """Running guests. end() must be called."""

    def __init__(self, job, parts, folder):
        self.folder = folder
        self.processes = {}  # by guest number
        self.switch = None
        self.files = []
        try:
            self.start(job, parts)
        except BaseException:
            self.end()
            raise

    def open(self, name):
        file = open(os.path.join(self.folder, name), "wb")
        self.files.append(file)
        return file

    def start(self, job, parts):
        khz = "1000000" if job.inner else subprocess.run(
            [parts.tsc_khz], check=True, text=True, capture_output=True).stdout.strip()
        sockets = [socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
                   for _ in range(job.machines)]
        try:
            if not job.inner:
                ends = [str(ours.fileno()) for ours, _ in sockets]
                self.switch = spawn([parts.switch, *ends], stdout=self.open("wire"),
                                    stderr=self.open("switch.log"),
                                    pass_fds=[int(end) for end in ends])
            for number, (_, theirs) in enumerate(sockets, 1):
                words = qemu(job, parts, self.folder, number, khz, theirs.fileno())
                self.processes[number] = spawn(words, stdout=self.open(f"qemu{number}.log"),
                                               stderr=subprocess.STDOUT,
                                               pass_fds=[theirs.fileno()])
        finally:
            for pair in sockets:
                for one in pair:
                    one.close()

    def ended(self):
        """Numbers of the guests that have ended."""
        return [number for number, process in self.processes.items() if process.poll() is not None]

    def last_words(self, number):
        """What a guest that ended had to say: its kernel's panic, or its last line."""
        lines = []
        for name in (f"qemu{number}.log", f"guest{number}.log"):
            path = os.path.join(self.folder, name)
            if os.path.exists(path):
                with open(path, encoding="utf-8", errors="replace") as file:
                    lines += [line.strip() for line in file if line.strip()]
        panics = [line for line in lines if "Kernel panic" in line]
        return (panics or lines[-1:] or ["it said nothing"])[0]

    def end(self):
        """Ends all processes. The switch comes last and writes what it counted."""
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.wait()
        if self.switch is not None:
            self.switch.terminate()
            try:
                self.switch.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self.switch.kill()
                self.switch.wait()
        for file in self.files:
            file.close()


def qemu(job, parts, folder, number, khz, fd):
    """The command that runs a guest."""
    accelerator = ["-accel", "tcg,thread=multi"]
    network = f"dgram,id=net,local.type=fd,local.str={fd}"
    if job.inner:
        accelerator = ["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off"]
        network = "user,id=net,restrict=on"
    return [
        "qemu-system-x86_64", "-name", f"rig{number}", "-machine", "q35", *accelerator,
        "-cpu", CPU, "-m", str(job.memory_mib), "-smp", "1", "-nodefaults", "-display", "none",
        "-no-reboot", "-serial", f"file:{folder}/guest{number}.log",
        "-kernel", parts.kernel, "-initrd", parts.initramfs,
        "-append", KERNEL_OPTIONS.format(khz=khz, number=number),
        "-fsdev", "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap",
        "-device", "virtio-9p-pci,fsdev=root,mount_tag=root",
        "-fsdev", f"local,id=job,path={folder},security_model=none",
        "-device", "virtio-9p-pci,fsdev=job,mount_tag=job",
        "-netdev", network,
        "-device", f"virtio-net-pci,netdev=net,mac=52:54:00:00:00:{number:02x},romfile=",
        "-device", "virtio-rng-pci"]
