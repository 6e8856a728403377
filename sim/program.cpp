#include "sim/program.hpp"

#include <algorithm>
#include <utility>

#include "base/cast.hpp"
#include "base/error.hpp"

namespace weft::sim {

using plan::OpKind;
using plan::Plan;

Program::Program(const PlanSource& plan_of_rank, const hierarchy::Machine& machine,
                 std::uint64_t stored_bytes)
    : ranks_(static_cast<std::size_t>(machine.ranks()) + 1),
      is_read_(4 * static_cast<std::size_t>(machine.ranks())),
      is_written_(is_read_.size()),
      is_fetched_(is_read_.size()),
      last_(static_cast<std::size_t>(machine.ranks()), kNone) {
  for (int rank = 0; rank < machine.ranks(); ++rank) {
    const Plan plan = plan_of_rank(rank);
    if (plan.rank() != rank || plan.ranks() != machine.ranks()) {
      throw_usage("simulation of rank {} of {}: the plan is of rank {} of {}", rank,
                  machine.ranks(), plan.rank(), plan.ranks());
    }
    add(rank, plan, machine, stored_bytes);
  }
  end_ops();
  match(OpKind::send, OpKind::recv);
  match(OpKind::signal, OpKind::wait);
}

Program::Program(const ClassPlans& classes, const Members& members,
                 const hierarchy::Machine& machine, std::uint64_t stored_bytes)
    : ranks_(static_cast<std::size_t>(members.size()) + 1),
      is_read_(4 * static_cast<std::size_t>(members.size())),
      is_written_(is_read_.size()),
      is_fetched_(is_read_.size()),
      last_(static_cast<std::size_t>(machine.ranks()), kNone) {
  for (int member = 0; member < members.size(); ++member) {
    add(member, classes.plans[static_cast<std::size_t>(member)], machine, stored_bytes,
        [&](int rank) { return classes.neighbour(member, rank); });
  }
  end_ops();
  link(classes);
  messages = wire_bytes = 0;
  for (const Op& op : ops_) {
    if (op.kind != OpKind::send || !op.remote) continue;
    const auto weight = static_cast<std::uint64_t>(members.weight_of(op.member));
    messages += weight;
    wire_bytes += weight * op.bytes;
  }
}

void Program::end_ops() {
  ranks_.back().first_op = checked_cast<Index>(ops_.size());
  ops_.emplace_back().first_successor = checked_cast<std::uint32_t>(successors_.size());
}

void Program::add(int member, const Plan& plan, const hierarchy::Machine& machine,
                  std::uint64_t stored_bytes, const Owner& owner) {
  RankSpan& span = ranks_[member];
  span.first_op = checked_cast<Index>(ops_.size());
  span.footprint =
      plan.input_bytes() + plan.output_bytes() + plan.stage_bytes() + plan.scratch_bytes();
  for (const plan::Op& op : plan.ops()) {
    add_op(plan, op, machine, stored_bytes, owner);
    ops_.back().member = member;
  }
  add_edges(member, plan);
  order_by_peer(member, plan);
}

void Program::add_op(const Plan& plan, const plan::Op& op, const hierarchy::Machine& machine,
                     std::uint64_t stored_bytes, const Owner& owner) {
  Op& made = ops_.emplace_back();
  made.kind = op.kind;
  made.peer = op.peer;
  made.first_side = checked_cast<std::uint32_t>(sides_.size());
  if (op.peer >= machine.ranks()) {
    throw_usage("plan of rank {}: {} {} is none of {} ranks", plan.rank(), to_string(op.kind),
                op.peer, machine.ranks());
  }
  made.remote = op.peer >= 0 && !machine.same_node(op.peer, plan.rank());
  switch (op.kind) {
    case OpKind::send:
      made.bytes = made.left = op.src.bytes();
      messages += made.remote;
      wire_bytes += made.remote ? made.bytes : 0;
      add_side(plan.rank(), op.src,
               made.remote && made.bytes > stored_bytes ? &is_fetched_ : &is_read_, owner);
      break;
    case OpKind::recv:
      made.bytes = op.dst.bytes();
      add_side(plan.rank(), op.dst, made.remote ? nullptr : &is_written_, owner);
      break;
    case OpKind::copy:
    case OpKind::reduce:
      made.bytes = op.dst.bytes();
      add_side(plan.rank(), op.dst, &is_written_, owner);
      if (op.kind == OpKind::reduce) is_read_[sides_.back().region] = true;
      add_side(plan.rank(), op.src, &is_read_, owner);
      break;
    case OpKind::signal:
    case OpKind::wait:
      if (!made.remote) break;
      throw_usage("plan of rank {}: {} {} names a rank of another node", plan.rank(),
                  to_string(op.kind), op.peer);
  }
}

void Program::add_side(int rank, const plan::Slice& slice, std::vector<bool>* used,
                       const Owner& owner) {
  const std::uint32_t region =
      region_of(slice.space, owner == nullptr ? slice.owner : owner(slice.owner));
  if (region >= is_read_.size()) {
    throw_usage("{}: its owner is none of {} ranks", to_string(slice), is_read_.size() / 4);
  }
  constexpr std::uint64_t kMostBlocks = INT32_MAX;
  Side& side = sides_.emplace_back();
  side.region = region;
  side.blocks = static_cast<std::uint32_t>(std::min(slice.count, kMostBlocks)) & INT32_MAX;
  side.is_neighbours = slice.owner != rank && slice.space != plan::Space::stage;
  side.offset = slice.offset;
  side.extent = slice.end() - slice.offset;
  if (used != nullptr) (*used)[region] = true;
}

void Program::add_edges(int member, const Plan& plan) {
  const Index first = ranks_[member].first_op;
  const auto count = static_cast<plan::OpId>(plan.ops().size());
  fan_out_.assign(count, 0);
  for (plan::OpId id = 0; id < count; ++id) {
    ops_[first + id].pending = static_cast<std::uint32_t>(plan.after(id).size());
    for (const plan::OpId before : plan.after(id)) ++fan_out_[before];
  }
  std::size_t begin = successors_.size();
  for (plan::OpId id = 0; id < count; ++id) {
    ops_[first + id].first_successor = checked_cast<std::uint32_t>(begin);
    begin += std::exchange(fan_out_[id], 0);
  }
  successors_.resize(begin);
  for (plan::OpId id = 0; id < count; ++id) {
    for (const plan::OpId before : plan.after(id)) {
      successors_[ops_[first + before].first_successor + fan_out_[before]++] = first + id;
    }
  }
}

/// List order among sends, recvs and signals to one peer. Waits need none: each knows which signal
/// it is for. As in engine::Program.
void Program::order_by_peer(int member, const Plan& plan) {
  const Index first = ranks_[member].first_op;
  const auto end = static_cast<Index>(ops_.size());
  for (const OpKind kind : {OpKind::send, OpKind::recv, OpKind::signal}) {
    for (Index op = first; op < end; ++op) {
      if (ops_[op].kind != kind) continue;
      const Index before = std::exchange(last_[ops_[op].peer], op);
      if (before == kNone) continue;
      if (std::ranges::binary_search(plan.after(op - first), before - first)) continue;
      ops_[before].next = op;
      ++ops_[op].pending;
    }
    for (Index op = first; op < end; ++op) {
      if (ops_[op].kind == kind) last_[ops_[op].peer] = kNone;
    }
  }
}

namespace {

/// Sorts the ops of `list` by their keys, which are below `keys`; stable.
template <class Key>
std::vector<Index> sorted(const std::vector<Index>& list, int keys, Key key) {
  std::vector<std::uint32_t> begin(static_cast<std::size_t>(keys) + 1);
  for (const Index op : list) ++begin[key(op) + 1];
  for (int i = 0; i < keys; ++i) begin[i + 1] += begin[i];
  std::vector<Index> result(list.size());
  for (const Index op : list) result[begin[key(op)]++] = op;
  return result;
}

}  // namespace

/// Matches the k-th op from one rank to another with the k-th at the other end, by sorting both
/// lists by sender, receiver and k.
void Program::match(OpKind from, OpKind to) {
  const int ranks = members();
  std::vector<Index> froms;
  std::vector<Index> tos;
  for (int rank = 0; rank < ranks; ++rank) {
    for (Index op = first_op(rank); op < first_op(rank + 1); ++op) {
      if (ops_[op].kind == from) froms.push_back(op);
      if (ops_[op].kind == to) tos.push_back(op);
    }
  }
  const auto by_peer = [this](Index op) { return ops_[op].peer; };
  tos = sorted(tos, ranks, by_peer);
  const auto by_owner = [this](Index op) { return ops_[op].member; };
  froms = sorted(sorted(froms, ranks, by_peer), ranks, by_owner);
  const auto lone = [&](Index op) {
    throw_usage("plan of rank {}: op {} ({} {}) has no {}", by_owner(op),
                op - first_op(by_owner(op)), to_string(ops_[op].kind), ops_[op].peer,
                to_string(plan::counterpart(ops_[op].kind)));
  };
  for (std::size_t i = 0; i < std::max(froms.size(), tos.size()); ++i) {
    if (i >= tos.size()) lone(froms[i]);
    if (i >= froms.size()) lone(tos[i]);
    const std::pair here(by_owner(froms[i]), ops_[froms[i]].peer);
    const std::pair there(ops_[tos[i]].peer, by_owner(tos[i]));
    if (here != there) lone(here < there ? froms[i] : tos[i]);
    if (ops_[froms[i]].bytes != ops_[tos[i]].bytes) {
      throw_usage("send of {} bytes from rank {} to rank {}: its recv is of {}",
                  ops_[froms[i]].bytes, here.first, here.second, ops_[tos[i]].bytes);
    }
  }
  for (std::size_t i = 0; i < froms.size(); ++i) {
    ops_[froms[i]].partner = tos[i];
    ops_[tos[i]].partner = froms[i];
  }
}

/// Gives recvs and waits of members their sources, and these their listeners.
void Program::link(const ClassPlans& classes) {
  first_listener_.assign(ops_.size() + 1, 0);
  for (int member = 0; member < members(); ++member) {
    const auto& sources = classes.sources[static_cast<std::size_t>(member)];
    std::size_t next = 0;
    for (Index op = first_op(member); op < first_op(member + 1); ++op) {
      if (ops_[op].kind != OpKind::recv && ops_[op].kind != OpKind::wait) continue;
      const Source& source = sources[next++];
      ops_[op].partner = first_op(source.member) + source.op;
      ++first_listener_[ops_[op].partner + 1];
    }
  }
  for (std::size_t op = 1; op < first_listener_.size(); ++op) {
    first_listener_[op] += first_listener_[op - 1];
  }
  listeners_.resize(first_listener_.back());
  auto place = first_listener_;
  for (Index op = 0; op < op_count(); ++op) {
    if (ops_[op].kind != OpKind::recv && ops_[op].kind != OpKind::wait) continue;
    listeners_[place[ops_[op].partner]++] = op;
  }
  for (Index op = 0; op < op_count(); ++op) {
    if (ops_[op].kind != OpKind::send && ops_[op].kind != OpKind::signal) continue;
    if (!listeners(op).empty()) ops_[op].partner = listeners(op).front();
  }
}

}  // namespace weft::sim
