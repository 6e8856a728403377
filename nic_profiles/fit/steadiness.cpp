#include "nic_profiles/fit/steadiness.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "nic_profiles/fit/intervals.hpp"
#include "nic_profiles/value_text.hpp"

namespace weft::nic_profiles {

namespace {

constexpr double kNobody = 0.05;     // of a core that others had in all: nobody else was there
constexpr double kMuchLooser = 1.5;  // than a kept profile
constexpr double kNotLoose = 0.03;   // whatever is kept
constexpr std::size_t kNamed = 3;    // loose numbers in one line

std::string text_of(const Number& number, const Profile& fitted) {
  const Interval& interval = fitted.intervals.at(number.path());
  return fmt::format("{} {} ({} to {})", number.path(), value_text(number, fitted.hardware),
                     value_text(number, interval.low), value_text(number, interval.high));
}

std::string why_disturbed(const Steadiness& seen, const CoreUse& use) {
  return fmt::format(
      "others had the cores in {} of {} measurements (other programs had {:.1f} of {} cores, a "
      "hypervisor {:.1f})",
      seen.disturbed, seen.taken, use.others_s / use.seconds, use.cores,
      use.stolen_s / use.seconds);
}

std::string why_loose(const std::vector<std::string>& loose) {
  const std::size_t named = std::min(kNamed, loose.size());
  std::string text =
      fmt::format("{} of its numbers {} loose: {}", loose.size(), loose.size() == 1 ? "is" : "are",
                  fmt::join(std::span(loose).first(named), ", "));
  if (named < loose.size()) text += ", ...";
  return text;
}

}  // namespace

Steadiness judge(const Measurements& taken, const Profile& fitted) {
  Steadiness seen;
  const CoreUse& use = taken.use;
  const bool has_others = use.others_s + use.stolen_s > kNobody * use.seconds;
  for_each_time(taken, [&](double ns, const Spread& spread) {
    ++seen.taken;
    seen.disturbed += has_others && is_disturbed({ns, spread}) ? 1 : 0;
    seen.hurried += is_hurried({ns, spread}) ? 1 : 0;
    seen.wide += looseness(Estimate{ns, spread}) > kLoose ? 1 : 0;
  });
  for (const Number& number : loose_numbers(taken, fitted)) {
    seen.loose.push_back(text_of(number, fitted));
  }
  if (seen.disturbed > 0) {
    seen.why_not = why_disturbed(seen, use);
  } else if (seen.hurried > 0) {
    seen.why_not =
        fmt::format("time was over before {} of {} measurements: a larger --budget helps",
                    seen.hurried, seen.taken);
  } else if (!seen.loose.empty()) {
    seen.why_not = why_loose(seen.loose);
  }
  return seen;
}

std::string why_not_replace(const Profile& kept, const Profile& fresh) {
  const auto before = looseness(kept), now = looseness(fresh);
  const sim::Host& host = kept.hardware.host;
  const sim::Host& here = fresh.hardware.host;
  if (!before || !now || host.cores != here.cores || host.nodes != here.nodes) return "";
  if (*now <= kNotLoose || *now <= kMuchLooser * *before) return "";
  return fmt::format("its numbers are known to {:.1f} %, those of the one that is kept to {:.1f} %",
                     100 * *now, 100 * *before);
}

}  // namespace weft::nic_profiles
