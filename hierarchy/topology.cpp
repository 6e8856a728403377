// Topology by hwloc, a part of detection: for people.
#include <hwloc.h>

#include <memory>
#include <mutex>

#include "base/error.hpp"
#include "hierarchy/detect.hpp"

namespace weft::hierarchy {

namespace {

struct FreeTopology {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, FreeTopology>;

/// Loaded once, since that takes milliseconds; nullptr where hwloc cannot find it out.
hwloc_topology_t topology() {
  static const auto& loaded = *new Topology([] {  // programs end in any order
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) != 0) return Topology();
    Topology result(raw);
    if (hwloc_topology_load(raw) != 0) return Topology();
    return result;
  }());
  return loaded.get();
}

/// Some queries of hwloc write into the topology: one thread at a time.
std::mutex& topology_mutex() {
  static std::mutex mutex;
  return mutex;
}

int count(hwloc_obj_type_t type) {
  return hwloc_get_nbobjs_by_type(topology(), type);
}

/// "2 x L3 of 32 MiB"; empty where there is no such cache.
std::string describe_cache(hwloc_obj_type_t type, std::string_view name) {
  const int caches = count(type);
  if (caches < 1) return {};
  const auto bytes = hwloc_get_obj_by_type(topology(), type, 0)->attr->cache.size;
  return bytes >= 1u << 20 ? fmt::format(", {} x {} of {} MiB", caches, name, bytes >> 20)
                           : fmt::format(", {} x {} of {} KiB", caches, name, bytes >> 10);
}

std::string counted(int number, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", number, number == 1 ? one : many);
}

}  // namespace

std::string describe_topology() {
  const std::lock_guard lock(topology_mutex());
  if (topology() == nullptr) return "unknown topology";
  return fmt::format("{}, {}, {}, {}{}{}", counted(count(HWLOC_OBJ_PACKAGE), "package", "packages"),
                     counted(count(HWLOC_OBJ_NUMANODE), "NUMA node", "NUMA nodes"),
                     counted(count(HWLOC_OBJ_CORE), "core", "cores"),
                     counted(count(HWLOC_OBJ_PU), "hardware thread", "hardware threads"),
                     describe_cache(HWLOC_OBJ_L3CACHE, "L3"),
                     describe_cache(HWLOC_OBJ_L2CACHE, "L2"));
}

}  // namespace weft::hierarchy
