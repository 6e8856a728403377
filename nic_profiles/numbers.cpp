#include "nic_profiles/numbers.hpp"

#include <algorithm>
#include <cmath>

namespace weft::nic_profiles {

namespace {

using sim::Adapter;
using sim::Fabric;
using sim::Hardware;
using sim::Host;
using sim::Node;

template <auto Member>
auto& adapter(Hardware& hardware) {
  return hardware.adapter.*Member;
}

template <auto Member>
auto& node(Hardware& hardware) {
  return hardware.node.*Member;
}

template <auto Member>
auto& fabric(Hardware& hardware) {
  return hardware.fabric.*Member;
}

template <auto Member>
auto& host(Hardware& hardware) {
  return hardware.host.*Member;
}

// Bounds beyond all adapters, so that sums of simulated times stay exact.
constexpr double kMost_ns = 1e9;
constexpr double kLeast_bytes_per_ns = 1e-6;
constexpr double kMost_bytes_per_ns = 1e6;
constexpr double kMost_bytes = 1e15;

constexpr std::string_view kNotSaid = "not said";  // so begin those of numbers that are absent

constexpr std::string_view kAsked = "not said: a sender asks its receiver first";
constexpr std::string_view kAlike = "not said: as into other memory";
constexpr std::string_view kLoaded = "not said: copied as what a rank has itself";
constexpr std::string_view kAlone = "not said: a core for each rank";

constexpr Number kNumbers[] = {
    {"adapter", "post_ns", &adapter<&Adapter::post_ns>, 0, kMost_ns},
    {"adapter", "poll_ns", &adapter<&Adapter::poll_ns>, 0, kMost_ns},
    {"adapter", "match_ns", &adapter<&Adapter::match_ns>, 0, kMost_ns},
    {"adapter", "pio_bytes", &adapter<&Adapter::pio_bytes>, 0, kMost_bytes, true},
    {"adapter", "pio_bytes_per_ns", &adapter<&Adapter::pio_bytes_per_ns>, kLeast_bytes_per_ns,
     kMost_bytes_per_ns},
    {"adapter", "dma_start_ns", &adapter<&Adapter::dma_start_ns>, 0, kMost_ns},
    {"adapter", "message_gap_ns", &adapter<&Adapter::message_gap_ns>, 0, kMost_ns},
    {"adapter", "queue_gap_ns", &adapter<&Adapter::queue_gap_ns>, 0, kMost_ns},
    {"adapter", "queue_bytes_per_ns", &adapter<&Adapter::queue_bytes_per_ns>, 0,
     kMost_bytes_per_ns},
    {"adapter", "bytes_per_ns", &adapter<&Adapter::bytes_per_ns>, kLeast_bytes_per_ns,
     kMost_bytes_per_ns},
    {"adapter", "both_ways_bytes_per_ns", &adapter<&Adapter::both_ways_bytes_per_ns>, 0,
     kMost_bytes_per_ns},
    {"adapter", "senders", &adapter<&Adapter::senders>, 1e-3, 1e3},
    {"adapter", "latency_ns", &adapter<&Adapter::latency_ns>, 0, kMost_ns},
    {"adapter", "eager_bytes", &adapter<&Adapter::eager_bytes>, 0, kMost_bytes, true},
    {"adapter", "receiver_first", &adapter<&Adapter::receiver_first>, 0, 0, false, kAsked},
    {"adapter", "take_bytes_per_ns", &adapter<&Adapter::take_bytes_per_ns>, 0, kMost_bytes_per_ns,
     false, "not said: no time"},
    {"adapter", "into_caller_ns", &adapter<&Adapter::into_caller_ns>, 0, kMost_ns, false, kAlike},
    {"adapter", "into_caller_bytes_per_ns", &adapter<&Adapter::into_caller_bytes_per_ns>, 0,
     kMost_bytes_per_ns, false, kAlike},
    {"adapter", "inline_bytes", &adapter<&Adapter::inline_bytes>, 0, kMost_bytes},
    {"adapter", "in_order_placement", &adapter<&Adapter::in_order_placement>},
    {"adapter", "register_ns", &adapter<&Adapter::register_ns>, 0, kMost_ns},
    {"adapter", "register_ns_per_byte", &adapter<&Adapter::register_ns_per_byte>, 0, kMost_ns},
    {"node", "copy_start_ns", &node<&Node::copy_start_ns>, 0, kMost_ns},
    {"node", "cached_bytes_per_ns", &node<&Node::cached_bytes_per_ns>, kLeast_bytes_per_ns,
     kMost_bytes_per_ns},
    {"node", "memory_bytes_per_ns", &node<&Node::memory_bytes_per_ns>, kLeast_bytes_per_ns,
     kMost_bytes_per_ns},
    {"node", "fresh_bytes_per_ns", &node<&Node::fresh_bytes_per_ns>, kLeast_bytes_per_ns,
     kMost_bytes_per_ns},
    {"node", "cache_bytes", &node<&Node::cache_bytes>, 0, kMost_bytes},
    {"node", "total_bytes_per_ns", &node<&Node::total_bytes_per_ns>, 0, kMost_bytes_per_ns},
    {"node", "signal_ns", &node<&Node::signal_ns>, 0, kMost_ns},
    {"node", "reduce_bytes_per_ns", &node<&Node::reduce_bytes_per_ns>, kLeast_bytes_per_ns,
     kMost_bytes_per_ns},
    {"node", "call_ns", &node<&Node::call_ns>, 0, kMost_ns, false, kLoaded},
    {"node", "call_bytes_per_ns", &node<&Node::call_bytes_per_ns>, 0, kMost_bytes_per_ns, false,
     kLoaded},
    {"fabric", "hop_ns", &fabric<&Fabric::hop_ns>, 0, kMost_ns},
    {"fabric", "link_bytes_per_ns", &fabric<&Fabric::link_bytes_per_ns>, 0, kMost_bytes_per_ns},
    {"fabric", "nodes_per_leaf", &fabric<&Fabric::nodes_per_leaf>, 0, 1e6},
    {"fabric", "uplinks_per_leaf", &fabric<&Fabric::uplinks_per_leaf>, 0, 1e6},
    {"fabric", "buffer_bytes", &fabric<&Fabric::buffer_bytes>, 0, kMost_bytes},
    {"host", "cores", &host<&Host::cores>, 0, 1e6, false, kAlone},
    {"host", "nodes", &host<&Host::nodes>, 1, 1e6, false, kAlone},
    {"host", "switch_ns", &host<&Host::switch_ns>, 0, kMost_ns, false, kAlone},
    {"", "rails", [](Hardware& hardware) -> int& { return hardware.rails; }, 1, 64},
};

}  // namespace

std::string Number::path() const {
  return section.empty() ? std::string(key) : std::string(section) + "." + std::string(key);
}

std::span<const Number> numbers() {
  return kNumbers;
}

std::vector<Number> said_numbers(const Sources& sources) {
  std::vector<Number> said;
  for (const Number& number : kNumbers) {
    const auto source = sources.find(number.path());
    if (source == sources.end() || source->second.starts_with(kNotSaid)) continue;
    said.push_back(number);
  }
  return said;
}

std::vector<Number> estimates(const Sources& sources) {
  std::vector<Number> estimated = said_numbers(sources);
  std::erase_if(estimated, [&](const Number& number) {
    return !sources.at(number.path()).starts_with("estimate");
  });
  return estimated;
}

std::optional<sim::Hardware> scaled(const Number& number, const sim::Hardware& hardware,
                                    double factor) {
  sim::Hardware changed = hardware;
  bool is_changed = false;
  const auto scale = [&](double value) {
    return std::clamp(value * factor, number.low, number.high);
  };
  const auto change = [&](auto* place) {
    auto& target = place(changed);
    using Target = std::remove_reference_t<decltype(target)>;
    if constexpr (std::is_same_v<Target, sim::Scaling>) {
      for (auto& point : target.points) {
        if (point.senders == 1) continue;
        point.total = scale(point.total);
        is_changed = true;
      }
    } else if constexpr (!std::is_same_v<Target, bool>) {
      // A 0 says that there is no such thing, a number of all sizes that there is no end.
      if (target == 0) return;
      if (number.all_sizes && static_cast<double>(target) > number.high) return;
      const Target before = target;
      if constexpr (std::is_floating_point_v<Target>) {
        target = scale(target);
      } else {
        const double whole = std::round(scale(static_cast<double>(target)));
        target = static_cast<Target>(std::max(1.0, whole));
      }
      is_changed = target != before;
    }
  };
  std::visit(change, number.place);
  if (!is_changed) return std::nullopt;
  return changed;
}

}  // namespace weft::nic_profiles
