// Settings: lines "NODES=2" give WEFT_NODES and its like.
#include "comm/setup/settings.hpp"

#include <cstdlib>
#include <string>
#include <vector>

#include "target.hpp"

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
  for (const std::string& name : names) unsetenv(name.c_str());
  return 0;
}
