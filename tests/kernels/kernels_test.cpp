#include "kernels/instruction_sets.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "reference.hpp"

namespace weft::kernels::kernels_test {
namespace {

using test::Random;

constexpr int kOperators = 12;

/// Calls `check` for each operation that MPI defines, with each instruction set's kernels.
void for_each_operation(
    const std::function<void(Operator, Type, const Operation&, const std::string&)>& check) {
  for (const std::string_view set : instruction_sets()) {
    for (const Type type : test::all_types()) {
      for (int i = 0; i < kOperators; ++i) {
        const auto op = static_cast<Operator>(i);
        if (!test::is_defined(op, type)) continue;
        check(op, type, operation_by(set, op, type),
              std::string(set) + ", operator " + std::to_string(i) + ", type " +
                  std::to_string(static_cast<int>(type)));
      }
    }
  }
}

/// Elements at any address, between guards.
class Buffer {
 public:
  Buffer(std::vector<std::byte> content, std::size_t offset)
      : offset_(kGuard + offset), content_(content) {
    memory_.assign(offset_ + content.size() + kGuard, std::byte{0xa5});
    std::ranges::copy(content, data());
  }
  std::byte* data() { return memory_.data() + offset_; }
  bool holds(const std::vector<std::byte>& what) const {
    return std::equal(what.begin(), what.end(), memory_.data() + offset_) && guards_hold();
  }
  bool is_untouched() const { return holds(content_); }

 private:
  static constexpr std::size_t kGuard = 160;
  bool guards_hold() const {
    const auto is_guard = [](std::byte each) { return each == std::byte{0xa5}; };
    const auto end = memory_.begin() + static_cast<std::ptrdiff_t>(offset_ + content_.size());
    return std::all_of(memory_.begin(), memory_.begin() + static_cast<std::ptrdiff_t>(offset_),
                       is_guard) &&
           std::all_of(end, memory_.end(), is_guard);
  }
  std::size_t offset_;
  std::vector<std::byte> content_;
  std::vector<std::byte> memory_;
};

std::vector<std::byte> combined(Operator op, Type type, const std::vector<std::byte>& left,
                                const std::vector<std::byte>& right) {
  std::vector<std::byte> result(left.size());
  for (std::size_t at = 0; at < left.size(); at += test::bytes_of(type)) {
    test::reference(op, type, &result[at], &left[at], &right[at]);
  }
  return result;
}

std::size_t some_offset(Random& random) {
  return random() % 70;
}

enum class Target { apart, left, right };

RC_GTEST_PROP(Kernels, combine_as_the_reference_does, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  const auto elements = *rc::gen::inRange<std::size_t>(0, 300);
  const auto target = *rc::gen::element(Target::apart, Target::left, Target::right);
  for_each_operation(
      [&](Operator op, Type type, const Operation& operation, const std::string& name) {
        const auto left_content = test::some_elements(random, type, elements);
        const auto right_content = test::some_elements(random, type, elements);
        const auto expected = combined(op, type, left_content, right_content);
        Buffer left(left_content, some_offset(random));
        Buffer right(right_content, some_offset(random));
        Buffer apart(test::some_elements(random, type, elements), some_offset(random));
        Buffer& dst = target == Target::apart ? apart : target == Target::left ? left : right;
        operation.combine(operation.context, dst.data(), left.data(), right.data(), elements);
        if (!dst.holds(expected)) RC_FAIL(name);
        if (&dst != &left && !left.is_untouched()) RC_FAIL(name + ": left");
        if (&dst != &right && !right.is_untouched()) RC_FAIL(name + ": right");
      });
}

RC_GTEST_PROP(Kernels, fold_as_repeated_combine_does, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  const auto count = *rc::gen::inRange<std::size_t>(1, 24);
  const bool in_strips = *rc::gen::arbitrary<bool>();
  const auto few = *rc::gen::inRange<std::size_t>(0, 100);
  const bool in_place = *rc::gen::arbitrary<bool>();
  const int some = *rc::gen::inRange(0, 20);
  int next = 0;
  for_each_operation(
      [&](Operator op, Type type, const Operation& operation, const std::string& name) {
        if (++next % 20 != some) return;  // others in other cases
        // More than two strips of 4 KiB, or what fits into one.
        const std::size_t elements = in_strips ? 9000 / test::bytes_of(type) : few;
        std::vector<Buffer> sources;
        std::vector<std::byte> expected;
        for (std::size_t i = 0; i < count; ++i) {
          const auto content = test::some_elements(random, type, elements);
          expected = i == 0 ? content : combined(op, type, expected, content);
          sources.emplace_back(content, some_offset(random));
        }
        std::vector<const std::byte*> addresses;
        for (Buffer& each : sources) addresses.push_back(each.data());
        Buffer apart(test::some_elements(random, type, elements), some_offset(random));
        Buffer& dst = in_place ? sources[0] : apart;
        operation.fold(operation.context, dst.data(), addresses.data(), count, elements);
        if (!dst.holds(expected)) RC_FAIL(name);
        for (Buffer& each : sources) {
          if (&each != &dst && !each.is_untouched()) RC_FAIL(name + ": a source");
        }
      });
}

RC_GTEST_PROP(Kernels, are_commutative_and_associative_where_they_say_so, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  constexpr std::size_t kElements = 150;
  for_each_operation([&](Operator, Type type, const Operation& operation, const std::string& name) {
    const auto a = test::some_elements(random, type, kElements);
    const auto b = test::some_elements(random, type, kElements);
    const auto c = test::some_elements(random, type, kElements);
    const auto of = [&](const std::vector<std::byte>& left, const std::vector<std::byte>& right) {
      std::vector<std::byte> result(left.size());
      operation.combine(operation.context, result.data(), left.data(), right.data(), kElements);
      return result;
    };
    if (operation.commutative && of(a, b) != of(b, a)) RC_FAIL(name + ": not commutative");
    if (operation.associative && of(of(a, b), c) != of(a, of(b, c))) {
      RC_FAIL(name + ": not associative");
    }
  });
}

TEST(Kernels, round_every_half_as_the_reference_does) {
  constexpr std::size_t kAll = 1 << 16;
  std::vector<std::byte> every(2 * kAll);
  for (std::size_t i = 0; i < kAll; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    std::memcpy(&every[2 * i], &bits, 2);
  }
  Random random(7);
  for (const Type type : {Type::float16, Type::bfloat16}) {
    for (int i = 0; i < 8; ++i) {
      const auto others = test::some_elements(random, type, kAll);
      for (const Operator op : {Operator::sum, Operator::product}) {
        const auto expected = combined(op, type, every, others);
        for (const std::string_view set : instruction_sets()) {
          const Operation operation = operation_by(set, op, type);
          std::vector<std::byte> result(every.size());
          operation.combine(operation.context, result.data(), every.data(), others.data(), kAll);
          EXPECT_EQ(result, expected) << set << ", type " << static_cast<int>(type);
        }
      }
    }
  }
}

TEST(Kernels, accept_null_where_there_are_no_elements) {
  for_each_operation([](Operator, Type, const Operation& operation, const std::string&) {
    const std::vector<const std::byte*> sources(9, nullptr);
    operation.combine(operation.context, nullptr, nullptr, nullptr, 0);
    for (const std::size_t count : {1, 2, 9}) {
      operation.fold(operation.context, nullptr, sources.data(), count, 0);
    }
  });
}

TEST(Kernels, exist_for_what_MPI_defines_and_for_nothing_else) {
  for (const Type type : test::all_types()) {
    EXPECT_EQ(size_of(type), test::bytes_of(type)) << static_cast<int>(type);
    for (int i = 0; i < kOperators; ++i) {
      const auto op = static_cast<Operator>(i);
      if (test::is_defined(op, type)) {
        EXPECT_EQ(operation(op, type).element_bytes, size_of(type));
      } else {
        EXPECT_THROW(operation(op, type), UsageError) << i << ", " << static_cast<int>(type);
      }
    }
  }
  EXPECT_THROW(size_of(static_cast<Type>(200)), UsageError);
  EXPECT_THROW(operation(static_cast<Operator>(200), Type::int32), UsageError);
  EXPECT_THROW(operation_by("mmx", Operator::sum, Type::int32), UsageError);
}

TEST(Kernels, say_which_operations_are_associative_to_the_bit) {
  EXPECT_TRUE(operation(Operator::sum, Type::int32).associative);
  EXPECT_TRUE(operation(Operator::minimum, Type::float64).associative);
  EXPECT_TRUE(operation(Operator::maximum_with_place, Type::float64_int32).associative);
  EXPECT_FALSE(operation(Operator::sum, Type::bfloat16).associative);
  EXPECT_FALSE(operation(Operator::product, Type::complex128).associative);
}

}  // namespace
}  // namespace weft::kernels::kernels_test
