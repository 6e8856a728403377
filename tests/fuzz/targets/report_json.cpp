// Reports of MPI jobs, as `weft report` reads them, and what it makes of them.
#include "mpi/summary/summary.hpp"
#include "target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace weft::test;
  may_refuse([&] {
    const auto summary = weft::mpi::parse_summary("report", text_of(data, bytes));
    const auto text = weft::mpi::to_json(summary);
    must(weft::mpi::to_json(weft::mpi::parse_summary("report", text)) == text);
    (void)weft::mpi::to_table(summary);
  });
  return 0;
}
