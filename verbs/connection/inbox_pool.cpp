#include "verbs/connection/inbox_pool.hpp"

#include <algorithm>
#include <cstring>

#include "base/cast.hpp"
#include "base/error.hpp"
#include "verbs/channel/inbox.hpp"
#include "verbs/connection/endpoint.hpp"

namespace weft::verbs {

namespace {

constexpr std::size_t kAlignment = 4096;
// Each memory file has as many blocks as all before it, but not fewer than these; where so much
// cannot be registered, these.
constexpr std::size_t kLeastBlocks = 8;

}  // namespace

std::size_t InboxPool::block_bytes() {
  return round_up(2 * kInboxBytes, kAlignment);
}

InboxPool::Block& InboxPool::Block::operator=(Block&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(data_, other.data_);
  std::swap(region_, other.region_);
  return *this;
}

InboxPool::Block::~Block() {
  if (pool_ == nullptr) return;
  const std::lock_guard lock(pool_->mutex_);
  pool_->free_.push_back({data_, region_, false});
}

InboxPool::Block InboxPool::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) grow();
  const Free taken = free_.back();
  free_.pop_back();
  if (!taken.is_zero) std::memset(taken.data, 0, block_bytes());
  Block block;
  block.pool_ = this;
  block.data_ = taken.data;
  block.region_ = taken.region;
  return block;
}

void InboxPool::grow() {
  try {
    add(std::max(blocks_, kLeastBlocks));
  } catch (const SystemError&) {
    if (blocks_ <= kLeastBlocks) throw;
    add(kLeastBlocks);
  }
}

void InboxPool::add(std::size_t blocks) {
  const std::size_t bytes = blocks * block_bytes();
  auto chunk = std::make_unique<Chunk>();
  const File file = make_memory_file("weft-connections", bytes);
  chunk->memory = Mapping(file.get(), bytes);
  chunk->registration = endpoint_.register_memory(chunk->memory.data(), bytes);
  chunk->region = endpoint_.region(chunk->registration.lkey());
  free_.reserve(blocks_ + blocks);  // so that a block's end need not allocate
  for (std::size_t i = blocks; i-- > 0;) {
    free_.push_back({chunk->memory.data() + i * block_bytes(), &chunk->region, true});
  }
  blocks_ += blocks;
  chunks_.push_back(std::move(chunk));
}

}  // namespace weft::verbs
