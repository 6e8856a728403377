// Grid: a table of texts, for a terminal or a page; and the texts of numbers in it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mpi/summary/summary.hpp"

namespace weft::mpi {

struct Grid {
  struct Column {
    std::string title;
    bool is_number = true;  // on the right
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // one cell a column

  /// Each line begins with `indent`; columns are as wide as their longest cell.
  std::string to_text(std::string_view indent = "  ") const;
  /// A <table>.
  std::string to_html() const;
};

/// "3.2 s", "15 ms", "0": three digits.
std::string seconds_text(double seconds);
/// "8 B", "32 KiB", "1.5 GiB": three digits.
std::string bytes_text(double bytes);
/// "8", or "8 on 2" nodes; "any" where it is not known.
std::string shape_text(const Shape& shape);
/// A part of all in per cent, "12.3"; "-" of nothing.
std::string share_text(double part, double whole);

/// The served calls, those that took longest first, with what the host took for calls like them.
/// Not more than `most` rows.
Grid grid_of_served(const Summary& summary, std::size_t most);
/// The calls that were passed through, likewise.
Grid grid_of_passed(const Summary& summary, std::size_t most);
/// Least, mean and most of the ranks' times, and the rank that has the most.
Grid grid_of_ranks(const Summary& summary);

/// Of all ranks together, in seconds.
double total_run(const Summary& summary);
double total_in_collectives(const Summary& summary);

}  // namespace weft::mpi
