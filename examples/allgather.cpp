// Allgather: bodies that attract one another, each rank with some of them.
//
//   weft run -n 4 build/release/examples/allgather
//
// To move its bodies a rank needs the positions of all bodies. An allgather provides them in each
// step. The forces cancel out, so the total momentum stays zero.
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "weft/weft.hpp"

namespace {

constexpr std::size_t kBodies = 50;  // of each rank
constexpr int kSteps = 20;

struct Place {
  double x = 0, y = 0;
};

Place force(const Place& on, const std::vector<Place>& all) {
  Place sum;
  for (const Place& other : all) {
    const double dx = other.x - on.x, dy = other.y - on.y;
    const double distance = std::sqrt(dx * dx + dy * dy + 0.01);
    const double strength = 1 / (distance * distance * distance);
    sum.x += strength * dx;
    sum.y += strength * dy;
  }
  return sum;
}

}  // namespace

int main() try {
  weft::Communicator world(weft::tcp_bootstrap());
  const auto ranks = static_cast<std::size_t>(world.size());
  std::vector<Place> places(kBodies), momenta(kBodies), all(kBodies * ranks);
  for (std::size_t i = 0; i < kBodies; ++i) {
    const auto number = static_cast<double>(static_cast<std::size_t>(world.rank()) * kBodies + i);
    places[i] = {.x = std::cos(number), .y = std::sin(2 * number)};
  }

  for (int step = 0; step < kSteps; ++step) {
    world.allgather(places.data(), all.data(), kBodies * sizeof(Place));
    for (std::size_t i = 0; i < kBodies; ++i) {
      const Place f = force(places[i], all);
      momenta[i].x += 0.0001 * f.x;
      momenta[i].y += 0.0001 * f.y;
      places[i].x += 0.0001 * momenta[i].x;
      places[i].y += 0.0001 * momenta[i].y;
    }
  }

  double here[3] = {}, total[3] = {};
  for (const Place& momentum : momenta) {
    here[0] += momentum.x;
    here[1] += momentum.y;
    here[2] += std::abs(momentum.x) + std::abs(momentum.y);
  }
  world.allreduce(here, total, 3, weft::operation(weft::Operator::sum, weft::Type::float64));
  const double lost = std::abs(total[0]) + std::abs(total[1]);
  const bool right = total[2] > 0 && lost < 1e-9 * total[2];
  if (world.rank() == 0) {
    std::printf("%zu bodies, momentum lost: %.1e of %.1e\n", all.size(), lost, total[2]);
  }
  return right ? 0 : 1;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "allgather: %s\n", error.what());
  return 1;
}
