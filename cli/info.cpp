#include "cli/command.hpp"
namespace weft::cli {
void add_info(CLI::App&, Action&) {}
}  // namespace weft::cli
