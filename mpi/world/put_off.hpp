// New sizes of a communicator's calls, and agreements of its ranks that are put off until a call in
// which they may wait for one another.
//
// To prepare a size takes the ranks longer than most calls do, and many sizes come once. So the
// host serves the first call of each size, and weft prepares it when it comes again.
//
// MPI allows a broadcast to return at its root only when all ranks have come. But Open MPI does not
// wait for them where little is sent, and there are programs that rely on it: one rank makes two
// broadcasts on two communicators in one order, the others in the other order. So in calls that may
// be left early (plan::may_be_left_early()) ranks agree on nothing: where they would have to, the
// host serves the call. What they are to agree on is put off until a call in which all of them wait
// anyway, or a blocking broadcast or scatter to which all of them come soon (meetings.hpp).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mpi/world/race.hpp"
#include "plan/problem.hpp"

namespace weft::mpi {

/// Calls of about one size, which weft prepares together or nearly so.
struct CallSize {
  plan::Collective collective;
  int root;   // 0 where there is none
  int width;  // of the bytes of a block; -1 where ranks know their own only

  CallSize(plan::Collective of, int from, std::optional<std::uint64_t> bytes) noexcept
      : collective(of), root(from), width(bytes ? static_cast<int>(std::bit_width(*bytes)) : -1) {}
  bool operator==(const CallSize&) const = default;
};

/// The new sizes of one communicator that have come once. Each rank has its own, and they are
/// alike.
class NewSizes {
 public:
  /// Whether this size, which is new, has come before; it has now.
  bool has_come(const CallSize& size) {
    const auto found = std::ranges::find(sizes_, size);
    if (found != sizes_.end()) return true;
    if (sizes_.size() < kMost) {
      sizes_.push_back(size);
    } else {
      sizes_[next_++ % kMost] = size;
    }
    return false;
  }

 private:
  static constexpr std::size_t kMost = 64;

  std::vector<CallSize> sizes_;
  std::size_t next_ = 0;  // to be forgotten
};

/// What is put off on one communicator. Each rank has its own, and they are alike.
class PutOff {
 public:
  struct Decision {
    Race* race;
    std::string what;  // names its calls
  };

  /// Calls that weft would have to prepare.
  void add(const CallSize& size) {
    if (!contains(size)) sizes_.push_back(size);
  }
  bool contains(const CallSize& size) const noexcept {
    return std::ranges::find(sizes_, size) != sizes_.end();
  }
  /// Who has won a race. It lives longer.
  void add(Race& race, std::string what) {
    if (std::ranges::find(decisions_, &race, &Decision::race) == decisions_.end()) {
      decisions_.push_back({&race, std::move(what)});
    }
  }

  /// How often take() was called, from 1.
  std::uint64_t number() const noexcept { return number_; }
  /// Nothing is put off any more; the decisions that were.
  std::vector<Decision> take() noexcept {
    ++number_;
    sizes_.clear();
    return std::exchange(decisions_, {});
  }

 private:
  std::uint64_t number_ = 1;
  std::vector<CallSize> sizes_;
  std::vector<Decision> decisions_;
};

}  // namespace weft::mpi
