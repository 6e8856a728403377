#include "tests/papers/page.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <optional>
#include <regex>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <gtest/gtest.h>

#include "base/env.hpp"

namespace weft::papers {

namespace {

constexpr double kTolerance = 0.03;
constexpr double kLastDigit = 1.01;  // of what is printed without a point
constexpr const char* kEnd = "<!-- end -->";

/// Where the part of that name begins and ends; npos where the page has none.
std::pair<std::size_t, std::size_t> find(const std::string& page, const std::string& name) {
  const std::string begin = fmt::format("<!-- {} -->\n", name);
  const std::size_t at = page.find(begin);
  if (at == std::string::npos) return {at, at};
  return {at + begin.size(), page.find(kEnd, at)};
}

bool is_like(const std::string& here, const std::string& there) {
  static const std::regex kNumber("[0-9]+(\\.[0-9]+)?");
  const auto replaced = [](const std::string& text) {
    return std::regex_replace(text, kNumber, "#");
  };
  if (replaced(here) != replaced(there)) return false;
  const std::sregex_iterator end;
  std::sregex_iterator one(here.begin(), here.end(), kNumber);
  std::sregex_iterator other(there.begin(), there.end(), kNumber);
  for (; one != end && other != end; ++one, ++other) {
    const std::string text = one->str();
    const double value = std::stod(text);
    const auto point = text.find('.');
    const double digits = point == std::string::npos ? 0 : double(text.size() - point - 1);
    const double allowed = std::max(kTolerance * value, kLastDigit * std::pow(10, -digits));
    if (std::abs(value - std::stod(other->str())) > allowed) return false;
  }
  return one == end && other == end;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// How a row of a table ends.
struct Ending {
  bool calibrated = false;
  bool agrees = false;
};

/// nullopt where the line is no row with a status.
std::optional<Ending> ending_of(const std::string& line) {
  static const std::regex kRow(R"(\| .* \| (calibrated|predicted) \| .* \| (yes|no) \|)");
  std::smatch found;
  if (!std::regex_match(line, found, kRow)) return std::nullopt;
  return Ending{found[1] == "calibrated", found[2] == "yes"};
}

struct Counts {
  void add(const Ending& row) {
    ++(row.calibrated ? calibrated : predicted);
    if (row.agrees) ++(row.calibrated ? calibrated_agree : predicted_agree);
  }
  std::string row(const std::string& name) const {
    return fmt::format("| {} | {} | {} | {} | {} |\n", name, calibrated, calibrated_agree,
                       predicted, predicted_agree);
  }

  int calibrated = 0;
  int calibrated_agree = 0;
  int predicted = 0;
  int predicted_agree = 0;
};

void replace(std::string& page, const std::string& name, const std::string& text) {
  const auto [begin, end] = find(page, name);
  page.replace(begin, end - begin, text);
}

/// Rows that agreed on the page and do so no longer.
std::string lost(const std::string& here, const std::string& there) {
  const auto now = lines_of(here);
  const auto before = lines_of(there);
  std::string text;
  for (std::size_t i = 0; i < std::min(now.size(), before.size()); ++i) {
    const auto one = ending_of(now[i]);
    const auto other = ending_of(before[i]);
    if (one && other && other->agrees && !one->agrees) text += now[i] + "\n";
  }
  return text;
}

}  // namespace

Table::Table(std::string name, std::vector<std::string> of, std::array<std::string, 2> results)
    : name_(std::move(name)) {
  const auto& [first, second] = results;
  of.insert(of.end(), {"paper", "status", first, second, "agrees"});
  rows_.push_back(std::move(of));
}

void Table::row(std::vector<std::string> of, const std::string& paper, Status status,
                const Outcome& outcome, const std::string& other) {
  of.push_back(paper);
  of.emplace_back(status == Status::calibrated ? "calibrated" : "predicted");
  of.push_back(outcome.text);
  of.push_back(other);
  of.emplace_back(outcome.agrees ? "yes" : "no");
  rows_.push_back(std::move(of));
}

std::string Table::text() const {
  std::string text;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    text += fmt::format("| {} |\n", fmt::join(rows_[i], " | "));
    if (i > 0) continue;
    text += "|";
    for (std::size_t column = 0; column < rows_[0].size(); ++column) text += "---|";
    text += '\n';
  }
  return text;
}

void Table::expect_on_page() const {
  std::string page = read_page();
  const std::string there = part_of(page, name_);
  if (testing::Test::HasFailure()) return;
  if (env::flag("WEFT_WRITE_PAPERS").value_or(false)) {
    replace(page, name_, text());
    replace(page, "counts", counts_of(page));
    std::ofstream(WEFT_PAPERS_PAGE) << page;
    return;
  }
  EXPECT_EQ(lost(text(), there), "") << name_ << ": agreed with the paper, and no longer does";
  EXPECT_TRUE(is_like(text(), there))
      << "docs/papers.md, " << name_ << ": write it anew with WEFT_WRITE_PAPERS=1; now it is\n"
      << text();
}

std::string read_page() {
  std::ifstream file(WEFT_PAPERS_PAGE);
  EXPECT_TRUE(file) << WEFT_PAPERS_PAGE;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string part_of(const std::string& page, const std::string& name) {
  const auto [begin, end] = find(page, name);
  if (begin == std::string::npos || end == std::string::npos) {
    ADD_FAILURE() << "docs/papers.md has no <!-- " << name << " --> with an end";
    return "";
  }
  return page.substr(begin, end - begin);
}

std::string counts_of(const std::string& page) {
  std::vector<std::pair<std::string, Counts>> papers;
  Counts all;
  for (const std::string& line : lines_of(page)) {
    if (line.starts_with("## ")) papers.push_back({line.substr(3), {}});
    const auto row = ending_of(line);
    if (!row || papers.empty()) continue;
    papers.back().second.add(*row);
    all.add(*row);
  }
  std::string text = fmt::format(
      "{} of {} predicted rows agree with the papers, and {} of {} on which something was "
      "calibrated.\n\n| section | calibrated | agree | predicted | agree |\n"
      "|---|---:|---:|---:|---:|\n",
      all.predicted_agree, all.predicted, all.calibrated_agree, all.calibrated);
  for (const auto& [name, counts] : papers) {
    if (counts.calibrated + counts.predicted > 0) text += counts.row(name);
  }
  return text + all.row("all");
}

std::string number(double value) {
  if (value < 10) return fmt::format("{:.2f}", value);
  if (value < 100) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

std::string percent(double part) {
  return fmt::format("{:.0f} %", 100 * part);
}

std::string size(std::uint64_t bytes) {
  if (bytes >= 1024 && bytes % 1024 == 0) return fmt::format("{} KiB", bytes / 1024);
  return fmt::format("{} B", bytes);
}

std::string list(const std::vector<Time>& times) {
  std::string text;
  for (const Time& one : times) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", one.name, number(one.us));
  }
  return text;
}

std::string fastest(const std::vector<Time>& times) {
  return std::ranges::min_element(times, {}, &Time::us)->name;
}

Outcome expect_fastest(const std::vector<Time>& times, const std::string& paper) {
  return {list(times), fastest(times) == paper};
}

}  // namespace weft::papers
