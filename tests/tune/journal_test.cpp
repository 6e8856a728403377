#include "tune/experiments/journal.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/error.hpp"
#include "tune/decision_table.hpp"
#include "tune/experiments/grid_reduction.hpp"

namespace weft::tune::journal_test {
namespace {

using plan::Collective;
using Measurements = std::vector<std::pair<Experiment, double>>;

/// A file that is removed with the object.
class TemporaryFile {
 public:
  TemporaryFile() {
    std::string name = (std::filesystem::temp_directory_path() / "weft-journal-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::filesystem::remove_all(folder_); }

  std::string path() const { return (folder_ / "journal").string(); }
  std::string text() const {
    std::ostringstream text;
    text << std::ifstream(path()).rdbuf();
    return text.str();
  }

 private:
  std::filesystem::path folder_;
};

std::string refusal(const std::string& path, const std::string& about) {
  try {
    const Journal journal(path, about);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

// However much of the file a kill leaves, all whole lines are known, and the rest goes on.
RC_GTEST_PROP(Journal, GoesOnFromWhateverIsLeft, ()) {
  const TemporaryFile file;
  Measurements all;
  const int count = *rc::gen::inRange(0, 6);
  for (int i = 0; i < count; ++i) {
    const Experiment one{*rc::gen::elementOf(std::vector(plan::all_collectives().begin(),
                                                         plan::all_collectives().end())),
                         *rc::gen::arbitrary<std::uint64_t>(), "leader:leaders=all",
                         *rc::gen::arbitrary<std::uint64_t>()};
    all.emplace_back(one, 1.0 / *rc::gen::inRange(1, 1000));
  }
  {
    Journal journal(file.path(), "this");
    for (const auto& [one, seconds] : all) journal.add(one, seconds);
  }
  const auto size = std::filesystem::file_size(file.path());
  std::filesystem::resize_file(file.path(), *rc::gen::inRange<std::uintmax_t>(0, size + 1));
  std::size_t known = 0;
  {
    const std::string left = file.text();
    const auto lines = static_cast<std::size_t>(std::ranges::count(left, '\n'));
    Journal journal(file.path(), "this");
    known = journal.known().size();
    RC_ASSERT(known == (lines == 0 ? 0 : lines - 1));
    for (std::size_t i = known; i < all.size(); ++i) journal.add(all[i].first, all[i].second);
  }
  RC_ASSERT(Journal(file.path(), "this").known() == all);
}

TEST(Journal, RefusesWhatIsNotItsOwn) {
  const TemporaryFile file;
  {
    const Journal open(file.path(), "this");
    EXPECT_EQ(refusal(file.path(), "this"), file.path() + ": another tuning is writing it");
  }
  EXPECT_EQ(refusal(file.path(), "this"), "");
  EXPECT_NE(refusal(file.path(), "that").find("is of a tuning for another"), std::string::npos);
  std::ofstream(file.path(), std::ios::app) << "[1]\n";
  EXPECT_EQ(refusal(file.path(), "this"), file.path() + ":2: is no line of a tuning's journal");
  for (const std::string text : {"notes of mine", "notes of mine\n"}) {
    std::ofstream(file.path(), std::ios::trunc) << text;
    EXPECT_NE(refusal(file.path(), "this"), "");
    EXPECT_EQ(file.text(), text);
  }
}

TEST(DecisionTable, MergesTablesForOneMachine) {
  DecisionTable one, other;
  one.machine = other.machine = "2x2";
  one.date = "2026-11-25";
  other.date = "2026-11-24";
  one.set(Collective::broadcast, {{Rule::kAnyBytes, "chain"}});
  one.set(Collective::gather, {{Rule::kAnyBytes, "binomial"}});
  other.set(Collective::broadcast, {{Rule::kAnyBytes, "binary"}});
  one.merge(other);
  EXPECT_EQ(one.rules(Collective::broadcast).front().algorithm, "binary");
  EXPECT_EQ(one.rules(Collective::gather).front().algorithm, "binomial");
  EXPECT_EQ(one.date, "2026-11-25");
  other.machine = "4x1";
  EXPECT_THROW(one.merge(other), UsageError);
}

}  // namespace
}  // namespace weft::tune::journal_test
