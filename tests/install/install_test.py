#!/usr/bin/env python3
"""What `cmake --install` puts down is enough, and can be moved.

    install_test.py BUILD_TREE

Installs a build tree below one folder, moves it to another, builds users' programs in C and C++
against it, by find_package and by pkg-config, and runs them as two ranks on one node and on two.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = ""
TIMEOUT_S = 240


def run(*command, env=None):
    """What the command prints; its errors too when it fails."""
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def clean_environment():
    return {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}


def run_ranks(program, ranks, settings):
    """What each rank prints."""
    processes = []
    # Held: rank 0 may listen there all the same, and nobody else is given the port.
    port = socket.socket()
    try:
        port.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        port.bind(("127.0.0.1", 0))
        root = "{}:{}".format(*port.getsockname())
        for rank in range(ranks):
            env = clean_environment() | settings | {
                "WEFT_RANK": str(rank), "WEFT_SIZE": str(ranks), "WEFT_ROOT": root}
            processes.append(subprocess.Popen(
                [program], env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
        outputs = [process.communicate(timeout=TIMEOUT_S)[0] for process in processes]
    finally:
        port.close()
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.communicate()
    for process, output in zip(processes, outputs):
        if process.returncode != 0:
            raise AssertionError(f"{program}: exit code {process.returncode}\n{output}")
    return outputs


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.mkdtemp(prefix="weft-install-")
        cls.addClassCleanup(shutil.rmtree, cls.scratch)
        first = os.path.join(cls.scratch, "first")
        run("cmake", "--install", BUILD, "--prefix", first)
        cls.prefix = os.path.join(cls.scratch, "moved")
        os.rename(first, cls.prefix)

    def path(self, *names):
        return os.path.join(self.prefix, *names)

    def test_the_tool_finds_the_addons(self):
        for mpi in ("openmpi", "mpich"):
            if not os.path.exists(os.path.join(BUILD, f"libweft-{mpi}.so")):
                continue
            printed = run(self.path("bin/weft"), "preload", "--mpi", mpi, env=clean_environment())
            self.assertEqual(os.path.realpath(printed.strip()),
                             os.path.realpath(self.path("lib/weft", f"libweft-{mpi}.so")))

    def test_the_component_is_linked_to_where_it_is_installed(self):
        if not os.path.exists(os.path.join(BUILD, "mca_coll_weft.so")):
            self.skipTest("the component was not built")
        folder = os.path.join(self.scratch, "components")
        run(self.path("bin/weft"), "install", "--openmpi", "--prefix", folder,
            env=clean_environment())
        self.assertEqual(os.path.realpath(os.path.join(folder, "mca_coll_weft.so")),
                         os.path.realpath(self.path("lib/weft/mca_coll_weft.so")))

    def test_the_tool_finds_them_when_it_is_found_on_path(self):
        env = clean_environment() | {"PATH": self.path("bin") + ":" + os.environ["PATH"]}
        printed = run("sh", "-c", "cd / && weft preload --soft-device", env=env)
        self.assertEqual(os.path.realpath(printed.strip()),
                         os.path.realpath(self.path("lib/weft/libweft-verbs-soft.so")))

    def test_the_library_shows_its_api_alone(self):
        symbols = run("nm", "--dynamic", "--demangle", "--defined-only",
                      self.path("lib/libweft.so"))
        names = [line.split(maxsplit=2)[2] for line in symbols.splitlines()]
        self.assertIn("weft_alltoall", names)
        foreign = [name for name in names if not name.startswith(("weft_", "weft::"))
                   and not name.removeprefix("VTT for ").startswith(
                       ("typeinfo for weft::", "typeinfo name for weft::", "vtable for weft::"))]
        self.assertEqual(foreign, [])
        hidden = ("weft::engine::", "weft::plan::", "weft::verbs::", "weft::comm::",
                  "weft::alltoall::", "weft::hierarchy::", "weft::Communicator::Impl")
        self.assertEqual([name for name in names if name.startswith(hidden)], [])

    def assert_runs(self, program, device):
        for nodes in ("1", "2"):
            outputs = run_ranks(program, 2, {"WEFT_NODES": nodes, "WEFT_DEVICE": "soft"})
            for rank, output in enumerate(outputs):
                self.assertIn(f"rank {rank} of 2: right", output)
                if device:
                    self.assertEqual("software" in output, nodes == "2", output)

    def test_find_package(self):
        tree = os.path.join(self.scratch, "user")
        run("cmake", "-G", "Ninja", "-S", HERE, "-B", tree,
            f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", tree)
        self.assert_runs(os.path.join(tree, "user_c"), device=False)
        self.assert_runs(os.path.join(tree, "user_cpp"), device=True)

    def test_the_software_device_takes_faults(self):
        """In plain C, linked to it."""
        source = os.path.join(self.scratch, "faults.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write("#include <errno.h>\n#include <weft/soft/extensions.h>\n"
                       "int main(void) {\n"
                       "  if (weft_soft_inject(\"delay:by=1us\") != 0) return 1;\n"
                       "  return weft_soft_inject(\"nonsense\") == EINVAL ? 0 : 2;\n}\n")
        program = os.path.join(self.scratch, "faults")
        device = self.path("lib/weft/libweft-verbs-soft.so")
        run("cc", "-std=c99", "-Wall", "-Wextra", "-Werror", f"-I{self.path('include')}", source,
            device, f"-Wl,-rpath,{self.path('lib/weft')}", "-o", program)
        run(program, env=clean_environment())

    def test_pkg_config(self):
        env = os.environ | {"PKG_CONFIG_PATH": self.path("lib/pkgconfig")}
        flags = run("pkg-config", "--cflags", "--libs", "weft", env=env).split()
        program = os.path.join(self.scratch, "user_pkg_config")
        run("c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-o", program,
            os.path.join(HERE, "alltoall.cpp"), *flags, f"-Wl,-rpath,{self.path('lib')}")
        self.assert_runs(program, device=True)


if __name__ == "__main__":
    BUILD = os.path.abspath(sys.argv.pop(1))
    unittest.main()
