// Files: owners of descriptors and mappings, files in memory, text files read as a whole.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace weft {

/// Owns a file descriptor; closes it once.
class File {
 public:
  File() = default;
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&& other) noexcept;
  ~File() { reset(); }

  int get() const noexcept { return descriptor_; }
  explicit operator bool() const noexcept { return descriptor_ >= 0; }
  void reset() noexcept;
  int release() noexcept { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_ = -1;
};

/// Owns a mapping of memory.
class Mapping {
 public:
  Mapping() = default;
  /// Maps `bytes` of `descriptor` shared, readable and writable. SystemError when refused,
  /// and where leave_addresses() throws.
  Mapping(int descriptor, std::size_t bytes);
  Mapping(Mapping&& other) noexcept : memory_(std::exchange(other.memory_, {})) {}
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping() { reset(); }

  std::span<std::byte> memory() const noexcept { return memory_; }
  std::byte* data() const noexcept { return memory_.data(); }
  std::size_t size() const noexcept { return memory_.size(); }
  void reset() noexcept;

 private:
  std::span<std::byte> memory_;
};

/// A new anonymous file in memory of `bytes`, all of them committed (so that touching them cannot
/// raise SIGBUS later). It has no name: it goes when the last holder goes, even by SIGKILL.
File make_memory_file(const char* label, std::size_t bytes);

/// Writes all of it. False, with errno, when the system refuses; signals do not end it.
bool write_all(int descriptor, std::string_view bytes) noexcept;

/// Whether a pipe, named by either of its ends, holds bytes that its reader has not taken yet.
/// False of all other files.
bool holds_unread(int pipe) noexcept;

/// The content of the file. SystemError when it cannot be read; UsageError, one line of the form
/// "PATH: more than N bytes: no WHAT", when it is larger than that.
std::string read_text_file(const std::string& path, std::size_t most_bytes, std::string_view what);

/// Throws Error where fewer than a quarter of the descriptors that this process may have would be
/// free with `more` in use: the rest is the program's. Takes that from the lowest number that is
/// free.
void leave_descriptors(std::size_t more);

/// Throws SystemError where fewer than a quarter of the addresses that this process may have
/// (RLIMIT_AS) would be free with `more` bytes of them in use: the rest is the program's.
void leave_addresses(std::size_t more);

}  // namespace weft
