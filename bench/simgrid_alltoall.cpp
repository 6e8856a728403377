// SimGrid on the schedule of bench_sim_speed's "storm": each of 64 x 8 ranks posts a receive and a
// send of 512 bytes for every other rank, and waits for all. Built by bench/sim_vs_simgrid, where
// SimGrid's headers and library are.
#include <simgrid/s4u.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace s4u = simgrid::s4u;

namespace {

constexpr int kBytes = 512;

s4u::Mailbox* box(int from, int to) {
  return s4u::Mailbox::by_name(std::to_string(from) + "-" + std::to_string(to));
}

void rank(int self, int ranks) {
  static int content = 0;
  std::vector<int*> received(static_cast<std::size_t>(ranks));
  std::vector<s4u::CommPtr> pending;
  for (int i = 1; i < ranks; ++i) {
    const int from = (self + ranks - i) % ranks;
    pending.push_back(box(from, self)->get_async<int>(&received[static_cast<std::size_t>(from)]));
  }
  for (int i = 1; i < ranks; ++i) {
    pending.push_back(box(self, (self + i) % ranks)->put_async(&content, kBytes));
  }
  for (const auto& comm : pending) comm->wait();
}

}  // namespace

int main(int argc, char** argv) {
  s4u::Engine engine(&argc, argv);
  if (argc != 3) {
    std::fprintf(stderr, "usage: simgrid_alltoall NODES RANKS_A_NODE [--cfg=..]\n");
    return 2;
  }
  const int nodes = std::atoi(argv[1]), per_node = std::atoi(argv[2]);
  auto* zone = s4u::create_star_zone("cluster");
  std::vector<s4u::Host*> hosts;
  for (int node = 0; node < nodes; ++node) {
    auto* host = zone->create_host("node" + std::to_string(node), 1e9);
    auto* link = zone->create_link("link" + std::to_string(node), 12.3e9)->set_latency(5e-7);
    zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, {s4u::LinkInRoute(link)},
                    true);
    hosts.push_back(host);
  }
  zone->seal();
  const int ranks = nodes * per_node;
  const auto begin = std::chrono::steady_clock::now();
  for (int self = 0; self < ranks; ++self) {
    s4u::Actor::create("rank", hosts[static_cast<std::size_t>(self / per_node)], rank, self, ranks);
  }
  engine.run();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("%.3f s, %d messages, virtual %.1f us\n", took.count(), ranks * (ranks - 1),
              s4u::Engine::get_clock() * 1e6);
}
