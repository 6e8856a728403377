#!/usr/bin/env python3
"""Runs programs that know nothing of weft, as Debian ships them, on the preloaded device.

usage: programs_test.py libweft-verbs-soft.so [name ...]

Each program must end with status 0 within its time and print what shows that it did its work.
A program that is not installed is a failure that names its package, not a case left out.
"""
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile

TIMEOUT_S = 60
PACKAGES = {"ibv_": "ibverbs-utils", "ib_": "perftest", "fi_": "libfabric-bin", "ucx_": "ucx-utils",
            "mpicc.openmpi": "libopenmpi-dev", "mpicc.mpich": "libmpich-dev"}


class Failed(Exception):
    pass


def free_port():
    """A port that no other program is given meanwhile: below those that the kernel hands out."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as handed_out:
        end = int(handed_out.read().split()[0])
    while True:
        port = random.randrange(end // 2, end)
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            try:
                probe.bind(("", port))
                return port
            except OSError:
                continue


def environment(device, extra):
    settings = {key: value for key, value in os.environ.items() if not key.startswith("WEFT_")}
    settings.update(extra, LD_PRELOAD=device)
    return settings


def check_installed(program):
    if shutil.which(program) is None:
        package = next(name for prefix, name in PACKAGES.items() if program.startswith(prefix))
        raise Failed(f"{program} is missing: install Debian's package {package}")


def run_one(device, command, expected, extra):
    check_installed(command[0])
    result = subprocess.run(command, env=environment(device, extra), capture_output=True,
                            text=True, timeout=TIMEOUT_S, check=False)
    if result.returncode != 0:
        raise Failed(f"status {result.returncode}\n{result.stdout}{result.stderr}")
    for pattern in expected:
        if not re.search(pattern, result.stdout):
            raise Failed(f"'{pattern}' is not in its output:\n{result.stdout}")


def listens(port):
    """True when a program listens on a local TCP port. Looked up, not tried: a server that serves
    only one client would take the attempt for that client."""
    wanted = f":{port:04X}"
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(table, encoding="ascii") as lines:
            for line in lines:
                fields = line.split()
                if fields[1].endswith(wanted) and fields[3] == "0A":
                    return True
    return False


def wait_for_listener(server, port):
    while not listens(port):
        try:
            server.wait(timeout=0.02)
        except subprocess.TimeoutExpired:
            continue
        return  # it ended: its status tells


def run_pair(device, command, expected, extra):
    check_installed(command[0])
    port = free_port()
    settings = environment(device, extra)
    at_server, at_client = PORT_OPTIONS.get(command[0], ("-p", "-p"))
    with subprocess.Popen(command + [at_server, str(port)], env=settings, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as server:
        try:
            wait_for_listener(server, port)
            client = subprocess.run(command + [at_client, str(port), "127.0.0.1"], env=settings,
                                    capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
            output, _ = server.communicate(timeout=TIMEOUT_S)
        finally:
            server.kill()
    if server.returncode != 0 or client.returncode != 0:
        raise Failed(f"server {server.returncode}, client {client.returncode}\n--- server\n"
                     f"{output}--- client\n{client.stdout}{client.stderr}")
    for pattern in expected:
        if not re.search(pattern, client.stdout):
            raise Failed(f"'{pattern}' is not in the client's output:\n{client.stdout}")


def run_mpi(device, command, expected, extra):
    """`command` is `openmpi` or `mpich`, then a program in C beside this file; `extra` is for the
    ranks only."""
    mpi, source = command
    check_installed(f"mpicc.{mpi}")
    settings = environment(device, dict(MPI_SETTINGS))
    del settings["LD_PRELOAD"]
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "program")
        here = os.path.dirname(os.path.abspath(__file__))
        subprocess.run([f"mpicc.{mpi}", os.path.join(here, source), "-o", program], check=True)
        ranks = [f"{key}={value}" for key, value in extra.items()]
        result = subprocess.run([f"mpirun.{mpi}", "-n", "4", "env", f"LD_PRELOAD={device}", *ranks,
                                 program], env={**settings, **extra}, capture_output=True,
                                text=True, timeout=TIMEOUT_S, check=False)
    if result.returncode != 0 or not all(re.search(p, result.stdout) for p in expected):
        raise Failed(f"status {result.returncode}\n{result.stdout}{result.stderr}")


# The option for the port at which a program's two ends meet, where it is not -p.
PORT_OPTIONS = {"fi_pingpong": ("-B", "-P")}
MPI_SETTINGS = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                "OMPI_MCA_rmaps_base_oversubscribe": "1",
                "OMPI_MCA_btl_openib_warn_no_device_params_found": "0"}

PING = [r"iters in .* usec/iter"]
BANDWIDTH = [r"\n\s*\d+\s+\d+\s+[\d.]+\s+(?=[\d.]*[1-9])[\d.]+\s+[\d.]+"]
UCX = [r"Final: +\d+ +[\d.]+"]
LIBFABRIC = [r"4k +50 +=50"]
LATENCY = [r"\n\s*\d+\s+\d+\s+[\d.]+\s+[\d.]+\s+[\d.]+"]

SINGLE = [
    ("ibv_devices", [r"weft_soft0"], {}),
    ("ibv_devices", [r"weft_soft2"], {"WEFT_SOFT_DEVICES": "3"}),
    ("ibv_devinfo", [r"hca_id:\s+weft_soft0", r"PORT_ACTIVE", r"link_layer:\s+InfiniBand"], {}),
    ("ibv_devinfo -v", [r"max_qp:", r"GID\[ *0\]:\s+fe80:", r"completion timestamp_mask"], {}),
    ("ibv_devinfo -v", [r"link_layer:\s+Ethernet", r"::ffff:169.254", r"RoCE v2"],
     {"WEFT_SOFT_LINK": "ethernet"}),
]

PAIRS = [
    ("ibv_rc_pingpong", PING),
    ("ibv_rc_pingpong -e", PING),
    ("ibv_rc_pingpong -s 65536 -n 500", PING),
    ("ibv_rc_pingpong -g 0", PING),
    ("ibv_rc_pingpong -c", PING),
    ("ibv_rc_pingpong -N", PING),
    ("ibv_rc_pingpong -t", [r"receive completion clock cycles"]),
    ("ibv_srq_pingpong", PING),
    ("ibv_srq_pingpong -e", PING),
    ("ibv_ud_pingpong", PING),
    ("ibv_ud_pingpong -e -g 0", PING),
    ("ib_write_bw", BANDWIDTH),
    ("ib_write_bw -q 4 -b", BANDWIDTH),
    ("ib_write_bw -a -n 100", BANDWIDTH),
    ("ib_write_bw --use_old_post_send", BANDWIDTH),
    ("ib_write_lat", LATENCY),
    ("ib_write_lat -I 128 -s 128", LATENCY),
    ("ib_read_bw", BANDWIDTH),
    ("ib_read_bw -q 4 -e", BANDWIDTH),
    ("ib_read_lat", LATENCY),
    ("ib_send_bw", BANDWIDTH),
    ("ib_send_bw -q 3 -b", BANDWIDTH),
    ("ib_send_bw -e", BANDWIDTH),
    ("ib_send_bw --use-srq -q 2", BANDWIDTH),
    ("ib_send_bw -c UD", BANDWIDTH),
    ("ib_send_lat", LATENCY),
    ("ib_send_lat -e", LATENCY),
    ("ib_atomic_bw", BANDWIDTH),
    ("ib_atomic_bw -q 2 -A CMP_AND_SWAP", BANDWIDTH),
    ("ib_atomic_bw -e", BANDWIDTH),
    ("ib_atomic_lat", LATENCY),
]

# Libraries with transports of their own: only the device may be used.
UCX_RC = {"UCX_TLS": "rc,self", "UCX_NET_DEVICES": "weft_soft0:1"}
UCX_UD = {"UCX_TLS": "ud,self", "UCX_NET_DEVICES": "weft_soft0:1"}
LAYERS = [
    ("fi_pingpong -p verbs -e rdm -I 50 -S 4096", LIBFABRIC, {}),
    ("ucx_perftest -t tag_lat -n 2000 -s 4096", UCX, UCX_RC),
    ("ucx_perftest -t ucp_put_bw -n 2000 -s 65536", UCX, UCX_RC),
    ("ucx_perftest -t ucp_fadd -n 2000", UCX, UCX_RC),
    ("ucx_perftest -t tag_bw -n 2000 -s 4096", UCX, UCX_UD),
]
ALL_RIGHT = [r"4 ranks, 0 wrong"]
MPI = [
    ("openmpi mpi_exchange.c", ALL_RIGHT,
     {**UCX_RC, "OMPI_MCA_pml": "ucx", "OMPI_MCA_pml_ucx_devices": "any",
      "OMPI_MCA_pml_ucx_tls": "any"}),
    ("openmpi mpi_exchange.c", ALL_RIGHT,
     {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "openib,self", "OMPI_MCA_btl_openib_allow_ib": "1"}),
    ("openmpi mpi_exchange.c", ALL_RIGHT,
     {"OMPI_MCA_pml": "cm", "OMPI_MCA_mtl": "ofi",
      "OMPI_MCA_mtl_ofi_provider_include": "verbs;ofi_rxd"}),
    ("mpich mpi_exchange.c", ALL_RIGHT, UCX_RC),
]

# A port of Ethernet has GIDs only, and each path has to be good enough for strangers.
VARIANTS = [
    ("ibv_rc_pingpong -g 1", PING, {"WEFT_SOFT_LINK": "ethernet"}),
    ("ib_send_bw -x 3", BANDWIDTH, {"WEFT_SOFT_LINK": "ethernet"}),
    ("ib_write_lat -d weft_soft1", LATENCY, {"WEFT_SOFT_DEVICES": "2"}),
    ("ib_write_bw -n 500", BANDWIDTH, {"WEFT_SOFT_PATH": "agent"}),
    ("ib_send_lat", LATENCY, {"WEFT_SOFT_PATH": "agent"}),
]


def cases():
    for text, expected, extra in SINGLE:
        yield text, run_one, expected, extra
    for text, expected in PAIRS:
        yield text, run_pair, expected, {}
    for text, expected, extra in VARIANTS + LAYERS:
        yield text, run_pair, expected, extra
    for text, expected, extra in MPI:
        yield text, run_mpi, expected, extra


def main():
    device, chosen = os.path.abspath(sys.argv[1]), sys.argv[2:]
    failures = []
    for text, run, expected, extra in cases():
        if chosen and not any(name in text for name in chosen):
            continue
        label = " ".join([f"{key}={value}" for key, value in extra.items()] + [text])
        try:
            run(device, text.split(), expected, extra)
            print(f"ok      {label}", flush=True)
        except (Failed, subprocess.TimeoutExpired) as problem:
            failures.append(label)
            print(f"FAILED  {label}: {problem}", flush=True)
    for label in failures:
        print(f"failed: {label}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
