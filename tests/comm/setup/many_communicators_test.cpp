// Many communicators at once: descriptors, mappings and memory that each of them takes. Ranks are
// processes, so that each can look at what it has.
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/comm/support/processes.hpp"
#include "weft/weft.hpp"

namespace weft::many_communicators_test {
namespace {

using nlohmann::json;

constexpr int kRanks = 8;
constexpr int kCommunicators = 300;

struct Taken {
  int descriptors = 0;
  int mappings = 0;         // of shared memory
  std::uint64_t bytes = 0;  // committed in memory files that this process has made
  std::uint64_t heap = 0;   // allocated bytes
};

Taken taken() {
  Taken result;
  std::map<ino_t, std::uint64_t> files;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++result.descriptors;
    struct stat status {};
    std::error_code gone;
    const std::string path = std::filesystem::read_symlink(entry, gone).string();
    if (gone || !path.starts_with("/memfd:weft-")) continue;
    if (::stat(entry.path().c_str(), &status) != 0) continue;
    files[status.st_ino] = static_cast<std::uint64_t>(status.st_blocks) * 512;
  }
  for (const auto& [inode, bytes] : files) result.bytes += bytes;
  const auto heap = ::mallinfo2();
  result.heap = heap.uordblks + heap.hblkhd;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    result.mappings += line.find("/memfd:weft-") == line.npos ? 0 : 1;
  }
  return result;
}

/// The calls of a communicator in steady use; empty when the results are right.
std::string use(Communicator& comm, int round) {
  constexpr std::size_t kBytes = 64;
  const auto ranks = static_cast<std::size_t>(comm.size());
  const auto mark = [&](int from, int to) { return static_cast<char>(round + 16 * from + to); };
  std::vector<char> in;
  for (int to = 0; to < comm.size(); ++to) in.insert(in.end(), kBytes, mark(comm.rank(), to));
  std::vector<char> out(ranks * kBytes);
  comm.alltoall(in.data(), out.data(), kBytes);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] != mark(static_cast<int>(i / kBytes), comm.rank())) return "alltoall is wrong";
  }
  const auto sum = operation(Operator::sum, Type::uint64);
  const std::uint64_t mine = static_cast<std::uint64_t>(comm.rank() + round);
  std::uint64_t all = 0;
  comm.allreduce(&mine, &all, 1, sum);
  if (all != ranks * (ranks - 1) / 2 + ranks * static_cast<std::uint64_t>(round)) {
    return "allreduce is wrong";
  }
  std::uint64_t word = comm.rank() == 0 ? 4711 : 0;
  comm.broadcast(&word, sizeof word, 0);
  return word == 4711 ? "" : "broadcast is wrong";
}

std::string keep_many() {
  const auto bootstrap = tcp_bootstrap();
  std::vector<std::unique_ptr<Communicator>> communicators;
  const auto make = [&] {
    communicators.push_back(std::make_unique<Communicator>(borrowed_bootstrap(*bootstrap)));
    return use(*communicators.back(), 0);
  };
  if (auto wrong = make(); !wrong.empty()) return wrong;
  const Taken first = taken();
  while (communicators.size() < kCommunicators) {
    if (auto wrong = make(); !wrong.empty()) return wrong;
  }
  for (int round = 1; round <= 2; ++round) {
    for (auto& comm : communicators) {
      if (auto wrong = use(*comm, round); !wrong.empty()) return wrong;
    }
  }
  const Taken many = taken();
  communicators.resize(1);
  if (auto wrong = use(*communicators.front(), 3); !wrong.empty()) return wrong;
  bootstrap->allgather("all have let go");
  // What peers still had when this rank let go is taken back by the next that is made.
  if (auto wrong = make(); !wrong.empty()) return wrong;
  const Taken last = taken();
  return json{{"descriptors", {first.descriptors, many.descriptors, last.descriptors}},
              {"mappings", {first.mappings, many.mappings, last.mappings}},
              {"bytes", {first.bytes, many.bytes, last.bytes}},
              {"heap", {first.heap, many.heap, last.heap}}}
      .dump();
}

TEST(ManyCommunicators, TakeDescriptorsAndMappingsByNeighboursAndLittleMemoryEach) {
  for (const auto& ended : test::run_processes(kRanks, {}, [](int) { return keep_many(); })) {
    const json said = json::parse(ended.said, nullptr, false);
    ASSERT_FALSE(said.is_discarded()) << ended.said;
    SCOPED_TRACE(said.dump());
    const auto figure = [&](const char* name, int when) {
      return said.at(name).at(static_cast<std::size_t>(when)).get<int>();
    };
    // Slabs are of 4, 8, 16, .. MiB, so there are three for 28 MiB, and for each neighbour's. A
    // rank that has waited long has a descriptor of each neighbour's process.
    constexpr int kSlabs = 3;
    constexpr int kNeighbours = kRanks - 1;
    EXPECT_LE(figure("descriptors", 1), figure("descriptors", 0) + kSlabs - 1 + kNeighbours);
    // The board of the process is one more, however many communicators there are.
    constexpr int kBoard = 1;
    EXPECT_LE(figure("mappings", 1), kSlabs * kRanks + kBoard);
    EXPECT_LE(figure("bytes", 1) + figure("heap", 1) - figure("heap", 0),
              kCommunicators * (100 << 10));
    EXPECT_LE(figure("descriptors", 2), figure("descriptors", 0) + kNeighbours);
    EXPECT_LE(figure("mappings", 2), figure("mappings", 0));
    EXPECT_LE(figure("bytes", 2), 3 * figure("bytes", 0));
  }
}

}  // namespace
}  // namespace weft::many_communicators_test
