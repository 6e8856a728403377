// Machines as text: "3x4", "1+3+4", "0,1,0,1", with domains behind a slash.
#include "hierarchy/groups.hpp"
#include "hierarchy/machine.hpp"
#include "target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace weft::test;
  using weft::hierarchy::Machine;
  may_refuse([&] {
    const Machine machine = Machine::parse(text_of(data, bytes));
    must(Machine::parse(to_string(machine)) == machine);
  });
  may_refuse([&] { (void)weft::hierarchy::parse_leaders("leaders", text_of(data, bytes)); });
  return 0;
}
