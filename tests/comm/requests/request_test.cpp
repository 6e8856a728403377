// Requests: collectives that are started, several at a time, and end whenever they are waited for.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <tuple>

#include "hierarchy/machine.hpp"
#include "tests/comm/support/placement.hpp"
#include "tests/comm/support/run_ranks.hpp"

namespace weft::request_test {
namespace {

using test::none;
using test::run_ranks;
using Words = std::vector<std::uint32_t>;

Operation sum() {
  Operation operation;
  operation.element_bytes = sizeof(std::uint32_t);
  operation.associative = true;
  operation.combine = [](const void*, std::byte* dst, const std::byte* left, const std::byte* right,
                         std::size_t elements) {
    for (std::size_t i = 0; i < elements; ++i) {
      reinterpret_cast<std::uint32_t*>(dst)[i] = reinterpret_cast<const std::uint32_t*>(left)[i] +
                                                 reinterpret_cast<const std::uint32_t*>(right)[i];
    }
  };
  return operation;
}

Options on(const char* machine, bool progress_thread = false) {
  Options options = test::on(machine);
  options.progress_thread = progress_thread;
  return options;
}

/// A collective on words, with its answer. Some are in place.
struct Job {
  virtual ~Job() = default;
  virtual Request make(Communicator& comm) = 0;
  virtual void fill(const Communicator& comm, std::uint32_t round) = 0;
  virtual void check(const Communicator& comm, std::uint32_t round) const = 0;
};

class AlltoallJob : public Job {
 public:
  AlltoallJob(const Communicator& comm, std::size_t words, bool in_place)
      : words_(words),
        in_place_(in_place),
        in_(words * static_cast<std::size_t>(comm.size())),
        out_(in_.size()) {}
  Request make(Communicator& comm) override {
    return comm.alltoall_init(in_place_ ? out_.data() : in_.data(), out_.data(), words_ * 4);
  }
  void fill(const Communicator& comm, std::uint32_t round) override {
    Words& input = in_place_ ? out_ : in_;
    for (std::size_t i = 0; i < input.size(); ++i) {
      input[i] = value(comm.rank(), static_cast<int>(i / words_), i % words_, round);
    }
  }
  void check(const Communicator& comm, std::uint32_t round) const override {
    for (std::size_t i = 0; i < out_.size(); ++i) {
      ASSERT_EQ(out_[i], value(static_cast<int>(i / words_), comm.rank(), i % words_, round))
          << "rank " << comm.rank() << ", word " << i << ", round " << round;
    }
  }

 private:
  static std::uint32_t value(int from, int to, std::size_t at, std::uint32_t round) {
    return static_cast<std::uint32_t>(from * 1000003 + to * 10007) +
           static_cast<std::uint32_t>(at) + round * 77;
  }
  std::size_t words_;
  bool in_place_;
  Words in_, out_;
};

/// Blocks of any sizes, some of them empty.
class AlltoallvJob : public Job {
 public:
  AlltoallvJob(const Communicator& comm, std::size_t step) : step_(step) {
    sends_ = parts(
        comm.size(), [&](int to) { return words(comm.rank(), to); }, in_);
    receives_ = parts(
        comm.size(), [&](int from) { return words(from, comm.rank()); }, out_);
  }
  Request make(Communicator& comm) override {
    return comm.alltoallv_init(in_.data(), sends_, out_.data(), receives_);
  }
  void fill(const Communicator& comm, std::uint32_t round) override {
    for (int to = 0; to < comm.size(); ++to) {
      for (std::size_t i = 0; i < words(comm.rank(), to); ++i) {
        in_[sends_[to].offset / 4 + i] = value(comm.rank(), to, i, round);
      }
    }
  }
  void check(const Communicator& comm, std::uint32_t round) const override {
    for (int from = 0; from < comm.size(); ++from) {
      for (std::size_t i = 0; i < words(from, comm.rank()); ++i) {
        ASSERT_EQ(out_[receives_[from].offset / 4 + i], value(from, comm.rank(), i, round))
            << "rank " << comm.rank() << ", word " << i << " of " << from << ", round " << round;
      }
    }
  }

 private:
  std::size_t words(int from, int to) const {
    return static_cast<std::size_t>((from * 3 + to * 5) % 4) * step_;
  }
  static std::uint32_t value(int from, int to, std::size_t at, std::uint32_t round) {
    return static_cast<std::uint32_t>(from * 7919 + to * 104729) + static_cast<std::uint32_t>(at) +
           round * 31;
  }
  template <class Sizes>
  static std::vector<Part> parts(int ranks, Sizes sizes, Words& buffer) {
    std::vector<Part> parts;
    std::size_t end = 0;
    for (int other = 0; other < ranks; ++other) {
      parts.push_back({end, sizes(other) * 4});
      end += parts.back().bytes;
    }
    buffer.resize(end / 4);
    return parts;
  }
  std::size_t step_;
  std::vector<Part> sends_, receives_;
  Words in_, out_;
};

class AllreduceJob : public Job {
 public:
  AllreduceJob(std::size_t words, bool in_place) : in_place_(in_place), in_(words), out_(words) {}
  Request make(Communicator& comm) override {
    return comm.allreduce_init(in_place_ ? out_.data() : in_.data(), out_.data(), out_.size(),
                               sum());
  }
  void fill(const Communicator& comm, std::uint32_t round) override {
    Words& input = in_place_ ? out_ : in_;
    for (std::size_t i = 0; i < input.size(); ++i) {
      input[i] =
          static_cast<std::uint32_t>(i) * static_cast<std::uint32_t>(comm.rank() + 1) + round;
    }
  }
  void check(const Communicator& comm, std::uint32_t round) const override {
    const auto ranks = static_cast<std::uint32_t>(comm.size());
    for (std::size_t i = 0; i < out_.size(); ++i) {
      ASSERT_EQ(out_[i], static_cast<std::uint32_t>(i) * (ranks * (ranks + 1) / 2) + ranks * round)
          << "rank " << comm.rank() << ", word " << i << ", round " << round;
    }
  }

 private:
  bool in_place_;
  Words in_, out_;
};

class BroadcastJob : public Job {
 public:
  BroadcastJob(std::size_t words, int root) : root_(root), buffer_(words) {}
  Request make(Communicator& comm) override {
    return comm.broadcast_init(buffer_.data(), buffer_.size() * 4, root_);
  }
  void fill(const Communicator& comm, std::uint32_t round) override {
    for (std::size_t i = 0; i < buffer_.size(); ++i) {
      buffer_[i] = comm.rank() == root_ ? static_cast<std::uint32_t>(i) ^ round : 0xdeadbeef;
    }
  }
  void check(const Communicator& comm, std::uint32_t round) const override {
    for (std::size_t i = 0; i < buffer_.size(); ++i) {
      ASSERT_EQ(buffer_[i], static_cast<std::uint32_t>(i) ^ round)
          << "rank " << comm.rank() << ", word " << i << ", round " << round;
    }
  }

 private:
  int root_;
  Words buffer_;
};

/// A machine, and whether the ranks have progress threads.
class Requests : public testing::TestWithParam<std::tuple<const char*, bool>> {};

/// Every rank starts the same requests in one order, and tests and waits in an order of its own.
TEST_P(Requests, SeveralUnderWayGiveTheRightAnswers) {
  const auto [machine, thread] = GetParam();
  const int ranks = hierarchy::Machine::parse(machine).ranks();
  const auto errors = run_ranks(ranks, [&, machine = machine, thread = thread](
                                           int rank, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap), on(machine, thread));
    std::vector<std::unique_ptr<Job>> jobs;
    for (const std::size_t words : {2u, 300u, 20000u}) {
      jobs.push_back(std::make_unique<AlltoallJob>(comm, words, words == 300));
      jobs.push_back(std::make_unique<AllreduceJob>(words, words == 2));
      jobs.push_back(std::make_unique<AlltoallvJob>(comm, words));
      jobs.push_back(std::make_unique<BroadcastJob>(words, ranks - 1));
    }
    std::vector<Request> requests;
    for (const auto& job : jobs) requests.push_back(job->make(comm));
    std::mt19937 shared(5);
    std::mt19937 own(static_cast<unsigned>(rank));
    for (std::uint32_t round = 0; round < 40; ++round) {
      std::vector<std::size_t> order;
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        if (shared() % 2 == 0) order.push_back(i);
      }
      std::ranges::shuffle(order, shared);
      for (const std::size_t i : order) {
        jobs[i]->fill(comm, round);
        requests[i].start();
        // Sometimes everyone runs something in between.
        if (shared() % 4 == 0) comm.barrier();
        if (shared() % 8 == 0) {
          AllreduceJob between(50, false);
          between.fill(comm, round);
          Request request = between.make(comm);
          request.start();
          request.wait();
          between.check(comm, round);
        }
      }
      std::ranges::shuffle(order, own);
      for (const std::size_t i : order) {
        for (auto tries = own() % 20; tries > 0 && !requests[i].test(); --tries) {
        }
        if (own() % 4 == 0) {
          while (!requests[i].test()) std::this_thread::yield();
        }
        requests[i].wait();
        EXPECT_TRUE(requests[i].test());
        jobs[i]->check(comm, round);
      }
    }
  });
  ASSERT_EQ(errors, none(ranks));
}

INSTANTIATE_TEST_SUITE_P(Machines, Requests,
                         testing::Combine(testing::Values("1x1", "1x2", "1x4", "2x1", "2x2",
                                                          "1+3+1", "0,1,1,0"),
                                          testing::Bool()));

TEST(Request, IsRefusedWhileUnderWay) {
  const auto errors = run_ranks(2, [](int, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap), on("1x2"));
    AllreduceJob job(8, false);
    Request request = job.make(comm);
    EXPECT_TRUE(request.test());
    job.fill(comm, 1);
    request.start();
    EXPECT_THROW(request.start(), UsageError);  // only test() and wait() find that it has ended
    request.wait();
    job.check(comm, 1);
  });
  EXPECT_EQ(errors, none(2));
}

/// The other ranks wait for a request first, and only then call a collective that is new to all, in
/// which the last rank already waits for them.
class FirstCalls : public testing::TestWithParam<std::tuple<const char*, bool>> {};

TEST_P(FirstCalls, LetStartedRequestsEnd) {
  const auto [machine, thread] = GetParam();
  const int ranks = hierarchy::Machine::parse(machine).ranks();
  std::atomic<bool> has_started{false};
  const auto errors = run_ranks(ranks, [&, machine = machine, thread = thread](
                                           int rank, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap), on(machine, thread));
    AlltoallJob job(comm, 100'000, false);
    AllreduceJob first(50, false);
    first.fill(comm, 2);
    Request request = job.make(comm);
    job.fill(comm, 1);
    const bool is_last = rank == ranks - 1;
    // What the others ask of it comes after its own start, so the start has not answered it.
    while (!is_last && !has_started) std::this_thread::yield();
    request.start();
    if (is_last) has_started = true;
    if (!is_last) request.wait();
    Request another = first.make(comm);
    request.wait();
    job.check(comm, 1);
    another.start();
    another.wait();
    first.check(comm, 2);
  });
  ASSERT_EQ(errors, none(ranks));
}

INSTANTIATE_TEST_SUITE_P(Machines, FirstCalls,
                         testing::Combine(testing::Values("1x2", "2x1", "1+2", "0,1,1,0"),
                                          testing::Bool()));

/// Three requests are under way, of which two make progress at a time. On rank 1 the third has
/// begun, on rank 2 not yet, when a larger call makes the stages of their node grow.
TEST(Request, KeepsTheStagesOfItsStart) {
  constexpr int kRanks = 3;
  constexpr std::size_t kSmall = 200;
  constexpr std::size_t kLarge = 20'000;
  for (int round = 0; round < 20; ++round) {
    std::atomic<bool> first_is_done{false};
    std::atomic<bool> third_has_begun{false};
    const auto errors = run_ranks(kRanks, [&](int rank, std::unique_ptr<Bootstrap> bootstrap) {
      Options options = on("1+2");
      options.algorithms["alltoall"] = "sa";
      Communicator comm(std::move(bootstrap), options);
      std::vector<AlltoallJob> jobs(3, AlltoallJob(comm, kSmall, false));
      std::vector<Request> requests;
      for (auto& job : jobs) requests.push_back(job.make(comm));
      const std::uint64_t small_stage = comm.statistics().stage_bytes;
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        jobs[i].fill(comm, static_cast<std::uint32_t>(i));
        requests[i].start();
      }
      if (rank == 2) {
        while (!requests[0].test()) std::this_thread::yield();
        first_is_done = true;
        while (!third_has_begun) std::this_thread::yield();
      } else {
        while (!(rank == 1 ? first_is_done : third_has_begun)) {
          requests[0].test();
          std::this_thread::yield();
        }
        for (int i = 0; i < 10; ++i) requests[0].test();
        if (rank == 1) third_has_begun = true;
      }
      AlltoallJob larger(comm, kLarge, false);
      Request last = larger.make(comm);
      EXPECT_GT(comm.statistics().stage_bytes, small_stage);
      larger.fill(comm, 3);
      last.start();
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        requests[i].wait();
        jobs[i].check(comm, static_cast<std::uint32_t>(i));
      }
      last.wait();
      larger.check(comm, 3);
    });
    ASSERT_EQ(errors, none(kRanks));
  }
}

}  // namespace
}  // namespace weft::request_test
