// Manual pages: a page for each command, with all that its help says.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "cli/manual/manual.hpp"
#include "comm/setup/settings_table.hpp"
#include "tests/cli/run_tool.hpp"

namespace weft::cli::manual_test {
namespace {

/// A page as a reader sees its words: without escapes and macros.
std::string words_of(const std::string& page) {
  std::string text;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(".")) line.erase(0, line.find_first_of(" \n"));
    for (const std::string_view escape : {"\\&", "\\fB", "\\fI", "\\fR"}) {
      for (auto at = line.find(escape); at != line.npos; at = line.find(escape)) {
        line.erase(at, escape.size());
      }
    }
    for (const auto& [escape, letter] : {std::pair("\\-", "-"), std::pair("\\e", "\\")}) {
      for (auto at = line.find(escape); at != line.npos; at = line.find(escape, at + 1)) {
        line.replace(at, 2, letter);
      }
    }
    std::istringstream words(line);
    for (std::string word; words >> word;) text += word + " ";
  }
  return text;
}

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Manual : public testing::Test {
 protected:
  Manual() {
    const Ended ended = run_tool({"--write-manual", folder_.path().string()});
    EXPECT_EQ(ended.code, 0) << ended.err;
  }
  std::string page(const std::string& name) const { return words_of(read(folder_.path() / name)); }

  TemporaryFolder folder_;
};

TEST_F(Manual, HasAPageForEachCommandOfTheHelp) {
  std::istringstream lines(run_tool({"--help"}).out);
  int commands = 0;
  bool listed = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "Subcommands:") listed = true;
    if (!listed || !line.starts_with("  ") || line[2] == ' ') continue;
    const std::string name = line.substr(2, line.find(' ', 2) - 2);
    if (!std::filesystem::exists(folder_.path() / ("weft-" + name + ".1"))) break;
    ++commands;
    EXPECT_NE(page("weft.1").find("weft-" + name + "(1)"), std::string::npos) << name;
  }
  const auto pages = std::distance(std::filesystem::directory_iterator(folder_.path()), {});
  EXPECT_EQ(pages, commands + 1);
  EXPECT_GT(commands, 8);
}

TEST_F(Manual, SaysWhatTheHelpSays) {
  for (const char* command : {"plan", "exec", "doctor", "probe"}) {
    const std::string text = page(std::string("weft-") + command + ".1");
    // Each word of the help, but for the frame that CLI11 puts around it.
    std::istringstream words(run_tool({command, "--help"}).out);
    for (std::string word; words >> word;) {
      if (word == "Usage:" || word == "Positionals:" || word == "Options:" || word == "Examples:" ||
          word == "[OPTIONS]" || word.starts_with("-h") || word.starts_with("[")) {
        continue;
      }
      EXPECT_NE(text.find(word), text.npos) << command << ": " << word;
    }
  }
}

TEST_F(Manual, HasAllSettings) {
  const std::string text = page("weft.1");
  for (const comm::Setting& setting : comm::settings()) {
    EXPECT_NE(text.find(setting.name), text.npos) << setting.name;
  }
}

TEST(ManualPage, HidesNothingThatLooksLikeARequest) {
  const ToolText tool{"tool", "Does things", "", {}, {}};
  const CommandText command{"do", "Does", ".hidden\n'quoted \\n back-slash", {}, ""};
  const std::string page = manual_page(tool, command);
  EXPECT_NE(page.find("\\&.hidden"), page.npos);
  EXPECT_NE(page.find("\\&'quoted \\en back\\-slash"), page.npos);
}

}  // namespace
}  // namespace weft::cli::manual_test
