#include "engine/program/folds.hpp"

#include <algorithm>
#include <numeric>
#include <span>

namespace weft::engine {

using plan::Op;
using plan::OpId;
using plan::OpKind;
using plan::Plan;

namespace {

/// For each op, the ops that depend on it.
class Followers {
 public:
  explicit Followers(const Plan& plan) : begin_(plan.ops().size() + 2) {
    const auto count = static_cast<OpId>(plan.ops().size());
    for (OpId id = 0; id < count; ++id) {
      for (const OpId before : plan.after(id)) ++begin_[before + 2];
    }
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    followers_.resize(begin_.back());
    for (OpId id = 0; id < count; ++id) {
      for (const OpId before : plan.after(id)) followers_[begin_[before + 1]++] = id;
    }
  }

  /// Ascending.
  std::span<const OpId> operator[](OpId id) const {
    return std::span(followers_).subspan(begin_[id], begin_[id + 1] - begin_[id]);
  }

 private:
  std::vector<std::uint32_t> begin_;  // by op, and one more
  std::vector<OpId> followers_;
};

bool continues(const Op& op, const Op& first) {
  return op.kind == OpKind::reduce && op.dst_operand == plan::Operand::left &&
         op.dst == first.dst && op.src.count == 1;
}

class Finder {
 public:
  Finder(const Plan& plan, const std::function<bool(OpId)>& is_long)
      : plan_(plan), is_long_(is_long), followers_(plan), taken_(plan.ops().size()) {}

  std::vector<Fold> find() {
    std::vector<Fold> folds;
    for (OpId id = 0; id < taken_.size(); ++id) {
      const Op& op = plan_.ops()[id];
      if (taken_[id] || op.dst.count != 1 || op.src.count != 1) continue;
      if (op.kind != OpKind::copy && !continues(op, op)) continue;
      Fold fold = from(id);
      // All of a fold are as long as its destination.
      if (fold.size() < 2 || !is_long(id)) continue;
      for (const OpId member : fold) taken_[member] = true;
      folds.push_back(std::move(fold));
    }
    return folds;
  }

 private:
  bool is_long(OpId id) const {
    return is_long_ ? is_long_(id) : plan_.ops()[id].dst.bytes() >= kLeastFolded;
  }

  Fold from(OpId first) const {
    Fold fold = {first};
    while (true) {
      const OpId last = fold.back();
      const auto behind = followers_[last];
      const auto next = std::ranges::find_if(behind, [&](OpId id) {
        return !taken_[id] && continues(plan_.ops()[id], plan_.ops()[first]);
      });
      if (next == behind.end() || !may_wait(fold, *next)) return fold;
      fold.push_back(*next);
    }
  }

  /// True when all ops that depend on the fold so far, and are not in it, come after `last`.
  bool may_wait(const Fold& fold, OpId last) const {
    return std::ranges::all_of(fold, [&](OpId member) {
      return std::ranges::all_of(followers_[member], [&](OpId follower) {
        return follower >= last || std::ranges::find(fold, follower) != fold.end();
      });
    });
  }

  const Plan& plan_;
  const std::function<bool(OpId)>& is_long_;
  const Followers followers_;
  std::vector<bool> taken_;
};

}  // namespace

std::vector<Fold> find_folds(const Plan& plan, const std::function<bool(OpId)>& is_long) {
  const auto reduces = [](const Op& op) { return op.kind == OpKind::reduce; };
  if (std::ranges::none_of(plan.ops(), reduces)) return {};
  return Finder(plan, is_long).find();
}

}  // namespace weft::engine
