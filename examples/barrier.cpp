// Barrier: times a phase of a program, from the start of the first rank to the end of the last.
//
//   weft run -n 4 build/release/examples/barrier
//
// Without the first barrier a late rank would make the phase seem long; without the second barrier
// each rank would know only its own time. All ranks must be on one machine here, as they compare
// their clocks.
#include <chrono>
#include <cstdio>
#include <thread>

#include "weft/weft.hpp"

namespace {

double now_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

int main() try {
  weft::Communicator world(weft::tcp_bootstrap());
  // Ranks come at different times, and one works longest.
  std::this_thread::sleep_for(std::chrono::milliseconds(5 * world.rank()));
  const double came = now_ms();
  world.barrier();
  const double begin = now_ms();
  const int work_ms = world.rank() == 0 ? 30 : 1;
  std::this_thread::sleep_for(std::chrono::milliseconds(work_ms));
  world.barrier();
  const double took = now_ms() - begin;

  // No rank left the first barrier before the last rank entered it.
  double last_came = 0;
  world.allreduce(&came, &last_came, 1,
                  weft::operation(weft::Operator::maximum, weft::Type::float64));
  const bool right = begin >= last_came && took >= work_ms;
  if (world.rank() == 0) std::printf("the phase took %.1f ms\n", took);
  return right ? 0 : 1;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "barrier: %s\n", error.what());
  return 1;
}
