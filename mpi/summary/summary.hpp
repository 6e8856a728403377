// Summary of a job: what its ranks counted, or what one of them did, as a report shows it. Written
// as JSON (docs/report.schema.json) and read from it.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::mpi {

/// A number that each rank has, over those ranks that have it.
struct Spread {
  double least = 0;
  double mean = 0;
  double most = 0;

  static Spread of(double value) { return {value, value, value}; }
};

/// Communicators that are alike: so many ranks on so many nodes. 0: not known.
struct Shape {
  int ranks = 0;
  int nodes = 0;

  auto operator<=>(const Shape&) const = default;
};

/// Calls that weft served, of one collective by one algorithm and of one class of sizes.
struct ServedCalls {
  std::string collective;
  std::string algorithm;
  Shape shape;
  std::uint64_t block_bytes_at_most = 0;  // as in Statistics::Entry
  std::uint64_t calls = 0;                // of the rank that made most
  std::uint64_t bytes = 0;                // of all ranks' inputs
  std::uint64_t messages = 0;             // that all ranks sent to other nodes
  std::uint64_t wire_bytes = 0;           // their payload
  int of_ranks = 1;                       // that made such calls
  Spread seconds;
  Spread waiting_seconds;
};

/// Calls that were passed to the host MPI, for one reason.
struct PassedCalls {
  std::string collective;
  std::string why;
  Shape shape;
  std::optional<std::uint64_t> block_bytes_at_most;  // where all ranks know the size
  std::uint64_t calls = 0;                           // of the rank that made most
  int of_ranks = 1;
  Spread seconds;  // in the host
};

/// The whole run of one rank.
struct RankTimes {
  int rank = 0;
  double seconds = 0;         // from MPI_Init to MPI_Finalize
  double served_seconds = 0;  // in calls that weft served
  double waiting_seconds = 0;
  double setup_seconds = 0;
  double passed_seconds = 0;  // in calls that were passed through
  std::uint64_t bytes = 0;    // of the inputs of calls that weft served
  /// That the rank had for each rank of the world: empty where nobody counted.
  std::vector<std::uint64_t> sent;
};

struct Summary {
  bool complete = true;  // false: of the ranks that are in by_rank alone, as the job was ended
  std::string program;
  std::string host;
  std::string machine;
  int ranks = 1;
  int nodes = 1;
  std::vector<ServedCalls> served;
  std::vector<PassedCalls> passed;
  std::vector<RankTimes> by_rank;
  std::vector<std::string> devices, profiles, views, waiting, notes;
  // Of the rank that has most:
  std::uint64_t connections = 0, reconnections = 0, stage_bytes = 0, channel_bytes = 0;
  std::uint64_t registrations = 0, registration_hits = 0;
  // Of all ranks:
  std::uint64_t heap_bytes = 0, xpmem_bytes = 0, cma_bytes = 0;

  /// Of the rank that ran longest.
  double seconds() const;
};

/// Of all ranks: each gives its own. Not empty.
Summary merge(std::span<const Summary> ranks);

std::string to_json(const Summary& summary);
/// UsageError: begins with `where`, and names the path of what is not as it has to be.
Summary parse_summary(std::string_view where, std::string_view text);

/// For a terminal: the busiest `most_lines` of the served calls, then the rest of it all.
std::string to_table(const Summary& summary, std::size_t most_lines = 24);

/// One HTML page that needs nothing else: tables and plots.
std::string to_html(const Summary& summary);

}  // namespace weft::mpi
