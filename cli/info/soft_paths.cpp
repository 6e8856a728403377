#include "cli/info/soft_paths.hpp"

#include "base/error.hpp"

namespace weft::cli {

std::vector<SoftPath> soft_paths(const std::string& setting, const engine::ViewReport& cma) {
  std::vector<SoftPath> paths = {
      {"direct", true, "stores, where the target's memory is a shared mapping"},
      {"cma", cma.works, cma.works ? "process_vm_writev, for other memory" : cma.why},
      {"agent", !cma.works,
       cma.works ? "nothing is left for it" : "the target's agent thread, for other memory"}};
  if (setting.empty() || setting == "auto") return paths;
  for (SoftPath& path : paths) {
    path.used = path.name == setting;
    path.what = fmt::format("{} WEFT_SOFT_PATH={}", path.used ? "alone, by" : "by", setting);
  }
  return paths;
}

}  // namespace weft::cli
