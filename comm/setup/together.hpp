// What all ranks of a communicator do together while they set something up.
#pragma once

#include <fmt/format.h>

#include <exception>
#include <type_traits>

#include "comm/calls/impl.hpp"

namespace weft {

template <class Work>
std::vector<std::string> Communicator::Impl::together(Work work) {
  // The first byte says how it went, the rest is what came of it or the error.
  std::string mine = "+";
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Work>>) {
      work();
    } else {
      mine += work();
    }
  } catch (const UsageError& error) {
    mine = "u" + std::string(error.what());
  } catch (const std::exception& error) {
    mine = "e" + std::string(error.what());
  }
  auto all = allgather(mine);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const char how = all[rank].empty() ? 'e' : all[rank][0];
    if (!all[rank].empty()) all[rank].erase(0, 1);
    if (how == '+') continue;
    break_for(how == 'u' ? all[rank] : fmt::format("rank {}: {}", rank, all[rank]));
    if (how == 'u') throw UsageError(broken_);
    throw PeerError(broken_);
  }
  return all;
}

}  // namespace weft
