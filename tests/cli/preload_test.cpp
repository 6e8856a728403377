#include <gtest/gtest.h>

#include <filesystem>

#include <nlohmann/json.hpp>

#include "tests/cli/run_tool.hpp"

namespace weft::cli::preload_test {
namespace {

namespace fs = std::filesystem;

/// A copy of the tool, with add-ons in the folder `place` relative to the tool's folder.
struct Installed {
  explicit Installed(const std::string& place) {
    fs::create_directories(folder.path() / "bin");
    fs::copy_file(WEFT_TOOL, tool());
    for (const char* name : {"libweft-openmpi.so", "libweft-mpich.so", "libweft-verbs-soft.so"}) {
      if (!place.empty()) folder.write(fs::path("bin") / place / name, "");
    }
  }
  std::string tool() const { return (fs::canonical(folder.path()) / "bin/weft").string(); }
  std::string file(const std::string& place, const std::string& name) const {
    return (fs::canonical(folder.path()) / "bin" / place / name).lexically_normal().string();
  }
  /// PATH with an mpirun that prints `version`, and the folders that a shell needs.
  std::string path_with_mpirun(const std::string& version) const {
    const auto script = folder.write("path/mpirun", "#!/bin/sh\necho '" + version + "'\n");
    fs::permissions(script, fs::perms::owner_all);
    return script.parent_path().string() + ":/usr/bin:/bin";
  }
  TemporaryFolder folder;
};

TEST(Preload, FindsTheAddOnBesideTheToolOrWhereItIsInstalled) {
  for (const std::string place : {".", "../lib", "../lib/weft", ".."}) {
    const Installed installed(place);
    for (const std::string mpi : {"openmpi", "mpich"}) {
      const Ended ended = run_tool({"preload", "--mpi", mpi}, {.tool = installed.tool()});
      EXPECT_EQ(ended.code, 0);
      EXPECT_EQ(ended.out, installed.file(place, "libweft-" + mpi + ".so") + "\n");
      EXPECT_EQ(ended.err, "");
    }
    const Ended soft = run_tool({"preload", "--soft-device"}, {.tool = installed.tool()});
    EXPECT_EQ(soft.out, installed.file(place, "libweft-verbs-soft.so") + "\n");
  }
}

TEST(Preload, IsFoundThroughALink) {
  const Installed installed("../lib");
  const auto link = installed.folder.path() / "weft-link";
  fs::create_symlink(installed.tool(), link);
  const Ended ended = run_tool({"preload", "--mpi", "mpich"}, {.tool = link.string()});
  EXPECT_EQ(ended.out, installed.file("../lib", "libweft-mpich.so") + "\n");
}

TEST(Preload, NamesTheFileThatIsNotThere) {
  const Installed installed("");
  const Ended mpi = run_tool({"preload", "--mpi", "mpich"}, {.tool = installed.tool()});
  EXPECT_EQ(mpi.code, 1);
  EXPECT_EQ(mpi.out, "");
  EXPECT_EQ(mpi.err, "weft: " + installed.file(".", "libweft-mpich.so") +
                         ": there is no such file; it is built with weft where mpich is "
                         "installed\n");
  const Ended soft = run_tool({"preload", "--soft-device"}, {.tool = installed.tool()});
  EXPECT_EQ(soft.code, 1);
  EXPECT_EQ(soft.out, "");
}

TEST(Preload, TakesTheMpiOfTheLauncher) {
  const Installed installed(".");
  const auto with = [&](const std::string& version) {
    const Ended ended = run_tool(
        {"preload", "--json"},
        {.environment = {{"PATH", installed.path_with_mpirun(version)}}, .tool = installed.tool()});
    EXPECT_EQ(ended.code, 0) << ended.err;
    return nlohmann::json::parse(ended.out).at("mpi").get<std::string>();
  };
  EXPECT_EQ(with("mpirun (Open MPI) 4.1.4"), "openmpi");
  EXPECT_EQ(with("HYDRA build details:"), "mpich");
  EXPECT_EQ(with("some other launcher"), "openmpi");
}

TEST(Preload, TakesOpenMpiWithoutALauncher) {
  const Installed installed(".");
  const Ended ended =
      run_tool({"preload"}, {.environment = {{"PATH", "/none"}}, .tool = installed.tool()});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.out, installed.file(".", "libweft-openmpi.so") + "\n");
}

}  // namespace
}  // namespace weft::cli::preload_test
