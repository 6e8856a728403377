#include "cli/info/machine_info.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>

#include "base/env.hpp"
#include "base/error.hpp"
#include "cli/info/setting_problems.hpp"
#include "hierarchy/detect.hpp"
#include "tune/profile_lookup.hpp"
#include "verbs/connection/endpoint.hpp"
#include "verbs/registration/memory_watch.hpp"

namespace weft::cli {

namespace {

LibraryInfo ask(std::string name, std::string path, const verbs::Library& (*load)()) {
  LibraryInfo info{std::move(name), std::move(path), {}, {}};
  try {
    const verbs::Library& library = load();
    info.path = library.path;
    info.devices = verbs::query_devices(library);
    if (info.devices.empty()) info.error = "no devices";
  } catch (const Error& error) {
    info.error = error.what();
  }
  return info;
}

/// Days since a probe of the device has kept its profile; none where none has.
std::optional<int> profile_age_days(const nic_profiles::DeviceName& device) {
  namespace fs = std::filesystem;
  std::error_code missing;
  const auto written = fs::last_write_time(nic_profiles::store_path(device), missing);
  if (missing) return std::nullopt;
  const auto age = fs::file_time_type::clock::now() - written;
  return static_cast<int>(std::chrono::duration_cast<std::chrono::days>(age).count());
}

/// False where a probe has kept a profile without.
bool has_intervals(const verbs::Rail& rail) {
  try {
    const auto kept = nic_profiles::load_probed({rail.device(), rail.vendor(), rail.part()});
    return !kept || !kept->intervals.empty();
  } catch (const Error&) {
    return true;  // said where it is looked for
  }
}

/// Gives the nearest one's device.
nic_profiles::DeviceName add_rails(Info& info) {
  const auto settings = verbs::PortSettings::from_environment();
  const verbs::Endpoint endpoint(settings);
  for (const std::size_t number : endpoint.nearest_first()) {
    const verbs::Rail& rail = *endpoint.rails()[number];
    const int distance = verbs::numa_distance(verbs::numa_node_of_thread(), rail.numa_node());
    info.rails.push_back({rail.describe(), rail.device(), rail.software(),
                          rail.address().describe(), rail.numa_node(), distance,
                          profile_age_days({rail.device(), rail.vendor(), rail.part()})});
    info.rails.back().profile_has_intervals = has_intervals(rail);
  }
  const verbs::Rail& nearest = *endpoint.rails()[endpoint.nearest_first().front()];
  return {nearest.device(), nearest.vendor(), nearest.part()};
}

/// The profile by which algorithms are chosen for a device. What is wrong with one that is asked
/// for is among the problems of settings already.
std::string profile_of(const nic_profiles::DeviceName& device, bool is_set) {
  try {
    const auto found = tune::find_profile(env::text("WEFT_PROFILE").value_or(""),
                                          [&] { return std::optional(device); });
    return found ? tune::describe(*found) : "";
  } catch (const Error&) {
    if (!is_set) throw;
    return "";
  }
}

std::string why_no_memory_watch() {
  try {
    verbs::MemoryWatch::get();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

/// Best first. `setting` is the value of WEFT_SOFT_PATH, or empty; `cma` says whether the kernel
/// lets processes write each other's memory.
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

}  // namespace

Info gather_info() {
  Info info;
  info.libraries.push_back(ask("libibverbs", "libibverbs.so.1", &verbs::Library::system));
  info.libraries.push_back(
      ask("software device", verbs::soft_device_path(), &verbs::Library::soft));
  info.settings = comm::settings();
  info.problems = setting_problems();
  std::string soft_path;
  for (const comm::Setting& setting : info.settings) {
    if (setting.name == "WEFT_SOFT_PATH") soft_path = setting.value.value_or("");
  }
  try {
    const nic_profiles::DeviceName nearest = add_rails(info);
    info.profile_is_set = env::text("WEFT_PROFILE").has_value();
    info.profile = profile_of(nearest, info.profile_is_set);
  } catch (const UsageError& error) {
    info.device_error = error.what();
    info.problems.push_back(info.device_error);
  } catch (const Error& error) {
    info.device_error = error.what();
  }
  info.registration_error = why_no_memory_watch();
  try {
    info.host = hierarchy::host_identity();
  } catch (const Error& error) {
    info.host = error.what();
  }
  const hierarchy::Cores cores = hierarchy::cores_of(std::vector{hierarchy::affinity_mask()});
  info.cores = cores.usable;
  info.bound_cores = cores.bound;
  const std::string wait = env::text("WEFT_WAIT").value_or("auto");
  info.waiting = wait == "auto" ? fmt::format("spin while {} have no more ranks, else sleep",
                                              hierarchy::describe(cores))
                                : fmt::format("{} (WEFT_WAIT)", wait);
  info.topology = hierarchy::describe_topology();
  info.views = engine::report_views();
  const auto cma = std::ranges::find(info.views, "cma", &engine::ViewReport::name);
  info.soft_paths = soft_paths(soft_path, cma == info.views.end() ? engine::ViewReport{} : *cma);
  for (const auto mpi : kMpis) info.addons.emplace_back(mpi, mpi_addon(mpi));
  info.addons.emplace_back("openmpi component", openmpi_component());
  info.addons.emplace_back("software device", soft_device_addon());
  return info;
}

}  // namespace weft::cli
