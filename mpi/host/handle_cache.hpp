// Cache, one per thread, of the values that belong to its last few MPI handles.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

namespace weft::mpi {

/// Replaces the host's look-up of attributes at each call, which takes longer than a small
/// collective. The host reuses handles, so code that frees an object calls forget_all() before the
/// host can hand out its handle again; that empties the caches of all threads, but for handles that
/// last as long as MPI does: predefined datatypes, the communicator of all ranks. What else was
/// found out about handles holds as long as the number since() of them does. There is one cache for
/// each pair of types. Safe from many threads.
template <class Handle, class Value>
class HandleCache {
 public:
  /// Null: not cached. The pointer is valid until the thread's next call of this class.
  static const Value* find(Handle handle) noexcept {
    const Entry& entry = entry_of(handle);
    return entry.handle == handle && holds(entry.generation) ? &entry.value : nullptr;
  }

  /// `asked_at`: generation_now() before the host was asked.
  static void keep(Handle handle, const Value& value, std::uint64_t asked_at) noexcept {
    entry_of(handle) = {asked_at, handle, value};
  }
  /// Of a handle that lasts.
  static void keep_lasting(Handle handle, const Value& value) noexcept {
    entry_of(handle) = {lasting.load(std::memory_order_acquire), handle, value};
  }
  static std::uint64_t generation_now() noexcept {
    return generation.load(std::memory_order_acquire);
  }
  /// A number that holds() until forget_all(), or as long as MPI lasts where each of these handles,
  /// of those that there are, is known to last. kNever where one is not cached: nobody may notice
  /// when it is freed.
  static std::uint64_t since(std::initializer_list<Handle> handles, Handle none) noexcept {
    const std::uint64_t ever = lasting.load(std::memory_order_acquire), now = generation_now();
    std::uint64_t number = ever;
    for (const Handle handle : handles) {
      if (handle == none) continue;
      const Entry& entry = entry_of(handle);
      const bool is_cached = entry.handle == handle && holds(entry.generation);
      if (!is_cached) return kNever;
      if (entry.generation != ever) number = now;
    }
    return number;
  }
  static constexpr std::uint64_t kNever = 0;
  /// Whether nothing has been forgotten since then that matters: generation_now(), or since().
  static bool holds(std::uint64_t number) noexcept {
    if (number == lasting.load(std::memory_order_acquire)) [[likely]]
      return true;
    return number == generation_now();
  }

  static void forget_all() noexcept { generation.fetch_add(1, std::memory_order_acq_rel); }
  /// Those that last, too: MPI ends.
  static void forget_lasting() noexcept {
    lasting.fetch_add(1, std::memory_order_acq_rel);
    forget_all();
  }

 private:
  struct Entry {
    std::uint64_t generation = 0;
    Handle handle{};
    Value value{};
  };
  static constexpr int kBits = 3;

  static Entry& entry_of(Handle handle) noexcept {
    std::uint64_t number;
    if constexpr (std::is_pointer_v<Handle>) {
      number = reinterpret_cast<std::uintptr_t>(handle);
    } else {
      number = static_cast<std::uint64_t>(handle);
    }
    return entries[(number * 0x9e3779b97f4a7c15u) >> (64 - kBits)];
  }

  // The add-on is loaded at the start of the program, so it may use the static thread-local storage
  // model, which needs no function call.
  [[gnu::tls_model("initial-exec")]] static thread_local constinit std::array<Entry, 1 << kBits>
      entries;
  static constinit std::atomic<std::uint64_t> generation;
  static constinit std::atomic<std::uint64_t> lasting;  // of handles that last; no generation
};

template <class Handle, class Value>
constinit thread_local std::array<typename HandleCache<Handle, Value>::Entry,
                                  1 << HandleCache<Handle, Value>::kBits>
    HandleCache<Handle, Value>::entries = {};
template <class Handle, class Value>
constinit std::atomic<std::uint64_t> HandleCache<Handle, Value>::generation = 1;
template <class Handle, class Value>
constinit std::atomic<std::uint64_t> HandleCache<Handle, Value>::lasting = std::uint64_t{1} << 63;

}  // namespace weft::mpi
