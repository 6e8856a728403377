#include "comm/setup/settings_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "base/env.hpp"
#include "comm/setup/settings.hpp"

namespace weft::comm {

namespace {

/// Letters to insert, drop or change, to make one text of the other.
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t change = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({change, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

/// What says where ranks are, and what algorithms are chosen by.
std::vector<Setting> choice_settings() {
  return {
      {"WEFT_NODES", "the real nodes", "virtual nodes: a number, or a machine such as 1+3+4", {}},
      {"WEFT_SOCKETS", "the real sockets", "virtual sockets of a node: 2, 2:cyclic or 0,0,1,1", {}},
      {"WEFT_DETERMINISTIC", "0", "1: reductions give the same on every placement", {}},
      {"WEFT_PROFILE",
       "the device's",
       "what algorithms are chosen by: an adapter's name, a file (.json), or none",
       {}},
      {"WEFT_PROFILES", "in ~/.cache", "folder of the profiles that weft probe keeps", {}},
      {"WEFT_TABLE", "none", "file of a decision table, as weft explain --table writes it", {}},
  };
}

/// Of devices and the connections over them.
std::vector<Setting> device_settings(const verbs::PortSettings& defaults) {
  return {
      {"WEFT_DEVICE",
       "the active ports",
       "RDMA devices or ports, as mlx5_0 or mlx5_0:1,mlx5_1:1; or soft",
       {}},
      {"WEFT_GID_INDEX", "chosen", "entry of the port's table of GIDs", {}},
      {"WEFT_GID_TYPE", "roce-v2 first", "roce-v1 or roce-v2", {}},
      {"WEFT_GID_FAMILY", "ipv4 first", "ipv4 or ipv6", {}},
      {"WEFT_PKEY", "first full member", "P_Key of the partition, as 0x8001", {}},
      {"WEFT_MTU", "the port's", "bytes of a packet: 256, 512, 1024, 2048 or 4096", {}},
      {"WEFT_PLACEMENT",
       "auto",
       "peers' writes: auto (as adapters promise), polled or immediate",
       {}},
      {"WEFT_SERVICE_LEVEL",
       fmt::format("{}", defaults.service_level),
       "of packets in the fabric, 0 to 15",
       {}},
      {"WEFT_TRAFFIC_CLASS",
       fmt::format("{}", defaults.traffic_class),
       "of packets that have a global header, 0 to 255",
       {}},
      {"WEFT_RC_TIMEOUT",
       fmt::format("{}", defaults.timeout),
       "until a packet is repeated: 4.096 us times 2 to this, 1 to 31",
       {}},
      {"WEFT_RC_RETRY",
       fmt::format("{}", defaults.retries),
       "times that a packet is repeated, 0 to 7",
       {}},
      {"WEFT_RECOVERY",
       fmt::format("{}", defaults.recovery_s),
       "seconds in which a broken connection must come back; 0: not tried",
       {}},
  };
}

/// Of memory and waiting, and of what is told and served.
std::vector<Setting> call_settings(const Settings& defaults) {
  return {
      {"WEFT_VIEW",
       "auto",
       "peers' buffers on a node: auto, shared-heap, xpmem, cma or staged",
       {}},
      {"WEFT_CMA", "1", "long alltoalls may read peers' buffers by system calls: 0 or 1", {}},
      {"WEFT_SHARED_HEAP",
       "auto",
       "malloc from memory that local peers map: auto, 0, 1 or its bytes",
       {}},
      {"WEFT_EAGER",
       fmt::format("{}", defaults.eager_bytes),
       "bytes; larger messages go straight into place",
       {}},
      {"WEFT_REGISTRATION_CACHE",
       fmt::format("{}", defaults.registrations.bytes),
       "bytes of callers' buffers that stay registered; 0: none",
       {}},
      {"WEFT_STAGE",
       fmt::format("{}", defaults.stage_bytes),
       "bytes of shared memory a rank for data on its way",
       {}},
      {"WEFT_WAIT", "auto", "spin or sleep; auto sleeps where ranks outnumber cores", {}},
      {"WEFT_PROGRESS_THREAD", "0", "1: a thread moves on what was started", {}},
      {"WEFT_TIMEOUT", "none", "seconds after which a collective gives up", {}},
      {"WEFT_STUCK_SIGNAL", "none", "USR1 or USR2: on it ranks say why they stand still", {}},
      {"WEFT_CHECK", "0", "1: ranks compare what they call, before each call", {}},
      {"WEFT_REPORT",
       "0",
       "at the end: 1 (table), json, or a file that ends in .json or .html",
       {}},
      {"WEFT_TRACE", "none", "file in which the collectives are recorded, for weft replay", {}},
      {"WEFT_DISABLE", "0", "collectives that the add-on passes through; 1: all", {}},
      {"WEFT_AFTER",
       "auto",
       "when the add-on serves a communicator: auto, or 0: from its first call",
       {}},
      {"WEFT_DEVICE_MEMORY",
       "auto",
       "buffers in memory of CUDA or ROCm are looked for: auto (where there is a device), 1 or 0",
       {}},
      {"WEFT_LOG", "off", "diagnostics: error, warn, info or debug", {}},
  };
}

/// Of ranks that TCP joins, and of the software device.
std::vector<Setting> tcp_and_soft_settings() {
  return {
      {"WEFT_RANK", "none", "rank, where TCP joins the ranks", {}},
      {"WEFT_SIZE", "none", "number of ranks, where TCP joins them", {}},
      {"WEFT_ROOT", "none", "HOST:PORT of rank 0, where TCP joins the ranks", {}},
      {"WEFT_SECRET_FILE",
       "none",
       "file with the secret of ranks that TCP joins; none: they need none",
       {}},
      {"WEFT_CONNECT_TIMEOUT", "30", "seconds to wait for the other ranks", {}},
      {"WEFT_SOFT_DEVICE", "beside this tool", "file of the software device", {}},
      {"WEFT_SOFT_DEVICES", "1", "devices that it shows, 1 to 8", {}},
      {"WEFT_SOFT_LINK", "infiniband", "its link layer: infiniband or ethernet", {}},
      {"WEFT_SOFT_PATH", "auto", "how it moves bytes: auto, direct, cma or agent", {}},
      {"WEFT_SOFT_MAX_MR_SIZE", "none", "bytes of the largest region that it registers", {}},
      {"WEFT_SOFT_MAX_REGISTERED", "none", "bytes that a process may have registered with it", {}},
      {"WEFT_SOFT_FAULTS", "none", "faults that it makes on request, such as error:at=100", {}},
  };
}

}  // namespace

std::vector<Setting> settings() {
  const Settings defaults;
  std::vector<Setting> list = choice_settings();
  std::ranges::move(device_settings(defaults.port), std::back_inserter(list));
  std::ranges::move(call_settings(defaults), std::back_inserter(list));
  std::ranges::move(tcp_and_soft_settings(), std::back_inserter(list));
  for (const plan::Collective collective : plan::all_collectives()) {
    list.push_back({algorithm_variable(collective),
                    "chosen by size",
                    fmt::format("algorithm of {}", to_string(collective)),
                    {}});
  }
  for (Setting& setting : list) setting.value = env::text(setting.name.c_str());
  return list;
}

std::string nearest_setting(std::string_view name) {
  constexpr std::size_t kFar = 4;
  std::size_t least = kFar;
  std::string nearest;
  for (const Setting& setting : settings()) {
    const std::size_t letters = distance(name, setting.name);
    if (letters >= least) continue;
    least = letters;
    nearest = setting.name;
  }
  return nearest;
}

}  // namespace weft::comm
