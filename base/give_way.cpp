#include "base/give_way.hpp"

#include <utility>

namespace weft {

namespace {
constinit thread_local WayGiver* current_giver = nullptr;
}  // namespace

WayGiver* WayGiver::current() noexcept {
  return current_giver;
}

WayGiver* WayGiver::exchange(WayGiver* giver) noexcept {
  return std::exchange(current_giver, giver);
}

}  // namespace weft
