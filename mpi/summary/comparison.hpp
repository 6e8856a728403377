// Comparison of two runs by their summaries.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mpi/summary/grid.hpp"
#include "mpi/summary/summary.hpp"

namespace weft::mpi {

/// What one run did of some calls. Times are those of a rank, the mean of all ranks of the job.
struct Done {
  std::uint64_t calls = 0;  // of the rank that made most
  std::uint64_t bytes = 0;
  double seconds = 0;  // passed through or not
  double waiting_seconds = 0;
  double passed_seconds = 0;
  std::vector<std::string> ways;  // algorithms, and why calls were passed through
};

struct ComparedCalls {
  std::string collective;
  Shape shape;                                       // {}: of all shapes and sizes
  std::optional<std::uint64_t> block_bytes_at_most;  // nothing: not known
  Done before, after;
};

struct ComparedTimes {
  std::string what;
  double before = 0, after = 0;
};

struct Comparison {
  std::vector<ComparedTimes> times;          // of a rank: the whole run, and parts of it
  std::vector<ComparedCalls> by_collective;  // those whose time differs most first
  std::vector<ComparedCalls> by_size;        // likewise
};
Comparison compare(const Summary& before, const Summary& after);

/// For a terminal.
std::string to_table(const Comparison& comparison, std::size_t most_lines = 24);

}  // namespace weft::mpi
