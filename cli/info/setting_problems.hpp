// Problems of the settings in the environment, as those find them who read the settings.
#pragma once

#include <string>
#include <vector>

namespace weft::cli {

/// The errors of the code that reads the settings; one line each.
std::vector<std::string> setting_problems();

}  // namespace weft::cli
