#include "sim/plan_shape.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

namespace weft::sim {

using plan::OpId;
using plan::OpKind;

namespace {

constexpr std::size_t kKinds = 6;
// Bits of a number that count.
constexpr int kOfMessages = 7;
constexpr int kOfCopies = 4;

struct Sums {
  std::uint64_t ops = 0;
  std::uint64_t bytes = 0;
};

/// `number` to within its highest `bits`, rounded.
std::uint64_t rounded(std::uint64_t number, int bits) {
  const auto width = static_cast<int>(std::bit_width(number));
  if (width <= bits) return number;
  const int shift = width - bits;
  return (number + (std::uint64_t{1} << (shift - 1))) >> shift << shift;
}

std::uint64_t combined(std::uint64_t hash, std::uint64_t number) {
  std::uint64_t x = (hash ^ number) * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  return x ^ (x >> 31);
}

bool needs_a_peer(OpKind kind) {
  return kind == OpKind::recv || kind == OpKind::wait;
}

bool tells_a_peer(OpKind kind) {
  return kind == OpKind::send || kind == OpKind::signal;
}

}  // namespace

std::uint64_t shape_of(const plan::Plan& plan, const hierarchy::Machine& machine) {
  std::array<Sums, 2 * kKinds> sums;
  for (const plan::Op& op : plan.ops()) {
    const bool remote = op.peer >= 0 && !machine.same_node(op.peer, plan.rank());
    Sums& sum = sums[static_cast<std::size_t>(op.kind) + kKinds * (remote ? 1 : 0)];
    const plan::Slice& slice = op.kind == OpKind::send ? op.src : op.dst;
    ++sum.ops;
    sum.bytes += slice.bytes();
  }
  // How many copies there are follows from where blocks lie side by side, which differs by place.
  std::uint64_t hash = 1;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto kind = static_cast<OpKind>(i % kKinds);
    const bool moves = kind == OpKind::copy || kind == OpKind::reduce;
    hash = combined(hash, moves ? sums[i].ops > 0 : sums[i].ops);
    hash = combined(hash, rounded(sums[i].bytes, moves ? kOfCopies : kOfMessages));
  }
  return hash;
}

std::optional<OpId> last_need(const plan::Plan& plan, const hierarchy::Machine& machine,
                              OpId count) {
  std::optional<OpId> local;
  for (OpId id = count; id-- > 0;) {
    const plan::Op& op = plan.ops()[id];
    if (!needs_a_peer(op.kind)) continue;
    if (!machine.same_node(op.peer, plan.rank())) return id;
    if (!local) local = id;
  }
  return local;
}

std::optional<OpId> counterpart_in(const plan::Plan& plan, const plan::Plan& needing, OpId need) {
  const plan::Op& wanted = needing.ops()[need];
  std::uint32_t left = 0;  // of its kind and peer, before it
  for (OpId id = 0; id < need; ++id) {
    const plan::Op& op = needing.ops()[id];
    left += op.kind == wanted.kind && op.peer == wanted.peer;
  }
  const OpKind kind = counterpart(wanted.kind);
  for (OpId id = 0; id < plan.ops().size(); ++id) {
    const plan::Op& op = plan.ops()[id];
    if (op.kind == kind && op.peer == needing.rank() && left-- == 0) return id;
  }
  return std::nullopt;
}

bool is_ring(const plan::Plan& plan, const hierarchy::Machine& machine) {
  constexpr int kManyMessages = 8;
  int messages = 0;
  int one = -1, other = -1;
  for (const plan::Op& op : plan.ops()) {
    if (op.kind != OpKind::recv || !machine.same_node(op.peer, plan.rank())) continue;
    ++messages;
    if (one < 0) one = op.peer;
    if (op.peer == one || op.peer == other) continue;
    if (other >= 0) return false;
    other = op.peer;
  }
  return messages > kManyMessages;
}

OpId first_telling(const plan::Plan& plan, const hierarchy::Machine& machine) {
  const auto count = static_cast<OpId>(plan.ops().size());
  OpId local = count;
  for (OpId id = 0; id < count; ++id) {
    const plan::Op& op = plan.ops()[id];
    if (!tells_a_peer(op.kind)) continue;
    if (!machine.same_node(op.peer, plan.rank())) return id;
    local = std::min(local, id);
  }
  return local;
}

FirstNeeds first_needs(const plan::Plan& plan, const hierarchy::Machine& machine, OpId op) {
  const auto count = static_cast<OpId>(plan.ops().size());
  std::vector<bool> precedes(op, op == count);
  for (OpId id = op; id-- > 0;) {
    const OpId behind = id + 1;
    if (behind < count && (behind == op || precedes[behind])) {
      for (const OpId before : plan.after(behind)) precedes[before] = true;
    }
  }
  FirstNeeds needs;
  for (OpId id = 0; id < op && !(needs.local && needs.remote); ++id) {
    const plan::Op& one = plan.ops()[id];
    if (!precedes[id] || !needs_a_peer(one.kind)) continue;
    auto& need = machine.same_node(one.peer, plan.rank()) ? needs.local : needs.remote;
    if (!need) need = id;
  }
  return needs;
}

}  // namespace weft::sim
