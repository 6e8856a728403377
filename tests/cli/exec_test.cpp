// weft exec: what is preloaded into which programs, and how it ends. That MPI programs run over
// weft by it is tested under their launchers (exec.* in tests/cli/CMakeLists.txt).
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/cli/run_tool.hpp"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

/// A file beside the tool that was built.
std::string beside_tool(const std::string& name) {
  return (fs::canonical(WEFT_TOOL).parent_path() / name).string();
}

Ended exec(std::vector<std::string> words, const Run& how = {}) {
  words.insert(words.begin(), "exec");
  return run_tool(words, how);
}

const std::vector<std::string> kShowPreload = {"sh", "-c", "echo $LD_PRELOAD"};

TEST(Exec, GivesAShellTheGuideAlone) {
  const Ended ended = exec(kShowPreload);
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.err, "");
  EXPECT_EQ(ended.out, beside_tool("libweft-guide.so") + "\n");
}

TEST(Exec, KeepsWhatIsPreloadedAlready) {
  const std::string soft = beside_tool("libweft-verbs-soft.so");
  const Ended ended = exec(kShowPreload, {.environment = {{"LD_PRELOAD", soft}}});
  EXPECT_EQ(ended.out, beside_tool("libweft-guide.so") + ":" + soft + "\n");
}

TEST(Exec, PreloadsNothingWhereWeftIsDisabled) {
  const Ended ended = exec(kShowPreload, {.environment = {{"WEFT_DISABLE", "1"}}});
  EXPECT_EQ(ended.out, "\n");
}

TEST(Exec, PassesArgumentsInputAndTheEndOfTheProgram) {
  const Ended ended =
      exec({"sh", "-c", "cat; echo \"$1\"; exit 7", "-", "--help x"}, {.input = "what it reads\n"});
  EXPECT_EQ(ended.out, "what it reads\n--help x\n");
  EXPECT_EQ(ended.code, 7);
  EXPECT_EQ(exec({"sh", "-c", "kill -TERM $$"}).signal, 15);
}

TEST(Exec, EndsAsShellsDoWithoutAProgram) {
  const Ended none = exec({"no-such-program"});
  EXPECT_EQ(none.code, 127);
  EXPECT_EQ(none.err, "weft: exec no-such-program: no such program on PATH\n");
  EXPECT_EQ(exec({"/no/such/program"}).code, 127);
  const Ended text = exec({"/etc/passwd"});
  EXPECT_EQ(text.code, 126);
  EXPECT_EQ(text.err, "weft: exec /etc/passwd: Permission denied\n");
}

TEST(Exec, RefusesWhatItDoesNotKnow) {
  const Ended ended = exec({"--mpi", "lam", "true"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err, "weft: --mpi=lam: not one of openmpi, mpich\n");
  EXPECT_EQ(exec({}).code, 2);
  EXPECT_EQ(exec({"--fast", "true"}).code, 2);
}

TEST(Exec, SaysOnceWhyAProgramRunsWithoutWeft) {
  const std::string line =
      "weft: exec " WEFT_TEST_STATIC ": linked statically: runs without weft\n";
  const Ended ended = exec({WEFT_TEST_STATIC});
  EXPECT_EQ(ended.code, 3);
  EXPECT_EQ(ended.err, line);
  EXPECT_EQ(exec({WEFT_TEST_STATIC}, {.environment = {{"PMI_RANK", "0"}}}).err, line);
  EXPECT_EQ(exec({WEFT_TEST_STATIC}, {.environment = {{"PMI_RANK", "1"}}}).err, "");
  EXPECT_EQ(exec({WEFT_TEST_STATIC}, {.environment = {{"OMPI_COMM_WORLD_RANK", "1"}}}).err, "");
}

TEST(Exec, NamesTheAddOnThatIsMissing) {
  const TemporaryFolder folder;
  const fs::path tool = fs::canonical(folder.path()) / "weft";
  fs::copy_file(WEFT_TOOL, tool);
  const std::string addon = (tool.parent_path() / "libweft-mpich.so").string();
  const Ended ended = run_tool({"exec", "--mpi", "mpich", "true"}, {.tool = tool.string()});
  EXPECT_EQ(ended.code, 0);
  EXPECT_TRUE(
      ended.err.ends_with(": its MPI is mpich, and " + addon + " is missing: runs without weft\n"))
      << ended.err;
}

}  // namespace
}  // namespace weft::cli
