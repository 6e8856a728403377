// Plans laid out byte by byte, for the oracle: what each op reads, writes and waits for.
#pragma once

#include <string>
#include <vector>

#include "tests/plan/cases.hpp"

namespace weft::plan::testing {

inline constexpr std::size_t kNone = SIZE_MAX;

/// Thrown by whatever finds that the plans failed.
struct Failure {
  std::string what;
};

/// One byte of one space of one rank.
struct Address {
  std::size_t index;  // in the memory of all ranks, space by space
  Space space;
  int owner;
};

/// The places of all ranks' spaces in one memory.
class Layout {
 public:
  explicit Layout(const Case& plans);

  std::size_t size() const { return size_; }

  /// Every address of a slice, in its order. Failure beyond the space.
  std::vector<Address> addresses(const Slice& slice) const;

 private:
  std::vector<std::size_t> begin_;
  std::size_t size_ = 0;
};

struct Task {
  int rank = 0;
  Op op;
  std::vector<std::size_t> after;
  std::size_t previous = kNone;  // to start before, towards the same peer
  std::size_t partner = kNone;
  std::size_t credit = kNone;  // of a send: the recv that must have started for it to complete
  std::vector<Address> reads;
  std::vector<Address> writes;
};

class Program {
 public:
  /// Failure where the plans do not match or an op reaches where it must not.
  explicit Program(const Case& plans);

  /// Sends complete once the recv `capacity` messages before their own has started.
  void set_capacity(std::size_t capacity);

  Layout layout;
  std::vector<Task> tasks;

 private:
  void join(std::size_t task, std::size_t partner);
  void add_accesses(Task& task) const;
  void check(const Task& task, const Address& address, bool write) const;

  const Case& plans_;
};

}  // namespace weft::plan::testing
