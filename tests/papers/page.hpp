// Tables of docs/papers.md: made by the tests, and compared with what the page has.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::papers {

/// Whether any number of a profile was fitted to a row.
enum class Status : std::uint8_t { calibrated, predicted };

/// What the simulator gives for a row: for people, and whether it is what the paper says.
struct Outcome {
  std::string text;
  bool agrees = false;
};

/// A table between the lines "<!-- NAME -->" and "<!-- end -->" of the page. Its columns are what
/// the rows are of, then: paper, status, two of results, agrees.
class Table {
 public:
  /// `of`: the headers of the first columns; `results`: of those with results.
  Table(std::string name, std::vector<std::string> of,
        std::array<std::string, 2> results = {"with the paper's MPI, us",
                                              "with weft's channel, us"});

  /// `of`: the first cells. `outcome` is for the first column of results and says whether the row
  /// agrees; `other`, for the second, is for people: "-" where weft has nothing to compare.
  void row(std::vector<std::string> of, const std::string& paper, Status status,
           const Outcome& outcome, const std::string& other);
  /// A failure of the test where the page has another table; numbers may differ by 3 %. One that
  /// says so where a row agreed and does so no longer. With WEFT_WRITE_PAPERS=1 the page gets the
  /// table, and the counts at its head anew, instead.
  void expect_on_page() const;

 private:
  std::string text() const;

  std::string name_;
  std::vector<std::vector<std::string>> rows_;  // the first is the header
};

/// The page as it is.
std::string read_page();
/// What stands between "<!-- NAME -->" and "<!-- end -->"; a failure of the test where nothing
/// does.
std::string part_of(const std::string& page, const std::string& name);
/// The lines at the head of the page: how many rows of each paper are calibrated and predicted, and
/// how many of them agree, counted from the tables of the page.
std::string counts_of(const std::string& page);

/// "0.46", "12.3", "5363": microseconds, ratios.
std::string number(double value);
/// "55 %" of 0.55.
std::string percent(double part);
/// "512 B", "64 KiB".
std::string size(std::uint64_t bytes);

/// An algorithm's name, and microseconds.
struct Time {
  const char* name;
  double us;
};
/// "Bruck 1055, irecv-isend 3615".
std::string list(const std::vector<Time>& times);
/// The name of the least.
std::string fastest(const std::vector<Time>& times);
/// The list; it agrees where the fastest is `paper`.
Outcome expect_fastest(const std::vector<Time>& times, const std::string& paper);

}  // namespace weft::papers
