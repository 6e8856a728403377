// Faults of the software device.
#include "target.hpp"
#include "verbs/soft/faults/fault_plan.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace weft::test;
  may_refuse([&] {
    const auto plan = weft::soft::parse_faults("WEFT_SOFT_FAULTS", text_of(data, bytes));
    for (std::uint64_t i = 1; i < 20; ++i) (void)weft::soft::decide(plan, i, 1, i);
  });
  return 0;
}
