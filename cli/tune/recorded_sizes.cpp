#include "cli/tune/recorded_sizes.hpp"

#include <algorithm>
#include <bit>

#include "base/error.hpp"
#include "base/file.hpp"

namespace weft::cli {

namespace {

constexpr std::size_t kMostFileBytes = std::size_t{1} << 32;

bool counts(const mpi::RecordedKind& kind, const mpi::RecordedCommunicator& in, int ranks) {
  return in.ranks == static_cast<std::uint32_t>(ranks) && !in.two_groups && !kind.irregular &&
         !kind.neighbours && kind.sized && kind.collective != plan::Collective::alltoallv;
}

/// One of each power of two, with the calls of all.
std::map<std::uint64_t, double> gathered(const std::map<std::uint64_t, double>& calls) {
  std::map<std::uint64_t, std::pair<std::uint64_t, double>> most;  // by power of two
  std::map<std::uint64_t, double> all;
  for (const auto& [bytes, count] : calls) {
    const std::uint64_t power = std::bit_ceil(bytes);
    all[power] += count;
    auto& [size, calls_of_size] = most[power];
    if (count > calls_of_size) size = bytes, calls_of_size = count;
  }
  std::map<std::uint64_t, double> result;
  for (const auto& [power, size] : most) result[size.first] = all[power];
  return result;
}

}  // namespace

RecordedSizes recorded_sizes(const mpi::Recording& recording, int ranks) {
  RecordedSizes all;
  const auto parts = static_cast<double>(std::max<std::size_t>(recording.parts.size(), 1));
  for (const mpi::RankRecording& part : recording.parts) {
    for (std::size_t i = 0; i < part.kinds.size(); ++i) {
      const mpi::RecordedKind& kind = part.kinds[i];
      if (!counts(kind, part.communicators.at(kind.communicator), ranks)) continue;
      const bool is_barrier = kind.collective == plan::Collective::barrier;
      if (kind.bytes == 0 && !is_barrier) continue;
      all[kind.collective][is_barrier ? 0 : kind.bytes] +=
          static_cast<double>(part.sums[i].calls) / parts;
    }
  }
  for (auto& [collective, calls] : all) calls = gathered(calls);
  return all;
}

RecordedSizes load_recorded_sizes(const std::string& path, int ranks) {
  const std::string bytes = read_text_file(path, kMostFileBytes, "recording");
  RecordedSizes sizes = recorded_sizes(mpi::parse_recording(path, bytes), ranks);
  if (sizes.empty()) {
    throw_usage("--trace {}: has no calls of one size on communicators of {} ranks", path, ranks);
  }
  return sizes;
}

}  // namespace weft::cli
