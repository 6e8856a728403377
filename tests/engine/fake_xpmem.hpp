// A stand-in for /dev/xpmem, behind the same two calls: the memory that it maps is that of memory
// files, found in /proc. It keeps to the rules that the module's users have to know: offsets of
// whole pages, access before attaching, SIGBUS where the owner has no such page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/file.hpp"
#include "engine/views/xpmem.hpp"

namespace weft::test {

/// While it lives xpmem is this, for this process and its children.
class FakeXpmem {
 public:
  FakeXpmem();
  FakeXpmem(const FakeXpmem&) = delete;
  FakeXpmem& operator=(const FakeXpmem&) = delete;
  ~FakeXpmem();

  /// Of this process.
  static int attached();  ///< mapped now
  static int attaches();  ///< so far
  /// What was asked for against the rules; empty when nothing was.
  static std::string broken_rule();
  /// Open and get fail with this errno; 0: they do not.
  static void refuse(int error);
  /// Attaching more than so many bytes fails.
  static void set_most_bytes(std::uint64_t bytes);

 private:
  engine::xpmem::Calls before_;
};

/// Memory that the stand-in can map to others: sparse, zero at the beginning.
class XpmemBuffer {
 public:
  explicit XpmemBuffer(std::size_t bytes);
  std::byte* data() const noexcept { return mapping_.data(); }
  std::size_t size() const noexcept { return mapping_.size(); }
  std::uint64_t address() const noexcept { return reinterpret_cast<std::uint64_t>(data()); }
  /// From now on it has no pages any more.
  void lose_pages();

 private:
  File file_;
  Mapping mapping_;
};

}  // namespace weft::test
