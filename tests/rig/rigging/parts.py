"""What guests are made of, kept in the work folder: kernel, initramfs, switch and helpers.

The kernel is Debian's, fetched with apt-get download and unpacked, not installed. Safe to run
again: only what is missing or older than its source is made.
"""

import fcntl
import glob
import lzma
import os
import platform
import shutil
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass

from .failure import Failure, Missing

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOOLS = {"qemu-system-x86_64": "qemu-system-x86", "busybox": "busybox-static", "modprobe": "kmod",
         "depmod": "kmod", "dpkg-deb": "dpkg", "cc": "gcc", "rdma": "iproute2",
         "mpirun.openmpi": "openmpi-bin"}
MODULES = ["virtio_pci", "virtio_net", "virtio_rng", "9p", "9pnet_virtio", "crc32_generic",
           "rdma_rxe", "ib_uverbs", "rdma_ucm", "veth", "bridge", "macvlan", "sch_netem"]


@dataclass
class Parts:
    """Paths of what a guest is started with."""
    folder: str
    kernel: str
    initramfs: str
    switch: str
    tsc_khz: str
    nap: str


def prepare(folder, kernel_package=None):
    """Makes what is missing in the folder. Missing says what this machine lacks."""
    require_tools()
    os.makedirs(folder, exist_ok=True)
    with locked(os.path.join(folder, "lock")):
        unpacked = unpack_kernel(folder, kernel_package)
        return Parts(
            folder=folder,
            kernel=uncompress_kernel(folder, unpacked),
            initramfs=make_initramfs(folder, unpacked),
            switch=compile_c(folder, "switch.c", "switch"),
            tsc_khz=compile_c(folder, "tsc_khz.c", "tsc_khz"),
            nap=compile_c(folder, "nap.c", "nap.so", "-shared", "-fPIC"))


def require_tools():
    if platform.machine() != "x86_64":
        raise Missing(f"guests are x86_64 machines, this one is {platform.machine()}")
    for tool, package in TOOLS.items():
        if shutil.which(tool, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin") is None:
            raise Missing(f"{tool} is not installed (Debian package {package}; "
                          "tools/install-packages check)")


@contextmanager
def locked(path):
    with open(path, "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def call(*words, **options):
    """Output of a command; Failure with its last line when it fails."""
    environment = dict(os.environ, PATH=os.environ.get("PATH", "") + ":/usr/sbin:/sbin", LC_ALL="C")
    done = subprocess.run(words, text=True, capture_output=True, check=False, env=environment,
                          stdin=subprocess.DEVNULL, **options)
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
        raise Failure(f"{' '.join(words[:3])}: {last}")
    return done.stdout


def unpack_kernel(folder, package):
    """The folder with boot/vmlinuz-* and the wanted modules, of the package or of Debian's."""
    package = os.path.abspath(package) if package else debian_package(folder)
    unpacked = os.path.join(folder, "kernel")
    stamp = os.path.join(unpacked, "package")
    if is_made(stamp, package, __file__) and read(stamp) == package.encode():
        return unpacked
    shutil.rmtree(unpacked, ignore_errors=True)
    call("dpkg-deb", "-x", package, unpacked)
    if not glob.glob(os.path.join(unpacked, "boot", "vmlinuz-*")):
        raise Failure(f"{package}: no kernel in it")
    call("depmod", "--basedir", unpacked, version_of(unpacked))
    wanted = set(module_paths(unpacked))
    for path in glob.glob(os.path.join(unpacked, "lib", "**", "*.ko"), recursive=True):
        if path not in wanted:
            os.remove(path)
    write(stamp, package.encode())
    return unpacked


def module_paths(unpacked):
    """Files of the wanted modules, in an order in which they can be loaded."""
    paths = []
    for module in MODULES:
        lines = call("modprobe", "--dirname", unpacked, "--set-version", version_of(unpacked),
                     "--show-depends", module).splitlines()
        paths += [line.split()[1] for line in lines if line.startswith("insmod ")]
    return list(dict.fromkeys(paths))


def debian_package(folder):
    """The package that is there already, or else is fetched."""
    there = sorted(glob.glob(os.path.join(folder, "linux-image-*.deb")))
    if there:
        return there[-1]
    try:
        lines = call("apt-cache", "depends", "linux-image-amd64").splitlines()
        names = [line.split()[-1] for line in lines if "Depends: linux-image-" in line]
        if not names:
            raise Failure("apt knows no linux-image-amd64")
        call("apt-get", "download", names[0], cwd=folder, timeout=300)
    except (Failure, OSError, subprocess.TimeoutExpired) as error:
        raise Missing(f"cannot fetch Debian's kernel: {error} "
                      "(apt-get update may help; --kernel-package takes one at hand)") from None
    return glob.glob(os.path.join(folder, names[0] + "_*.deb"))[0]


def version_of(unpacked):
    [kernel] = glob.glob(os.path.join(unpacked, "boot", "vmlinuz-*"))
    return os.path.basename(kernel).removeprefix("vmlinuz-")


def is_made(path, *sources):
    """Whether a file is there and none of its sources is newer."""
    return os.path.exists(path) and all(
        os.path.getmtime(source) <= os.path.getmtime(path) for source in sources)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, data):
    """Writes a file so that it is there whole or not at all."""
    with open(path + ".new", "wb") as file:
        file.write(data)
    os.rename(path + ".new", path)
    return path


def uncompress_kernel(folder, unpacked):
    """QEMU starts an ELF image at once, where the compressed one would unpack itself, emulated."""
    target = os.path.join(folder, "vmlinux")
    source = os.path.join(unpacked, "boot", "vmlinuz-" + version_of(unpacked))
    if is_made(target, source, os.path.join(unpacked, "package")):
        return target
    data = read(source)
    begin = data.find(b"\xfd7zXZ\x00")
    image = lzma.LZMADecompressor().decompress(data[begin:]) if begin >= 0 else b""
    return write(target, image if image.startswith(b"\x7fELF") else data)


def make_initramfs(folder, unpacked):
    target = os.path.join(folder, "initramfs")
    init = os.path.join(HERE, "guest", "init")
    busybox = shutil.which("busybox")
    if is_made(target, init, busybox, os.path.join(unpacked, "package"), __file__):
        return target
    archive = Archive()
    for name in ("bin", "lib", "lib/modules", "proc", "sys", "dev", "newroot"):
        archive.add(name, 0o40755)
    archive.add("init", 0o100755, init)
    archive.add("bin/busybox", 0o100755, busybox)
    for number, path in enumerate(module_paths(unpacked)):
        archive.add(f"lib/modules/{number:03}-{os.path.basename(path)}", 0o100644, path)
    return write(target, archive.finish())


class Archive:
    """A cpio archive in the form that the kernel unpacks ("newc")."""

    def __init__(self):
        self.data = bytearray()
        self.entries = 0

    def add(self, name, mode, source=None):
        content = read(source) if source is not None else b""
        self.entries += 1
        encoded = name.encode() + b"\0"
        fields = (self.entries, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(encoded), 0)
        self.data += b"070701" + b"".join(b"%08x" % field for field in fields) + encoded
        self.pad()
        self.data += content
        self.pad()

    def pad(self):
        self.data += bytes(-len(self.data) % 4)

    def finish(self):
        self.add("TRAILER!!!", 0)
        return bytes(self.data)


def compile_c(folder, source, target, *options):
    source = os.path.join(HERE, source)
    target = os.path.join(folder, target)
    if not is_made(target, source):
        call("cc", "-O2", "-Wall", *options, "-o", target + ".new", source)
        os.rename(target + ".new", target)
    return target
