// Cache, one per thread, of the values that belong to its last few MPI handles.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <type_traits>

namespace weft::mpi {

/// Replaces the host's look-up of attributes at each call, which takes longer than a small
/// collective. The host reuses handles, so code that frees an object calls forget_all() before the
/// host can hand out its handle again; that empties the caches of all threads. There is one cache
/// for each pair of types. Safe from many threads.
template <class Handle, class Value>
class HandleCache {
 public:
  /// Null: not cached. The pointer is valid until the thread's next call of this class.
  static const Value* find(Handle handle) noexcept {
    const Entry& entry = entry_of(handle);
    const bool known =
        entry.generation == generation.load(std::memory_order_acquire) && entry.handle == handle;
    return known ? &entry.value : nullptr;
  }

  /// `asked_at`: generation_now() before the host was asked.
  static void keep(Handle handle, const Value& value, std::uint64_t asked_at) noexcept {
    entry_of(handle) = {asked_at, handle, value};
  }
  static std::uint64_t generation_now() noexcept {
    return generation.load(std::memory_order_acquire);
  }

  static void forget_all() noexcept { generation.fetch_add(1, std::memory_order_acq_rel); }

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
};

template <class Handle, class Value>
constinit thread_local std::array<typename HandleCache<Handle, Value>::Entry,
                                  1 << HandleCache<Handle, Value>::kBits>
    HandleCache<Handle, Value>::entries = {};
template <class Handle, class Value>
constinit std::atomic<std::uint64_t> HandleCache<Handle, Value>::generation = 1;

}  // namespace weft::mpi
