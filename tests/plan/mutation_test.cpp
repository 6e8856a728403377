// The verifier proved by mutation: correct plans are broken at random. What it accepts must work in
// every schedule that the oracle tries, and what it rejects must be seen to fail in one.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <span>
#include <string>

#include "base/error.hpp"
#include "plan/text.hpp"
#include "plan/verify/verify.hpp"
#include "tests/plan/draft.hpp"
#include "tests/plan/oracle.hpp"
#include "tests/plan/reduction_cases.hpp"
#include "tests/plan/vector_cases.hpp"

namespace weft::plan::testing::mutation_test {
namespace {

enum class Mutation {
  drop_op,
  swap_ops,
  shift,
  resize,
  drop_dependency,
  redirect,
  exchange_dst,
  repeat_op,     // of reductions: a contribution twice
  flip_operands  // of reductions: out of order
};
constexpr std::array kMutations = {
    Mutation::drop_op,         Mutation::swap_ops, Mutation::shift,       Mutation::resize,
    Mutation::drop_dependency, Mutation::redirect, Mutation::exchange_dst};
constexpr std::array kReductionMutations = {
    Mutation::drop_op,  Mutation::swap_ops,     Mutation::shift,     Mutation::resize,
    Mutation::redirect, Mutation::exchange_dst, Mutation::repeat_op, Mutation::flip_operands};
constexpr std::array<const char*, 9> kNames = {"drop op",      "swap ops",        "shift",
                                               "resize",       "drop dependency", "redirect",
                                               "exchange dst", "repeat op",       "flip operands"};

class Mutator {
 public:
  Mutator(Draft& draft, std::mt19937& random) : draft_(draft), random_(random) {}

  /// False when the draft has nothing to which the mutation applies.
  bool apply(Mutation mutation) {
    if (draft_.lines.empty()) return false;
    auto& line = draft_.lines[pick(draft_.lines.size())];
    switch (mutation) {
      case Mutation::drop_op:
        draft_.drop(static_cast<OpId>(pick(draft_.lines.size())));
        return true;
      case Mutation::swap_ops: {
        auto& other = draft_.lines[pick(draft_.lines.size())];
        if (other.op == line.op) return false;
        std::swap(line.op, other.op);
        return true;
      }
      case Mutation::shift:
        return shift(side(line.op));
      case Mutation::resize:
        return resize(line.op);
      case Mutation::drop_dependency:
        if (line.after.empty()) return false;
        line.after.erase(line.after.begin() + static_cast<std::ptrdiff_t>(pick(line.after.size())));
        return true;
      case Mutation::redirect: {
        const int peer = static_cast<int>(pick(static_cast<std::size_t>(draft_.ranks)));
        if (line.op.peer < 0 || peer == line.op.peer || peer == draft_.rank) return false;
        line.op.peer = peer;
        return true;
      }
      case Mutation::exchange_dst: {
        auto& other = draft_.lines[pick(draft_.lines.size())];
        if (line.op.dst == other.op.dst || line.op.dst.bytes() != other.op.dst.bytes()) {
          return false;
        }
        std::swap(line.op.dst, other.op.dst);
        return true;
      }
      case Mutation::repeat_op: {
        if (line.op.kind != OpKind::reduce) return false;
        draft_.repeat(static_cast<OpId>(&line - draft_.lines.data()));
        return true;
      }
      case Mutation::flip_operands:
        if (line.op.kind != OpKind::reduce) return false;
        line.op.dst_operand = line.op.dst_operand == Operand::left ? Operand::right : Operand::left;
        return true;
    }
    return false;
  }

 private:
  std::size_t pick(std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_);
  }

  Slice& side(Op& op) {
    if (op.src.empty()) return op.dst;
    if (op.dst.empty()) return op.src;
    return random_() % 2 == 0 ? op.src : op.dst;
  }

  bool shift(Slice& slice) {
    if (slice.empty()) return false;
    const std::uint64_t distance = 1 + pick(4);
    if (random_() % 2 == 0) {
      slice.offset += distance;
    } else {
      if (slice.offset < distance) return false;
      slice.offset -= distance;
    }
    return true;
  }

  /// One byte more or less; on both sides of an op that has two.
  bool resize(Op& op) {
    const bool grow = random_() % 2 == 0;
    bool done = false;
    for (Slice* slice : {&op.src, &op.dst}) {
      if (slice->empty()) continue;
      if (!slice->is_contiguous()) return false;
      *slice = Slice::contiguous(slice->space, slice->owner, slice->offset,
                                 grow ? slice->bytes() + 1 : slice->bytes() - 1);
      done = true;
    }
    return done;
  }

  Draft& draft_;
  std::mt19937& random_;
};

struct Count {
  int accepted = 0;   // by the verifier, and never seen to fail
  int confirmed = 0;  // rejected and seen to fail
  int harmless = 0;   // rejected for undefined bytes that happen to reach no output, or groupings
};

std::string text_of(const Case& plans) {
  std::string text =
      fmt::format("{} on nodes {}\n", plans.name, fmt::join(plans.node_of_rank, " "));
  for (const Plan& plan : plans.plans) text += to_text(plan);
  return text;
}

using MakeCase = Case (*)(std::mt19937& random, int max_ranks);

class Mutations : public ::testing::TestWithParam<MakeCase> {};

TEST_P(Mutations, TheVerifierAcceptsTheCasesAndTheOracleAgrees) {
  std::mt19937 random(1);
  for (int i = 0; i < 150; ++i) {
    const Case plans = GetParam()(random, 7);
    for (const Finding& finding : verify(plans.problem, plans.node_of_rank, plans.plans)) {
      ADD_FAILURE() << to_string(finding) << "\n" << text_of(plans);
    }
    const auto failure = find_failure(plans, random, 6);
    ASSERT_FALSE(failure) << *failure << "\n" << text_of(plans);
  }
}

/// A case with one plan mutated, and what was done to it.
struct Mutant {
  Case plans;
  Mutation mutation;
  int rank;

  std::string text() const {
    return fmt::format("{} on rank {}: {}", kNames[static_cast<std::size_t>(mutation)], rank,
                       text_of(plans));
  }
};

std::optional<Mutant> make_mutant(MakeCase make, Mutation mutation, std::mt19937& random) {
  Mutant mutant{make(random, 5), mutation, 0};
  Plan& plan = mutant.plans.plans[random() % mutant.plans.plans.size()];
  mutant.rank = plan.rank();
  Draft draft(plan);
  if (!Mutator(draft, random).apply(mutation)) return std::nullopt;
  plan = draft.build();
  return mutant;
}

TEST_P(Mutations, TheVerifierRejectsEveryMutantThatFailsAndNoOther) {
  constexpr int kMutants = 200;  // of each kind
  std::mt19937 random(2);
  const bool reductions = GetParam() == random_reduction;
  const std::span<const Mutation> mutations =
      reductions ? std::span<const Mutation>(kReductionMutations) : kMutations;
  for (const Mutation mutation : mutations) {
    Count count;
    for (int made = 0; made < kMutants;) {
      const auto mutant = make_mutant(GetParam(), mutation, random);
      if (!mutant) continue;
      ++made;
      const Case& plans = mutant->plans;
      const auto findings = verify(plans.problem, plans.node_of_rank, plans.plans);
      const auto failure = find_failure(plans, random, findings.empty() ? 40 : 200);
      if (findings.empty()) {
        ASSERT_FALSE(failure) << "accepted, but " << *failure << ": " << mutant->text();
        ++count.accepted;
      } else if (failure) {
        ++count.confirmed;
      } else {
        // Undefined bytes may end in memory that is not checked, and the oracle's operations are
        // associative; any other finding must be seen to matter.
        for (const Finding& finding : findings) {
          ASSERT_TRUE(finding.flaw == Flaw::undefined || finding.flaw == Flaw::unequal)
              << to_string(finding) << "\n"
              << mutant->text();
        }
        ++count.harmless;
      }
    }
    const std::string name = kNames[static_cast<std::size_t>(mutation)];
    RecordProperty(name, fmt::format("{} rejected and seen to fail, {} rejected though harmless, "
                                     "{} equivalent",
                                     count.confirmed, count.harmless, count.accepted));
    // Swaps of independent ops and dependencies that others imply are often equivalent.
    EXPECT_GT(count.confirmed, kMutants / 3) << name;
    EXPECT_LT(count.harmless, kMutants / 20) << name;
  }
}

TEST(Mutation, TheVerifierTakesPlansBrokenInManyPlaces) {
  std::mt19937 random(5);
  int rejected = 0;
  for (int i = 0; i < 1000; ++i) {
    Case plans = random_case(random, 6);
    for (Plan& plan : plans.plans) {
      Draft draft(plan);
      for (int edits = 0; edits < 3; ++edits) {
        Mutator(draft, random).apply(kMutations[random() % kMutations.size()]);
      }
      try {
        plan = draft.build();
      } catch (const UsageError&) {
        // Two edits may leave what Builder refuses: this plan stays as it was.
      }
    }
    const auto findings = verify(plans.problem, plans.node_of_rank, plans.plans);
    for (const Finding& finding : findings) {
      EXPECT_EQ(to_string(finding).find('\n'), std::string::npos);
    }
    if (findings.empty()) {
      const auto failure = find_failure(plans, random, 20);
      ASSERT_FALSE(failure) << *failure << ": " << text_of(plans);
    } else {
      ++rejected;
    }
  }
  EXPECT_GT(rejected, 700);
}

INSTANTIATE_TEST_SUITE_P(Of, Mutations,
                         ::testing::Values(random_case, random_reduction, random_alltoallv),
                         [](const auto& instance) {
                           if (instance.param == random_case) return "Alltoalls";
                           return instance.param == random_reduction ? "Reductions" : "Alltoallvs";
                         });

}  // namespace
}  // namespace weft::plan::testing::mutation_test
