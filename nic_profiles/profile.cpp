// The JSON form of a profile, read and written.
#include "nic_profiles/profile.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/json_value.hpp"
#include "base/settings.hpp"
#include "nic_profiles/numbers.hpp"

namespace weft::nic_profiles {

namespace {

constexpr int kMostSenders = 1 << 20;

sim::Scaling read_scaling(const JsonValue& value, const Number& number) {
  const std::string form = fmt::format(
      "must be a list of [senders, total relative to one sender], ascending from [1, 1], totals "
      "from {} to {}",
      number.low, number.high);
  if (!value.json().is_array() || value.json().empty()) value.refuse("{}", form);
  sim::Scaling scaling{{}};
  for (std::size_t i = 0; i < value.json().size(); ++i) {
    const JsonValue pair = value.at(i);
    if (!pair.json().is_array() || pair.json().size() != 2) pair.refuse("{}", form);
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

void read_value(const JsonValue& value, const Number& number, sim::Hardware& hardware) {
  const auto read = [&](auto* place) {
    auto& target = place(hardware);
    using Target = std::remove_reference_t<decltype(target)>;
    if constexpr (std::is_same_v<Target, sim::Scaling>) {
      target = read_scaling(value, number);
    } else if constexpr (std::is_same_v<Target, bool>) {
      if (!value.json().is_boolean()) value.refuse("must be true or false");
      target = value.json().get<bool>();
    } else if constexpr (std::is_same_v<Target, double>) {
      target = value.number(number.low, number.high);
    } else if (number.all_sizes && value.json() == "all") {
      target = static_cast<Target>(sim::Adapter::kAllSizes);
    } else if (number.all_sizes && !value.json().is_number_unsigned()) {
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

/// The ends of a number's interval, where it says them.
void read_interval(const JsonValue& entry, const Number& number, Profile& profile) {
  if (!entry.has("low") && !entry.has("high")) return;
  const auto end = [&](std::string_view key) {
    const JsonValue value = entry.at(key);
    if (number.all_sizes && value.json() == "all") {
      return static_cast<double>(sim::Adapter::kAllSizes);
    }
    return value.number(number.low, number.high);
  };
  const Interval interval{end("low"), end("high")};
  if (interval.high < interval.low) entry.at("high").refuse("must be {} or more", interval.low);
  profile.intervals[number.path()] = interval;
}

Json write_end(const Number& number, double value) {
  const bool is_all = number.all_sizes && value >= static_cast<double>(sim::Adapter::kAllSizes);
  return is_all ? Json("all") : Json(value);
}

void read_numbers(const JsonValue& root, Profile& profile) {
  for (const std::string_view section : {"adapter", "node", "fabric", "host"}) {
    std::vector<std::string_view> keys;
    bool may_be_absent = true;
    for (const Number& number : numbers()) {
      if (number.section != section) continue;
      keys.push_back(number.key);
      may_be_absent &= !number.absent.empty();
    }
    if (root.has(section) || !may_be_absent) root.at(section).require_keys(keys);
  }
  // The section of the host is there as a whole or not at all.
  const auto says = [&](const Number& number) {
    const auto section = root.json().find(number.section);
    if (section == root.json().end()) return false;
    return number.section == "host" || section->contains(number.key);
  };
  for (const Number& number : numbers()) {
    if (!number.absent.empty() && !says(number)) {
      profile.sources[number.path()] = number.absent;
      continue;
    }
    const JsonValue section = number.section.empty() ? root : root.at(number.section);
    const JsonValue entry = section.at(number.key);
    entry.require_keys({"value", "low", "high", "source"});
    read_value(entry.at("value"), number, profile.hardware);
    read_interval(entry, number, profile);
    profile.sources[number.path()] = entry.at("source").text();
  }
}

DeviceId read_device(const JsonValue& value) {
  value.require_keys({"vendor_id", "vendor_part_ids"});
  DeviceId device;
  device.vendor = static_cast<std::uint32_t>(value.at("vendor_id").whole(0, UINT32_MAX));
  const JsonValue parts = value.at("vendor_part_ids");
  if (!parts.json().is_array()) parts.refuse("must be a list of whole numbers");
  for (std::size_t i = 0; i < parts.json().size(); ++i) {
    device.parts.push_back(static_cast<std::uint32_t>(parts.at(i).whole(0, UINT32_MAX)));
  }
  return device;
}

Kind read_kind(const JsonValue& value) {
  const auto* const found = std::ranges::find_if(
      kKinds, [&](Kind kind) { return value.json() == std::string(to_string(kind)); });
  if (found != kKinds.end()) return *found;
  std::string allowed;
  for (const Kind kind : kKinds) append_to_list(allowed, to_string(kind));
  value.refuse("must be one of {}", allowed);
}

Profile read_profile(const JsonValue& root) {
  const JsonValue schema = root.at("schema");
  if (schema.json() != Profile::kSchema) {
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
  const Json parsed = parse_json(where, json);
  if (!parsed.is_object()) throw_usage("{}: must be a JSON object", where);
  const JsonValue root(where, parsed);
  if (!root.has("measurements")) return read_profile(root);
  const JsonValue complete = root.at("complete");
  if (complete.json() != true) complete.refuse("the probe was stopped; only a whole one will do");
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
    Json entry = {{"value", write_value(number, profile.hardware)}};
    if (const auto known = profile.intervals.find(number.path());
        known != profile.intervals.end()) {
      entry["low"] = write_end(number, known->second.low);
      entry["high"] = write_end(number, known->second.high);
    }
    entry["source"] = source == profile.sources.end() ? "unknown" : source->second;
    (number.section.empty() ? json : json[std::string(number.section)])[std::string(number.key)] =
        entry;
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace weft::nic_profiles
