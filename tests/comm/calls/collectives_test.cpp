// Every collective but alltoall through the public API, ranks as threads: every algorithm on every
// kind of placement runs where it is asked for, gives what the contract says, and touches nothing
// else.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "hierarchy/machine.hpp"
#include "plan/verify/contract.hpp"
#include "registry/algorithm.hpp"
#include "registry/variants.hpp"
#include "tests/comm/support/algorithms_that_ran.hpp"
#include "tests/comm/support/placement.hpp"
#include "tests/comm/support/run_ranks.hpp"
#include "tests/sanitized.hpp"
#include "tune/facts.hpp"

namespace weft::collectives_test {
namespace {

using plan::Collective;
using plan::Problem;
using test::none;
using test::run_ranks;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kGuard = 64;
constexpr std::byte kUntouched{0xa5};

/// 2 by 2 matrices modulo 2^32: associative to the bit, and not commutative.
struct Matrix {
  std::uint32_t a = 1, b = 0, c = 0, d = 1;

  friend Matrix operator*(const Matrix& x, const Matrix& y) {
    return {x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c,
            x.c * y.b + x.d * y.d};
  }
};

template <class T>
Operation operation_on(bool commutative) {
  Operation operation;
  operation.element_bytes = sizeof(T);
  operation.commutative = commutative;
  operation.associative = true;
  operation.combine = [](const void*, std::byte* dst, const std::byte* left, const std::byte* right,
                         std::size_t elements) {
    for (std::size_t i = 0; i < elements; ++i) {
      T x, y;
      std::memcpy(&x, left + i * sizeof(T), sizeof x);
      std::memcpy(&y, right + i * sizeof(T), sizeof y);
      x = static_cast<T>(x * y);
      std::memcpy(dst + i * sizeof(T), &x, sizeof x);
    }
  };
  return operation;
}

/// By a generator that is cheap to seed: its work was a quarter of a test under ThreadSanitizer.
Bytes random_bytes(std::size_t size, int rank, int call) {
  std::minstd_rand random(static_cast<unsigned>(rank * 1000 + call + 1));
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() >> 16u | 1u);
  return bytes;
}

Bytes expected_output(const Problem& problem, int rank, int call, const Operation& operation,
                      Bytes output) {
  for (const plan::Expectation& piece : contract(problem, rank)) {
    Bytes reduced;
    for (const int origin : piece.origins) {
      const Bytes input = random_bytes(problem.input_bytes(origin), origin, call);
      const Bytes part(
          input.begin() + static_cast<std::ptrdiff_t>(piece.origin_offset),
          input.begin() + static_cast<std::ptrdiff_t>(piece.origin_offset + piece.bytes));
      if (reduced.empty()) {
        reduced = part;
      } else {
        operation.combine(nullptr, reduced.data(), reduced.data(), part.data(),
                          part.size() / operation.element_bytes);
      }
    }
    std::ranges::copy(reduced, output.begin() + static_cast<std::ptrdiff_t>(piece.offset));
  }
  return output;
}

std::vector<Part> parts_of(const Problem& problem) {
  std::vector<Part> parts;
  for (const plan::Block& block : problem.layout) parts.push_back({block.offset, block.bytes});
  return parts;
}

/// Calls the API as the problem says.
void call(Communicator& comm, const Problem& problem, const std::byte* input, std::byte* output,
          const Operation& operation) {
  const std::size_t bytes = problem.block_bytes;
  const std::size_t elements = bytes / problem.element_bytes;
  const std::vector<Part> parts = parts_of(problem);
  const bool is_root = comm.rank() == problem.root;
  switch (problem.collective) {
    case Collective::barrier:
      return comm.barrier();
    case Collective::broadcast:
      return comm.broadcast(is_root ? const_cast<std::byte*>(input) : output, bytes, problem.root);
    case Collective::scatter:
      if (parts.empty()) return comm.scatter(input, output, bytes, problem.root);
      return comm.scatter(input, is_root ? parts : std::vector<Part>(), output,
                          parts[comm.rank()].bytes, problem.root);
    case Collective::gather:
      if (parts.empty()) return comm.gather(input, output, bytes, problem.root);
      return comm.gather(input, parts[comm.rank()].bytes, output,
                         is_root ? parts : std::vector<Part>(), problem.root);
    case Collective::allgather:
      if (parts.empty()) return comm.allgather(input, output, bytes);
      return comm.allgather(input, output, parts);
    case Collective::reduce:
      return comm.reduce(input, output, elements, operation, problem.root);
    case Collective::allreduce:
      return comm.allreduce(input, output, elements, operation);
    case Collective::reduce_scatter: {
      if (parts.empty()) return comm.reduce_scatter(input, output, elements, operation);
      std::vector<std::size_t> counts;
      for (const Part& part : parts) counts.push_back(part.bytes / operation.element_bytes);
      return comm.reduce_scatter(input, output, counts, operation);
    }
    case Collective::scan:
      return comm.scan(input, output, elements, operation);
    case Collective::exscan:
      return comm.exscan(input, output, elements, operation);
    default:
      FAIL();
  }
}

/// The place of the input in the output of a call in place; nothing where there is no such call.
std::optional<std::size_t> place_of_input(const Problem& problem, int rank) {
  const bool is_root = rank == problem.root;
  switch (problem.collective) {
    case Collective::gather:
      return is_root ? std::optional(problem.block(rank).offset) : std::nullopt;
    case Collective::allgather:
      return problem.block(rank).offset;
    case Collective::reduce:
      return is_root ? std::optional<std::size_t>(0) : std::nullopt;
    case Collective::allreduce:
    case Collective::scan:
      return 0;
    default:
      return std::nullopt;
  }
}

void run_and_compare(Communicator& comm, const Problem& problem, const Operation& operation,
                     int number, bool in_place) {
  const int rank = comm.rank();
  const Bytes input = random_bytes(problem.input_bytes(rank), rank, number);
  const std::size_t bytes = problem.output_bytes(rank);
  Bytes output(bytes + 2 * kGuard, kUntouched);
  const Bytes right_inside =
      expected_output(problem, rank, number, operation, Bytes(bytes, kUntouched));
  Bytes right = output;
  std::ranges::copy(right_inside, right.begin() + kGuard);
  const std::byte* from = input.data();
  if (const auto place = in_place ? place_of_input(problem, rank) : std::nullopt) {
    std::byte* there = output.data() + kGuard + *place;
    if (!input.empty()) std::memcpy(there, input.data(), input.size());
    from = there;
  }
  call(comm, problem, from, output.data() + kGuard, operation);
  ASSERT_EQ(input, random_bytes(input.size(), rank, number));
  const auto wrong = std::mismatch(output.begin(), output.end(), right.begin()).first;
  ASSERT_EQ(wrong, output.end()) << "rank " << rank << ", " << to_string(problem.collective)
                                 << " of " << problem.block_bytes << " bytes, root " << problem.root
                                 << ", first wrong at "
                                 << (wrong - output.begin()) - static_cast<std::ptrdiff_t>(kGuard);
}

Problem problem_of(Collective collective, int ranks, std::size_t bytes, int root) {
  Problem problem = Problem::alltoall(ranks, bytes);
  problem.collective = collective;
  problem.root = root;
  return problem;
}

void set(Problem& problem, const Operation& operation) {
  if (!is_reduction(problem.collective)) return;
  problem.element_bytes = operation.element_bytes;
  problem.commutative = operation.commutative;
  problem.associative = operation.associative;
}

std::vector<std::string> variants(Collective collective, int ranks) {
  std::vector<std::string> names;
  constexpr std::uint64_t kSegment = 1024;
  for (const auto& one : registry::variants(collective, ranks, kSegment)) {
    names.push_back(one.name());
  }
  return names;
}

Options on(const char* machine, Collective collective, const std::string& algorithm) {
  Options options = test::on(machine);
  if (!algorithm.empty()) options.algorithms[std::string(to_string(collective))] = algorithm;
  return options;
}

bool is_noted(const Communicator& comm, const std::string& text) {
  return std::ranges::any_of(comm.statistics().notes,
                             [&](const std::string& note) { return note.find(text) != note.npos; });
}

/// Calls by the algorithm that was asked for where it may solve the problem; elsewhere another one
/// has to, and a note says so.
void run_as_asked(Communicator& comm, const hierarchy::Machine& machine,
                  const registry::Algorithm& asked, const Problem& problem,
                  const Operation& operation, int& number) {
  const bool may = tune::may_run(asked, problem, {machine});
  // Algorithms for one node, and those that reorder operands: else the test would show nothing.
  EXPECT_TRUE(may || machine.nodes() > 1 || !problem.commutative) << asked.name();
  const std::string_view collective = to_string(problem.collective);
  const std::uint64_t before = test::calls_by(comm, collective, asked.name());
  run_and_compare(comm, problem, operation, ++number, false);
  run_and_compare(comm, problem, operation, ++number, true);
  EXPECT_EQ(test::calls_by(comm, collective, asked.name()) - before, may ? 2u : 0u) << asked.name();
  if (!may) {
    EXPECT_TRUE(is_noted(comm, fmt::format("={}: not taken for {}", asked.name(), collective)));
  }
}

constexpr const char* kMachines[] = {"1x1", "1x3", "2x2", "1+3+1", "0,1,0,1,2"};

using Where = std::tuple<const char*, Collective>;

class Collectives : public testing::TestWithParam<Where> {};

TEST_P(Collectives, GiveTheRightAnswerByEveryAlgorithm) {
  const auto [machine, collective] = GetParam();
  const auto parsed = hierarchy::Machine::parse(machine);
  const int ranks = parsed.ranks();
  for (const auto& algorithm :
       test::part_of(variants(collective, ranks), ranks, machine, kMachines)) {
    const auto asked = registry::Algorithm::parse(collective, algorithm);
    const auto errors = run_ranks(ranks, [&](int, std::unique_ptr<Bootstrap> bootstrap) {
      Communicator comm(std::move(bootstrap), on(machine, collective, algorithm));
      const Operation operations[] = {operation_on<Matrix>(false),
                                      operation_on<std::uint8_t>(true)};
      int number = 0;
      for (const Operation& operation : operations) {
        for (const std::size_t bytes : {16u, 48u, 2560u}) {
          Problem problem = problem_of(collective, ranks, bytes, (number + 1) % ranks);
          set(problem, operation);
          run_as_asked(comm, parsed, asked, problem, operation, number);
        }
      }
    });
    ASSERT_EQ(errors, none(ranks)) << algorithm << " on " << machine;
  }
}

TEST_P(Collectives, GiveTheRightAnswerByTheChosenAlgorithm) {
  const auto [machine, collective] = GetParam();
  const int ranks = hierarchy::Machine::parse(machine).ranks();
  const auto errors = run_ranks(ranks, [&](int, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap), on(machine, collective, ""));
    std::mt19937 random(7);
    int number = 0;
    for (const std::size_t elements : {0u, 1u, 5u, 63u, 1000u, 5000u, 20000u}) {
      for (const bool commutative : {true, false}) {
        const Operation operation =
            commutative ? operation_on<std::uint8_t>(true) : operation_on<Matrix>(false);
        Problem problem = problem_of(collective, ranks, elements * operation.element_bytes,
                                     static_cast<int>(random() % static_cast<unsigned>(ranks)));
        set(problem, operation);
        run_and_compare(comm, problem, operation, ++number, false);
        run_and_compare(comm, problem, operation, ++number, true);
      }
    }
  });
  ASSERT_EQ(errors, none(ranks));
}

std::string name_of(const testing::TestParamInfo<Where>& info) {
  std::string name = std::string(to_string(std::get<1>(info.param))) + "On";
  for (const char c : std::string_view(std::get<0>(info.param))) {
    if (std::isalnum(static_cast<unsigned char>(c))) name += c;
    if (c == '+') name += "And";
  }
  return name;
}

const auto kCollectives = testing::ValuesIn([] {
  std::vector<Collective> list;
  for (const Collective collective : plan::all_collectives()) {
    if (is_reduction(collective) || collective == Collective::barrier ||
        collective == Collective::broadcast || collective == Collective::scatter ||
        collective == Collective::gather || collective == Collective::allgather) {
      list.push_back(collective);
    }
  }
  return list;
}());

INSTANTIATE_TEST_SUITE_P(Placements, Collectives,
                         testing::Combine(testing::ValuesIn(kMachines), kCollectives), name_of);

class Irregular : public testing::TestWithParam<Where> {};

TEST_P(Irregular, BlocksOfAnySizeArrive) {
  const auto [machine, collective] = GetParam();
  const int ranks = hierarchy::Machine::parse(machine).ranks();
  const auto errors = run_ranks(ranks, [&](int, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap), on(machine, collective, ""));
    const Operation operation = operation_on<Matrix>(false);
    std::mt19937 random(11);
    for (int number = 0; number < 40; ++number) {
      Problem problem = problem_of(collective, ranks, 0, number % ranks);
      set(problem, operation);
      std::uint64_t at = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const bool is_large = random() % 8 == 0;
        const bool is_empty = random() % 4 == 0;
        const std::uint64_t bytes = is_empty ? 0 : (random() % (is_large ? 4000 : 9)) * 16;
        problem.layout.push_back({at, bytes});
        // Reductions' blocks follow one another, others' may have gaps.
        at += bytes + (is_reduction(collective) ? 0 : random() % 3 * 16);
      }
      run_and_compare(comm, problem, operation, number, number % 3 == 1);
    }
  });
  ASSERT_EQ(errors, none(ranks));
}

/// Blocks side by side, of one size class if none of them is empty.
std::vector<plan::Block> any_list(int ranks, std::mt19937& random) {
  std::vector<plan::Block> list;
  std::uint64_t at = 0;
  const bool has_gaps = random() % 3 == 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const bool is_empty = has_gaps && random() % 3 == 0;
    list.push_back({at, is_empty ? 0 : (100 + random() % 20) * 16});
    at += list.back().bytes;
  }
  return list;
}

// New lists of known classes, whose numbers are written into programs that are there.
TEST_P(Irregular, ListsThatChangeArriveByEveryAlgorithm) {
  const auto [machine, collective] = GetParam();
  if (collective != Collective::allgather && collective != Collective::reduce_scatter) return;
  const int ranks = hierarchy::Machine::parse(machine).ranks();
  for (const auto& algorithm :
       test::part_of(variants(collective, ranks), ranks, machine, kMachines)) {
    const auto errors = run_ranks(ranks, [&](int, std::unique_ptr<Bootstrap> bootstrap) {
      Communicator comm(std::move(bootstrap), on(machine, collective, algorithm));
      const Operation operation = operation_on<std::uint8_t>(true);
      std::mt19937 random(13);
      for (int number = 0; number < 12; ++number) {
        Problem problem = problem_of(collective, ranks, 0, 0);
        set(problem, operation);
        problem.layout = any_list(ranks, random);
        run_and_compare(comm, problem, operation, number, number % 3 == 1);
      }
    });
    ASSERT_EQ(errors, none(ranks)) << algorithm << " on " << machine;
  }
}

TEST(Irregular, LeavesANoteWhereAnAlgorithmWasAskedForThatItCannotTake) {
  const auto errors = run_ranks(3, [](int rank, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap), on("1x3", Collective::gather, "binomial"));
    const std::vector<Part> parts = {{0, 8}, {8, 16}, {24, 8}};
    const Bytes input(parts[rank].bytes);
    Bytes output(32);
    for (int root = 0; root < 2; ++root) {
      comm.gather(input.data(), input.size(), output.data(),
                  rank == root ? parts : std::vector<Part>(), root);
    }
    EXPECT_EQ(comm.statistics().notes,
              std::vector<std::string>{"WEFT_GATHER=binomial: not taken for gather of blocks of "
                                       "different sizes: only the root knows all sizes, so it "
                                       "exchanges with each rank directly"});
  });
  EXPECT_EQ(errors, none(3));
}

TEST(Refused, AlgorithmsLeaveOneNoteForEachReason) {
  const auto errors = run_ranks(4, [](int, std::unique_ptr<Bootstrap> bootstrap) {
    Options options = on("2x2", Collective::allreduce, "everyone");
    Communicator comm(std::move(bootstrap), options);
    const Operation operation = operation_on<std::uint8_t>(true);
    for (const std::size_t bytes : {16u, 48u}) {
      Problem problem = problem_of(Collective::allreduce, 4, bytes, 0);
      set(problem, operation);
      run_and_compare(comm, problem, operation, 1, false);
    }
    EXPECT_EQ(comm.statistics().notes,
              std::vector<std::string>{"WEFT_ALLREDUCE=everyone: not taken for allreduce of 16 "
                                       "bytes in elements of 1: allreduce everyone is for ranks "
                                       "of one node, not for 2x2"});
  });
  EXPECT_EQ(errors, none(4));
}

INSTANTIATE_TEST_SUITE_P(Placements, Irregular,
                         testing::Combine(testing::ValuesIn(kMachines),
                                          testing::Values(Collective::scatter, Collective::gather,
                                                          Collective::allgather,
                                                          Collective::reduce_scatter)),
                         name_of);

}  // namespace
}  // namespace weft::collectives_test
