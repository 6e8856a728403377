// Grammar: items separated by ';', each `fault` or `fault:key=value,key=value` or `seed=n` or
// `rank=n`; blanks around items do not matter.
#include "verbs/soft/faults/fault_plan.hpp"

#include <array>
#include <charconv>
#include <limits>
#include <string>

#include "base/env.hpp"
#include "base/error.hpp"

namespace weft::soft {

namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLongest_ns = std::int64_t{3600} * 1'000'000'000;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\n");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1);
}

/// Calls `use` for each part between separators.
template <class Use>
void split(std::string_view text, char separator, Use&& use) {
  for (std::size_t end = 0; end != text.npos;) {
    end = text.find(separator);
    use(trimmed(text.substr(0, end)));
    if (end != text.npos) text.remove_prefix(end + 1);
  }
}

template <class Value, std::size_t N>
using Names = std::array<std::pair<std::string_view, Value>, N>;

template <class Value, std::size_t N>
Value look_up(std::string_view what, std::string_view name, const Names<Value, N>& names) {
  std::string allowed;
  for (const auto& [known, value] : names) {
    if (known == name) return value;
    allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", known);
  }
  throw_usage("{}={}: not one of {}", what, name, allowed);
}

enum class Item { error, lost_answer, qp_error, port_down, port_up, die, delay, slow_peer };

constexpr Names<Item, 8> kItems = {{{"error", Item::error},
                                    {"lost-answer", Item::lost_answer},
                                    {"qp-error", Item::qp_error},
                                    {"port-down", Item::port_down},
                                    {"port-up", Item::port_up},
                                    {"die", Item::die},
                                    {"delay", Item::delay},
                                    {"slow-peer", Item::slow_peer}}};

constexpr Names<ibv_wc_status, 9> kStatuses = {{{"retry", IBV_WC_RETRY_EXC_ERR},
                                                {"rnr", IBV_WC_RNR_RETRY_EXC_ERR},
                                                {"remote-access", IBV_WC_REM_ACCESS_ERR},
                                                {"remote-request", IBV_WC_REM_INV_REQ_ERR},
                                                {"remote-operation", IBV_WC_REM_OP_ERR},
                                                {"local-protection", IBV_WC_LOC_PROT_ERR},
                                                {"local-qp", IBV_WC_LOC_QP_OP_ERR},
                                                {"timeout", IBV_WC_RESP_TIMEOUT_ERR},
                                                {"fatal", IBV_WC_FATAL_ERR}}};

constexpr Names<std::int64_t, 4> kUnits = {
    {{"ns", 1}, {"us", 1000}, {"ms", 1'000'000}, {"s", 1'000'000'000}}};

std::int64_t parse_duration_ns(const std::string& what, std::string_view value) {
  const std::size_t unit = value.find_first_not_of("0123456789");
  if (unit == 0 || unit == value.npos) {
    throw_usage("{}={}: not a time such as 20us (ns, us, ms or s)", what, value);
  }
  const std::int64_t scale = look_up(what, value.substr(unit), kUnits);
  return scale * env::parse_integer(what, value.substr(0, unit), 0, kLongest_ns / scale);
}

double parse_chance(const std::string& what, std::string_view value) {
  double chance = 0;
  const auto [end, error] = std::from_chars(value.begin(), value.end(), chance);
  const bool allowed = chance > 0 && chance <= 1;  // which "nan" is not either
  if (error != std::errc{} || end != value.end() || !allowed) {
    throw_usage("{}={}: not a probability above 0 and at most 1", what, value);
  }
  return chance;
}

Fault::Kind kind_of(Item item) {
  switch (item) {
    case Item::error:
      return Fault::Kind::error;
    case Item::lost_answer:
      return Fault::Kind::lost_answer;
    case Item::qp_error:
      return Fault::Kind::qp_error;
    case Item::port_down:
      return Fault::Kind::port_down;
    case Item::port_up:
      return Fault::Kind::port_up;
    case Item::die:
      return Fault::Kind::die;
    default:
      return Fault::Kind::none;
  }
}

/// One `key=value` of an item.
void set_key(const std::string& fault, Item item, std::string_view text, FaultRule& rule) {
  const std::size_t equals = text.find('=');
  const std::string_view key = text.substr(0, equals);
  const std::string what = fmt::format("{}: {}", fault, key);
  const std::string_view value = equals == text.npos ? "" : text.substr(equals + 1);
  const bool may_fail = item == Item::error || item == Item::lost_answer;
  const auto number = [&] {
    return static_cast<std::uint64_t>(env::parse_integer(what, value, 1, kMost));
  };
  if (item != Item::slow_peer && key == "at") {
    rule.at = number();
  } else if (item != Item::slow_peer && key == "every") {
    rule.every = number();
  } else if (item != Item::slow_peer && key == "chance") {
    rule.chance = parse_chance(what, value);
  } else if (item != Item::slow_peer && key == "qp") {
    rule.qp = number();
  } else if (may_fail && key == "status") {
    rule.fault.status = look_up(what, value, kStatuses);
  } else if (item == Item::port_down && key == "for") {
    rule.fault.duration_ns = parse_duration_ns(what, value);
  } else if ((item == Item::delay || item == Item::slow_peer) && key == "by") {
    rule.fault.delay_ns = parse_duration_ns(what, value);
  } else if (item == Item::delay && key == "jitter") {
    rule.jitter_ns = parse_duration_ns(what, value);
  } else {
    throw_usage("{}: there is no such key here", what);
  }
}

void add_item(std::string_view what, std::string_view text, FaultPlan& plan) {
  const std::size_t colon = text.find(':');
  const Item item = look_up(what, text.substr(0, colon), kItems);
  FaultRule rule;
  rule.fault.kind = kind_of(item);
  const std::string here = fmt::format("{}, {}", what, text.substr(0, colon));
  if (colon != text.npos) {
    split(text.substr(colon + 1), ',', [&](auto part) { set_key(here, item, part, rule); });
  }
  const int triggers = (rule.at != 0) + (rule.every != 0) + (rule.chance != 0);
  if (triggers > 1) throw_usage("{}: at, every and chance exclude each other", here);
  if ((item == Item::delay || item == Item::slow_peer) && rule.fault.delay_ns == 0 &&
      rule.jitter_ns == 0) {
    throw_usage("{}: by=TIME is missing", here);
  }
  if (item == Item::slow_peer) {
    plan.slow_ns = rule.fault.delay_ns;
    return;
  }
  const bool port = item == Item::port_down || item == Item::port_up;
  if (port && triggers == 0) {
    plan.at_once.push_back(rule.fault);
    return;
  }
  if (triggers == 0) (item == Item::delay ? rule.every : rule.at) = 1;
  plan.rules.push_back(rule);
}

/// The rank of this process, from the environment of its launcher.
std::optional<std::string> own_rank() {
  for (const char* name : {"WEFT_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"}) {
    if (auto rank = env::text(name)) return rank;
  }
  return std::nullopt;
}

/// A number in [0, 1) that depends on all bits of its arguments (splitmix64's finish).
double uniform(std::uint64_t seed, std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t x = seed + 0x9e37'79b9'7f4a'7c15 * (a + 1) + 0xd1b5'4a32'd192'ed03 * (b + 1);
  x = (x ^ (x >> 30)) * 0xbf58'476d'1ce4'e5b9;
  x = (x ^ (x >> 27)) * 0x94d0'49bb'1331'11eb;
  return static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

}  // namespace

FaultPlan parse_faults(std::string_view what, std::string_view text) {
  FaultPlan plan;
  std::optional<std::int64_t> rank;
  const auto number = [&](const char* key, std::string_view value) {
    return env::parse_integer(fmt::format("{}, {}", what, key), value, 0, kMost);
  };
  split(text, ';', [&](std::string_view item) {
    if (item.empty()) return;
    if (item.starts_with("seed=")) {
      plan.seed = static_cast<std::uint64_t>(number("seed", item.substr(5)));
    } else if (item.starts_with("rank=")) {
      rank = number("rank", item.substr(5));
    } else {
      add_item(what, item, plan);
    }
  });
  if (rank && own_rank() != std::to_string(*rank)) return {};
  return plan;
}

Fault decide(const FaultPlan& plan, std::uint64_t number, std::uint64_t qp,
             std::uint64_t qp_number) noexcept {
  Fault met;
  for (std::size_t i = 0; i < plan.rules.size(); ++i) {
    const FaultRule& rule = plan.rules[i];
    if (rule.qp && *rule.qp != qp) continue;
    const std::uint64_t n = rule.qp ? qp_number : number;
    const bool meets = n == rule.at || (rule.every != 0 && n % rule.every == 0) ||
                       (rule.chance != 0 && uniform(plan.seed, 2 * i, n) < rule.chance);
    if (!meets) continue;
    met.delay_ns += rule.fault.delay_ns;
    if (rule.jitter_ns != 0) {
      met.delay_ns += static_cast<std::int64_t>(uniform(plan.seed, 2 * i + 1, n) *
                                                static_cast<double>(rule.jitter_ns));
    }
    if (met.kind != Fault::Kind::none || rule.fault.kind == Fault::Kind::none) continue;
    const std::int64_t delay_ns = met.delay_ns;
    met = rule.fault;
    met.delay_ns = delay_ns;
  }
  return met;
}

}  // namespace weft::soft
