// Builder of plans. All plans are made by it.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "plan/plan.hpp"

namespace weft::plan {

/// The ops that an op follows: a view of op ids, which may be made of a braced list, a single id,
/// or two such views.
class After {
 public:
  After() = default;
  After(const OpId& id) : ids_(&id, 1) {}                                    // NOLINT
  After(std::initializer_list<OpId> ids) : ids_(ids.begin(), ids.size()) {}  // NOLINT
  After(const std::vector<OpId>& ids) : ids_(ids) {}                         // NOLINT
  After(std::span<const OpId> ids) : ids_(ids) {}                            // NOLINT
  /// All ids of both views, neither of which may consist of two already.
  After(After one, After other) : ids_(one.ids_), more_(other.ids_) {}
  std::span<const OpId> ids() const { return ids_; }
  std::span<const OpId> more() const { return more_; }

 private:
  std::span<const OpId> ids_;
  std::span<const OpId> more_;
};

/// Builds the plan of one rank. Every method that adds an op returns its id, or kNoOp when the op
/// would move no byte (then nothing is added). UsageError on what no plan may contain: a peer
/// that is out of range or the rank itself, sizes that differ, a dependency on an op not yet added.
class Builder {
 public:
  Builder(int rank, int ranks, std::uint64_t input_bytes, std::uint64_t output_bytes);

  int rank() const { return plan_.rank_; }
  int ranks() const { return plan_.ranks_; }

  OpId send(int peer, const Slice& src, After after = {});
  OpId recv(int peer, const Slice& dst, After after = {});
  OpId copy(const Slice& dst, const Slice& src, After after = {});
  OpId reduce(const Slice& dst, const Slice& src, Operand dst_operand, After after = {});
  OpId signal(int peer, After after = {});
  OpId wait(int peer, After after = {});

  /// The concatenation of `targets` = that of `sources`, of equal sizes, with few copies where
  /// they lie at regular strides. Appends the ids of the copies to `done`.
  void copy(std::span<const Slice> targets, std::span<const Slice> sources, After after,
            std::vector<OpId>& done);
  /// dst = the concatenation of `sources`.
  void gather(const Slice& dst, std::span<const Slice> sources, After after,
              std::vector<OpId>& done);
  /// The concatenation of `targets` = src.
  void scatter(std::span<const Slice> targets, const Slice& src, After after,
               std::vector<OpId>& done);

  /// `bytes` of this rank's own stage or scratch, aligned to 64 bytes. The offsets are handed out
  /// in call order, so that a rank can compute a peer's by making the same calls.
  Slice allocate_stage(std::uint64_t bytes);
  Slice allocate_scratch(std::uint64_t bytes);

  Plan finish() &&;

 private:
  OpId add(const Op& op, After after);
  void add_dependencies(OpId id, std::span<const OpId> ids);
  void put_in_order();
  /// copy() of lists that are not coalesced first.
  void copy_lists(std::span<const Slice> targets, std::span<const Slice> sources, After after,
                  std::vector<OpId>& done);
  void check_peer(int peer) const;

  Plan plan_;
  static constexpr std::size_t kWordBits = 64;
  std::vector<OpId> unique_;             // reused by add()
  std::vector<std::uint64_t> is_named_;  // a bit for each op; all 0 between calls
};

inline constexpr std::uint64_t kSliceAlignment = 64;

}  // namespace weft::plan
