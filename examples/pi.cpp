// Allreduce: pi by the midpoint rule; each rank adds up a part of the integral.
//
//   weft run -n 4 ./pi 1000000
//   weft run --one-address-space -n 4 ./pi 1000000
//
// In both cases each rank has its own globals. The output names the way by which ranks read one
// another's memory.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "weft/weft.hpp"

namespace {

double partial = 0;  // of this rank

int run(long intervals) {
  weft::Communicator world(weft::tcp_bootstrap());
  for (long i = world.rank(); i < intervals; i += world.size()) {
    const double x = (static_cast<double>(i) + 0.5) / static_cast<double>(intervals);
    partial += 4 / (1 + x * x) / static_cast<double>(intervals);
  }
  double pi = 0;
  world.allreduce(&partial, &pi, 1, weft::operation(weft::Operator::sum, weft::Type::float64));
  if (world.rank() == 0) {
    std::printf("pi = %.9f from %d ranks, by %s\n", pi, world.size(),
                world.statistics().view.c_str());
  }
  return std::abs(pi - M_PI) < 1e-6 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const long intervals = argc > 1 ? std::atol(argv[1]) : 1000000;
  if (intervals < 1) {
    std::fprintf(stderr, "usage: pi [INTERVALS]\n");
    return 2;
  }
  try {
    return run(intervals);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pi: %s\n", error.what());
    return 1;
  }
}
