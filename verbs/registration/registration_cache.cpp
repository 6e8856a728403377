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

bool RegistrationCache::acquire(const void* memory, std::uint64_t bytes, Keys& keys) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t end = begin + bytes;
  if (watch_ != nullptr) {
    watch_->settle();
    if (some_gone_.load()) drop_gone();
  }
  const auto covers = [&](const Entry& entry) {
    // An entry in use is valid even when it cannot be watched.
    return entry.begin <= begin && end <= entry.end && (entry.in_use || is_current(entry));
  };
  auto found = std::ranges::find_if(entries_, covers);
  if (found == entries_.end()) {
    if (!add(begin, end)) return false;
    found = entries_.begin();
  } else {
    ++counters_.hits;
    entries_.splice(entries_.begin(), entries_, found);
  }
  found->in_use = true;
  keys = {found->registration.lkey(), found->registration.rkey()};
  return true;
}

bool RegistrationCache::add(std::uintptr_t begin, std::uintptr_t end) {
  const std::uint64_t bytes = end - begin;
  const bool keep = watch_ != nullptr && bytes <= limits_.bytes;
  if (keep) evict(bytes, 1);
  Entry entry{begin, end, {}, false, false, 0};
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
      ++counters_.refused;
      error_ = error.what();
      if (again) {
        evict(UINT64_MAX, limits_.entries);  // kept registrations may exhaust the adapter's limit
        continue;
      }
      erase(entries_.begin());
      return false;
    }
  }
  ++counters_.misses;
  bytes_ += bytes;
  return true;
}

void RegistrationCache::release() noexcept {
  // Entries in use are at the front: they were acquired since the last release.
  auto entry = entries_.begin();
  while (entry != entries_.end() && entry->in_use) {
    entry->in_use = false;
    const auto next = std::next(entry);
    if (!is_current(*entry)) erase(entry);
    entry = next;
  }
}

void RegistrationCache::evict(std::uint64_t bytes, std::size_t entries) {
  auto entry = entries_.end();
  while (entry != entries_.begin()) {
    const bool fits = bytes <= limits_.bytes && bytes_ <= limits_.bytes - bytes &&
                      entries_.size() + entries <= limits_.entries;
    if (fits) return;
    --entry;
    if (entry->in_use || !entry->registration) continue;
    const auto victim = entry++;
    erase(victim);
    ++counters_.evictions;
  }
}

void RegistrationCache::drop_gone() {
  some_gone_.store(false);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (!entry->in_use && !is_current(*entry)) {
      erase(entry);
      ++counters_.invalidated;
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
