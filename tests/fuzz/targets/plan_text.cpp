// Plans as text.
#include "plan/text.hpp"
#include "target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace weft::test;
  may_refuse([&] {
    const weft::plan::Plan plan = weft::plan::parse(text_of(data, bytes));
    must(weft::plan::parse(weft::plan::to_text(plan)) == plan);
  });
  return 0;
}
