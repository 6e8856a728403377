// The tables of docs/papers.md: each is made by the test of its claim.
#pragma once

#include <string>
#include <vector>

namespace weft::papers {

/// A table between the lines "<!-- NAME -->" and "<!-- end -->" of the page.
class Table {
 public:
  Table(std::string name, std::vector<std::string> header);

  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// A failure of the test where the page has another table; numbers may differ by 3 %. With
  /// WEFT_WRITE_PAPERS=1 the page gets the table instead.
  void expect_on_page() const;

 private:
  std::string text() const;

  std::string name_;
  std::vector<std::vector<std::string>> rows_;  // the first is the header
};

/// "0.46", "12.3", "5363": microseconds, ratios.
std::string number(double value);
/// "55 %" of 0.55.
std::string percent(double part);
/// "512 B", "64 KiB".
std::string size(std::uint64_t bytes);

}  // namespace weft::papers
