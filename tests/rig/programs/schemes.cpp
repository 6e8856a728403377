// Every scheme of alltoall at several sizes over MPI's ranks: the data is checked, and the switch
// is told where each begins and ends. Rank 0 prints, for each, what the plan says crosses the
// network:
//
//   sa:between=bruck 8 bytes: 4 messages, 256 payload bytes, over rxe0 port 1 (RoCE)
#include <mpi.h>

#include <array>
#include <cstdio>
#include <exception>
#include <string>

#include "pattern.hpp"
#include "weft/mpi.hpp"
#include "wire.hpp"

namespace {

constexpr std::array kSchemes = {
    "isend",  "bruck",           "bruck:radix=4",    "pairwise-xor", "pairwise-ring",
    "sa",     "sa:direct=1",     "sa:between=bruck", "rd",           "rd:between=pairwise-ring",
    "leader", "leader:leaders=2"};
// Less than a slot, some slots, straight into place.
constexpr std::array<std::size_t, 3> kSizes = {8, 3000, 20000};

/// Sum over all ranks.
unsigned long long sum(unsigned long long mine) {
  unsigned long long all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

void mark(int rank, const std::string& name) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) weft::rig::tell_wire("mark " + name);
  MPI_Barrier(MPI_COMM_WORLD);
}

weft::Statistics::Entry totals(const weft::Communicator& world) {
  weft::Statistics::Entry total;
  for (const auto& entry : world.statistics().entries) {
    total.messages += entry.messages;
    total.wire_bytes += entry.wire_bytes;
  }
  return total;
}

/// Whether the blocks came right, on this rank.
bool run(weft::Communicator& world, const char* scheme, std::size_t bytes, std::uint64_t round) {
  const int rank = world.rank();
  const std::vector<std::byte> input = weft::rig::blocks_to_all(rank, world.size(), bytes, round);
  std::vector<std::byte> output(input.size());
  // The first call connects; what it sends is not looked at.
  world.alltoall(input.data(), output.data(), bytes);
  bool right = weft::rig::are_blocks_from_all(output, rank, bytes, round);
  std::ranges::fill(output, std::byte{0});
  const auto before = totals(world);
  mark(rank, "between");
  world.alltoall(input.data(), output.data(), bytes);
  mark(rank, std::string(scheme) + " " + std::to_string(bytes) + " bytes");
  right = right && weft::rig::are_blocks_from_all(output, rank, bytes, round);
  const auto after = totals(world);
  const auto messages = sum(after.messages - before.messages);
  const auto payload = sum(after.wire_bytes - before.wire_bytes);
  if (rank == 0) {
    std::printf("%s %zu bytes: %llu messages, %llu payload bytes, over %s\n", scheme, bytes,
                messages, payload, world.statistics().device.c_str());
  }
  return right;
}

int run_all() {
  unsigned long long wrong = 0;
  std::uint64_t round = 0;
  for (const char* scheme : kSchemes) {
    weft::Options options;
    options.algorithms["alltoall"] = scheme;
    weft::Communicator world(std::make_unique<weft::MpiBootstrap>(MPI_COMM_WORLD), options);
    for (const std::size_t bytes : kSizes) {
      const auto failed = sum(run(world, scheme, bytes, ++round) ? 0 : 1);
      if (failed != 0 && world.rank() == 0) {
        std::printf("%s %zu bytes: wrong on %llu ranks\n", scheme, bytes, failed);
      }
      wrong += failed;
    }
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 1;
  try {
    status = run_all();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "schemes: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}
