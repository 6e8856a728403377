// Random profiles for properties.
#pragma once

#include <rapidcheck.h>

#include "nic_profiles/numbers.hpp"
#include "nic_profiles/profile.hpp"

namespace weft::nic_profiles {

inline rc::Gen<std::string> any_words() {
  return rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange(' ', '\x7f')));
}

/// Any numbers that the form allows; not any that an adapter could have.
inline rc::Gen<Profile> any_allowed_profile() {
  return rc::gen::exec([] {
    Profile profile;
    profile.name = *any_words();
    profile.adapter = *any_words();
    profile.kind = *rc::gen::elementOf(std::vector<Kind>(kKinds.begin(), kKinds.end()));
    profile.device.vendor = *rc::gen::arbitrary<std::uint32_t>();
    profile.device.parts = *rc::gen::arbitrary<std::vector<std::uint32_t>>();
    for (const Number& number : numbers()) {
      const double part = *rc::gen::inRange(0, 1 << 20) / static_cast<double>(1 << 20);
      const double value = number.low + part * (number.high - number.low);
      const auto set = [&](auto* place) {
        auto& target = place(profile.hardware);
        using Target = std::remove_reference_t<decltype(target)>;
        if constexpr (std::is_same_v<Target, sim::Scaling>) {
          target.points = {{1, 1.0}};
          const int more = *rc::gen::inRange(0, 4);
          for (int i = 0; i < more; ++i) {
            target.points.push_back({target.points.back().senders + *rc::gen::inRange(1, 5),
                                     *rc::gen::inRange(1, 40) / 8.0});
          }
        } else if constexpr (std::is_same_v<Target, bool>) {
          target = part < 0.5;
        } else {
          target = static_cast<Target>(value);
        }
        if constexpr (std::is_same_v<Target, std::uint64_t>) {
          if (number.all_sizes && part < 0.2) target = sim::Adapter::kAllSizes;
        }
      };
      std::visit(set, number.place);
      profile.sources[number.path()] = *any_words();
    }
    return profile;
  });
}

}  // namespace weft::nic_profiles
