#include "comm/irregular/packed_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/cast.hpp"
#include "base/error.hpp"

namespace weft::comm {

namespace {

// Of a half: with the other one, and what is packed, in a core's second cache.
constexpr std::size_t kHalfBytes = 256 << 10;
// Where there are very many ranks the halves are larger.
constexpr std::size_t kLeastSlot = 2 << 10;
// Of the block to itself, in the first cache.
constexpr std::size_t kOwnBytes = 16 << 10;
constexpr std::size_t kLine = 64;

}  // namespace

PackedExchange::PackedExchange(Resources& resources)
    : resources_(resources),
      told_(static_cast<std::size_t>(resources.size())),
      heard_(told_.size()),
      sent_(told_.size()) {}

void PackedExchange::run(std::span<const std::size_t> sends, std::span<const std::size_t> receives,
                         const Packer& packer, const std::function<void(const Task&)>& run) {
  const auto guarded = [this](auto step) {
    try {
      step();
    } catch (const PeerError&) {
      throw;
    } catch (const std::exception& error) {
      resources_.poison_all(error.what());
    }
  };
  const int ranks = resources_.size();
  Task barrier;
  barrier.problem.collective = plan::Collective::barrier;
  barrier.problem.ranks = ranks;
  Task news;
  news.problem = plan::Problem::alltoall(ranks, sizeof(News));
  news.input = reinterpret_cast<const std::byte*>(told_.data());
  news.output = reinterpret_cast<std::byte*>(heard_.data());
  if (!memory_) {
    // From here on a rank that fails is heard of by those that wait for it.
    make_memory();
    run(news);
    run(barrier);
  }
  guarded([&] { tell(sends, packer); });
  run(news);
  guarded([&] { hear(receives, packer); });
  const auto own = static_cast<std::size_t>(resources_.rank());
  guarded([&] { move_own(receives[own], packer); });

  const std::uint64_t most = std::ranges::max_element(heard_, {}, &News::most)->most;
  if (most <= News::kInside) return;
  for (std::uint64_t round = 0; round < ceil_div(most, slot_bytes_); ++round) {
    const std::uint64_t from = round * slot_bytes_;
    // Calls body(rank, end of its part) for the blocks of which there is a part in this round.
    const auto for_each_part = [&](std::span<const std::size_t> bytes, auto body) {
      for (int i = 1; i < ranks; ++i) {
        const std::size_t all = bytes[static_cast<std::size_t>(other(i))];
        if (all <= News::kInside || from >= all) continue;
        body(other(i), std::min<std::size_t>(all, from + slot_bytes_));
      }
    };
    guarded([&] {
      for_each_part(sends, [&](int to, std::size_t end) {
        packer.pack(to, from, end, slot(resources_.rank(), to, round));
      });
    });
    run(barrier);
    guarded([&] {
      for_each_part(receives, [&](int source, std::size_t end) {
        packer.unpack(source, from, end, slot(source, resources_.rank(), round));
      });
    });
  }
}

void PackedExchange::tell(std::span<const std::size_t> sends, const Packer& packer) {
  std::uint64_t most = 0;
  for (std::size_t to = 0; to < told_.size(); ++to) {
    const bool is_own = static_cast<int>(to) == resources_.rank();
    if (!is_own) most = std::max<std::uint64_t>(most, sends[to]);
    told_[to].bytes = sends[to];
    sent_[to] += sends[to];
    if (is_own || sends[to] == 0 || sends[to] > News::kInside) continue;
    packer.pack(static_cast<int>(to), 0, sends[to], told_[to].inside);
  }
  for (News& news : told_) news.most = most;
}

void PackedExchange::hear(std::span<const std::size_t> receives, const Packer& packer) {
  for (std::size_t from = 0; from < heard_.size(); ++from) {
    const News& news = heard_[from];
    if (news.bytes != receives[from]) {
      throw Error(fmt::format("alltoallw: receives {} bytes from rank {}, which sends {}",
                              receives[from], from, news.bytes));
    }
    const bool is_own = static_cast<int>(from) == resources_.rank();
    if (is_own || news.bytes == 0 || news.bytes > News::kInside) continue;
    packer.unpack(static_cast<int>(from), 0, news.bytes, news.inside);
  }
}

/// Collective.
void PackedExchange::make_memory() {
  const auto others = static_cast<std::size_t>(resources_.size() - 1);
  slot_bytes_ = std::max(kHalfBytes / others / kLine * kLine, kLeastSlot);
  const auto handles = resources_.members().agree([&] {
    memory_.emplace(resources_.place(), resources_.places(), slot_bytes_ * others,
                    engine::MemoryUse::node);
    return memory_->handle();
  });
  resources_.members().agree([&] { memory_->attach(handles); });
}

void PackedExchange::move_own(std::size_t bytes, const Packer& packer) {
  own_.resize(std::min(bytes, kOwnBytes));
  for (std::size_t from = 0; from < bytes; from += kOwnBytes) {
    const std::size_t end = std::min(bytes, from + kOwnBytes);
    packer.pack(resources_.rank(), from, end, own_.data());
    packer.unpack(resources_.rank(), from, end, own_.data());
  }
}

/// Where a rank packs for another one.
std::byte* PackedExchange::slot(int from, int to, std::uint64_t round) const {
  const auto number = static_cast<std::size_t>(to < from ? to : to - 1);
  const int place = resources_.place_of_rank()[static_cast<std::size_t>(from)];
  return memory_->half(place, round) + number * slot_bytes_;
}

void PackedExchange::add_sent(std::span<std::uint64_t> bytes) const {
  for (std::size_t to = 0; to < bytes.size(); ++to) bytes[to] += sent_[to];
}

}  // namespace weft::comm
