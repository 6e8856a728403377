// Profiles of adapters.
#include "nic_profiles/profile.hpp"
#include "target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace weft::test;
  may_refuse([&] {
    const auto profile = weft::nic_profiles::parse("profile", text_of(data, bytes));
    const auto again = weft::nic_profiles::parse("profile", weft::nic_profiles::to_json(profile));
    must(weft::nic_profiles::to_json(again) == weft::nic_profiles::to_json(profile));
  });
  return 0;
}
