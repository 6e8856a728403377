// Algorithms with parameters: the first byte says of which collective.
#include "registry/algorithm.hpp"
#include "target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace weft::test;
  using weft::registry::Algorithm;
  if (bytes == 0) return 0;
  const auto all = weft::plan::all_collectives();
  const auto collective = all[data[0] % all.size()];
  may_refuse([&] {
    const auto algorithm = Algorithm::parse(collective, text_of(data + 1, bytes - 1));
    must(Algorithm::parse(collective, algorithm.name()) == algorithm);
  });
  return 0;
}
