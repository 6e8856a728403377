// Reduce, with an operation of the program's own: mean and variance of numbers on all ranks.
//
//   weft run -n 4 build/release/examples/reduce
//
// Two samples are joined from their counts, means and sums of squared differences (Chan, Golub and
// LeVeque 1979). The operation is associative up to rounding and does commute. A second reduce,
// with a predefined operation, finds the largest number and which rank has it.
#include <cmath>
#include <cstddef>
#include <cstdio>

#include "weft/weft.hpp"

namespace {

struct Sample {
  double count = 0, mean = 0, squares = 0;
};

Sample joined(const Sample& a, const Sample& b) {
  const double count = a.count + b.count;
  if (count == 0) return {};
  const double apart = b.mean - a.mean;
  return {.count = count,
          .mean = a.mean + apart * b.count / count,
          .squares = a.squares + b.squares + apart * apart * a.count * b.count / count};
}

void combine(const void*, std::byte* dst, const std::byte* left, const std::byte* right,
             std::size_t elements) {
  auto* result = reinterpret_cast<Sample*>(dst);
  const auto* a = reinterpret_cast<const Sample*>(left);
  const auto* b = reinterpret_cast<const Sample*>(right);
  for (std::size_t i = 0; i < elements; ++i) result[i] = joined(a[i], b[i]);
}

struct Largest {
  double value = 0;
  int rank = 0;
};

}  // namespace

int main() try {
  weft::Communicator world(weft::tcp_bootstrap());
  const weft::Operation join = {.element_bytes = sizeof(Sample), .combine = combine};
  // Rank r has the numbers r, r + P, r + 2P, ..: together 0 to 1000 P - 1.
  Sample mine, all;
  Largest my_largest = {.value = -1, .rank = world.rank()}, largest;
  for (int i = 0; i < 1000; ++i) {
    const double number = world.rank() + static_cast<double>(i) * world.size();
    mine = joined(mine, {.count = 1, .mean = number});
    my_largest.value = std::max(my_largest.value, number);
  }

  world.reduce(&mine, &all, 1, join, 0);
  world.reduce(&my_largest, &largest, 1,
               weft::operation(weft::Operator::maximum_with_place, weft::Type::float64_int32), 0);

  if (world.rank() != 0) return 0;
  const double n = 1000.0 * world.size();
  const bool right = all.count == n && std::abs(all.mean - (n - 1) / 2) < 1e-9 * n &&
                     std::abs(all.squares / n - (n * n - 1) / 12) < 1e-9 * n * n &&
                     largest.value == n - 1 && largest.rank == world.size() - 1;
  std::printf("%g numbers, mean %g, variance %g, largest %g on rank %d: %s\n", all.count, all.mean,
              all.squares / all.count, largest.value, largest.rank, right ? "right" : "WRONG");
  return right ? 0 : 1;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "reduce: %s\n", error.what());
  return 1;
}
