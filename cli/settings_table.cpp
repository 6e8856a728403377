#include "cli/settings_table.hpp"

#include <functional>

#include "base/env.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/settings.hpp"
#include "engine/view.hpp"

namespace weft::cli {

std::vector<Setting> settings() {
  const comm::Settings defaults;
  std::vector<Setting> list = {
      {"WEFT_NODES", "the real nodes", "virtual nodes: a number, or a machine such as 1+3+4", {}},
      {"WEFT_ALLTOALL", "chosen by size", "algorithm of alltoall", {}},
      {"WEFT_DEVICE", "the first active", "RDMA device by name, or soft", {}},
      {"WEFT_VIEW", "auto", "peers' buffers on a node: auto, cma or staged", {}},
      {"WEFT_EAGER",
       fmt::format("{}", defaults.eager_bytes),
       "bytes; larger messages go straight into place",
       {}},
      {"WEFT_STAGE",
       fmt::format("{}", defaults.stage_bytes),
       "bytes of shared memory a rank for data on its way",
       {}},
      {"WEFT_WAIT", "auto", "spin or sleep; auto sleeps where ranks outnumber cores", {}},
      {"WEFT_TIMEOUT", "none", "seconds after which a collective gives up", {}},
      {"WEFT_REPORT", "0", "at the end: 1 (table), json, or a file that ends in .json", {}},
      {"WEFT_DISABLE", "0", "1: the add-on passes every call through", {}},
      {"WEFT_LOG", "off", "diagnostics: error, warn, info or debug", {}},
      {"WEFT_RANK", "none", "rank, where TCP joins the ranks", {}},
      {"WEFT_SIZE", "none", "number of ranks, where TCP joins them", {}},
      {"WEFT_ROOT", "none", "HOST:PORT of rank 0, where TCP joins the ranks", {}},
      {"WEFT_CONNECT_TIMEOUT", "30", "seconds to wait for the other ranks", {}},
      {"WEFT_SOFT_DEVICE", "beside this tool", "file of the software device", {}},
      {"WEFT_SOFT_DEVICES", "1", "devices that it shows, 1 to 8", {}},
      {"WEFT_SOFT_LINK", "infiniband", "its link layer: infiniband or ethernet", {}},
      {"WEFT_SOFT_PATH", "auto", "how it moves bytes: auto, direct, cma or agent", {}},
  };
  for (Setting& setting : list) setting.value = env::text(setting.name.c_str());
  return list;
}

std::vector<std::string> setting_problems() {
  std::vector<std::string> problems;
  const std::vector<std::function<void()>> readers = {
      [] { comm::Settings::from_environment(); },
      [] { engine::best_allowed_view(); },
      [] { log::level(); },
      [] { env::flag("WEFT_DISABLE"); },
  };
  for (const auto& read : readers) {
    try {
      read();
    } catch (const UsageError& error) {
      problems.emplace_back(error.what());
    }
  }
  return problems;
}

}  // namespace weft::cli
