#include "comm/irregular/packed_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/cast.hpp"
#include "base/error.hpp"
#include "engine/copying/copy.hpp"

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
      direct_(resources),
      told_(static_cast<std::size_t>(resources.size())),
      heard_(told_.size()),
      sent_(told_.size()) {}

const char* PackedExchange::run(std::span<const std::size_t> sends,
                                std::span<const std::size_t> receives, const Packer& packer,
                                const std::function<void(const Task&)>& run) {
  const int ranks = resources_.size();
  Task meeting;
  meeting.problem.collective = plan::Collective::barrier;
  meeting.problem.ranks = ranks;
  const auto barrier = [&] { run(meeting); };
  Task news;
  news.problem = plan::Problem::alltoall(ranks, sizeof(News));
  news.input = reinterpret_cast<const std::byte*>(told_.data());
  news.output = reinterpret_cast<std::byte*>(heard_.data());
  if (!memory_) {
    // From here on a rank that fails is heard of by those that wait for it.
    make_memory();
    run(news);
    barrier();
  }
  const auto sum = [](std::span<const std::size_t> bytes) {
    return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
  };
  const bool past_caches =
      engine::exceeds_caches(sum(sends) + sum(receives), static_cast<std::uint64_t>(ranks));
  resources_.guarded([&] { tell(sends, packer); });
  run(news);
  resources_.guarded([&] {
    hear(receives, packer);
    take_shown(packer, past_caches);
    move_own(receives[static_cast<std::size_t>(resources_.rank())], packer, past_caches);
  });
  const std::uint64_t most = std::ranges::max_element(heard_, {}, &News::most)->most;
  const bool any_shown = std::ranges::any_of(heard_, [](const News& one) { return one.any_shown; });
  if (most > News::kInside) run_rounds(sends, receives, packer, barrier);
  if (any_shown && most <= slot_bytes_) barrier();
  return any_shown && told_.front().most <= News::kInside ? kDirectAlgorithm : kAlgorithm;
}

/// Of blocks that are neither small nor copied directly. Their first parts came with the news.
void PackedExchange::run_rounds(std::span<const std::size_t> sends,
                                std::span<const std::size_t> receives, const Packer& packer,
                                const std::function<void()>& barrier) {
  const std::uint64_t most = std::ranges::max_element(heard_, {}, &News::most)->most;
  for (std::uint64_t from = 0; from < most; from += slot_bytes_, ++rounds_) {
    // Calls body(rank, end of its part) for the blocks of which there is a part in this round.
    const auto for_each_part = [&](std::span<const std::size_t> bytes,
                                   const std::vector<News>& news, auto body) {
      for (int i = 1; i < resources_.size(); ++i) {
        const auto rank = static_cast<std::size_t>(other(i));
        const std::size_t all = bytes[rank];
        if (all <= News::kInside || news[rank].shown.nests != 0 || from >= all) continue;
        body(other(i), std::min<std::size_t>(all, from + slot_bytes_));
      }
    };
    if (from != 0) {
      resources_.guarded([&] {
        for_each_part(sends, told_, [&](int to, std::size_t end) {
          packer.pack(to, from, end, slot(resources_.rank(), to));
        });
      });
      barrier();
    }
    resources_.guarded([&] {
      for_each_part(receives, heard_, [&](int source, std::size_t end) {
        packer.unpack(source, from, end, slot(source, resources_.rank()));
      });
    });
  }
}

void PackedExchange::tell(std::span<const std::size_t> sends, const Packer& packer) {
  std::uint64_t most = 0;
  std::uint64_t any_shown = 0;
  for (std::size_t to = 0; to < told_.size(); ++to) {
    const auto rank = static_cast<int>(to);
    const std::size_t bytes = sends[to];
    News& news = told_[to];
    news.bytes = bytes;
    news.shown = {};
    sent_[to] += bytes;
    if (rank == resources_.rank() || bytes == 0) continue;
    if (bytes <= News::kInside) {
      packer.pack(rank, 0, bytes, news.inside);
      continue;
    }
    const engine::Elements* block = packer.send_elements ? packer.send_elements(rank) : nullptr;
    if (block != nullptr) news.shown = direct_.show(*block);
    if (news.shown.nests != 0) {
      any_shown = 1;
      continue;
    }
    most = std::max<std::uint64_t>(most, bytes);
    packer.pack(rank, 0, std::min(bytes, slot_bytes_), slot(resources_.rank(), rank));
  }
  for (News& news : told_) {
    news.most = most;
    news.any_shown = any_shown;
  }
}

/// What others have shown to this rank.
void PackedExchange::take_shown(const Packer& packer, bool past_caches) {
  for (int i = 1; i < resources_.size(); ++i) {
    const int from = other(i);
    const Shown& shown = heard_[static_cast<std::size_t>(from)].shown;
    if (shown.nests == 0) continue;
    direct_.take(from, shown, packer.receive_elements ? packer.receive_elements(from) : nullptr,
                 packer, past_caches);
  }
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
  direct_.make_boards();
}

void PackedExchange::move_own(std::size_t bytes, const Packer& packer, bool past_caches) {
  if (bytes == 0) return;
  const int own = resources_.rank();
  const bool has_elements = packer.send_elements && packer.receive_elements;
  const engine::Elements* const source = has_elements ? packer.send_elements(own) : nullptr;
  const engine::Elements* const wanted = has_elements ? packer.receive_elements(own) : nullptr;
  if (source != nullptr && wanted != nullptr) return engine::copy(*wanted, *source, past_caches);
  own_.resize(std::min(bytes, kOwnBytes));
  for (std::size_t from = 0; from < bytes; from += kOwnBytes) {
    const std::size_t end = std::min(bytes, from + kOwnBytes);
    packer.pack(resources_.rank(), from, end, own_.data());
    packer.unpack(resources_.rank(), from, end, own_.data());
  }
}

/// Where a rank packs for another one in this round.
std::byte* PackedExchange::slot(int from, int to) const {
  const auto number = static_cast<std::size_t>(to < from ? to : to - 1);
  const int place = resources_.place_of_rank()[static_cast<std::size_t>(from)];
  return memory_->half(place, rounds_) + number * slot_bytes_;
}

void PackedExchange::add_sent(std::span<std::uint64_t> bytes) const {
  for (std::size_t to = 0; to < bytes.size(); ++to) bytes[to] += sent_[to];
}

}  // namespace weft::comm
