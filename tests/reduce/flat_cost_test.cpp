// The closed forms at the head of each flat algorithm's file, against what its plans cost: startups
// (alpha), bytes sent (beta) and bytes reduced (gamma), each on its own.
#include "tests/reduce/cost_support.hpp"

namespace weft::reduce::flat_cost_test {
namespace {

// Rabenseifner 3.3: T_red,tree = ceil(lg p) (alpha + n beta + n gamma).
TEST(Cost, BinomialTree) {
  constexpr std::uint64_t n = 64;
  for (int p = 2; p <= 20; ++p) {
    for (const int root : {0, p / 2, p - 1}) {
      const auto sheet = flat_sheet(Collective::reduce, "binomial", p, n, root);
      const plan::Cost& top = sheet.by_rank[number(root)];
      EXPECT_EQ(sheet.rounds, floor_lg(p));
      EXPECT_EQ(sheet.total.messages, number(p - 1));
      EXPECT_EQ(sheet.total.wire_bytes, number(p - 1) * n);
      EXPECT_EQ(sheet.total.reduced_bytes, number(p - 1) * n);
      EXPECT_EQ(top.reduced_bytes, ceil_lg(p) * n);
      EXPECT_EQ(top.messages, 0u);
      EXPECT_EQ(sheet.total.copied_bytes, 0u);
      for (const auto& cost : sheet.by_rank) EXPECT_LE(cost.scratch_bytes, 3 * n);
      const auto ordered = flat_sheet(Collective::reduce, "binomial", p, n, root, false);
      EXPECT_EQ(ordered.total.messages, number(p - 1) + (root == 0 ? 0 : 1));
    }
    const auto all = flat_sheet(Collective::allreduce, "reduce-broadcast", p, n);
    EXPECT_EQ(all.rounds, 2 * floor_lg(p));
    EXPECT_EQ(all.total.messages, 2 * number(p - 1));
    EXPECT_EQ(all.total.reduced_bytes, number(p - 1) * n);
  }
}

// 3.4: T_all,r.d. = ceil(lg p) (alpha + n beta + n gamma) + (if no power of two alpha + n beta).
TEST(Cost, RecursiveDoubling) {
  constexpr std::uint64_t n = 64;
  for (int p = 2; p <= 20; ++p) {
    const auto sheet = flat_sheet(Collective::allreduce, "recursive-doubling", p, n);
    const std::uint64_t odd = is_power(p) ? 0 : 1;
    expect_steps(sheet, ceil_lg(p) + odd, is_power(p));
    const Most most = most_of(sheet);
    EXPECT_EQ(most.messages, floor_lg(p) + odd);
    EXPECT_EQ(most.bytes, (floor_lg(p) + odd) * n);
    EXPECT_EQ(most.reduced, ceil_lg(p) * n);
    EXPECT_EQ(sheet.total.copied_bytes, 0u);
    for (const auto& cost : sheet.by_rank) EXPECT_LE(cost.scratch_bytes, 2 * n);
  }
}

// 3.5: T_all,h&d = 2 lg p alpha + 2 (1 - 1/p) n beta + (1 - 1/p) n gamma for powers of two; else
// (2 lg p' + 3) alpha, and beta and gamma of the busiest as at the head of the file.
TEST(Cost, HalvingAndDoubling) {
  for (int p = 2; p <= 20; ++p) {
    const std::uint64_t n = divisible(p);
    const std::uint64_t power = std::bit_floor(static_cast<unsigned>(p));
    const std::uint64_t lg = floor_lg(p);
    const auto all = flat_sheet(Collective::allreduce, "halving-doubling", p, n);
    const Most most = most_of(all);
    const std::uint64_t part = n - n / power;
    if (is_power(p)) {
      EXPECT_EQ(all.rounds, 2 * lg);
      for (const auto& cost : all.by_rank) {
        EXPECT_EQ(cost.messages, 2 * lg);
        EXPECT_EQ(cost.wire_bytes, 2 * part);
        EXPECT_EQ(cost.reduced_bytes, part);
      }
    } else {
      EXPECT_EQ(all.rounds, 2 * lg + 3);
      EXPECT_EQ(most.messages, 2 * lg + 2);
      EXPECT_EQ(most.bytes, n / 2 + 2 * part + n);
      EXPECT_EQ(most.reduced, n / 2 + part);
    }
    EXPECT_EQ(all.total.copied_bytes, 0u);
    const std::uint64_t removed = number(p) - power;
    for (int root = 0; root < p; ++root) {
      const auto one = flat_sheet(Collective::reduce, "halving-doubling", p, n, root);
      EXPECT_LE(one.rounds, is_power(p) ? 2 * lg : 2 * lg + 2);
      EXPECT_GE(one.rounds + 1, 2 * lg);
      EXPECT_EQ(one.total.messages, power * lg + power - 1 + 3 * removed);
      EXPECT_EQ(one.total.reduced_bytes, all.total.reduced_bytes);
      EXPECT_EQ(most_of(one).reduced, most.reduced);
    }
  }
}

// 3.6: nothing is reduced twice, and for powers of two it is halving and doubling.
TEST(Cost, BinaryBlocks) {
  for (int p = 2; p <= 20; ++p) {
    const std::uint64_t n = divisible(p);
    const std::uint64_t largest = std::bit_floor(static_cast<unsigned>(p));
    const auto all = flat_sheet(Collective::allreduce, "binary-blocks", p, n);
    EXPECT_EQ(all.total.reduced_bytes, number(p - 1) * n) << p;
    std::uint64_t blocks = 0;
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    for (std::uint64_t size = largest, larger = 0; size > 0; size /= 2) {
      if ((number(p) & size) == 0) continue;
      const auto lg = number(std::countr_zero(size));
      ++blocks;
      messages += 2 * size * lg;
      bytes += 2 * (size - 1) * n;
      if (larger > 0) {
        messages += larger + 2 * size;  // larger / size from each; two pieces to each
        bytes += 2 * n;
      }
      larger = size;
    }
    EXPECT_EQ(all.total.messages, messages) << p;
    EXPECT_EQ(all.total.wire_bytes, bytes) << p;
    EXPECT_LE(all.rounds, 2 * floor_lg(p) + 2 * blocks) << p;
    const auto one = flat_sheet(Collective::reduce, "binary-blocks", p, n, p - 1);
    EXPECT_EQ(one.total.reduced_bytes, number(p - 1) * n) << p;
    if (is_power(p)) {
      const auto halving = flat_sheet(Collective::allreduce, "halving-doubling", p, n);
      EXPECT_EQ(halving.by_rank, all.by_rank);
      EXPECT_EQ(halving.rounds, all.rounds);
    }
  }
}

// 3.7: T_all,ring = 2 (p - 1) alpha + 2 (1 - 1/p) n beta + (1 - 1/p) n gamma, for any p.
TEST(Cost, Ring) {
  for (int p = 2; p <= 20; ++p) {
    const std::uint64_t n = 16 * number(p);
    const std::uint64_t part = n - n / number(p);
    for (const char* name : {"ring", "neighbour-ring", "ring:segment=8"}) {
      const auto all = flat_sheet(Collective::allreduce, name, p, n);
      const std::uint64_t segments = std::string_view(name).ends_with('8') ? 2 : 1;
      if (segments == 1) {
        EXPECT_EQ(all.rounds, 2 * number(p - 1)) << name << p;
      }
      for (const auto& cost : all.by_rank) {
        EXPECT_EQ(cost.messages, 2 * segments * number(p - 1));
        EXPECT_EQ(cost.wire_bytes, 2 * part);
        EXPECT_EQ(cost.reduced_bytes, part);
        EXPECT_EQ(cost.copied_bytes, 0u);
      }
    }
    const auto one = flat_sheet(Collective::reduce, "ring", p, n, p - 1);
    EXPECT_EQ(one.rounds, number(p));
    for (int rank = 0; rank + 1 < p; ++rank) {
      EXPECT_EQ(one.by_rank[number(rank)].messages, number(p));
      EXPECT_EQ(one.by_rank[number(rank)].wire_bytes, n);
      EXPECT_EQ(one.by_rank[number(rank)].reduced_bytes, part);
    }
  }
}

TEST(Cost, ChainAndBinaryTree) {
  constexpr std::uint64_t n = 64;
  for (int p = 2; p <= 20; ++p) {
    for (const int root : {0, p / 2, p - 1}) {
      for (const std::uint64_t segments : {1u, 8u}) {
        const std::string suffix = segments == 1 ? "" : ":segment=8";
        const auto chain = flat_sheet(Collective::reduce, "chain" + suffix, p, n, root);
        EXPECT_EQ(chain.total.messages, segments * number(p - 1));
        EXPECT_EQ(chain.total.wire_bytes, number(p - 1) * n);
        EXPECT_EQ(chain.total.reduced_bytes, number(p - 1) * n);
        if (segments == 1) {
          EXPECT_EQ(chain.rounds, number(std::max(root, p - 1 - root)));
        }
        const auto binary = flat_sheet(Collective::reduce, "binary" + suffix, p, n, root);
        EXPECT_EQ(binary.total.messages, segments * number(p - 1));
        EXPECT_EQ(binary.total.reduced_bytes, number(p - 1) * n);
        EXPECT_LE(most_of(binary).reduced, 2 * n);
        if (segments == 1) {
          EXPECT_LE(binary.rounds, floor_lg(p - 1) + 1);
        }
      }
    }
  }
}

TEST(Cost, GatherThenReduce) {
  constexpr std::uint64_t n = 64;
  for (int p = 2; p <= 20; ++p) {
    const auto one = flat_sheet(Collective::reduce, "gather", p, n, p / 2);
    EXPECT_EQ(one.rounds, 1u);
    EXPECT_EQ(one.total.wire_bytes, number(p - 1) * n);
    EXPECT_EQ(one.by_rank[number(p / 2)].reduced_bytes, number(p - 1) * n);
    EXPECT_EQ(one.by_rank[number(p / 2)].scratch_bytes, number(p - 1) * n);
    const auto all = flat_sheet(Collective::allreduce, "allgather", p, n);
    expect_steps(all, ceil_lg(p), is_power(p));
    for (const auto& cost : all.by_rank) {
      EXPECT_EQ(cost.messages, ceil_lg(p));
      EXPECT_EQ(cost.wire_bytes, number(p - 1) * n);
      EXPECT_EQ(cost.reduced_bytes, number(p - 1) * n);
      EXPECT_EQ(cost.copied_bytes, 2 * n);
      EXPECT_EQ(cost.scratch_bytes, number(p) * n);
    }
  }
}

// Thakur 4.4: T_rec_half, T_short and T_long.
TEST(Cost, ReduceScatter) {
  constexpr std::uint64_t m = 16;
  for (int p = 2; p <= 20; ++p) {
    const std::uint64_t n = m * number(p);
    for (const char* name : {"pairwise", "ring"}) {
      const auto sheet = flat_sheet(Collective::reduce_scatter, name, p, m);
      EXPECT_EQ(sheet.rounds, number(p - 1)) << name;
      for (const auto& cost : sheet.by_rank) {
        EXPECT_EQ(cost.messages, number(p - 1));
        EXPECT_EQ(cost.wire_bytes, n - m);
        EXPECT_EQ(cost.reduced_bytes, n - m);
      }
    }
    const auto halving = flat_sheet(Collective::reduce_scatter, "recursive-halving", p, m);
    const auto doubling = flat_sheet(Collective::reduce_scatter, "recursive-doubling", p, m);
    const std::uint64_t odd = is_power(p) ? 0 : 2;
    expect_steps(halving, floor_lg(p) + odd, is_power(p));
    expect_steps(doubling, floor_lg(p) + odd, is_power(p));
    if (!is_power(p)) continue;
    for (const auto& cost : halving.by_rank) {
      EXPECT_EQ(cost.messages, floor_lg(p));
      EXPECT_EQ(cost.wire_bytes, n - m);
      EXPECT_EQ(cost.reduced_bytes, n - m);
      EXPECT_EQ(cost.copied_bytes, m);
    }
    for (const auto& cost : doubling.by_rank) {
      EXPECT_LE(cost.messages, 2 * floor_lg(p));
      EXPECT_EQ(cost.wire_bytes, floor_lg(p) * n - (n - m));
      EXPECT_EQ(cost.reduced_bytes, floor_lg(p) * n - (n - m));
    }
  }
}

TEST(Cost, BineIsThatOfWhatItReplaces) {
  for (int p = 2; p <= 40; ++p) {
    const std::uint64_t n = divisible(p);
    for (const int root : {0, p / 2, p - 1}) {
      const auto tree = flat_sheet(Collective::reduce, "bine", p, n, root);
      const auto binomial = flat_sheet(Collective::reduce, "binomial", p, n, root);
      EXPECT_EQ(tree.rounds, floor_lg(p)) << p;
      EXPECT_EQ(tree.total.messages, binomial.total.messages);
      EXPECT_EQ(tree.total.wire_bytes, binomial.total.wire_bytes);
      EXPECT_EQ(tree.total.reduced_bytes, binomial.total.reduced_bytes);
      EXPECT_EQ(tree.by_rank[number(root)].reduced_bytes, ceil_lg(p) * n);
      EXPECT_EQ(tree.total.copied_bytes, 0u);
      for (const auto& cost : tree.by_rank) EXPECT_LE(cost.scratch_bytes, 3 * n);
      const auto ordered = flat_sheet(Collective::reduce, "bine", p, n, root, false);
      EXPECT_EQ(ordered.total.messages, number(p - 1) + (root == p / 3 ? 0 : 1));
    }
    const auto expect_alike = [&](const char* bine, const char* other) {
      const auto one = flat_sheet(Collective::allreduce, bine, p, n);
      const auto two = flat_sheet(Collective::allreduce, other, p, n);
      expect_steps(one, two.rounds + (is_power(p) ? 0 : 1), is_power(p));
      EXPECT_EQ(one.total.messages, two.total.messages) << bine << p;
      EXPECT_EQ(one.total.wire_bytes, two.total.wire_bytes) << bine << p;
      EXPECT_EQ(one.total.reduced_bytes, two.total.reduced_bytes) << bine << p;
      EXPECT_EQ(one.total.copied_bytes, 0u);
      EXPECT_EQ(most_of(one).bytes, most_of(two).bytes) << bine << p;
      EXPECT_EQ(most_of(one).reduced, most_of(two).reduced) << bine << p;
    };
    expect_alike("bine", "halving-doubling");
    expect_alike("bine-doubling", "recursive-doubling");
  }
}

TEST(Cost, BineReduceScatter) {
  constexpr std::uint64_t m = 16;
  for (int p = 2; p <= 40; ++p) {
    const std::uint64_t n = m * number(p);
    const auto sheet = flat_sheet(Collective::reduce_scatter, "bine", p, m);
    const Most most = most_of(sheet);
    EXPECT_LE(most.bytes, n) << p;
    for (const auto& cost : sheet.by_rank) EXPECT_LE(cost.copied_bytes, m) << p;
    if (is_power(p)) {
      EXPECT_GE(sheet.rounds, floor_lg(p));
      EXPECT_LE(sheet.rounds, floor_lg(p) + 1);
      EXPECT_LE(most.messages, floor_lg(p) + 1);
      for (const auto& cost : sheet.by_rank) EXPECT_EQ(cost.reduced_bytes, n - m);
    } else {
      EXPECT_LE(sheet.rounds, floor_lg(p) + 2) << p;
      EXPECT_LE(most.messages, floor_lg(p) + 2) << p;
      const std::uint64_t power = std::bit_floor(static_cast<unsigned>(p));
      EXPECT_LE(most.reduced, n + 2 * (power - 1) * m) << p;
    }
  }
}

TEST(Cost, Scans) {
  constexpr std::uint64_t n = 64;
  for (int p = 2; p <= 20; ++p) {
    expect_steps(flat_sheet(Collective::scan, "doubling", p, n), ceil_lg(p), is_power(p));
    expect_steps(flat_sheet(Collective::exscan, "doubling", p, n), 1 + (p > 2 ? ceil_lg(p - 1) : 0),
                 is_power(p - 1));
    const auto chain = flat_sheet(Collective::scan, "chain", p, n);
    EXPECT_EQ(chain.rounds, number(p - 1));
    EXPECT_EQ(chain.total.reduced_bytes, number(p - 1) * n);
    EXPECT_EQ(chain.total.wire_bytes, number(p - 1) * n);
    EXPECT_EQ(chain.total.copied_bytes, n);
    EXPECT_EQ(chain.total.scratch_bytes, 0u);
  }
}

TEST(Cost, AdaptiveIsWhatSuits) {
  const auto same = [](const char* setting, const char* other, int p, std::uint64_t n) {
    const auto adaptive =
        flat_sheet(Collective::allreduce, std::string("adaptive:latency=") + setting, p, n);
    const auto plain = flat_sheet(Collective::allreduce, other, p, n);
    EXPECT_EQ(adaptive.total.messages, plain.total.messages) << other << " of " << p;
    EXPECT_EQ(adaptive.total.wire_bytes, plain.total.wire_bytes) << other << " of " << p;
    EXPECT_EQ(adaptive.total.reduced_bytes, plain.total.reduced_bytes) << other << " of " << p;
  };
  same("1M", "recursive-doubling", 16, 64);
  same("64", "halving-doubling", 16, 1 << 20);
  same("0", "ring", 7, 7 * 8 * 64);
  // In between it does better than either: some levels scatter, some exchange.
  const auto time = [](std::string_view name, int p, std::uint64_t n) {
    const auto sheet = flat_sheet(Collective::allreduce, name, p, n);
    return sheet.rounds * 1024 + most_of(sheet).bytes + most_of(sheet).reduced / 4;
  };
  for (const int p : {16, 24, 32, 48}) {
    const auto mixed = time("adaptive:latency=1K", p, 4096);
    EXPECT_LT(mixed, time("recursive-doubling", p, 4096)) << p;
    EXPECT_LE(mixed, time("halving-doubling", p, 4096)) << p;
    EXPECT_LT(mixed, time("ring", p, 4096)) << p;
  }
}

}  // namespace
}  // namespace weft::reduce::flat_cost_test
