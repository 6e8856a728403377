// Registration cache: keeps registrations of callers' buffers for later calls.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "verbs/connection/endpoint.hpp"
#include "verbs/registration/memory_watch.hpp"

namespace weft::verbs {

struct RegistrationLimits {
  std::uint64_t bytes = std::uint64_t{1} << 30;  // kept registered; 0: nothing is kept
  std::size_t entries = 512;
};

/// Keeps the most recently used registrations within limits, and drops those whose memory is
/// unmapped. Memory that cannot be watched is registered for one use. Several users, each a
/// communicator, share the cache; thread safe.
class RegistrationCache final : private MemoryWatch::Listener {
 public:
  struct Keys {
    std::uint32_t lkey = 0;
    std::uint32_t rkey = 0;
  };
  struct Counters {
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;       // registrations made
    std::uint64_t evictions = 0;    // to make room
    std::uint64_t invalidated = 0;  // because their memory was unmapped
    std::uint64_t refused = 0;      // by the adapter or the limit of locked memory
  };

  RegistrationCache(Endpoint& endpoint, const RegistrationLimits& limits);
  ~RegistrationCache() override;
  RegistrationCache(const RegistrationCache&) = delete;
  RegistrationCache& operator=(const RegistrationCache&) = delete;

  class User;

  /// Why no registration is kept between calls; empty when they are.
  const std::string& why_not() const noexcept { return why_not_; }
  std::uint64_t bytes() const noexcept { return bytes_; }
  std::size_t entries() const noexcept { return entries_.size(); }

 private:
  struct Entry {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    Registration registration;
    bool watched = false;
    std::size_t users = 0;
    std::size_t place = 0;  // in ranges_
  };
  using Entries = std::list<Entry>;
  /// The part of an entry that the watch's thread reads. Never moves.
  struct Range {
    std::atomic<std::uintptr_t> begin{0};
    std::atomic<std::uintptr_t> end{0};
    std::atomic<bool> gone{false};
  };

  void gone(std::uintptr_t begin, std::uintptr_t end) noexcept override;
  bool is_current(const Entry& entry) const noexcept;
  bool add(std::uintptr_t begin, std::uintptr_t end, User& user);
  /// Makes room for so many bytes and entries by dropping unused ones, oldest first.
  void evict(std::uint64_t bytes, std::size_t entries, User& user);
  void drop_gone(User& user);
  void erase(Entries::iterator entry);

  Endpoint& endpoint_;
  std::mutex mutex_;  // of all below, but what the watch's thread uses
  RegistrationLimits limits_;
  std::shared_ptr<MemoryWatch> watch_;  // null: nothing is kept
  std::string why_not_;
  Entries entries_;  // most recently used first
  std::vector<std::size_t> free_places_;
  std::unique_ptr<Range[]> ranges_;
  std::atomic<bool> some_gone_{false};
  std::uint64_t bytes_ = 0;
};

/// User of a cache: what it has acquired is registered until its release(). Used by one thread at a
/// time; ends before the cache.
class RegistrationCache::User {
 public:
  explicit User(RegistrationCache& cache) : cache_(cache) { acquired_.reserve(16); }
  User(const User&) = delete;
  User& operator=(const User&) = delete;
  ~User() { release(); }

  /// Registers [memory, memory + bytes) or finds a registration that covers it; it is valid until
  /// release(). False when the adapter refuses although no other registration is kept: error() has
  /// its error. A hit makes no system call, and allocates only where a user acquires more than it
  /// ever has.
  bool acquire(const void* memory, std::uint64_t bytes, Keys& keys);
  /// Ends the use of all that was acquired.
  void release() noexcept;

  const RegistrationCache& cache() const noexcept { return cache_; }
  const std::string& error() const noexcept { return error_; }
  /// Of what this user has caused.
  const Counters& counters() const noexcept { return counters_; }

 private:
  friend class RegistrationCache;
  bool is_mine(const Entry& entry) const noexcept;

  RegistrationCache& cache_;
  std::vector<Entries::iterator> acquired_;
  std::string error_;
  Counters counters_;
};

}  // namespace weft::verbs
