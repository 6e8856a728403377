#include "plan/builder.hpp"

#include <algorithm>
#include <bit>

#include "base/cast.hpp"
#include "base/error.hpp"

namespace weft::plan {

std::string_view to_string(OpKind kind) {
  switch (kind) {
    case OpKind::send:
      return "send";
    case OpKind::recv:
      return "recv";
    case OpKind::copy:
      return "copy";
    case OpKind::reduce:
      return "reduce";
    case OpKind::signal:
      return "signal";
    case OpKind::wait:
      return "wait";
  }
  return "?";
}

OpKind counterpart(OpKind kind) {
  switch (kind) {
    case OpKind::send:
      return OpKind::recv;
    case OpKind::recv:
      return OpKind::send;
    case OpKind::signal:
      return OpKind::wait;
    case OpKind::wait:
      return OpKind::signal;
    case OpKind::copy:
    case OpKind::reduce:
      break;
  }
  return kind;
}

std::uint64_t Plan::space_bytes(Space space) const {
  switch (space) {
    case Space::input:
      return input_bytes_;
    case Space::output:
      return output_bytes_;
    case Space::stage:
      return stage_bytes_;
    case Space::scratch:
      return scratch_bytes_;
  }
  return 0;
}

Builder::Builder(int rank, int ranks, std::uint64_t input_bytes, std::uint64_t output_bytes) {
  if (ranks < 1) throw_usage("plan for {} ranks: at least 1", ranks);
  if (rank < 0 || rank >= ranks) {
    throw_usage("plan for rank {} of {}: ranks are 0 to {}", rank, ranks, ranks - 1);
  }
  plan_.rank_ = rank;
  plan_.ranks_ = ranks;
  plan_.input_bytes_ = input_bytes;
  plan_.output_bytes_ = output_bytes;
}

void Builder::check_peer(int peer) const {
  if (peer < 0 || peer >= plan_.ranks_ || peer == plan_.rank_) {
    throw_usage("plan of rank {} of {}: peer {} is not another of its ranks", plan_.rank_,
                plan_.ranks_, peer);
  }
}

void Builder::add_dependencies(OpId id, std::span<const OpId> ids) {
  for (const OpId dependency : ids) {
    if (dependency == kNoOp) continue;
    if (dependency >= id) {
      throw_usage("plan of rank {}: op {} cannot follow op {}, which does not come before it",
                  plan_.rank_, id, dependency);
    }
    unique_.push_back(dependency);
  }
}

/// Sorts `unique_`, each id once. Thousands of ids are often of few ops, each named many times.
void Builder::put_in_order() {
  constexpr std::size_t kFew = 64;
  if (unique_.size() <= kFew) {
    std::ranges::sort(unique_);
    unique_.erase(std::ranges::unique(unique_).begin(), unique_.end());
    return;
  }
  const auto [least, most] = std::ranges::minmax(unique_);
  is_named_.resize(std::max(is_named_.size(), plan_.ops_.size() / kWordBits + 1));
  for (const OpId id : unique_) is_named_[id / kWordBits] |= std::uint64_t{1} << id % kWordBits;
  unique_.clear();
  for (std::size_t word = least / kWordBits; word <= most / kWordBits; ++word) {
    for (; is_named_[word] != 0; is_named_[word] &= is_named_[word] - 1) {
      const auto bit = static_cast<std::size_t>(std::countr_zero(is_named_[word]));
      unique_.push_back(static_cast<OpId>(word * kWordBits + bit));
    }
  }
}

OpId Builder::add(const Op& op, After after) {
  const auto id = checked_cast<OpId>(plan_.ops_.size());
  std::span<const OpId> before = after.ids();
  const auto disorder = [](std::span<const OpId> ids) {
    return std::ranges::adjacent_find(ids, std::ranges::greater_equal()) != ids.end();
  };
  // Ids mostly come in order, and some plans have very many.
  if (!after.more().empty() || (!before.empty() && before.back() >= id) || disorder(before)) {
    unique_.clear();
    add_dependencies(id, after.ids());
    add_dependencies(id, after.more());
    if (disorder(unique_)) put_in_order();
    before = unique_;
  }
  plan_.ops_.push_back(op);
  plan_.after_.insert(plan_.after_.end(), before.begin(), before.end());
  plan_.after_begin_.push_back(checked_cast<std::uint32_t>(plan_.after_.size()));
  return id;
}

OpId Builder::send(int peer, const Slice& src, After after) {
  check_peer(peer);
  if (src.empty()) return kNoOp;
  return add({OpKind::send, Operand::left, peer, {}, src}, after);
}

OpId Builder::recv(int peer, const Slice& dst, After after) {
  check_peer(peer);
  if (dst.empty()) return kNoOp;
  return add({OpKind::recv, Operand::left, peer, dst, {}}, after);
}

namespace {
void check_sizes(const Slice& dst, const Slice& src) {
  if (dst.bytes() != src.bytes()) {
    throw_usage("{} bytes of {} into {} bytes of {}: sizes must be equal", src.bytes(),
                to_string(src), dst.bytes(), to_string(dst));
  }
}
}  // namespace

OpId Builder::copy(const Slice& dst, const Slice& src, After after) {
  check_sizes(dst, src);
  if (dst.empty() || dst == src) return kNoOp;
  return add({OpKind::copy, Operand::left, -1, dst, src}, after);
}

OpId Builder::reduce(const Slice& dst, const Slice& src, Operand dst_operand, After after) {
  check_sizes(dst, src);
  if (dst.empty()) return kNoOp;
  return add({OpKind::reduce, dst_operand, -1, dst, src}, after);
}

OpId Builder::signal(int peer, After after) {
  check_peer(peer);
  return add({OpKind::signal, Operand::left, peer, {}, {}}, after);
}

OpId Builder::wait(int peer, After after) {
  check_peer(peer);
  return add({OpKind::wait, Operand::left, peer, {}, {}}, after);
}

void Builder::copy_lists(std::span<const Slice> targets, std::span<const Slice> sources,
                         After after, std::vector<OpId>& done) {
  std::size_t t = 0;
  std::size_t s = 0;
  std::uint64_t t_done = 0;  // bytes of targets[t] that have a source
  std::uint64_t s_done = 0;
  while (t < targets.size() && s < sources.size()) {
    const std::uint64_t bytes = std::min(targets[t].bytes() - t_done, sources[s].bytes() - s_done);
    if (targets[t].is_contiguous() && sources[s].is_contiguous()) {
      const auto part = [bytes](const Slice& slice, std::uint64_t from) -> Slice {
        return {slice.space, slice.owner, slice.offset + from, bytes, 1, bytes};
      };
      const OpId id = copy(part(targets[t], t_done), part(sources[s], s_done), after);
      if (id != kNoOp) done.push_back(id);
      t_done += bytes;
      s_done += bytes;
      if (t_done == targets[t].bytes()) ++t, t_done = 0;
      if (s_done == sources[s].bytes()) ++s, s_done = 0;
      continue;
    }
    const auto dst = subslices(targets[t], t_done, bytes);
    const auto src = subslices(sources[s], s_done, bytes);
    if (dst.size() == 1 && src.size() == 1) {
      if (const OpId id = copy(dst[0], src[0], after); id != kNoOp) done.push_back(id);
    } else {
      copy_lists(dst, src, after, done);
    }
    t_done += bytes;
    s_done += bytes;
    if (t_done == targets[t].bytes()) ++t, t_done = 0;
    if (s_done == sources[s].bytes()) ++s, s_done = 0;
  }
}

void Builder::copy(std::span<const Slice> targets, std::span<const Slice> sources, After after,
                   std::vector<OpId>& done) {
  if (targets.size() == 1 && sources.size() == 1) {
    if (const OpId id = copy(targets[0], sources[0], after); id != kNoOp) done.push_back(id);
    return;
  }
  const auto bytes_of = [](std::span<const Slice> slices) {
    std::uint64_t bytes = 0;
    for (const Slice& slice : slices) bytes += slice.bytes();
    return bytes;
  };
  if (bytes_of(targets) != bytes_of(sources)) {
    throw_usage("plan of rank {}: {} bytes to copy into {}: sizes must be equal", plan_.rank_,
                bytes_of(sources), bytes_of(targets));
  }
  copy_lists(coalesce(targets), coalesce(sources), after, done);
}

void Builder::gather(const Slice& dst, std::span<const Slice> sources, After after,
                     std::vector<OpId>& done) {
  copy({&dst, 1}, sources, after, done);
}

void Builder::scatter(std::span<const Slice> targets, const Slice& src, After after,
                      std::vector<OpId>& done) {
  copy(targets, {&src, 1}, after, done);
}

Slice Builder::allocate_stage(std::uint64_t bytes) {
  const std::uint64_t offset = plan_.stage_bytes_;
  plan_.stage_bytes_ = round_up(offset + bytes, kSliceAlignment);
  return Slice::contiguous(Space::stage, plan_.rank_, offset, bytes);
}

Slice Builder::allocate_scratch(std::uint64_t bytes) {
  const std::uint64_t offset = plan_.scratch_bytes_;
  plan_.scratch_bytes_ = round_up(offset + bytes, kSliceAlignment);
  return Slice::contiguous(Space::scratch, plan_.rank_, offset, bytes);
}

Plan Builder::finish() && {
  return std::move(plan_);
}

}  // namespace weft::plan
