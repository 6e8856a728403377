#include "cli/command.hpp"
namespace weft::cli {
void add_plan(CLI::App&, Action&) {}
}  // namespace weft::cli
