// Alltoallw of blocks whose layouts the ranks know: receivers copy them from where they lie, where
// they see that memory.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <vector>

#include "engine/copying/nest.hpp"
#include "tests/comm/support/algorithms_that_ran.hpp"
#include "tests/comm/support/processes.hpp"
#include "tests/comm/support/run_ranks.hpp"

namespace weft::direct_test {
namespace {

using engine::Elements;
using engine::Nest;
using test::calls_by;
using test::none;
using test::run_ranks;

/// The blocks between two ranks have `rows` times `columns` runs.
struct Shape {
  std::uint64_t run = 0;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t bytes() const { return run * rows * columns; }
};

/// How a test's blocks are made.
struct Way {
  bool has_long_runs = false;
  bool has_long_blocks = false;  // of short runs
  bool in_heap = false;
  bool knows_receives = true;  // else they are unpacked by the function
};

Shape shape_of(unsigned seed, std::size_t from, std::size_t to, const Way& way) {
  std::mt19937 random(static_cast<unsigned>(seed * 1009 + from * 101 + to));
  if (random() % 6 == 0) return {};
  constexpr std::uint64_t kRuns[] = {4, 8, 16, 24, 200};
  const std::uint64_t run = way.has_long_runs ? 8192 + random() % 5000 : kRuns[random() % 5];
  if (way.has_long_blocks) {
    const std::uint64_t rows = 20 + random() % 60;
    return {run, rows, (40 << 10) / (run * rows) + 1 + random() % 3};
  }
  const std::uint64_t most = way.has_long_runs ? 5 : 60;
  return {run, 1 + random() % most, 1 + random() % most};
}

/// A block of this shape in memory of its own, in a layout of its own. `in_heap`: memory that
/// neighbours map.
class Block {
 public:
  Block(const Shape& shape, unsigned layout, bool in_heap) : shape_(shape), in_heap_(in_heap) {
    const auto run = static_cast<std::ptrdiff_t>(shape.run);
    const auto rows = static_cast<std::ptrdiff_t>(shape.rows);
    const auto columns = static_cast<std::ptrdiff_t>(shape.columns);
    const std::ptrdiff_t gap = layout % 3 * 8;
    Nest rest{.at = 16, .run_bytes = shape.run};
    std::ptrdiff_t row = columns * (run + gap);
    switch (layout / 3 % 4) {
      case 0:  // rows of runs
        rest.loops = {{shape.rows, row}, {shape.columns, run + gap}};
        break;
      case 1:  // columns of runs
        row = run + gap;
        rest.loops = {{shape.rows, row}, {shape.columns, row * rows}};
        break;
      case 2:  // upwards
        rest.at += (rows - 1) * row;
        rest.loops = {{shape.rows, -row}, {shape.columns, run + gap}};
        break;
      default:  // a list of rows
        for (std::uint64_t i = 0; i < shape.rows && shape.bytes() != 0; ++i) {
          const std::uint64_t place = (i * 7 + layout) % shape.rows;
          const bool is_permuted = shape.rows % 7 != 0;
          nests_.push_back({.at = 16 + static_cast<std::ptrdiff_t>(is_permuted ? place : i) * row,
                            .run_bytes = shape.run,
                            .loops = {{shape.columns, run + gap}},
                            .first = i * shape.run * shape.columns});
        }
    }
    if (nests_.empty() && shape.bytes() != 0) nests_.push_back(rest);
    for (Nest& nest : nests_) engine::simplify(nest);
    size_ = 32 + shape.rows * shape.columns * (shape.run + static_cast<std::uint64_t>(gap));
    memory_ = in_heap ? static_cast<std::byte*>(weft::allocate(size_)) : new std::byte[size_];
    std::memset(memory_, 0x5a, size_);
    elements_ = {reinterpret_cast<std::uintptr_t>(memory_), nests_, shape.bytes(), 0, 1};
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() {
    if (in_heap_) {
      weft::deallocate(memory_);
    } else {
      delete[] memory_;
    }
  }

  const Elements* elements() const { return &elements_; }
  std::uint64_t bytes() const { return shape_.bytes(); }
  std::vector<std::byte> memory() const { return {memory_, memory_ + size_}; }
  void fill(const std::vector<std::byte>& packed) {
    engine::unpack(elements_, 0, packed.size(), packed.data());
  }

 private:
  Shape shape_;
  bool in_heap_;
  std::vector<Nest> nests_;
  std::size_t size_ = 0;
  std::byte* memory_ = nullptr;
  Elements elements_;
};

std::vector<std::byte> packed(const Shape& shape, unsigned seed, std::size_t from, std::size_t to) {
  std::mt19937 random(static_cast<unsigned>(seed * 31 + from * 7 + to));
  std::vector<std::byte> bytes(shape.bytes());
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() >> 8);
  return bytes;
}

/// One alltoallw; "" or what is wrong.
std::string exchange(Communicator& comm, unsigned seed, const Way& way) {
  const auto rank = static_cast<std::size_t>(comm.rank());
  const auto ranks = static_cast<std::size_t>(comm.size());
  std::mt19937 own(static_cast<unsigned>(seed * 977 + rank));
  std::vector<std::unique_ptr<Block>> sends, receives, wanted;
  std::vector<std::size_t> send_bytes, receive_bytes;
  for (std::size_t i = 0; i < ranks; ++i) {
    const Shape to = shape_of(seed, rank, i, way);
    const Shape from = shape_of(seed, i, rank, way);
    sends.push_back(std::make_unique<Block>(to, own() % 12, way.in_heap));
    sends.back()->fill(packed(to, seed, rank, i));
    const auto layout = static_cast<unsigned>(own() % 12);
    receives.push_back(std::make_unique<Block>(from, layout, way.in_heap));
    wanted.push_back(std::make_unique<Block>(from, layout, false));
    wanted.back()->fill(packed(from, seed, i, rank));
    send_bytes.push_back(to.bytes());
    receive_bytes.push_back(from.bytes());
  }
  const auto at = [](const auto& blocks, int i) {
    return blocks[static_cast<std::size_t>(i)]->elements();
  };
  Packer packer;
  packer.pack = [&](int i, std::size_t from, std::size_t to, std::byte* bytes) {
    engine::pack(*at(sends, i), from, to, bytes);
  };
  packer.unpack = [&](int i, std::size_t from, std::size_t to, const std::byte* bytes) {
    engine::unpack(*at(receives, i), from, to, bytes);
  };
  packer.send_elements = [&](int i) { return at(sends, i); };
  if (way.knows_receives) packer.receive_elements = [&](int i) { return at(receives, i); };
  comm.alltoallw(send_bytes, receive_bytes, packer);
  for (std::size_t i = 0; i < ranks; ++i) {
    if (receives[i]->memory() != wanted[i]->memory()) {
      return fmt::format("call {}: a wrong byte from rank {}", seed, i);
    }
  }
  return "";
}

/// Calls that come twice each. A rank that finds something wrong goes on with the others.
std::string exchange_often(Communicator& comm, unsigned seed, const Way& way) {
  std::string first_wrong;
  for (unsigned round = 0; round < 8; ++round) {
    const std::string wrong = exchange(comm, seed + round / 2, way);
    if (first_wrong.empty()) first_wrong = wrong;
  }
  return first_wrong;
}

bool is_direct(const Communicator& comm) {
  return calls_by(comm, "alltoallv", "direct") > 0;
}

RC_GTEST_PROP(Direct, ArrivesInOneProcess, (unsigned seed)) {
  const int ranks = *rc::gen::inRange(2, 6);
  const bool knows = *rc::gen::arbitrary<bool>();
  const auto errors = run_ranks(ranks, [&](int, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap));
    const auto wrong = exchange_often(comm, seed % 100'000, {.knows_receives = knows});
    if (!wrong.empty()) throw std::runtime_error(wrong);
  });
  RC_ASSERT(errors == none(ranks));
}

using Settings = std::vector<std::pair<std::string, std::string>>;

/// That four processes make such calls. `direct`: whether some go that way.
void expect_exchanged(const Settings& settings, const Way& way, std::optional<bool> direct) {
  const auto ended = test::run_processes(4, settings, [&](int) -> std::string {
    if (way.in_heap) weft::deallocate(weft::allocate(1));
    Communicator comm(tcp_bootstrap());
    if (auto wrong = exchange_often(comm, 21, way); !wrong.empty()) return wrong;
    if (!direct || is_direct(comm) == *direct) return "";
    return *direct ? "no call was direct" : "a call was direct";
  });
  for (const auto& one : ended) {
    EXPECT_TRUE(one.in_time);
    EXPECT_EQ(one.said, "");
  }
}

// Between processes that share no memory blocks are packed, whatever the kernel would read.
TEST(Direct, IsNothingForSystemCalls) {
  expect_exchanged({{"WEFT_VIEW", "cma"}}, {.has_long_runs = true}, false);
  expect_exchanged({{"WEFT_VIEW", "cma"}}, {.has_long_runs = true, .knows_receives = false}, false);
}

TEST(Direct, ArrivesByTheSharedHeap) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "no shared heap beside a sanitizer's memory";
#endif
  const Settings heap = {{"WEFT_SHARED_HEAP", "1"}};
  expect_exchanged(heap, {.has_long_runs = true, .in_heap = true}, true);
  expect_exchanged(heap, {.has_long_runs = true, .in_heap = true, .knows_receives = false}, true);
  expect_exchanged(heap, {.has_long_blocks = true, .in_heap = true}, true);
  expect_exchanged(heap, {.has_long_blocks = true, .in_heap = true, .knows_receives = false}, true);
}

// Short blocks are packed, others read where they lie, in the same calls.
TEST(Direct, GoesBesidePackedBlocks) {
  expect_exchanged({{"WEFT_SHARED_HEAP", "1"}}, {.in_heap = true}, std::nullopt);
}

TEST(Direct, IsNothingForStages) {
  expect_exchanged({{"WEFT_VIEW", "staged"}}, {.has_long_runs = true}, false);
}

// Layouts stay on the board; when it is full, further ones are packed.
TEST(Direct, GoesOnWithAFullBoard) {
  const auto errors = run_ranks(2, [](int rank, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap));
    for (std::uint64_t i = 0; i < 600; ++i) {
      const Shape shape{.run = (16 << 10) + i, .rows = 2, .columns = 1};
      Block from(shape, 1, false), to(shape, 1, false), wanted(shape, 1, false);
      const auto other = static_cast<std::size_t>(1 - rank);
      from.fill(packed(shape, 1, static_cast<std::size_t>(rank), other));
      wanted.fill(packed(shape, 1, other, static_cast<std::size_t>(rank)));
      std::vector<std::size_t> bytes(2, 0);
      bytes[other] = shape.bytes();
      Packer packer;
      packer.pack = [&](int, std::size_t begin, std::size_t end, std::byte* memory) {
        engine::pack(*from.elements(), begin, end, memory);
      };
      packer.unpack = [&](int, std::size_t begin, std::size_t end, const std::byte* memory) {
        engine::unpack(*to.elements(), begin, end, memory);
      };
      packer.send_elements = [&](int) { return from.elements(); };
      packer.receive_elements = [&](int) { return to.elements(); };
      comm.alltoallw(bytes, bytes, packer);
      if (to.memory() != wanted.memory()) throw std::runtime_error("a wrong byte");
    }
    if (calls_by(comm, "alltoallv", "direct") < 300) throw std::runtime_error("few are direct");
    if (calls_by(comm, "alltoallv", "packed") < 100) throw std::runtime_error("few are packed");
  });
  EXPECT_EQ(errors, none(2));
}

}  // namespace
}  // namespace weft::direct_test
