#include "mpi/summary/summary.hpp"

#include <algorithm>
#include <tuple>

namespace weft::mpi {

namespace {

/// The spread over the ranks of both: `ranks` and one more.
void add(Spread& all, int ranks, const Spread& one) {
  all.least = std::min(all.least, one.least);
  all.most = std::max(all.most, one.most);
  all.mean += (one.mean - all.mean) / (ranks + 1);
}

auto key(const ServedCalls& calls) {
  return std::tie(calls.collective, calls.shape, calls.block_bytes_at_most, calls.algorithm);
}

auto key(const PassedCalls& calls) {
  return std::tie(calls.collective, calls.shape, calls.block_bytes_at_most, calls.why);
}

void add(ServedCalls& all, const ServedCalls& one) {
  all.calls = std::max(all.calls, one.calls);
  all.bytes += one.bytes;
  all.messages += one.messages;
  all.wire_bytes += one.wire_bytes;
  add(all.seconds, all.of_ranks, one.seconds);
  add(all.waiting_seconds, all.of_ranks, one.waiting_seconds);
  ++all.of_ranks;
}

void add(PassedCalls& all, const PassedCalls& one) {
  all.calls = std::max(all.calls, one.calls);
  add(all.seconds, all.of_ranks, one.seconds);
  ++all.of_ranks;
}

/// `all` stays sorted.
template <class Calls>
void add_calls(std::vector<Calls>& all, const std::vector<Calls>& one) {
  for (const Calls& calls : one) {
    const auto place = std::ranges::lower_bound(
        all, calls, [](const Calls& a, const Calls& b) { return key(a) < key(b); });
    if (place != all.end() && key(*place) == key(calls)) {
      add(*place, calls);
    } else {
      all.insert(place, calls);
    }
  }
}

void add_texts(std::vector<std::string>& all, const std::vector<std::string>& one) {
  for (const std::string& text : one) {
    if (std::ranges::find(all, text) == all.end()) all.push_back(text);
  }
}

}  // namespace

double Summary::seconds() const {
  double most = 0;
  for (const RankTimes& rank : by_rank) most = std::max(most, rank.seconds);
  return most;
}

Summary merge(std::span<const Summary> ranks) {
  Summary all = ranks.front();
  all.served.clear();
  all.passed.clear();
  all.by_rank.clear();
  all.heap_bytes = all.xpmem_bytes = all.cma_bytes = 0;
  for (const Summary& one : ranks) {
    add_calls(all.served, one.served);
    add_calls(all.passed, one.passed);
    all.by_rank.insert(all.by_rank.end(), one.by_rank.begin(), one.by_rank.end());
    add_texts(all.devices, one.devices);
    add_texts(all.profiles, one.profiles);
    add_texts(all.views, one.views);
    add_texts(all.waiting, one.waiting);
    add_texts(all.notes, one.notes);
    for (std::uint64_t Summary::*most :
         {&Summary::connections, &Summary::reconnections, &Summary::stage_bytes,
          &Summary::channel_bytes, &Summary::registrations, &Summary::registration_hits}) {
      all.*most = std::max(all.*most, one.*most);
    }
    for (std::uint64_t Summary::*sum :
         {&Summary::heap_bytes, &Summary::xpmem_bytes, &Summary::cma_bytes}) {
      all.*sum += one.*sum;
    }
  }
  return all;
}

}  // namespace weft::mpi
