// Settings: lines "NODES=2" give WEFT_NODES and its like. All that are read without a file or a
// name that somebody else resolves.
#include "comm/setup/settings.hpp"

#include <cstdlib>
#include <string>
#include <vector>

#include "base/env.hpp"
#include "engine/views/view.hpp"
#include "hierarchy/detect.hpp"
#include "hierarchy/domains.hpp"
#include "plan/collective_set.hpp"
#include "target.hpp"
#include "verbs/soft/process/device_settings.hpp"

namespace {

std::string given(const char* name) {
  return weft::env::text(name).value_or("");
}

/// Of four ranks on a node and two on another.
void place(const std::string& nodes, const std::string& sockets) {
  using weft::hierarchy::Machine;
  const Machine real = Machine::parse("4+2");
  const Machine machine = nodes.empty() ? real : with_virtual_nodes(real, nodes);
  weft::test::must(machine.ranks() == real.ranks());
  if (!sockets.empty()) {
    weft::test::must(with_virtual_sockets(machine, sockets).ranks() == real.ranks());
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace weft::test;
  std::vector<std::string> names;
  std::string_view text = text_of(data, bytes);
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t equals = line.find('=');
    if (equals == line.npos || line.find('\0') != line.npos) continue;
    names.push_back("WEFT_" + std::string(line.substr(0, equals)));
    setenv(names.back().c_str(), std::string(line.substr(equals + 1)).c_str(), 1);
  }
  may_refuse([] { (void)weft::comm::Settings::from_environment(); });
  may_refuse([] { (void)weft::soft::Settings::from_environment(); });
  may_refuse([] { (void)weft::engine::best_allowed_view(); });
  may_refuse([] { (void)weft::plan::CollectiveSet::parse("WEFT_DISABLE", given("WEFT_DISABLE")); });
  may_refuse([] { place(given("WEFT_NODES"), given("WEFT_SOCKETS")); });
  for (const std::string& name : names) unsetenv(name.c_str());
  return 0;
}
