#include "cli/command.hpp"
namespace weft::cli {
void add_preload(CLI::App&, Action&) {}
}  // namespace weft::cli
