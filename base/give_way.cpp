#include "base/give_way.hpp"

#include <utility>

namespace weft {

namespace {
// Asked in each turn of each wait: without a function call for its address.
[[gnu::tls_model("initial-exec")]] constinit thread_local WayGiver* current_giver = nullptr;
}  // namespace

WayGiver* WayGiver::current() noexcept {
  return current_giver;
}

WayGiver* WayGiver::exchange(WayGiver* giver) noexcept {
  return std::exchange(current_giver, giver);
}

}  // namespace weft
