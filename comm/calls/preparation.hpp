// Preparation of calls: from a problem to the programs that solve it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "comm/calls/agreed_choice.hpp"
#include "comm/calls/call_cache.hpp"
#include "comm/calls/gate.hpp"
#include "comm/calls/size_class.hpp"
#include "comm/calls/usage.hpp"
#include "comm/setup/resources.hpp"
#include "plan/plan.hpp"

namespace weft::comm {

/// All ranks prepare the same problems in the same order. The first of a class is collective.
class Preparation {
 public:
  Preparation(Resources& resources, AgreedChoice& choice, Usage& usage, Gate& gate)
      : resources_(resources), choice_(choice), usage_(usage), gate_(gate) {}

  /// The programs for a problem that all ranks describe alike; not for alltoallv. Null where its
  /// class has none that take its size. Mostly, numbers are written into a program that nobody else
  /// holds, and nothing is allocated. Valid until the next call of this.
  const SharedCall* find(const plan::Problem& problem);
  /// The same where find() has found none. Null: now it does. `by_kernel`: of its first task.
  ///
  /// On one node the calls of a class read neighbours' buffers where they lie only if those of its
  /// first task are found in shared heaps, or if the calls are long alltoalls, which may pay for
  /// system calls (tune::may_pay_by_calls). Others go by stages, as two copies take less time.
  SharedCall prepare(const plan::Problem& problem, unsigned by_kernel);
  /// This rank's buffers, as a set, that neighbours do not find in its shared heap, where they look
  /// there.
  unsigned by_kernel(const Task& task) const;
  /// Changes when classes are forgotten, at the same time on all ranks.
  std::uint64_t generation() const noexcept { return generation_; }
  /// Changes when calls that find() has returned are forgotten, or have other numbers.
  std::uint64_t changes() const noexcept { return changes_; }
  /// Before something else is prepared for calls of which each rank knows its own part: all ranks
  /// come to it. Collective.
  void meet(const plan::Problem& problem);

 private:
  /// Buffers of a rank, or of its neighbours: a set.
  enum Buffers : unsigned { kNoBuffer = 0, kInput = 1, kOutput = 2 };
  /// A call that is prepared.
  struct Asked {
    const plan::Problem& problem;
    unsigned by_kernel = kNoBuffer;  // this rank's that neighbours reach by system calls alone
    bool in_pieces = false;          // what goes by stages is cut so that it stays in a cache
  };
  /// What a rank's part of a problem needs of the memory that the executor has.
  struct Need {
    std::uint64_t stage_bytes = 0;
    std::uint64_t scratch_bytes = 0;
    bool connects = false;  // to a rank that it has no channel to yet
    bool lacks_memory = false;
    unsigned reads = kNoBuffer;      // of neighbours, where they lie
    unsigned by_kernel = kNoBuffer;  // as Asked has them
    bool refuses_calls = false;      // these are not to be read
    std::uint64_t units = 0;  // of a shape, which all numbers have in common; 0: none has any
    bool has_shape = false;
    bool has_lists = false;  // a layout family

    /// Neighbours would read a buffer by system calls, and some rank refuses it.
    bool goes_by_stages() const noexcept {
      return (reads & by_kernel) != kNoBuffer && refuses_calls;
    }
  };
  struct Cut {
    std::uint64_t slice_bytes = 0;
    plan::Plan plan;  // of a slice
    Need need;        // of the neediest rank
    std::shared_ptr<Shape> shape = {};
    std::optional<plan::LayoutFamily> lists = {};
  };

  SharedClass class_for(const Asked& asked);
  SharedClass agree(const registry::Algorithm& algorithm, const plan::Problem& largest,
                    const Asked& asked);
  void keep(const plan::Problem& problem, SharedClass made);
  SharedClass find_other_part(const plan::Problem& problem, const registry::Algorithm& algorithm);
  SharedCall prepare_alone(const plan::Problem& problem, const SizeClass& of);
  const SharedCall* resized(const plan::Problem& problem, SizeClass& of);
  const SharedCall& add_sized(const plan::Problem& problem, const plan::Extent& extent,
                              SizeClass& of);
  const SharedCall* relisted(const plan::Problem& problem, std::uint64_t mean_bytes, SizeClass& of);
  void add_listed(const plan::Problem& problem, SizeClass& of);
  void forget_sized();
  std::uint32_t key_of(const plan::Problem& problem) const;
  void describe(const plan::Problem& problem, Call& call, const SizeClass& of) const;
  Need need_of(const plan::Plan& plan) const;
  Need plan_alike(const registry::Algorithm& algorithm, const plan::Problem& part,
                  const Asked& asked, Cut& cut);
  Cut cut(const registry::Algorithm& algorithm, const plan::Problem& largest, const Asked& asked);
  static unsigned reads_of(const plan::Plan& plan);
  static Need joined(const Need& a, const Need& b);
  bool is_in_pieces() const;
  bool may_be_read_by_calls(const plan::Problem& problem) const;
  std::size_t part_of(const plan::Problem& problem) const {
    return comm::part_of(problem, resources_.has_table());
  }
  std::uint64_t stage_limit(const Asked& asked) const noexcept;

  Resources& resources_;
  AgreedChoice& choice_;
  Usage& usage_;
  Gate& gate_;
  using Buckets = std::unordered_map<Bucket, BucketClasses, BucketHash>;
  Buckets buckets_;
  const Buckets::value_type* last_ = nullptr;  // where find() has found one
  std::uint64_t generation_ = 0;
  std::uint64_t changes_ = 0;
  std::size_t sized_steps_ = 0;  // of the programs of sized calls
};

}  // namespace weft::comm
