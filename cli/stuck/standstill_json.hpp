// JSON form of standstills: docs/stuck.schema.json.
#pragma once

#include <sys/types.h>

#include <functional>
#include <span>
#include <string>

#include "cli/terminal/json.hpp"
#include "engine/board/report.hpp"

namespace weft::cli {

/// `stack_of`: "" where there is none.
Json to_json_form(std::span<const pid_t> processes,
                  const std::vector<engine::board::Seen>& standstills,
                  const std::function<std::string(pid_t)>& stack_of);

}  // namespace weft::cli
