#include "cli/info/setting_problems.hpp"

#include <functional>

#include "base/env.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/setup/settings.hpp"
#include "engine/views/view.hpp"
#include "plan/collective_set.hpp"
#include "tune/decision_table.hpp"
#include "tune/profile_lookup.hpp"

namespace weft::cli {

std::vector<std::string> setting_problems() {
  std::vector<std::string> problems;
  const std::vector<std::function<void()>> readers = {
      [] { comm::Settings::from_environment(); },
      [] { engine::best_allowed_view(); },
      [] {
        const auto no_device = [] { return std::optional<nic_profiles::DeviceName>(); };
        tune::find_profile(env::text("WEFT_PROFILE").value_or(""), no_device);
      },
      [] {
        if (const auto path = env::text("WEFT_TABLE")) tune::load_set_table(*path);
      },
      [] { log::level(); },
      [] { plan::CollectiveSet::parse("WEFT_DISABLE", env::text("WEFT_DISABLE").value_or("0")); },
  };
  for (const auto& read : readers) {
    try {
      read();
    } catch (const Error& error) {
      problems.emplace_back(error.what());
    }
  }
  return problems;
}

}  // namespace weft::cli
