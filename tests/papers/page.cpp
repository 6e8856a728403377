#include "tests/papers/page.hpp"

#include <cmath>
#include <fstream>
#include <iterator>
#include <regex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <gtest/gtest.h>

#include "base/env.hpp"

namespace weft::papers {

namespace {

constexpr double kTolerance = 0.03;
constexpr double kLastDigit = 1.01;  // of what is printed without a point
constexpr const char* kEnd = "<!-- end -->";

std::string read_page() {
  std::ifstream file(WEFT_PAPERS_PAGE);
  EXPECT_TRUE(file) << WEFT_PAPERS_PAGE;
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Where the table of that name begins and ends; npos where the page has none.
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

}  // namespace

Table::Table(std::string name, std::vector<std::string> header) : name_(std::move(name)) {
  row(std::move(header));
}

std::string Table::text() const {
  std::string text;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    text += fmt::format("| {} |\n", fmt::join(rows_[i], " | "));
    if (i > 0) continue;
    text += "|---|";
    for (std::size_t column = 1; column < rows_[0].size(); ++column) text += "---:|";
    text += '\n';
  }
  return text;
}

void Table::expect_on_page() const {
  std::string page = read_page();
  const auto [begin, end] = find(page, name_);
  ASSERT_NE(begin, std::string::npos) << "docs/papers.md has no <!-- " << name_ << " -->";
  ASSERT_NE(end, std::string::npos) << "docs/papers.md has no end of " << name_;
  const std::string there = page.substr(begin, end - begin);
  if (env::flag("WEFT_WRITE_PAPERS").value_or(false)) {
    page.replace(begin, end - begin, text());
    std::ofstream(WEFT_PAPERS_PAGE) << page;
    return;
  }
  EXPECT_TRUE(is_like(text(), there))
      << "docs/papers.md, " << name_ << ": write it anew with WEFT_WRITE_PAPERS=1; now it is\n"
      << text();
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

}  // namespace weft::papers
