// Decision tables.
#include "target.hpp"
#include "tune/decision_table.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace weft::test;
  may_refuse([&] {
    const auto table = weft::tune::parse_table("table", text_of(data, bytes));
    const auto text = weft::tune::to_json(table);
    must(weft::tune::to_json(weft::tune::parse_table("table", text)) == text);
  });
  return 0;
}
