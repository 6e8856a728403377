// Virtual time in whole picoseconds, so that results are the same on every machine.
#pragma once

#include <cmath>
#include <cstdint>

namespace weft::sim {

using Time = std::int64_t;  // picoseconds

inline Time to_time(double ns) {
  return static_cast<Time>(std::llround(ns * 1e3));
}

inline double to_ns(Time time) {
  return static_cast<double>(time) / 1e3;
}

/// A rate, kept as the time of a byte in fixed point, so that times are computed in integers.
class Rate {
 public:
  Rate() = default;  ///< takes no time
  /// 0 or less: takes no time.
  explicit Rate(double bytes_per_ns) {
    if (bytes_per_ns > 0) {
      byte_time_ = static_cast<std::uint64_t>(std::llround(kOne * 1e3 / bytes_per_ns));
    }
  }

  Time time(std::uint64_t bytes) const {
    return static_cast<Time>((static_cast<Wide>(bytes) * byte_time_ + kOne / 2) / kOne);
  }
  bool is_limit() const { return byte_time_ != 0; }
  bool is_slower_than(const Rate& other) const { return byte_time_ > other.byte_time_; }

 private:
  __extension__ using Wide = unsigned __int128;
  static constexpr std::uint64_t kOne = 1 << 20;
  std::uint64_t byte_time_ = 0;  // picoseconds * kOne
};

/// A resource that one user at a time occupies, first come first served.
struct Server {
  Time free_at = 0;

  /// Occupies it for `duration`, from `from` on at the earliest. Returns the end.
  Time reserve(Time from, Time duration) {
    free_at = (free_at > from ? free_at : from) + duration;
    return free_at;
  }
};

}  // namespace weft::sim
