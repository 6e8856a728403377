#!/usr/bin/python3
"""An alltoall from Python, which opens its MPI late."""

from array import array

from mpi4py import MPI

world = MPI.COMM_WORLD
blocks = array("d", (100.0 * world.rank + to for to in range(world.size)))
received = array("d", [0.0] * world.size)
world.Alltoall(blocks, received)
if list(received) != [100.0 * source + world.rank for source in range(world.size)]:
    raise SystemExit(f"rank {world.rank}: wrong: {received}")
