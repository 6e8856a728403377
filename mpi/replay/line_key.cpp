#include "mpi/replay/line_key.hpp"

#include <algorithm>

namespace weft::mpi {

using plan::Collective;

std::string LineKey::why_measured() const {
  if (two_groups) return "a communicator of two groups";
  if (here.ranks == 1) return "a communicator of one rank";
  if (neighbours) return "a neighbourhood, whose edges are not recorded";
  if (!sized) return "arguments that weft leaves to the MPI";
  if (bytes == 0 && collective != Collective::barrier) return "no bytes";
  return {};
}

const RecordedKind& LineKeys::kind_of(std::size_t meeting) const {
  const Part& first = matched_.parts[matched_.meetings[meeting].first];
  return recording_.parts[first.part].kinds[first.kind];
}

const RecordedCommunicator& LineKeys::communicator_of(std::size_t meeting) const {
  const Part& first = matched_.parts[matched_.meetings[meeting].first];
  return recording_.parts[first.part].communicators[kind_of(meeting).communicator];
}

/// The bytes of a block or vector; of an irregular call the mean.
std::uint64_t LineKeys::bytes_of(std::size_t meeting) const {
  const RecordedKind& kind = kind_of(meeting);
  if (!kind.irregular) return kind.bytes;
  std::uint64_t blocks = matched_.meetings[meeting].count;
  if (kind.collective == Collective::alltoallv) blocks *= communicator_of(meeting).ranks;
  return rounded((matched_.meetings[meeting].bytes + blocks / 2) / blocks);
}

LineKey LineKeys::key_of(std::size_t meeting) {
  const RecordedKind& kind = kind_of(meeting);
  const RecordedCommunicator& in = communicator_of(meeting);
  LineKey key;
  key.collective = kind.collective;
  key.irregular = kind.irregular;
  key.sized = kind.sized;
  key.neighbours = kind.neighbours;
  key.two_groups = in.two_groups;
  key.here = {static_cast<int>(in.ranks), static_cast<int>(in.nodes)};
  key.bytes = bytes_of(meeting);
  if (key.why_measured().empty()) key.there = there(key, kind, in);
  return key;
}

CallThere LineKeys::there(const LineKey& key, const RecordedKind& kind,
                          const RecordedCommunicator& in) {
  const std::size_t machine = machine_of(in);
  const int ranks = simulations_.shape(machine).ranks;
  // Of an alltoallv each pair of ranks gets the mean.
  const auto collective =
      kind.collective == Collective::alltoallv ? Collective::alltoall : kind.collective;
  const bool reduces = plan::is_reduction(collective);
  CallThere call{.collective = collective,
                 .bytes = bytes_there(collective, key.bytes, kind.element_bytes,
                                      static_cast<int>(in.ranks), ranks, target_.scaling),
                 .element_bytes = reduces ? kind.element_bytes : 1,
                 .commutative = !reduces || kind.commutative,
                 .associative = reduces && kind.associative,
                 .root = 0,
                 .machine = machine};
  if (plan::is_rooted(collective)) call.root = std::min(static_cast<int>(kind.root), ranks - 1);
  return call;
}

std::size_t LineKeys::machine_of(const RecordedCommunicator& in) {
  const auto key = std::tuple(in.digest, in.ranks, in.nodes);
  const auto known = machines_.find(key);
  if (known != machines_.end()) return known->second;
  std::vector<int> members;
  if (target_.scaling == Scaling::none && !in.members.empty()) {
    members = ranks_of(in.members);
  } else {
    members = members_there(in, here_, target_.machine);
  }
  return machines_[key] = simulations_.machine(members);
}

}  // namespace weft::mpi
