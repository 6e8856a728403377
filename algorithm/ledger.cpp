#include "algorithm/ledger.hpp"

namespace weft::algorithm {

using plan::kNoOp;
using plan::OpId;
using plan::Slice;
using plan::Space;

void Ledger::send(int peer, const Slice& src) {
  std::vector<OpId> after = gate_;
  before_read(src, after);
  const OpId op = builder_.send(peer, src, after);
  note_read(src, op);
  messages_.push_back(op);
}

void Ledger::recv(int peer, const Slice& dst) {
  std::vector<OpId> after = gate_;
  before_write(dst, after);
  const OpId op = builder_.recv(peer, dst, after);
  note_write(dst, op);
  messages_.push_back(op);
}

void Ledger::copy(const Slice& dst, const Slice& src) {
  std::vector<OpId> after;
  before_read(src, after);
  before_write(dst, after);
  const OpId op = builder_.copy(dst, src, after);
  note_read(src, op);
  note_write(dst, op);
}

void Ledger::reduce(const Slice& dst, const Slice& src, plan::Operand dst_operand) {
  std::vector<OpId> after;
  before_read(src, after);
  before_write(dst, after);
  const OpId op = builder_.reduce(dst, src, dst_operand, after);
  note_read(src, op);
  note_write(dst, op);
}

void Ledger::gather(const Slice& dst, std::span<const Slice> sources) {
  std::uint64_t at = dst.offset;
  for (const Slice& source : plan::coalesce(sources)) {
    copy(Slice::contiguous(dst.space, dst.owner, at, source.bytes()), source);
    at += source.bytes();
  }
}

void Ledger::scatter(std::span<const Slice> targets, const Slice& src) {
  std::uint64_t at = src.offset;
  for (const Slice& target : plan::coalesce(targets)) {
    copy(target, Slice::contiguous(src.space, src.owner, at, target.bytes()));
    at += target.bytes();
  }
}

void Ledger::signal(int peer, std::span<const Slice> reads, std::span<const Slice> writes) {
  std::vector<OpId> after;
  for (const Slice& slice : reads) before_read(slice, after);
  for (const Slice& slice : writes) before_write(slice, after);
  builder_.signal(peer, after);
}

void Ledger::wait(int peer, std::span<const Slice> slices) {
  const OpId op = builder_.wait(peer);
  for (const Slice& slice : slices) note_write(slice, op);
}

void Ledger::next_step() {
  if (messages_.empty()) return;
  gate_ = std::move(messages_);
  messages_.clear();
}

/// The first access that begins at `at` or later, once none reaches across it.
Ledger::Accesses::iterator Ledger::split(Accesses& accesses, std::uint64_t at) {
  auto next = accesses.lower_bound(at);
  if (next == accesses.begin()) return next;
  Access& before = std::prev(next)->second;
  if (before.end <= at) return next;
  const auto rest = accesses.emplace_hint(next, at, before);
  before.end = at;
  return rest;
}

void Ledger::before_read(const Slice& slice, std::vector<OpId>& after) {
  if (slice.empty()) return;
  Accesses& accesses = accesses_of(slice);
  const auto end = split(accesses, slice.end());
  for (auto it = split(accesses, slice.offset); it != end; ++it) after.push_back(it->second.writer);
}

void Ledger::before_write(const Slice& slice, std::vector<OpId>& after) {
  if (slice.empty()) return;
  Accesses& accesses = accesses_of(slice);
  const auto end = split(accesses, slice.end());
  for (auto it = split(accesses, slice.offset); it != end; ++it) {
    after.push_back(it->second.writer);
    after.insert(after.end(), it->second.readers.begin(), it->second.readers.end());
  }
}

void Ledger::note_read(const Slice& slice, OpId op) {
  // Nothing writes to one's own input, so who reads it matters to nobody.
  if (op == kNoOp || (slice.space == Space::input && slice.owner == builder_.rank())) return;
  Accesses& accesses = accesses_of(slice);
  const auto end = split(accesses, slice.end());
  std::uint64_t at = slice.offset;
  for (auto it = split(accesses, at); it != end; ++it) {
    if (at < it->first) accesses.emplace_hint(it, at, Access{it->first, kNoOp, {op}});
    it->second.readers.push_back(op);
    at = it->second.end;
  }
  if (at < slice.end()) accesses.emplace_hint(end, at, Access{slice.end(), kNoOp, {op}});
}

void Ledger::note_write(const Slice& slice, OpId op) {
  if (op == kNoOp) return;
  if (slice.empty()) return;
  Accesses& accesses = accesses_of(slice);
  const auto end = split(accesses, slice.end());
  const auto begin = split(accesses, slice.offset);
  accesses.insert_or_assign(accesses.erase(begin, end), slice.offset, Access{slice.end(), op, {}});
}

}  // namespace weft::algorithm
