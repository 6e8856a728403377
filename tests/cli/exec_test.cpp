// weft exec: what is preloaded into which programs, and how it ends. That MPI programs run over
// weft by it is tested under their launchers (exec.* in tests/cli/CMakeLists.txt).
#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "cli/exec/executable.hpp"
#include "tests/cli/run_tool.hpp"

namespace weft::cli::exec_test {
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

/// It would end the program if anything else came first.
TEST(Exec, RunsAProgramWithAddressSanitizerWithoutWeft) {
  const Ended ended = exec({WEFT_TEST_SANITIZED});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.err, "weft: exec " WEFT_TEST_SANITIZED
                       ": linked with AddressSanitizer, which has to be loaded first: runs without "
                       "weft\n");
}

/// A script that can be executed.
std::string script(const TemporaryFolder& folder, const std::string& name,
                   const std::string& text) {
  const fs::path path = folder.write(name, text);
  fs::permissions(path, fs::perms::owner_all);
  return path.string();
}

/// What --show prints of a program: the names of the files that would be preloaded.
std::string shown(std::vector<std::string> words, const Run& how = {}) {
  words.insert(words.begin(), "--show");
  std::istringstream paths(exec(words, how).out);
  std::string names;
  for (std::string path; std::getline(paths, path, ':');) {
    const std::string name = fs::path(path).filename().string();
    names += (names.empty() ? "" : " ") + name.substr(0, name.find('\n'));
  }
  return names;
}

constexpr const char* kGuide = "libweft-guide.so";

TEST(Exec, LeavesTheGuideToWhatAStaticProgramStarts) {
  EXPECT_EQ(shown({WEFT_TEST_STATIC}), kGuide);
}

TEST(Exec, FindsProgramsAsAShellDoes) {
  const TemporaryFolder folder;
  script(folder, "bin/tell", "#!/bin/sh\necho told $0\n");
  fs::create_directories(folder.path() / "folders/tell");
  fs::create_symlink("bin/tell", folder.path() / "a-link");
  const std::string path = (folder.path() / "folders").string() + ":" +
                           (folder.path() / "bin").string() + ":/usr/bin:/bin";
  const cli::Run how{.environment = {{"PATH", path}}, .directory = folder.path()};
  EXPECT_EQ(exec({"tell"}, how).out, "told " + (folder.path() / "bin/tell").string() + "\n");
  EXPECT_EQ(exec({"bin/tell"}, how).out, "told bin/tell\n");
  EXPECT_EQ(exec({"./a-link"}, how).out, "told ./a-link\n");
  EXPECT_EQ(exec({"bin"}, how).err, "weft: exec bin: no such program on PATH\n");
  const Ended here = exec({"a-link"}, how);
  EXPECT_EQ(here.code, 127);
  EXPECT_EQ(here.err, "weft: exec a-link: no such program on PATH; there is ./a-link\n");
}

TEST(Exec, RunsScriptsOfAnyInterpreter) {
  const TemporaryFolder folder;
  const std::string plain = script(folder, "plain", "echo no head: $1\n");
  EXPECT_EQ(exec({plain, "x"}).out, "no head: x\n");
  const std::string by_env =
      script(folder, "by_env", "#!/usr/bin/env -S -u NAME A=b sh -e\necho by env: $1\n");
  EXPECT_EQ(exec({by_env, "y"}).out, "by env: y\n");
  const std::string missing = script(folder, "missing", "#!/no/such/shell\n");
  EXPECT_EQ(exec({missing}).code, 127);
  const std::string by_env_missing =
      script(folder, "by_env_missing", "#!/usr/bin/env no-such-python3\n");
  EXPECT_EQ(exec({by_env_missing}).code, 127);  // env's own
  const std::string itself = (folder.path() / "itself").string();
  EXPECT_EQ(shown({script(folder, "itself", "#!" + itself + "\n")}), kGuide);
}

TEST(Exec, KnowsInterpretersByTheirWords) {
  const auto words = [](const std::string& line) { return interpreter_words(line + "\nmore\n"); };
  using Words = std::vector<std::string>;
  EXPECT_EQ(words("#!/bin/sh -e"), (Words{"/bin/sh", "-e"}));
  EXPECT_EQ(words("#! /usr/bin/python3"), Words{"/usr/bin/python3"});
  EXPECT_EQ(words("#!/usr/bin/env python3"), Words{"python3"});
  EXPECT_EQ(words("#!/usr/bin/env -S python3 -u"), (Words{"python3", "-u"}));
  EXPECT_EQ(words("#!/usr/bin/env -Spython3 -u"), (Words{"python3", "-u"}));
  EXPECT_EQ(words("#!/usr/bin/env -S -i -u HOME -C /tmp A=1 B=2 prog x"), (Words{"prog", "x"}));
  EXPECT_EQ(words("#!/usr/bin/env"), Words{});
  EXPECT_EQ(words("#!"), Words{});
}

TEST(Exec, SaysThatProgramsWithMoreRightsRunPlain) {
  const char* su = "/usr/bin/su";
  struct stat file = {};
  if (::stat(su, &file) != 0 || (file.st_mode & S_ISUID) == 0) GTEST_SKIP() << "no su";
  if (::geteuid() == 0) {
    // To root it gives nothing: it is a program like others.
    EXPECT_EQ(exec({"--show", su}).err, "");
  } else {
    EXPECT_NE(exec({"--show", su}).err.find("set-user-ID"), std::string::npos);
  }
}

TEST(Exec, KeepsAwayFromProgramsForOtherProcessors) {
  const TemporaryFolder folder;
  std::string head(4096, '\0');
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS32;
  std::memcpy(head.data(), &header, sizeof header);
  const std::string program = script(folder, "program", head);
  const Ended ended = exec({"--show", program});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.out, "");
  EXPECT_NE(ended.err.find("of 32 bits, or for another processor: runs without weft"),
            std::string::npos);
}

TEST(Exec, ReadsDamagedExecutables) {
  std::ifstream tool(WEFT_TOOL, std::ios::binary);
  std::string head(4096, '\0');
  tool.read(head.data(), static_cast<std::streamsize>(head.size()));
  std::mt19937 random(1);
  const TemporaryFolder folder;
  for (int round = 0; round < 300; ++round) {
    std::string damaged = head;
    for (int change = 0; change < 8; ++change)
      damaged[random() % 600] = static_cast<char>(random());
    damaged.resize(random() % head.size());
    read_executable(folder.write("program", damaged).string());
  }
}

TEST(Exec, TakesSettingsBeforeTheProgram) {
  const std::vector<std::string> tell = {"sh", "-c", "echo $WEFT_REPORT $WEFT_NODES"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), tell.begin(), tell.end());
    return exec(words);
  };
  EXPECT_EQ(with({"WEFT_REPORT=1", "WEFT_NODES=2"}).out, "1 2\n");
  const Ended misspelt = with({"WEFT_REPROT=1"});
  EXPECT_EQ(misspelt.code, 2);
  EXPECT_EQ(misspelt.err, "weft: exec WEFT_REPROT=1: no such setting; there is WEFT_REPORT\n");
  const Ended off = exec({"WEFT_DISABLE=1", "sh", "-c", "echo $LD_PRELOAD"});
  EXPECT_EQ(off.out, "\n");
}

TEST(Exec, IsNotDoneTwice) {
  const Ended ended = exec({WEFT_TOOL, "exec", "sh", "-c", "echo $LD_PRELOAD"});
  EXPECT_EQ(ended.out, beside_tool(kGuide) + "\n");
}

TEST(Exec, NamesTheAddOnThatIsMissingOrBroken) {
  const TemporaryFolder folder;
  // Files of weft are looked for beside its folder too.
  const fs::path bin = fs::canonical(folder.path()) / "bin";
  fs::create_directory(bin);
  const fs::path tool = bin / "weft";
  fs::copy_file(WEFT_TOOL, tool);
  const std::string addon = (tool.parent_path() / "libweft-mpich.so").string();
  const Ended ended = run_tool({"exec", "--mpi", "mpich", "true"}, {.tool = tool.string()});
  EXPECT_EQ(ended.code, 0);
  EXPECT_TRUE(
      ended.err.ends_with(": its MPI is mpich, and " + addon + " is missing: runs without weft\n"))
      << ended.err;
  std::ofstream(addon) << "no library";
  // Which one the program would load is looked up where it has a dynamic linker.
  EXPECT_TRUE(run_tool({"exec", "--mpi", "mpich", "true"}, {.tool = tool.string()})
                  .err.ends_with(": its MPI is mpich, and " + addon +
                                 " is no library for an MPI: runs without weft\n"));
}

}  // namespace
}  // namespace weft::cli::exec_test
