// Completion of command lines of the tool: what fits next. The shells' scripts ask the tool itself
// (weft --complete WORDS), so they know nothing of its commands.
#pragma once

#include <string>
#include <vector>

#include "cli/options/help_text.hpp"

namespace weft::cli {

/// What may stand in the place of the last of `words`, a line each: the word, a tab, and what it
/// means; or ":files" or ":programs" where the shell itself knows. `words` are those behind the
/// tool's name, the last is what has been typed of it. "--option=value" may be one word or, as bash
/// cuts it, three.
std::string complete(const ToolText& tool, std::vector<std::string> words);

}  // namespace weft::cli
