// Manual pages of the tool, made of its help.
#pragma once

#include <span>
#include <string>

#include "cli/options/help_text.hpp"
#include "comm/setup/settings_table.hpp"

namespace weft::cli {

/// weft(1), in the macros of man(7): the tool, its commands and all settings.
std::string manual_page(const ToolText& tool, std::span<const comm::Setting> settings);
/// weft-COMMAND(1).
std::string manual_page(const ToolText& tool, const CommandText& command);

/// Writes all pages into a folder, which is made: weft.1, weft-plan.1, and so on. Error names the
/// file that cannot be written.
void write_manual(const ToolText& tool, const std::string& folder);

}  // namespace weft::cli
