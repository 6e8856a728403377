"""Runs perftest between two devices, for the benchmarks beside it."""

import os
import socket
import subprocess
import sys
import time


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def perftest(arguments, tool, size, iterations, *more):
    """The figures of the last line of its table, for a message of `size` bytes between the two of
    arguments.devices."""
    port = str(free_port())
    environment = dict(os.environ)
    options = ["-s", str(size), "-n", str(iterations), "-p", port, "-F", *more]
    sides = [[], ["127.0.0.1"]]
    for side, device in zip(sides, arguments.devices):
        if device == "soft":
            environment["LD_PRELOAD"] = os.path.join(arguments.build, "libweft-verbs-soft.so")
        else:
            side[:0] = ["-d", device, "-x", str(arguments.gid_index)]
    with subprocess.Popen([tool, *options, *sides[0]], env=environment, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as server:
        try:
            deadline = time.monotonic() + arguments.timeout
            while time.monotonic() < deadline:
                client = subprocess.run([tool, *options, *sides[1]], env=environment, text=True,
                                        capture_output=True, timeout=arguments.timeout, check=False)
                if client.returncode == 0 or server.poll() is not None:
                    break
            server.wait(arguments.timeout)
        finally:
            server.kill()
    lines = [line.split() for line in client.stdout.splitlines()]
    rows = [line for line in lines if line and line[0] == str(size)]
    if client.returncode != 0 or not rows:
        sys.exit(f"{sys.argv[0]}: {tool} failed: {client.stderr.strip()}")
    return [float(word) for word in rows[-1]]
