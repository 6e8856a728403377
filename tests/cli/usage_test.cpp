// Help, version, and errors of wrong command lines.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <sstream>

#include "mpi/summary/summary.hpp"
#include "registry/all_algorithms.hpp"
#include "tests/cli/run_tool.hpp"
#include "tests/mpi_replay/made_recording.hpp"

namespace weft::cli::usage_test {
namespace {

const std::vector<std::string> kCommands = {"info",    "doctor", "plan",    "check",   "sim",
                                            "explain", "exec",   "install", "preload", "probe",
                                            "replay",  "report", "run",     "stuck",   "tune"};

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

std::string commands() {
  std::string list;
  for (const std::string& name : kCommands) list += (list.empty() ? "" : ", ") + name;
  return list;
}

struct Mistake {
  const char* arguments;
  std::string line;  // all of standard error, but for "weft: "
};

const Mistake kMistakes[] = {
    {"", "no command given; there are " + commands()},
    {"weave", "'weave': no such command; there are " + commands()},
    {"--weave", "'--weave': no such option; there are --help, --version"},
    {"info --weave", "info --weave: no such option; there are --help, --json"},
    {"info plan", "info 'plan': one argument too many"},
    {"preload x", "preload 'x': one argument too many"},
    {"preload --json=yes", "--json: takes no value"},
    {"preload --mpi lam", "--mpi=lam: not one of openmpi, mpich"},
    {"preload --mpi mpich --soft-device", "--mpi=mpich: not together with --soft-device"},
    {"plan", "the collective (such as alltoall) is missing"},
    {"plan bcast",
     "collective 'bcast': there are alltoall, broadcast, scatter, gather, allgather, barrier, "
     "reduce, "
     "allreduce, reduce_scatter, scan, exscan, alltoallv"},
    {"plan alltoall --algorithm sa --machine 3x4 --bytes 8 --root 1",
     "--root=1: alltoall takes none"},
    {"plan reduce --algorithm binomial --machine 3x4 --bytes 8 --operation sum",
     "--operation=sum: not one of commutative, ordered, exact"},
    {"check broadcast --machine 3x4 --root 12", "--root=12: not a whole number from 0 to 11"},
    {"plan alltoall",
     "--algorithm (isend, bruck, pairwise-xor, pairwise-ring, fat-tree, factors, sa, rd, leader, "
     "two-step) is missing"},
    {"plan alltoall --algorithm magic",
     "algorithm 'magic' for alltoall: not one of isend, bruck, pairwise-xor, pairwise-ring, "
     "fat-tree, factors, sa, rd, leader, two-step"},
    {"plan alltoall --algorithm sa", "--machine M, or --nodes N with --ppn P, is missing"},
    {"plan alltoall --algorithm sa --nodes 3",
     "--machine M, or --nodes N with --ppn P, is missing"},
    {"plan alltoall --algorithm sa --nodes 0 --ppn 4",
     "--nodes=0: not a whole number from 1 to 4096"},
    {"plan alltoall --algorithm sa --nodes 64 --ppn 65",
     "--nodes=64 --ppn=65: 4160 ranks, at most 4096 are allowed"},
    {"plan alltoall --algorithm sa --nodes 3 --nodes 3", "--nodes: takes one value, once"},
    {"plan alltoall --algorithm sa --nodes 3 --ppn 4 --placement diagonal --bytes 8",
     "--placement=diagonal: not one of block, cyclic"},
    {"plan alltoall --algorithm sa --machine 3x4 --ppn 4",
     "--machine=3x4: describes all of it; not together with --nodes, --ppn, --sockets or "
     "--placement"},
    {"plan alltoall --algorithm sa --nodes 3 --ppn 4 --sockets 5 --bytes 8",
     "--sockets=5: not a whole number from 1 to 4"},
    {"plan alltoall --algorithm sa --machine 65x64 --bytes 8",
     "--machine=65x64: has 4160 ranks, at most 4096 are allowed"},
    {"plan alltoall --algorithm sa --machine 3y4",
     "machine '3y4': not NODESxRANKS (3x4), NODESxRANKS:cyclic, NODESxSOCKETSxRANKS (3x2x4), ranks "
     "a node joined by + (1+3+4), or the node of each rank (0,1,0,1) without gaps, of at most "
     "1048576 ranks; behind any of these the sockets of a node: /2 (in blocks), /2:cyclic, or "
     "/0,0,1,1 (of each rank)"},
    {"plan alltoall --algorithm sa --machine 3x4", "--bytes, the size of a block, is missing"},
    {"plan alltoall --algorithm sa --machine 3x4 --bytes 5q",
     "--bytes=5q: not a size from 0 to 1073741824 bytes (K, M, G, T, P and E are powers of 1024)"},
    {"plan alltoall --algorithm sa --machine 3x4 --bytes 5 --stride 4",
     "--stride=4: blocks of 5 bytes would overlap; allowed: at least --bytes"},
    {"plan alltoall --algorithm sa --machine 3x4 --bytes 5 --rank 12",
     "--rank=12: not a whole number from 0 to 11"},
    {"plan alltoall --algorithm sa --machine 3x4 --bytes 5 --rank -1",
     "--rank=-1: not a whole number from 0 to 11"},
    {"plan alltoall --algorithm sa --machine 3x4 --bytes 5 --rank 1 --text",
     "--rank=1: not together with --text, which shows every rank"},
    {"plan alltoallv --algorithm factors --machine 3x4 --bytes 8",
     "algorithm 'factors': not for alltoallv, as factors passes on blocks of other ranks, whose "
     "sizes "
     "a "
     "rank does not know"},
    {"plan alltoallv --algorithm sa --machine 3x4 --bytes 8 --counts many",
     "--counts=many: not one of random, equal, sparse, few, skew"},
    {"plan alltoall --algorithm sa --machine 3x4 --bytes 8 --counts skew",
     "--counts=skew: alltoall takes none"},
    {"plan broadcast --algorithm binomial --machine 3x4 --bytes 8 --in-place",
     "--in-place: broadcast takes none"},
    {"check reduce --in-place", "--in-place: reduce takes none"},
    {"check alltoall --counts skew", "--counts=skew: alltoall takes none"},
    {"check alltoallv --counts many", "--counts=many: not one of random, equal, sparse, few, skew"},
    {"plan --file /none/such", "--file=/none/such: cannot be read: No such file or directory"},
    {"plan --file /none/such --bytes 5", "--bytes=5: not together with --file"},
    {"check", "the collective (such as alltoall) is missing"},
    {"check alltoall --ranks", "--ranks: takes one value, once"},
    {"check alltoall --ranks 9..3",
     "--ranks=9..3: not a number or a range A..B with A <= B, from 1 to 4096"},
    {"check alltoall --ranks 0..3",
     "--ranks=0..3: not a number or a range A..B with A <= B, from 1 to 4096"},
    {"check alltoall --ranks 1..2..3",
     "--ranks=1..2..3: not a number or a range A..B with A <= B, from 1 to 4096"},
    {"check alltoall --ranks few",
     "--ranks=few: not a number or a range A..B with A <= B, from 1 to 4096"},
    {"check alltoall --placements 0", "--placements=0: not a whole number from 1 to 1000"},
    {"check alltoall --jobs 0", "--jobs=0: not a whole number from 1 to 1024"},
    {"check alltoall --seed x", "--seed=x: not a whole number from 0 to 9223372036854775807"},
    {"check alltoall --bytes 8,",
     "--bytes=8,: not sizes from 0 to 1073741824 bytes joined by commas (K, M, G, T, P "
     "and E are powers of 1024; 8..1K: each twice the one before)"},
    {"check alltoall --bytes 8..4",
     "--bytes=8..4: not sizes from 0 to 1073741824 bytes joined by commas (K, M, G, T, "
     "P and E are powers of 1024; 8..1K: each twice the one before)"},
    {"check alltoall --stride 8", "--stride=8: needs --bytes"},
    {"check alltoall --bytes 16 --stride 8",
     "--stride=8: blocks of 16 bytes would overlap; allowed: at least --bytes"},
    {"check alltoall --algorithm sa:radix=4",
     "algorithm 'sa:radix=4': parameter 'radix' is not one of its own (cores, direct, aggregate, "
     "between, window, radix with between=bruck or factors, arity with between=fat-tree)"},
    {"check alltoall --machine 2x2 --ranks 4", "--ranks=4: not together with --machine"},
    {"check alltoall --machine 2x2 --seed 4", "--seed=4: not together with --machine"},
    {"check alltoall --file plans",
     "--file needs one --machine: the placement that the plans are for"},
    {"check alltoall --file plans --machine 2x2 --algorithm sa",
     "--algorithm=sa: not together with --file"},
    {"check alltoall --file plans --machine 2x2",
     "--bytes, the size of the blocks that the plans in --file exchange, is missing"},
    {"check alltoall --file plans --machine 2x2 --bytes 8,9", "--bytes=8,9: with --file one size"},
};

TEST(Usage, SaysEveryMistakeInOneLineAndEndsWithTwo) {
  for (const Mistake& mistake : kMistakes) {
    const Ended ended = run_tool(words_of(mistake.arguments));
    EXPECT_EQ(ended.code, 2) << mistake.arguments;
    EXPECT_EQ(ended.err, "weft: " + std::string(mistake.line) + "\n") << mistake.arguments;
    EXPECT_EQ(ended.out, "") << mistake.arguments;
  }
}

TEST(Usage, QuotesAnyTextInOneLine) {
  const Ended ended = run_tool({"check", "all\nto\x1b[31mall" + std::string(10'000, 'x')});
  EXPECT_EQ(ended.code, 2);
  EXPECT_LT(ended.err.size(), 700u);
  EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1);
  EXPECT_EQ(std::ranges::count(ended.err, '\x1b'), 0);
}

TEST(Usage, TellsItsVersion) {
  const Ended ended = run_tool({"--version"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.out, "weft " WEFT_VERSION "\n");
  EXPECT_EQ(ended.err, "");
}

TEST(Help, ListsTheCommandsAndHowTheToolEnds) {
  const Ended ended = run_tool({"--help"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_NE(ended.out.find("Ends with 0"), std::string::npos);
  for (const auto& command : kCommands) {
    EXPECT_NE(ended.out.find("\n  " + command + " "), std::string::npos) << command;
  }
}

/// The default of a flag in the notation of CLI11, "--no-keep{false}", is nothing that users type.
TEST(Help, ShowsOptionsAsUsersTypeThem) {
  for (const auto& command : kCommands) {
    const Ended ended = run_tool({command, "--help"});
    EXPECT_EQ(ended.code, 0) << command;
    EXPECT_NE(ended.out.find("Examples:"), std::string::npos) << command;
    EXPECT_EQ(ended.out.find_first_of("{}!"), std::string::npos) << ended.out;
  }
  EXPECT_NE(run_tool({"probe", "--help"}).out.find("\n  --no-keep  "), std::string::npos);
}

TEST(Help, NamesTheProgramThatACommandRuns) {
  EXPECT_NE(run_tool({"exec", "--help"})
                .out.find("\nUsage: weft exec [OPTIONS] [WEFT_..=VALUE] PROGRAM [ARGUMENTS]\n"),
            std::string::npos);
  EXPECT_NE(
      run_tool({"run", "--help"}).out.find("\nUsage: weft run [OPTIONS] PROGRAM [ARGUMENTS]\n"),
      std::string::npos);
}

TEST(Help, NamesEveryAlgorithm) {
  for (const char* command : {"plan", "check"}) {
    const Ended ended = run_tool({command, "--help"});
    for (const auto* one : registry::flat_algorithms(plan::Collective::alltoall)) {
      EXPECT_NE(ended.out.find("\n  " + std::string(one->name)), std::string::npos) << one->name;
    }
    for (const auto* one : registry::schemes(plan::Collective::alltoall)) {
      EXPECT_NE(ended.out.find("\n  " + std::string(one->name)), std::string::npos) << one->name;
    }
  }
}

/// The examples in a help text that call only the tool.
std::vector<std::string> examples_in(const std::string& help) {
  std::vector<std::string> examples;
  std::istringstream stream(help.substr(std::min(help.find("Examples:"), help.size())));
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("  weft ")) examples.push_back(line.substr(0, line.find(" | ")));
  }
  return examples;
}

TEST(Help, ShowsExamplesThatWork) {
  const TemporaryFolder folder;
  const std::vector<std::string> sa = {"plan", "alltoall", "--algorithm", "sa",      "--nodes",
                                       "3",    "--ppn",    "4",           "--bytes", "512"};
  auto one = sa;
  one.insert(one.end(), {"--rank", "5"});
  folder.write("plan.txt", run_tool(one).out);
  auto all = sa;
  all.emplace_back("--text");
  folder.write("plans/all.txt", run_tool(all).out);
  mpi::Summary report;
  report.program = "solver";
  report.host = "node";
  report.machine = "1";
  report.by_rank.emplace_back();
  for (const char* name : {"a.json", "b.json", "before.json", "after.json"}) {
    folder.write(name, mpi::to_json(report));
  }
  mpi::test::MadeProgram recorded(4, "1x4");
  recorded.call({.collective = plan::Collective::alltoall, .bytes = 512}, 20'000);
  folder.write("run.trace", to_bytes(recorded.finish()));
  std::vector<std::vector<std::string>> helps = {{"--help"}};
  for (const auto& command : kCommands) {
    // The examples of explain simulate for minutes where the tool is not optimized.
    if (command != "explain") helps.push_back({command, "--help"});
  }
  int count = 0;
  for (const auto& help : helps) {
    for (const std::string& example : examples_in(run_tool(help).out)) {
      auto words = words_of(example);
      words.erase(words.begin());
      std::ranges::replace(words, "1..40", "1..4");
      std::ranges::replace(words, "mlx5_0", "soft");
      if (words.front() == "probe" && std::ranges::count(words, "--simulate") == 0) {
        // Whether the machine is quiet meanwhile matters to others.
        words.insert(words.end(), {"--quick", "--budget", "1"});
      }
      std::ranges::replace(words, "./program", WEFT_TEST_RANKS);
      const Ended ended =
          run_tool(words, {.environment = {{"HOME", folder.path()}}, .directory = folder.path()});
      // Something may hold weft back where this is tested.
      EXPECT_LE(ended.code, words.front() == "doctor" ? 1 : 0) << example << "\n" << ended.err;
      EXPECT_GE(ended.code, 0) << example;
      EXPECT_TRUE(!ended.out.empty() || std::ranges::count(words, "--html") != 0) << example;
      ++count;
    }
  }
  EXPECT_GE(count, 10);
}

TEST(Output, EndsQuietlyWhenNobodyReads) {
  const Ended ended = run_tool(
      {"plan", "alltoall", "--algorithm", "isend", "--machine", "4x16", "--bytes", "8", "--text"},
      {.closed_output = true});
  EXPECT_EQ(ended.signal, SIGPIPE);
  EXPECT_EQ(ended.err, "");
}

}  // namespace
}  // namespace weft::cli::usage_test
