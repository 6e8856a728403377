#include "verbs/registration/registration_cache.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace weft::verbs {

RegistrationCache::RegistrationCache(Endpoint& endpoint, const RegistrationLimits& limits)
    : endpoint_(endpoint), limits_(limits) {
  if (limits.bytes == 0 || limits.entries == 0) {
    why_not_ = "the limit is 0";
    return;
  }
  try {
    watch_ = MemoryWatch::get();
  } catch (const Error& error) {
    why_not_ = error.what();
    return;
  }
  // At least the two buffers of a call.
  limits_.entries = std::max<std::size_t>(limits.entries, 2);
  ranges_ = std::make_unique<Range[]>(limits_.entries);
  for (std::size_t place = limits_.entries; place-- > 0;) free_places_.push_back(place);
  watch_->add(*this);
}

RegistrationCache::~RegistrationCache() {
  if (watch_ != nullptr) watch_->remove(*this);
}

void RegistrationCache::gone(std::uintptr_t begin, std::uintptr_t end) noexcept {
  for (std::size_t place = 0; place < limits_.entries; ++place) {
    Range& range = ranges_[place];
    if (range.begin.load() < end && begin < range.end.load()) {
      range.gone.store(true);
      some_gone_.store(true);
    }
  }
}

bool RegistrationCache::is_current(const Entry& entry) const noexcept {
  return entry.watched && !ranges_[entry.place].gone.load();
}

bool RegistrationCache::User::acquire(const void* memory, std::uint64_t bytes, Keys& keys) {
  const std::lock_guard lock(cache_.mutex_);
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t end = begin + bytes;
  Entries& entries = cache_.entries_;
  if (cache_.watch_ != nullptr) {
    cache_.watch_->settle();
    if (cache_.some_gone_.load()) cache_.drop_gone(*this);
  }
  const auto covers = [&](const Entry& entry) {
    return entry.begin <= begin && end <= entry.end && (cache_.is_current(entry) || is_mine(entry));
  };
  auto found = std::ranges::find_if(entries, covers);
  if (found == entries.end()) {
    if (!cache_.add(begin, end, *this)) return false;
    found = entries.begin();
  } else {
    ++counters_.hits;
    entries.splice(entries.begin(), entries, found);
  }
  if (std::ranges::find(acquired_, found) == acquired_.end()) {
    acquired_.push_back(found);
    ++found->users;
  }
  keys = {found->registration.lkey(), found->registration.rkey()};
  return true;
}

/// It has acquired the entry, which is valid then even when it cannot be watched.
bool RegistrationCache::User::is_mine(const Entry& entry) const noexcept {
  return entry.users != 0 && std::ranges::any_of(acquired_, [&](const Entries::iterator& mine) {
           return &*mine == &entry;
         });
}

bool RegistrationCache::add(std::uintptr_t begin, std::uintptr_t end, User& user) {
  const std::uint64_t bytes = end - begin;
  const bool keep = watch_ != nullptr && bytes <= limits_.bytes;
  if (keep) evict(bytes, 1, user);
  Entry entry{begin, end, {}, false, 0, 0};
  // Watched before it is registered, so that no unmapping in between is missed.
  if (keep && !free_places_.empty()) {
    entry.place = free_places_.back();
    Range& range = ranges_[entry.place];
    range.gone.store(false);
    range.begin.store(begin);
    range.end.store(end);
    entry.watched = watch_->watch(begin, end);
    if (entry.watched) {
      free_places_.pop_back();
    } else {
      range.end.store(0);
    }
  }
  entries_.push_front(std::move(entry));
  for (bool again : {true, false}) {
    try {
      entries_.front().registration =
          endpoint_.register_memory(reinterpret_cast<void*>(begin), bytes);
      break;
    } catch (const SystemError& error) {
      ++user.counters_.refused;
      user.error_ = error.what();
      if (again) {
        evict(UINT64_MAX, limits_.entries,
              user);  // kept registrations may exhaust the adapter's limit
        continue;
      }
      erase(entries_.begin());
      return false;
    }
  }
  ++user.counters_.misses;
  bytes_ += bytes;
  return true;
}

void RegistrationCache::User::release() noexcept {
  if (acquired_.empty()) return;
  const std::lock_guard lock(cache_.mutex_);
  for (const auto entry : acquired_) {
    if (--entry->users == 0 && !cache_.is_current(*entry)) cache_.erase(entry);
  }
  acquired_.clear();
}

void RegistrationCache::evict(std::uint64_t bytes, std::size_t entries, User& user) {
  auto entry = entries_.end();
  while (entry != entries_.begin()) {
    const bool fits = bytes <= limits_.bytes && bytes_ <= limits_.bytes - bytes &&
                      entries_.size() + entries <= limits_.entries;
    if (fits) return;
    --entry;
    if (entry->users != 0 || !entry->registration) continue;
    const auto victim = entry++;
    erase(victim);
    ++user.counters_.evictions;
  }
}

void RegistrationCache::drop_gone(User& user) {
  some_gone_.store(false);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (entry->users == 0 && !is_current(*entry)) {
      erase(entry);
      ++user.counters_.invalidated;
    }
    entry = next;
  }
}

void RegistrationCache::erase(Entries::iterator entry) {
  if (entry->registration) bytes_ -= entry->end - entry->begin;
  if (entry->watched) {
    ranges_[entry->place].end.store(0);
    free_places_.push_back(entry->place);
  }
  entries_.erase(entry);
}

}  // namespace weft::verbs
