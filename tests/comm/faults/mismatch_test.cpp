// Ranks that make different calls: one clear error on all that take part, no hang, and no byte
// written behind a buffer.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "hierarchy/machine.hpp"
#include "tests/comm/support/placement.hpp"
#include "tests/comm/support/run_ranks.hpp"

namespace weft::mismatch_test {
namespace {

using test::on;
using test::run_ranks;

constexpr std::size_t kGuard = 4096;

/// Buffers of calls that failed: other ranks may not know that yet, and use them.
class Kept {
 public:
  void add(std::vector<std::byte> buffer) {
    const std::lock_guard lock(mutex_);
    buffers_.push_back(std::move(buffer));
  }

 private:
  std::mutex mutex_;
  std::vector<std::vector<std::byte>> buffers_;
};

/// Calls of one rank, with buffers just as long as the calls need, before bytes that must stay.
class Caller {
 public:
  Caller(Communicator& comm, Kept& kept) : comm_(comm), kept_(kept) {}

  void broadcast(std::size_t bytes, int root) {
    with_buffers(0, bytes, [&](void*, void* buffer) { comm_.broadcast(buffer, bytes, root); });
  }
  void allreduce(std::size_t elements) {
    const std::size_t bytes = elements * sizeof(int);
    with_buffers(bytes, bytes, [&](void* input, void* output) {
      comm_.allreduce(input, output, elements, operation(Operator::sum, Type::int32));
    });
  }
  void allgather(std::size_t bytes) {
    with_buffers(bytes, bytes * ranks(),
                 [&](void* input, void* output) { comm_.allgather(input, output, bytes); });
  }
  void alltoall(std::size_t bytes) {
    with_buffers(bytes * ranks(), bytes * ranks(),
                 [&](void* input, void* output) { comm_.alltoall(input, output, bytes); });
  }
  void alltoallv(std::size_t bytes) {
    std::vector<Part> parts;
    for (std::size_t rank = 0; rank < ranks(); ++rank) parts.push_back({rank * bytes, bytes});
    with_buffers(bytes * ranks(), bytes * ranks(),
                 [&](void* input, void* output) { comm_.alltoallv(input, parts, output, parts); });
  }
  void barrier() { comm_.barrier(); }

 private:
  std::size_t ranks() const { return static_cast<std::size_t>(comm_.size()); }

  void with_buffers(std::size_t input_bytes, std::size_t output_bytes,
                    const std::function<void(void*, void*)>& call) {
    const std::byte guard{0x5a};
    std::vector<std::byte> input(input_bytes, std::byte{1});
    std::vector<std::byte> output(output_bytes + kGuard, guard);
    const auto is_guard = [&](std::byte one) { return one == guard; };
    const auto check = [&] {
      EXPECT_TRUE(std::all_of(output.end() - kGuard, output.end(), is_guard))
          << "rank " << comm_.rank() << " has bytes behind its buffer";
    };
    try {
      call(input.data(), output.data());
    } catch (...) {
      check();
      kept_.add(std::move(input));
      kept_.add(std::move(output));
      throw;
    }
    check();
  }

  Communicator& comm_;
  Kept& kept_;
};

struct Mismatch {
  const char* name;
  /// What every rank does first, so that it knows these calls.
  std::function<void(Caller&)> known;
  /// What the last rank does, and what the others do.
  std::function<void(Caller&)> odd;
  std::function<void(Caller&)> others;
};

void PrintTo(const Mismatch& mismatch, std::ostream* out) {
  *out << mismatch.name;
}

std::vector<Mismatch> mismatches() {
  const auto broadcasts = [](Caller& caller) {
    for (const std::size_t bytes : {40, 64, 3000, 4000, 100'000, 120'000}) {
      for (const int root : {0, 1}) caller.broadcast(bytes, root);
    }
  };
  const auto reductions = [](Caller& caller) {
    for (const std::size_t elements : {10, 16, 700, 1000, 20'000, 30'000}) {
      caller.allreduce(elements);
    }
  };
  const auto blocks = [](Caller& caller) {
    for (const std::size_t bytes : {40, 64, 3000, 4000, 40'000, 60'000}) {
      caller.allgather(bytes);
      caller.alltoall(bytes);
    }
    caller.barrier();
    caller.broadcast(64, 0);
    caller.alltoallv(64);
  };
  return {
      {"SmallBroadcasts", broadcasts, [](Caller& c) { c.broadcast(64, 0); },
       [](Caller& c) { c.broadcast(40, 0); }},
      {"LargerBroadcasts", broadcasts, [](Caller& c) { c.broadcast(4000, 0); },
       [](Caller& c) { c.broadcast(3000, 0); }},
      {"ShorterBroadcasts", broadcasts, [](Caller& c) { c.broadcast(3000, 0); },
       [](Caller& c) { c.broadcast(4000, 0); }},
      {"LargestBroadcasts", broadcasts, [](Caller& c) { c.broadcast(100'000, 0); },
       [](Caller& c) { c.broadcast(120'000, 0); }},
      {"BroadcastsAcrossClasses", broadcasts, [](Caller& c) { c.broadcast(100'000, 0); },
       [](Caller& c) { c.broadcast(40, 0); }},
      {"BroadcastsAcrossClassesToo", broadcasts, [](Caller& c) { c.broadcast(40, 0); },
       [](Caller& c) { c.broadcast(100'000, 0); }},
      {"RootsOfBroadcasts", broadcasts, [](Caller& c) { c.broadcast(64, 0); },
       [](Caller& c) { c.broadcast(64, 1); }},
      {"RootsOfLargeBroadcasts", broadcasts, [](Caller& c) { c.broadcast(100'000, 1); },
       [](Caller& c) { c.broadcast(100'000, 0); }},
      {"NewSizeOfAClass", broadcasts, [](Caller& c) { c.broadcast(3500, 0); },
       [](Caller& c) { c.broadcast(4000, 0); }},
      {"NewSizeOfAnotherClass", broadcasts, [](Caller& c) { c.broadcast(700, 0); },
       [](Caller& c) { c.broadcast(4000, 0); }},
      {"NewSizeOfAnotherClassOnAll", broadcasts, [](Caller& c) { c.broadcast(64, 0); },
       [](Caller& c) { c.broadcast(700, 0); }},
      {"BothNew", broadcasts, [](Caller& c) { c.broadcast(900, 0); },
       [](Caller& c) { c.broadcast(9000, 0); }},
      {"SmallReductions", reductions, [](Caller& c) { c.allreduce(16); },
       [](Caller& c) { c.allreduce(10); }},
      {"LargerReductions", reductions, [](Caller& c) { c.allreduce(700); },
       [](Caller& c) { c.allreduce(1000); }},
      {"LargestReductions", reductions, [](Caller& c) { c.allreduce(30'000); },
       [](Caller& c) { c.allreduce(20'000); }},
      {"Allgathers", blocks, [](Caller& c) { c.allgather(64); },
       [](Caller& c) { c.allgather(40); }},
      {"LargeAllgathers", blocks, [](Caller& c) { c.allgather(40'000); },
       [](Caller& c) { c.allgather(60'000); }},
      {"Alltoalls", blocks, [](Caller& c) { c.alltoall(3000); },
       [](Caller& c) { c.alltoall(4000); }},
      {"LargeAlltoalls", blocks, [](Caller& c) { c.alltoall(60'000); },
       [](Caller& c) { c.alltoall(40'000); }},
      {"CollectivesOfOneSize", blocks, [](Caller& c) { c.allgather(64); },
       [](Caller& c) { c.alltoall(64); }},
      {"OneRankInABarrier", blocks, [](Caller& c) { c.barrier(); },
       [](Caller& c) { c.alltoall(64); }},
      {"AllButOneInABarrier", blocks, [](Caller& c) { c.alltoall(4000); },
       [](Caller& c) { c.barrier(); }},
      {"BarrierAndANewCall", blocks, [](Caller& c) { c.broadcast(9000, 0); },
       [](Caller& c) { c.barrier(); }},
      {"ANewCallAndBarriers", blocks, [](Caller& c) { c.barrier(); },
       [](Caller& c) { c.broadcast(9000, 0); }},
      {"VectorsAndBlocks", blocks, [](Caller& c) { c.alltoallv(64); },
       [](Caller& c) { c.alltoall(64); }},
      {"VectorsAndBlocksToo", blocks, [](Caller& c) { c.alltoall(64); },
       [](Caller& c) { c.alltoallv(80); }},
  };
}

class Mismatches : public testing::TestWithParam<std::tuple<const char*, Mismatch>> {};

TEST_P(Mismatches, AreOneErrorOnAllRanks) {
  const auto& [machine, mismatch] = GetParam();
  const int ranks = hierarchy::Machine::parse(machine).ranks();
  Kept kept;
  const auto errors = run_ranks(ranks, [&, machine = machine, mismatch = mismatch](
                                           int rank, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap), on(machine));
    Caller caller(comm, kept);
    mismatch.known(caller);
    try {
      (rank == ranks - 1 ? mismatch.odd : mismatch.others)(caller);
      // A rank that only sends finds out afterwards.
      for (int later = 0; later < 100; ++later) caller.barrier();
    } catch (const CallError&) {
      EXPECT_THROW(caller.barrier(), PeerError);
      throw;
    } catch (const std::exception& error) {
      throw Error(std::string("no CallError: ") + error.what());
    }
  });
  for (const std::string& error : errors) {
    EXPECT_EQ(error.substr(0, 16), "ranks disagree: ") << error;
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, Mismatches,
                         testing::Combine(testing::Values("1x2", "1x4", "2x1", "2x2"),
                                          testing::ValuesIn(mismatches())),
                         [](const auto& test) {
                           const std::string machine = std::get<0>(test.param);
                           return "On" + machine + std::get<1>(test.param).name;
                         });

}  // namespace
}  // namespace weft::mismatch_test
