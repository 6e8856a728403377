// Giving way: what a wait does instead of keeping its thread, where its code runs on a fiber.
//
// A nonblocking call of the add-on is the code of the blocking call on a fiber (mpi/fibers). Code
// that waits asks here in each turn of its wait: on a fiber it goes on later, perhaps in another
// thread, and its thread does something else meanwhile. So what may run on a fiber holds no lock
// over a wait but one that it gives back first, and keeps no address of a thread-local variable.
#pragma once

namespace weft {

/// Whoever runs code that gives way.
class WayGiver {
 public:
  /// Returns when the code is to go on.
  virtual void give_way() noexcept = 0;

  /// Of the code that this thread runs; null where waits keep the thread. Calls of this are not
  /// inlined, so no caller keeps the address of what it reads.
  static WayGiver* current() noexcept;
  /// Returns the former one.
  static WayGiver* exchange(WayGiver* giver) noexcept;

 protected:
  ~WayGiver() = default;
};

/// Whether this code runs on a fiber.
inline bool gives_way() noexcept {
  return WayGiver::current() != nullptr;
}

/// To be called in each turn of a wait. False: this code is on no fiber, and waits in its own way.
inline bool give_way() noexcept {
  WayGiver* giver = WayGiver::current();
  if (giver == nullptr) return false;
  giver->give_way();
  return true;
}

}  // namespace weft
