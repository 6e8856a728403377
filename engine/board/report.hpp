// Report of all that stands still among some processes.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/board/standstill.hpp"

namespace weft::engine::board {

/// This process, and those of its ranks' neighbours on their nodes.
std::vector<pid_t> with_neighbours();

struct Seen {
  SeenCommunicator communicator;
  Standstill standstill;
};
/// The communicators of these processes in which some rank is in a call; `communicator`: that one
/// alone. The longest wait first.
std::vector<Seen> find_standstills(std::span<const pid_t> processes,
                                   std::optional<std::uint64_t> communicator = {});

/// For people: what find_standstills() gives; "weft: no rank is in a call" where there is none.
std::string report(std::span<const pid_t> processes, std::optional<std::uint64_t> communicator = {},
                   const std::function<std::string(pid_t)>& stack_of = {});

}  // namespace weft::engine::board
