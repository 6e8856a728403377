#include <algorithm>

#include <fmt/format.h>

#include "plan/verify/checks.hpp"

namespace weft::plan {

namespace {

/// Above this the checks would need gigabytes.
constexpr std::uint64_t kMaxBlocks = 1ull << 25;

class Bounds {
 public:
  Bounds(const OpTable& ops, std::span<const int> node_of_rank, Findings& findings)
      : ops_(ops), node_of_rank_(node_of_rank), findings_(findings) {}

  void check(OpId op) {
    switch (ops_[op].kind) {
      case OpKind::send:
        access(op, ops_[op].src, false, {Space::stage});
        break;
      case OpKind::recv:
        access(op, ops_[op].dst, true, {Space::stage});
        break;
      case OpKind::copy:
      case OpKind::reduce:
        access(op, ops_[op].dst, true, {Space::stage, Space::output});
        access(op, ops_[op].src, false, {Space::stage, Space::output, Space::input});
        break;
      case OpKind::signal:
      case OpKind::wait:
        if (!same_node(ops_.rank(op), ops_[op].peer)) bad(op, "the peer is on another node");
        break;
    }
  }

  std::uint64_t blocks() const { return blocks_; }

 private:
  void bad(OpId op, std::string_view detail) { findings_.add(Flaw::bounds, ops_, op, detail); }

  bool same_node(int a, int b) const {
    return node_of_rank_[static_cast<std::size_t>(a)] == node_of_rank_[static_cast<std::size_t>(b)];
  }

  /// `shared`: the spaces of another rank that the op may touch.
  void access(OpId op, const Slice& slice, bool write, std::initializer_list<Space> shared) {
    const int rank = ops_.rank(op);
    if (slice.owner < 0 || slice.owner >= ops_.ranks()) {
      return bad(op, fmt::format("{} is of no rank below {}", to_string(slice), ops_.ranks()));
    }
    if (slice.owner != rank && !same_node(rank, slice.owner)) {
      return bad(op, fmt::format("{} is on another node", to_string(slice)));
    }
    if (slice.owner != rank && std::ranges::find(shared, slice.space) == shared.end()) {
      return bad(op, fmt::format("{} is not shared with this op", to_string(slice)));
    }
    if (write && slice.space == Space::input) {
      return bad(op, fmt::format("{} is written, and inputs are read only", to_string(slice)));
    }
    const std::uint64_t bytes =
        ops_.plans()[static_cast<std::size_t>(slice.owner)].space_bytes(slice.space);
    if (slice.end() > bytes) {
      return bad(op, fmt::format("{} ends at {}, and the space has {} bytes", to_string(slice),
                                 slice.end(), bytes));
    }
    blocks_ = std::min(blocks_ + slice.count, kMaxBlocks + 1);
  }

  const OpTable& ops_;
  std::span<const int> node_of_rank_;
  Findings& findings_;
  std::uint64_t blocks_ = 0;
};

}  // namespace

void check_bounds(const OpTable& ops, std::span<const int> node_of_rank, Findings& findings) {
  Bounds bounds(ops, node_of_rank, findings);
  for (OpId op = 0; op < ops.size() && !findings.full(); ++op) bounds.check(op);
  if (bounds.blocks() > kMaxBlocks) {
    findings.add(Flaw::bounds, -1, kNoOp,
                 fmt::format("the ops touch more than {} blocks: too many to check", kMaxBlocks));
  }
  if (findings.any()) return;
  for (OpId op = 0; op < ops.size() && !findings.full(); ++op) {
    if (ops[op].kind != OpKind::copy && ops[op].kind != OpKind::reduce) continue;
    if (const auto common = overlap(ops[op].dst, ops[op].src)) {
      findings.add(Flaw::bounds, ops, op, fmt::format("both sides have {}", to_string(*common)));
    }
  }
}

}  // namespace weft::plan
