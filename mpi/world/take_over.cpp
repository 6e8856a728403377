#include "mpi/world/take_over.hpp"

#include <algorithm>
#include <bit>

namespace weft::mpi {

namespace {

using plan::Collective;

// Fitted to what was measured with Open MPI 4.1 on two cores, 2, 8 and 64 ranks: set-ups of
// 0.04, 0.6 and 18 ms on one node, 2 and 8 ranks between two nodes 0.9 and 2.5 ms; alltoalls of 8 B
// of 9 us and 1.5 ms, of 4 KiB of 53 us and 15 ms (8 and 64 ranks). The first set-up of a process
// takes longer, as its code is in no cache: 0.5 ms between 2 ranks. Ranks of one core take turns.
//
// Of a set-up and the agreements on two sizes more, which take about as long each: for all, for
// each rank, and for each pair where ranks share cores.
constexpr std::int64_t kSetup_ns = 60'000;
constexpr std::int64_t kFirstSetup_ns = 300'000;  // in addition, for each rank of a core
constexpr std::int64_t kSetupOfRank_ns = 30'000;
constexpr std::int64_t kSetupOfSharingPair_ns = 15'000;
constexpr std::int64_t kSetupBetweenNodes_ns = 1'000'000;
constexpr std::int64_t kSetupOfRankBetweenNodes_ns = 400'000;
// The host's time for a message inside a node and between nodes, for two of the ranks that share a
// core, and for a byte.
constexpr std::int64_t kMessage_ns = 500;
constexpr std::int64_t kRemoteMessage_ns = 3'000;
constexpr std::int64_t kSharingPair_ns = 200;
constexpr std::int64_t kBytesPer_ns = 4;
// Where the host's waiting ranks keep a core from others, who are to send, each round of messages
// takes a turn of the kernel's scheduler: with 4 and 8 ranks on two cores MPICH 4.0 takes 6 and 15
// ms for an alltoall of 4 B, twice that for an allreduce. A set-up, which sends messages by the
// host, took 13 and 29 ms on one node, 58 and 49 on two, all beside other work.
constexpr std::int64_t kTurn_ns = 3'000'000;
constexpr std::int64_t kSetupTurns = 3;  // for each round
constexpr std::int64_t kSetupTurnsBetweenNodes = 6;
// Weft takes about two thirds of the host's time: so much is earned.
constexpr std::int64_t kEarnedPart = 3;
// Blocks whose sizes differ are taken to be of this size, until ranks agree on it for alltoallv.
// They do at the second call and whenever there have been four times as many, so that few calls
// wait.
constexpr std::uint64_t kUnknownBytes = 16 << 10;
constexpr std::int64_t kAgreementEvery = 4;

}  // namespace

TakeOver::TakeOver(const Placement& placement) noexcept
    : ranks_(placement.ranks),
      rounds_(std::bit_width(static_cast<unsigned>(placement.ranks - 1))),
      message_ns_(placement.nodes > 1 ? kRemoteMessage_ns : kMessage_ns),
      left_ns_(kSetup_ns + kSetupOfRank_ns * placement.ranks),
      irregular_block_bytes_(kUnknownBytes) {
  const std::int64_t sharing = std::min(placement.most_ranks_on_a_core, placement.ranks);
  if (placement.is_of_all_ranks) left_ns_ += kFirstSetup_ns * sharing;
  if (sharing > 1) {
    message_ns_ += kSharingPair_ns * sharing * sharing;
    left_ns_ += kSetupOfSharingPair_ns * ranks_ * ranks_;
    if (placement.waiting_keeps_core) {
      turns_ns_ = kTurn_ns * rounds_;
      left_ns_ += turns_ns_ * (placement.nodes > 1 ? kSetupTurnsBetweenNodes : kSetupTurns);
    }
  }
  if (placement.nodes > 1) {
    left_ns_ += kSetupBetweenNodes_ns + kSetupOfRankBetweenNodes_ns * ranks_;
  }
}

std::int64_t TakeOver::earned_by(Collective collective, std::uint64_t block_bytes) const noexcept {
  const auto bytes = static_cast<std::int64_t>(block_bytes);
  // Messages of a rank, and bytes that it sends or receives.
  std::int64_t messages = rounds_;
  std::int64_t moved = bytes;
  switch (collective) {
    case Collective::alltoall:
    case Collective::alltoallv:
      messages = bytes < 256 ? rounds_ : ranks_ - 1;
      moved = bytes * (ranks_ - 1);
      break;
    case Collective::allgather:
    case Collective::gather:
    case Collective::scatter:
    case Collective::reduce_scatter:
      moved = bytes * (ranks_ - 1);
      break;
    case Collective::allreduce:
      moved = 2 * bytes;
      break;
    default:
      break;
  }
  // No rank over weft waits for a turn.
  return (messages * message_ns_ + moved / kBytesPer_ns) / kEarnedPart + turns_ns_;
}

void TakeOver::count(Collective collective, std::optional<std::uint64_t> block_bytes) noexcept {
  left_ns_ -= earned_by(collective, block_bytes.value_or(kUnknownBytes));
}

bool TakeOver::count_irregular(std::uint64_t sent_bytes) noexcept {
  left_ns_ -= earned_by(Collective::alltoallv, irregular_block_bytes_);
  sent_bytes_ += sent_bytes;
  if (++irregular_calls_ < next_agreement_) return false;
  next_agreement_ *= kAgreementEvery;
  return true;
}

void TakeOver::learn(std::uint64_t most_sent_bytes) noexcept {
  left_ns_ += irregular_calls_ * earned_by(Collective::alltoallv, irregular_block_bytes_);
  irregular_block_bytes_ = most_sent_bytes / static_cast<std::uint64_t>(irregular_calls_) /
                           static_cast<std::uint64_t>(ranks_);
  left_ns_ -= irregular_calls_ * earned_by(Collective::alltoallv, irregular_block_bytes_);
}

}  // namespace weft::mpi
