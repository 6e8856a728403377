// The JSON form of a profile, read and written.
#include "nic_profiles/profile.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "nic_profiles/numbers.hpp"

namespace weft::nic_profiles {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostValueBytes = 60;
constexpr int kMostSenders = 1 << 20;

/// A value of the file, and how to complain of it.
struct Value {
  std::string_view where;  // the file
  std::string path;
  const Json& json;

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
    if (text.size() > kMostValueBytes) text = text.substr(0, kMostValueBytes) + "...";
    throw_usage("{}: {}{}{}: {}", where, path, path.empty() ? "" : " = ", text,
                fmt::format(format, std::forward<Args>(args)...));
  }
  std::string path_of(std::string_view key) const {
    return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
  }
  Value at(std::string_view key) const {
    const auto found = json.find(key);
    if (found == json.end()) throw_usage("{}: {}: is missing", where, path_of(key));
    return {where, path_of(key), *found};
  }
  Value at(std::size_t index) const {
    return {where, fmt::format("{}[{}]", path, index), json[index]};
  }
  /// An object of these keys, all of which must be there when asked for.
  void require_keys(const std::vector<std::string_view>& keys) const {
    if (!json.is_object()) refuse("must be an object of {}", fmt::join(keys, ", "));
    for (const auto& [key, value] : json.items()) {
      if (std::ranges::find(keys, key) != keys.end()) continue;
      throw_usage("{}: {}: unknown; here are allowed: {}", where, path_of(key),
                  fmt::join(keys, ", "));
    }
  }
  std::string text() const {
    if (!json.is_string() || json.get_ref<const std::string&>().empty()) {
      refuse("must be a text that says something");
    }
    return json.get<std::string>();
  }
  double number(double low, double high) const {
    const double value = json.is_number() ? json.get<double>() : low - 1;
    if (!(value >= low && value <= high)) refuse("must be a number from {} to {}", low, high);
    return value;
  }
  std::uint64_t whole(double low, double high) const {
    if (!json.is_number_unsigned() || json.get<double>() < low || json.get<double>() > high) {
      refuse("must be a whole number from {} to {}", low, high);
    }
    return json.get<std::uint64_t>();
  }
};

/// Refuses a key that an object has twice, of which the parser would keep one without a word.
class OncePerObject {
 public:
  explicit OncePerObject(std::string_view where) : where_(where) {}

  bool operator()(int /*depth*/, Json::parse_event_t event, const Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys_.emplace_back();
    if (event == Json::parse_event_t::object_end) keys_.pop_back();
    if (event == Json::parse_event_t::key &&
        !keys_.back().insert(parsed.get<std::string>()).second) {
      throw_usage("{}: {}: is there twice", where_, parsed.get_ref<const std::string&>());
    }
    return true;
  }

 private:
  std::string_view where_;
  std::vector<std::set<std::string>> keys_;
};

sim::Scaling read_scaling(const Value& value, const Number& number) {
  const std::string form = fmt::format(
      "must be a list of [senders, total relative to one sender], ascending from [1, 1], totals "
      "from {} to {}",
      number.low, number.high);
  if (!value.json.is_array() || value.json.empty()) value.refuse("{}", form);
  sim::Scaling scaling{{}};
  for (std::size_t i = 0; i < value.json.size(); ++i) {
    const Value pair = value.at(i);
    if (!pair.json.is_array() || pair.json.size() != 2) pair.refuse("{}", form);
    const auto senders = static_cast<int>(pair.at(std::size_t{0}).whole(1, kMostSenders));
    const double total = pair.at(1).number(number.low, number.high);
    const bool first = scaling.points.empty();
    if (first ? senders != 1 || total != 1 : senders <= scaling.points.back().senders) {
      pair.refuse("{}", form);
    }
    scaling.points.push_back({senders, total});
  }
  return scaling;
}

void read_value(const Value& value, const Number& number, sim::Hardware& hardware) {
  const auto read = [&](auto* place) {
    auto& target = place(hardware);
    using Target = std::remove_reference_t<decltype(target)>;
    if constexpr (std::is_same_v<Target, sim::Scaling>) {
      target = read_scaling(value, number);
    } else if constexpr (std::is_same_v<Target, bool>) {
      if (!value.json.is_boolean()) value.refuse("must be true or false");
      target = value.json.get<bool>();
    } else if constexpr (std::is_same_v<Target, double>) {
      target = value.number(number.low, number.high);
    } else if (number.all_sizes && value.json == "all") {
      target = static_cast<Target>(sim::Adapter::kAllSizes);
    } else if (number.all_sizes && !value.json.is_number_unsigned()) {
      value.refuse("must be a whole number from {} to {}, or \"all\"", number.low, number.high);
    } else {
      target = static_cast<Target>(value.whole(number.low, number.high));
    }
  };
  std::visit(read, number.place);
}

Json write_value(const Number& number, const sim::Hardware& hardware) {
  const auto write = [&](auto* place) -> Json {
    // The table's accessors give places to write to; nothing is written here.
    const auto& value = place(const_cast<sim::Hardware&>(hardware));  // NOLINT
    using Type = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<Type, sim::Scaling>) {
      Json points = Json::array();
      for (const auto& point : value.points) points.push_back({point.senders, point.total});
      return points;
    } else if constexpr (std::is_same_v<Type, std::uint64_t>) {
      if (number.all_sizes && value == sim::Adapter::kAllSizes) return "all";
      return value;
    } else {
      return value;
    }
  };
  return std::visit(write, number.place);
}

void read_numbers(const Value& root, Profile& profile) {
  for (const std::string_view section : {"adapter", "node", "fabric", "host"}) {
    std::vector<std::string_view> keys;
    bool may_be_absent = true;
    for (const Number& number : numbers()) {
      if (number.section != section) continue;
      keys.push_back(number.key);
      may_be_absent &= !number.absent.empty();
    }
    if (root.json.contains(section) || !may_be_absent) root.at(section).require_keys(keys);
  }
  // Where nothing in a section must be there, it is there as a whole or not at all.
  const auto says = [&](const Number& number) {
    const auto section = root.json.find(number.section);
    if (section == root.json.end()) return false;
    return number.section == "host" || section->contains(number.key);
  };
  for (const Number& number : numbers()) {
    if (!number.absent.empty() && !says(number)) {
      profile.sources[number.path()] = number.absent;
      continue;
    }
    const Value section = number.section.empty() ? root : root.at(number.section);
    const Value entry = section.at(number.key);
    entry.require_keys({"value", "source"});
    read_value(entry.at("value"), number, profile.hardware);
    profile.sources[number.path()] = entry.at("source").text();
  }
}

DeviceId read_device(const Value& value) {
  value.require_keys({"vendor_id", "vendor_part_ids"});
  DeviceId device;
  device.vendor = static_cast<std::uint32_t>(value.at("vendor_id").whole(0, UINT32_MAX));
  const Value parts = value.at("vendor_part_ids");
  if (!parts.json.is_array()) parts.refuse("must be a list of whole numbers");
  for (std::size_t i = 0; i < parts.json.size(); ++i) {
    device.parts.push_back(static_cast<std::uint32_t>(parts.at(i).whole(0, UINT32_MAX)));
  }
  return device;
}

Kind read_kind(const Value& value) {
  const auto* const found = std::ranges::find_if(
      kKinds, [&](Kind kind) { return value.json == std::string(to_string(kind)); });
  if (found != kKinds.end()) return *found;
  std::string allowed;
  for (const Kind kind : kKinds) append_to_list(allowed, to_string(kind));
  value.refuse("must be one of {}", allowed);
}

Profile read_profile(const Value& root) {
  const Value schema = root.at("schema");
  if (schema.json != Profile::kSchema) {
    schema.refuse("this weft reads schema {} only", Profile::kSchema);
  }
  root.require_keys({"schema", "name", "description", "class", "device", "adapter", "node",
                     "fabric", "host", "rails"});
  Profile profile;
  profile.name = root.at("name").text();
  profile.adapter = root.at("description").text();
  profile.kind = read_kind(root.at("class"));
  profile.device = read_device(root.at("device"));
  read_numbers(root, profile);
  return profile;
}

}  // namespace

std::string_view to_string(Kind kind) {
  switch (kind) {
    case Kind::onload:
      return "onload";
    case Kind::offload_degrading:
      return "offload-degrading";
    case Kind::offload_scaling:
      return "offload-scaling";
    case Kind::hybrid:
      return "hybrid";
  }
  return "";
}

Profile parse(std::string_view where, std::string_view json) {
  Json parsed;
  try {
    parsed = Json::parse(json, OncePerObject(where));
  } catch (const Json::exception& error) {
    throw_usage("{}: no JSON: {}", where, error.what());
  }
  if (!parsed.is_object()) throw_usage("{}: must be a JSON object", where);
  const Value root{where, "", parsed};
  if (!parsed.contains("measurements")) return read_profile(root);
  const Value complete = root.at("complete");
  if (complete.json != true) complete.refuse("the probe was stopped; only a whole one will do");
  return read_profile(root.at("profile"));
}

std::string to_json(const Profile& profile) {
  Json json = {{"schema", Profile::kSchema},
               {"name", profile.name},
               {"description", profile.adapter},
               {"class", to_string(profile.kind)},
               {"device",
                {{"vendor_id", profile.device.vendor}, {"vendor_part_ids", profile.device.parts}}}};
  for (const Number& number : numbers()) {
    const auto source = profile.sources.find(number.path());
    const Json entry = {{"value", write_value(number, profile.hardware)},
                        {"source", source == profile.sources.end() ? "unknown" : source->second}};
    (number.section.empty() ? json : json[std::string(number.section)])[std::string(number.key)] =
        entry;
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace weft::nic_profiles
