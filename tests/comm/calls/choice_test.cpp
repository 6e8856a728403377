// The algorithms that communicators choose, and the profile or table that they follow.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>

#include "hierarchy/detect.hpp"
#include "nic_profiles/profile.hpp"
#include "tests/comm/support/processes.hpp"
#include "tests/comm/support/trouble.hpp"
#include "tune/choice_cache.hpp"
#include "tune/decision_table.hpp"
#include "tune/fixed_rules.hpp"
#include "weft/weft.hpp"

namespace weft::choice_test {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;
constexpr int kRanks = 4;

/// The profile by which a communicator chooses, then its algorithm for `bytes`.
std::string chosen(std::size_t bytes, const std::string& collective = "alltoall") {
  Communicator comm(tcp_bootstrap());
  if (const std::string wrong = test::exchange(comm, 0); !wrong.empty()) return wrong;
  std::vector<std::byte> input(bytes * kRanks);
  std::vector<std::byte> output(input.size());
  comm.alltoall(input.data(), output.data(), bytes);
  const Statistics statistics = comm.statistics();
  std::string said =
      fmt::format("{}: {}", statistics.profile, comm.algorithm_for(collective, bytes));
  // The algorithm that ran is the one that was announced.
  bool ran = collective != "alltoall";
  for (const auto& entry : statistics.entries) {
    ran |= entry.algorithm == comm.algorithm_for("alltoall", bytes);
  }
  return ran ? said : said + " which did not run";
}

std::string expected(const std::string& adapter, std::size_t bytes) {
  tune::Basis basis{hierarchy::Machine::uniform(2, 2), nic_profiles::load(adapter).hardware,
                    tune::Direct::calls};
  basis.hardware.adapter.eager_bytes = 8 << 10;
  if (const int cores = hierarchy::usable_cores(); cores < kRanks) {
    basis.hardware.host = {cores, 2, tune::kUsualSwitch_ns};
    basis.crowded = true;
  }
  tune::ChoiceCache choices(basis);
  return choices.choose(plan::Problem::alltoall(kRanks, bytes))->name();
}

void expect_all(const Settings& settings, const std::function<std::string(int)>& body,
                const std::string& said) {
  for (const auto& end : test::run_processes(kRanks, settings, body)) EXPECT_EQ(end.said, said);
}

TEST(Profile, OfTheDeviceIsTheCataloguesUnlessOneWasProbed) {
  const auto body = [](int) { return chosen(64); };
  expect_all({{"WEFT_NODES", "2"}, {"WEFT_PROFILES", "/nowhere"}}, body,
             "soft (catalogue): " + expected("soft", 64));
}

TEST(Profile, IsTheOneThatRankZeroNames) {
  for (const char* adapter : {"qle7140", "mt25208", "connectx-6"}) {
    for (const std::size_t bytes : {8, 4096}) {
      const auto body = [&](int rank) {
        // The others' would be an error.
        ::setenv("WEFT_PROFILE", rank == 0 ? adapter : "nonsense", 1);
        return chosen(bytes);
      };
      expect_all({{"WEFT_NODES", "2"}}, body,
                 fmt::format("{} (WEFT_PROFILE): {}", adapter, expected(adapter, bytes)));
    }
  }
}

TEST(Profile, ThatIsWrongEndsEveryRankAlike) {
  const auto body = [](int) { return chosen(64); };
  const auto ended =
      test::run_processes(kRanks, {{"WEFT_NODES", "2"}, {"WEFT_PROFILE", "nonsense"}}, body);
  for (const auto& end : ended) {
    EXPECT_EQ(end.said.find("WEFT_PROFILE=nonsense: adapter 'nonsense': not in the catalogue"), 0u)
        << end.said;
  }
}

/// A usage error ends an MPI program; other failures of a set-up would leave it to the MPI.
TEST(Choice, FilesOfSettingsThatAreNotThereAreUsageErrorsOfEveryRank) {
  const auto body = [](int) -> std::string {
    try {
      return chosen(64);
    } catch (const UsageError& error) {
      return std::string("of usage: ") + error.what();
    }
  };
  for (const char* name : {"WEFT_TABLE", "WEFT_PROFILE"}) {
    const auto ended =
        test::run_processes(kRanks, {{"WEFT_NODES", "2"}, {name, "/nonexistent/a.json"}}, body);
    for (const auto& end : ended) {
      EXPECT_EQ(end.said.find(fmt::format("of usage: {}=/nonexistent/a.json: ", name)), 0u)
          << end.said;
    }
  }
}

TEST(Profile, IsNotLookedForOnOneNodeNorWhereItIsTurnedOff) {
  const auto fixed = [](const hierarchy::Machine& machine) {
    return ": " + tune::choose_by_rules(plan::Problem::alltoall(kRanks, 64),
                                        {machine, tune::Direct::calls})
                      .name();
  };
  const auto body = [](int) { return chosen(64); };
  expect_all({{"WEFT_NODES", "1"}, {"WEFT_PROFILE", "qle7140"}}, body,
             fixed(hierarchy::Machine::uniform(1, kRanks)));
  expect_all({{"WEFT_NODES", "2"}, {"WEFT_PROFILE", "none"}}, body,
             fixed(hierarchy::Machine::uniform(2, 2)));
}

TEST(Profile, DoesNotChangeDeterministicReductions) {
  const auto body = [](int) { return chosen(64, "allreduce"); };
  const auto ended = test::run_processes(
      kRanks, {{"WEFT_NODES", "2"}, {"WEFT_PROFILE", "soft"}, {"WEFT_DETERMINISTIC", "1"}}, body);
  for (const auto& end : ended) {
    const std::string name = end.said.substr(end.said.find(": ") + 2);
    const auto algorithm = tune::Algorithm::parse(plan::Collective::allreduce, name);
    EXPECT_TRUE(algorithm.groups_alike_everywhere()) << end.said;
  }
}

class TableFile {
 public:
  explicit TableFile(const std::string& machine, const std::string& adapter = "soft",
                     std::uint64_t end = 100) {
    tune::DecisionTable table;
    table.machine = machine;
    table.adapter = adapter;
    table.date = "2026-11-21";
    table.set(plan::Collective::alltoall, {{end, "pairwise-ring"}, {tune::Rule::kAnyBytes, "rd"}});
    std::ofstream(path_) << to_json(table);
  }
  TableFile(const TableFile&) = delete;
  TableFile& operator=(const TableFile&) = delete;
  ~TableFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = testing::TempDir() + fmt::format("weft-table-{}.json", ::getpid());
};

TEST(Table, DecidesOnTheMachineThatItNames) {
  const TableFile file("2x2");
  for (const auto& [bytes, name] : {std::pair<std::size_t, const char*>{64, "pairwise-ring"},
                                    std::pair<std::size_t, const char*>{4096, "rd"}}) {
    const auto body = [&](int) { return chosen(bytes); };
    expect_all({{"WEFT_NODES", "2"}, {"WEFT_TABLE", file.path()}, {"WEFT_PROFILE", "none"}}, body,
               fmt::format(": {}", name));
  }
}

TEST(Table, DecidesOnOneNodeThoughRankZeroAloneNamesIt) {
  const TableFile file("1x4");
  const auto body = [&](int rank) {
    if (rank == 0) ::setenv("WEFT_TABLE", file.path().c_str(), 1);
    return chosen(64);
  };
  expect_all({{"WEFT_NODES", "1"}}, body, ": pairwise-ring");
  const auto all = [](int) { return chosen(4096); };
  expect_all({{"WEFT_NODES", "1"}, {"WEFT_TABLE", file.path()}}, all, ": rd");
}

TEST(Table, DecidesBetweenPowersOfTwo) {
  const TableFile file("2x2", "soft", 300);
  const auto body = [](int) {
    Communicator comm(tcp_bootstrap());
    std::vector<std::byte> input(512 * kRanks), output(input.size());
    std::string said;
    // In this order, as the first call of a class chooses for the others.
    for (const std::size_t bytes : {310, 290, 512}) {
      comm.alltoall(input.data(), output.data(), bytes);
      for (const auto& entry : comm.statistics().entries) said += entry.algorithm + ' ';
    }
    return said;
  };
  expect_all({{"WEFT_NODES", "2"}, {"WEFT_TABLE", file.path()}, {"WEFT_PROFILE", "none"}}, body,
             "rd rd pairwise-ring rd pairwise-ring ");
}

/// The notes of each rank after a call that a table for `adapter` decides.
std::vector<std::string> notes_under_table(const std::string& adapter, Settings settings) {
  const TableFile file("2x2", adapter);
  const auto body = [&](int) {
    Communicator comm(tcp_bootstrap());
    std::string said = comm.algorithm_for("alltoall", 64);
    for (const std::string& note : comm.statistics().notes) {
      if (note.find("WEFT_TABLE") != std::string::npos) said += "; " + note;
    }
    return said;
  };
  settings.emplace_back("WEFT_NODES", "2");
  settings.emplace_back("WEFT_PROFILES", "/nowhere");
  settings.emplace_back("WEFT_TABLE", file.path());
  std::vector<std::string> said;
  for (const auto& end : test::run_processes(kRanks, settings, body)) said.push_back(end.said);
  EXPECT_EQ(said.at(1), "pairwise-ring");
  EXPECT_EQ(said.at(kRanks - 1), "pairwise-ring");
  return said;
}

TEST(Table, OfAnotherAdapterIsFollowedAndRankZeroSaysSo) {
  for (const char* profile : {"", "none"}) {
    const auto said = notes_under_table("mt25208", {{"WEFT_PROFILE", profile}});
    EXPECT_EQ(said[0].find("pairwise-ring; WEFT_TABLE="), 0u) << said[0];
    EXPECT_NE(said[0].find("made for the adapter mt25208, and this is "), std::string::npos)
        << said[0];
    EXPECT_NE(said[0].find("weft_soft0"), std::string::npos) << said[0];
  }
}

TEST(Table, OfThisAdapterUnderAnyOfItsNamesIsNotDoubted) {
  for (const char* adapter : {"soft", "weft_soft0"}) {
    EXPECT_EQ(notes_under_table(adapter, {})[0], "pairwise-ring");
  }
  // A table may name the adapter as WEFT_PROFILE names it.
  EXPECT_EQ(notes_under_table("qle7140", {{"WEFT_PROFILE", "qle7140"}})[0], "pairwise-ring");
}

TEST(Table, OfAnotherMachineIsLeftAlone) {
  const TableFile file("1+3");
  const auto body = [](int) { return chosen(64); };
  expect_all({{"WEFT_NODES", "2"}, {"WEFT_TABLE", file.path()}, {"WEFT_PROFILE", "qle7140"}}, body,
             "qle7140 (WEFT_PROFILE): " + expected("qle7140", 64));
}

}  // namespace
}  // namespace weft::choice_test
