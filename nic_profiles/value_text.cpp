#include "nic_profiles/value_text.hpp"

#include <fmt/format.h>

namespace weft::nic_profiles {

std::string time_text(double ns) {
  if (ns < 1e3) return fmt::format("{:.3g} ns", ns);
  if (ns < 1e6) return fmt::format("{:.4g} us", ns / 1e3);
  return fmt::format("{:.4g} ms", ns / 1e6);
}

std::string size_text(std::uint64_t bytes) {
  if (bytes >= 1 << 20 && bytes % (1 << 20) == 0) return fmt::format("{} MiB", bytes >> 20);
  if (bytes >= 1 << 10 && bytes % (1 << 10) == 0) return fmt::format("{} KiB", bytes >> 10);
  return fmt::format("{} B", bytes);
}

std::string value_text(const Number& number, double value) {
  if (number.key.ends_with("bytes_per_ns")) return fmt::format("{:.4g} GB/s", value);
  if (number.key.ends_with("ns_per_byte")) return fmt::format("{:.3g} ns/B", value);
  if (number.key.ends_with("_ns")) return time_text(value);
  if (number.all_sizes && value >= static_cast<double>(sim::Adapter::kAllSizes)) {
    return "all sizes";
  }
  if (number.key.ends_with("bytes")) return size_text(static_cast<std::uint64_t>(value));
  return fmt::format("{:g}", value);
}

std::string value_text(const Number& number, const sim::Hardware& hardware) {
  const auto write = [&](auto* place) -> std::string {
    const auto& value = place(const_cast<sim::Hardware&>(hardware));  // NOLINT: as in profile.cpp
    using Type = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<Type, sim::Scaling>) {
      std::string text;
      for (const auto& point : value.points) {
        text += fmt::format("{}{}: {:.3g}", text.empty() ? "" : ", ", point.senders, point.total);
      }
      return text;
    } else if constexpr (std::is_same_v<Type, bool>) {
      return value ? "yes" : "no";
    } else {
      return value_text(number, static_cast<double>(value));
    }
  };
  return std::visit(write, number.place);
}

}  // namespace weft::nic_profiles
