#include "verbs/device/port_settings.hpp"

#include <array>
#include <bit>
#include <charconv>

#include "base/env.hpp"
#include "base/error.hpp"

namespace weft::verbs {

namespace {

/// The value for a word of a list; `none` when the variable is not set.
template <class Value, std::size_t kCount>
Value word(const char* name, const std::optional<std::string>& text,
           const std::array<std::pair<std::string_view, Value>, kCount>& words, Value none) {
  if (!text) return none;
  std::string allowed;
  for (const auto& [known, value] : words) {
    if (*text == known) return value;
    allowed += (allowed.empty() ? "" : ", ") + std::string(known);
  }
  throw_usage("{}={}: not one of {}", name, *text, allowed);
}

std::uint8_t small(std::optional<std::int64_t> value, std::uint8_t none) {
  return static_cast<std::uint8_t>(value.value_or(none));
}

PortName read_port(const std::string& whole, std::string_view text) {
  PortName name{std::string(text.substr(0, text.find(':'))), 0};
  if (name.device.empty()) throw_usage("WEFT_DEVICE={}: a device's name is missing", whole);
  if (name.device.size() == text.size()) return name;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + name.device.size() + 1, end, name.port);
  if (error != std::errc{} || stop != end || name.port < 1 || name.port > 255) {
    throw_usage("WEFT_DEVICE={}: the port after the colon is not a number from 1 to 255", whole);
  }
  return name;
}

std::vector<PortName> read_ports() {
  std::vector<PortName> ports;
  const std::string whole = env::text("WEFT_DEVICE").value_or("");
  std::string_view rest = whole;
  while (!whole.empty()) {
    const std::size_t comma = rest.find(',');
    ports.push_back(read_port(whole, rest.substr(0, comma)));
    if (comma == rest.npos) break;
    rest.remove_prefix(comma + 1);
  }
  return ports;
}

std::optional<std::uint16_t> read_partition() {
  const auto text = env::text("WEFT_PKEY");
  if (!text) return std::nullopt;
  std::uint16_t key = 0;
  const char* end = text->data() + text->size();
  const bool prefixed = text->starts_with("0x");
  const auto [stop, error] = std::from_chars(text->data() + (prefixed ? 2 : 0), end, key, 16);
  if (!prefixed || error != std::errc{} || stop != end || (key & 0x7fff) == 0) {
    throw_usage("WEFT_PKEY={}: not a P_Key from 0x0001 to 0xffff other than 0x8000", *text);
  }
  return key;
}

int read_mtu() {
  const auto bytes = env::integer("WEFT_MTU", 256, 4096);
  if (bytes && !std::has_single_bit(static_cast<std::uint64_t>(*bytes))) {
    throw_usage("WEFT_MTU={}: not one of 256, 512, 1024, 2048, 4096", *bytes);
  }
  return static_cast<int>(bytes.value_or(0));
}

}  // namespace

std::string PortName::text() const {
  return port == 0 ? device : device + ":" + std::to_string(port);
}

PortSettings PortSettings::from_environment() {
  using Type = std::pair<std::string_view, GidType>;
  using Family = std::pair<std::string_view, GidFamily>;
  PortSettings settings;
  settings.ports = read_ports();
  if (const auto index = env::integer("WEFT_GID_INDEX", 0, 255)) {
    settings.gid_index = static_cast<int>(*index);
  }
  settings.gid_type =
      word("WEFT_GID_TYPE", env::text("WEFT_GID_TYPE"),
           std::array{Type{"roce-v1", GidType::roce_v1}, Type{"roce-v2", GidType::roce_v2}},
           GidType::unknown);
  settings.gid_family =
      word("WEFT_GID_FAMILY", env::text("WEFT_GID_FAMILY"),
           std::array{Family{"ipv4", GidFamily::ipv4}, Family{"ipv6", GidFamily::ipv6}},
           GidFamily::unknown);
  using How = std::pair<std::string_view, Placement>;
  settings.placement =
      word("WEFT_PLACEMENT", env::text("WEFT_PLACEMENT"),
           std::array{How{"auto", Placement::unknown}, How{"polled", Placement::polled},
                      How{"immediate", Placement::immediate}},
           Placement::unknown);
  settings.partition = read_partition();
  settings.mtu_bytes = read_mtu();
  settings.service_level = small(env::integer("WEFT_SERVICE_LEVEL", 0, 15), settings.service_level);
  settings.traffic_class =
      small(env::integer("WEFT_TRAFFIC_CLASS", 0, 255), settings.traffic_class);
  settings.timeout = small(env::integer("WEFT_RC_TIMEOUT", 1, 31), settings.timeout);
  settings.retries = small(env::integer("WEFT_RC_RETRY", 0, 7), settings.retries);
  settings.recovery_s =
      static_cast<int>(env::integer("WEFT_RECOVERY", 0, 86400).value_or(settings.recovery_s));
  return settings;
}

}  // namespace weft::verbs
