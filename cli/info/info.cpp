// weft info: devices, topology, views, add-ons and settings of this machine, as text or JSON.
#include <algorithm>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "base/installation.hpp"
#include "cli/commands.hpp"
#include "cli/info/machine_info.hpp"
#include "cli/terminal/output.hpp"

namespace weft::cli {

namespace {

void line(std::string& text, std::string_view name, std::string_view what) {
  text += fmt::format("  {:<22}{}\n", name, what);
}

std::string port_text(const verbs::Port& port) {
  if (!port.error.empty()) return fmt::format("port {}: {}", port.number, port.error);
  std::string text = fmt::format("port {}: {}, {}, LID {}, MTU {} of {}", port.number, port.state,
                                 port.link_layer, port.lid, port.mtu_bytes, port.max_mtu_bytes);
  for (const verbs::Gid& gid : port.gids) {
    text += fmt::format(", GID {} {} ({})", gid.index, gid.text, gid.type);
  }
  return text;
}

void add_devices(std::string& text, const Info& info) {
  text += "\ndevices\n";
  for (const LibraryInfo& library : info.libraries) {
    line(text, library.name,
         library.error.empty() || library.error.find(library.path) != library.error.npos
             ? (library.error.empty() ? library.path : library.error)
             : fmt::format("{}: {}", library.path, library.error));
    for (const verbs::Device& device : library.devices) {
      line(text, "  " + device.name,
           device.error.empty() ? fmt::format("GUID {}, firmware {}", device.guid, device.firmware)
                                : device.error);
      for (const verbs::Port& port : device.ports) line(text, "", port_text(port));
    }
  }
  std::string_view title = "weft would use";
  if (!info.device_error.empty()) line(text, title, "none: " + info.device_error);
  for (const RailInfo& rail : info.rails) {
    line(text, std::exchange(title, "  and"), rail.name);
    line(text, "", rail.address);
    line(text, "",
         rail.numa_node < 0 ? "NUMA node unknown"
                            : fmt::format("NUMA node {}, at a distance of {} from here",
                                          rail.numa_node, rail.numa_distance));
  }
  line(text, "algorithms chosen by", info.profile.empty() ? "fixed rules" : info.profile);
  line(text, "registrations",
       info.registration_error.empty()
           ? "kept for later calls, as userfaultfd tells when their memory goes away"
           : "not kept for later calls: " + info.registration_error);
}

std::string settings_text(const std::vector<comm::Setting>& list) {
  std::size_t width = std::string_view("value").size();
  for (const comm::Setting& setting : list)
    width = std::max(width, setting.value.value_or("").size());
  width = std::min<std::size_t>(width, 40);
  const auto row = [width](std::string_view name, std::string_view value, std::string_view fallback,
                           std::string_view meaning) {
    return fmt::format("  {:<26}{:<{}}  {:<19}{}\n", name, value, width, fallback, meaning);
  };
  std::string text = row("", "value", "default", "");
  for (const comm::Setting& setting : list) {
    text += row(setting.name, setting.value.value_or("-"), setting.fallback, setting.meaning);
  }
  return text;
}

std::string text_of(const Info& info) {
  std::string text = fmt::format("weft {}\n", kVersion);
  add_devices(text, info);
  text += "\ntopology\n";
  line(text, "hardware", info.topology);
  line(text, "usable here", counted(static_cast<std::uint64_t>(info.cores), "core"));
  line(text, "ranks that wait", info.waiting);
  line(text, "host identity", info.host);
  text += "\nviews of a peer's buffers on the node, best first\n";
  for (const auto& view : info.views) {
    line(text, view.name,
         fmt::format("{}{}{}", view.works ? "works" : "does not work", view.why.empty() ? "" : ": ",
                     view.why));
  }
  text += "\nways of the software device to a peer's memory, best first\n";
  for (const auto& path : info.soft_paths) {
    line(text, path.name, fmt::format("{}: {}", path.used ? "used" : "not used", path.what));
  }
  text += "\nadd-ons\n";
  for (const auto& [name, addon] : info.addons) {
    line(text, name, addon.exists ? addon.path : "not there: " + addon.path);
  }
  text += "\nsettings\n" + settings_text(info.settings);
  return text;
}

Json json_of(const verbs::Port& port) {
  Json json = {{"number", port.number}};
  if (!port.error.empty()) {
    json["error"] = port.error;
    return json;
  }
  json["state"] = port.state;
  json["link_layer"] = port.link_layer;
  json["lid"] = port.lid;
  json["mtu_bytes"] = port.mtu_bytes;
  json["max_mtu_bytes"] = port.max_mtu_bytes;
  json["gids"] = Json::array();
  for (const verbs::Gid& gid : port.gids) {
    json["gids"].push_back({{"index", gid.index}, {"gid", gid.text}, {"type", gid.type}});
  }
  return json;
}

Json json_of(const LibraryInfo& library) {
  Json json = {{"name", library.name}, {"path", library.path}};
  if (!library.error.empty()) json["error"] = library.error;
  json["devices"] = Json::array();
  for (const verbs::Device& device : library.devices) {
    Json one = {{"name", device.name}};
    if (device.error.empty()) {
      one["guid"] = device.guid;
      one["firmware"] = device.firmware;
    } else {
      one["error"] = device.error;
    }
    one["ports"] = Json::array();
    for (const verbs::Port& port : device.ports) one["ports"].push_back(json_of(port));
    json["devices"].push_back(std::move(one));
  }
  return json;
}

Json json_of(const Info& info) {
  Json json = {{"version", kVersion}};
  json["libraries"] = Json::array();
  for (const auto& library : info.libraries) json["libraries"].push_back(json_of(library));
  json["rails"] = Json::array();
  for (const RailInfo& rail : info.rails) {
    json["rails"].push_back({{"name", rail.name},
                             {"address", rail.address},
                             {"numa_node", rail.numa_node < 0 ? Json() : Json(rail.numa_node)},
                             {"numa_distance", rail.numa_distance}});
  }
  json["profile"] = info.profile;
  if (!info.device_error.empty()) json["rails_error"] = info.device_error;
  json["registrations"] = {{"kept", info.registration_error.empty()},
                           {"why", info.registration_error}};
  json["topology"] = {{"hardware", info.topology},
                      {"usable_cores", info.cores},
                      {"waiting", info.waiting},
                      {"host_identity", info.host}};
  json["views"] = Json::array();
  for (const auto& view : info.views) {
    json["views"].push_back({{"name", view.name}, {"works", view.works}, {"why", view.why}});
  }
  json["soft_paths"] = Json::array();
  for (const auto& path : info.soft_paths) {
    json["soft_paths"].push_back({{"name", path.name}, {"used", path.used}, {"what", path.what}});
  }
  json["addons"] = Json::array();
  for (const auto& [name, addon] : info.addons) {
    json["addons"].push_back({{"name", name}, {"path", addon.path}, {"exists", addon.exists}});
  }
  json["settings"] = Json::array();
  for (const comm::Setting& setting : info.settings) {
    json["settings"].push_back({{"name", setting.name},
                                {"value", setting.value ? Json(*setting.value) : Json()},
                                {"default", setting.fallback},
                                {"meaning", setting.meaning}});
  }
  json["problems"] = info.problems;
  return json;
}

int run(bool json) {
  const Info info = gather_info();
  json ? print_json(json_of(info)) : print(text_of(info));
  // The error comes last: the information above helps to find the mistake.
  if (!info.problems.empty()) throw UsageError(info.problems.front());
  return kHolds;
}

}  // namespace

void add_info(CommandLine& line) {
  const auto json = std::make_shared<bool>(false);
  Command command = line.add_command(
      "info", "Show devices, topology, views of peers' buffers, add-ons and settings");
  command.add_flag("--json", *json, "Print JSON");
  command.set(
      "A missing device or add-on is no error: the output says why it is missing. Ends with 2\n"
      "when a WEFT_ setting in the environment is wrong.\n\n"
      "Examples:\n"
      "  weft info\n"
      "  weft info --json | jq .views",
      [json] { return run(*json); });
}

}  // namespace weft::cli
