# Recipe for Spack: a copy in the folder packages/weft of a repository of recipes builds weft. The
# addresses are to be replaced by those of your clone.
from spack.package import *


class Weft(CMakePackage):
    """Fast MPI collectives on many-core clusters joined by InfiniBand or RoCE, without changing
    the program."""

    homepage = "https://example.org/weft"
    git = "https://example.org/weft.git"
    license("BSD-3-Clause")

    version("main", branch="main")

    variant("openmpi", default=True, description="The add-on for programs of Open MPI")
    variant("mpich", default=False, description="The add-on for programs of MPICH")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("gzip", type="build")
    depends_on("fmt@9:", type="build")
    depends_on("cli11@2.3:", type="build")
    depends_on("nlohmann-json@3.11:", type="build")
    depends_on("highway@1.0.3:", type="build")
    depends_on("libsodium@1.0.18:", type="build")
    depends_on("boost@1.74:+context", type=("build", "link"))
    depends_on("fftw@3.3:", type=("build", "link"))
    depends_on("hwloc@2.9:", type=("build", "link"))
    depends_on("mimalloc@2.0.9:2", type=("build", "run"))
    depends_on("rdma-core@32:", type=("build", "run"))
    depends_on("openmpi@4.1:5", when="+openmpi", type=("build", "link", "run"))
    depends_on("mpich@4.0:4", when="+mpich", type=("build", "link", "run"))

    conflicts("%gcc@:11", msg="C++20 needs GCC 12 or newer")

    generator("ninja")

    def cmake_args(self):
        args = [
            self.define("WEFT_BUILD_TESTS", False),
            self.define("WEFT_BUILD_BENCH", False),
            # An empty path leaves the add-on out.
            self.define("WEFT_MPICC_openmpi", ""),
            self.define("WEFT_MPICC_mpich", ""),
        ]
        for mpi in ("openmpi", "mpich"):
            if self.spec.satisfies("+" + mpi):
                folder = self.spec[mpi].prefix.bin
                args.append(self.define("WEFT_MPICC_" + mpi, folder.mpicc))
                args.append(self.define("WEFT_MPIRUN_" + mpi, folder.mpirun))
        return args

    def setup_run_environment(self, env):
        # What is opened at run time by its name alone.
        for name in ("mimalloc", "rdma-core"):
            env.prepend_path("LD_LIBRARY_PATH", self.spec[name].prefix.lib)
