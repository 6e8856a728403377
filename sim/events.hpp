// Event queue of the simulator, in the order of virtual time.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/units.hpp"

namespace weft::sim {

enum class EventKind : std::uint8_t {
  core,     ///< a rank's core has finished its action
  hand,     ///< a send is handed to the adapter
  adapter,  ///< an adapter can begin another piece
  sender,   ///< a rank may give its adapter another piece
  quiet,    ///< a message of a rank does not occupy the adapter any more
  landed,   ///< a piece of a message has arrived at the receiver's adapter
  deliver,  ///< a message, answer or signal has arrived for an op
  turn,     ///< a core that ranks share switches to another rank
};

struct Event {
  Time time = 0;
  std::uint64_t order = 0;    // the number of the event, then its kind in 3 bits
  std::uint32_t subject = 0;  // an op, rank or adapter
  std::uint32_t bytes = 0;    // landed: of the piece; the highest bit marks the last one;
                              // turn: its number

  EventKind kind() const { return static_cast<EventKind>(order & 7); }
};

/// A heap of four children a node. Events of the same time come in the order in which they were
/// added.
class EventQueue {
 public:
  bool empty() const { return heap_.empty(); }
  std::uint64_t count() const { return count_; }  // ever added

  void add(Time time, EventKind kind, std::uint32_t subject, std::uint32_t bytes = 0) {
    const Event event{time, count_++ << 3 | static_cast<std::uint64_t>(kind), subject, bytes};
    std::size_t at = heap_.size();
    heap_.push_back(event);
    while (at > 0) {
      const std::size_t parent = (at - 1) / 4;
      if (!before(event, heap_[parent])) break;
      heap_[at] = heap_[parent];
      at = parent;
    }
    heap_[at] = event;
  }

  Event take() {
    const Event first = heap_.front();
    const Event moved = heap_.back();
    heap_.pop_back();
    if (heap_.empty()) return first;
    std::size_t at = 0;
    while (true) {
      const std::size_t begin = 4 * at + 1;
      if (begin >= heap_.size()) break;
      const std::size_t end = begin + 4 < heap_.size() ? begin + 4 : heap_.size();
      std::size_t least = begin;
      for (std::size_t child = begin + 1; child < end; ++child) {
        if (before(heap_[child], heap_[least])) least = child;
      }
      if (!before(heap_[least], moved)) break;
      heap_[at] = heap_[least];
      at = least;
    }
    heap_[at] = moved;
    return first;
  }

 private:
  static bool before(const Event& a, const Event& b) {
    return a.time != b.time ? a.time < b.time : a.order < b.order;
  }

  std::vector<Event> heap_;
  std::uint64_t count_ = 0;
};

}  // namespace weft::sim
