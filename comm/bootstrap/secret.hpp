// Secret of a job: what its ranks know and nobody else does, and proofs that a rank knows it.
#pragma once

#include <string>
#include <string_view>

#include "base/file.hpp"
#include "comm/bootstrap/messages.hpp"

namespace weft::comm {

/// The content of a file, or none: then anybody can make proofs. A value; its memory is cleared.
class Secret {
 public:
  static constexpr std::size_t kLeastBytes = 16;
  static constexpr std::size_t kMostBytes = 4096;

  /// None.
  Secret() = default;
  /// From the file that WEFT_SECRET_FILE names, which belongs to this process's user, and which
  /// nobody else may read or write; white space at its end does not count. UsageError says what is
  /// wrong with the file.
  static Secret from_settings();
  Secret(Secret&& other) noexcept : bytes_(std::move(other.bytes_)), file_(std::move(other.file_)) {
    other.clear();
  }
  Secret& operator=(Secret&&) = delete;
  ~Secret() { clear(); }

  bool is_there() const noexcept { return !bytes_.empty(); }
  /// WEFT_SECRET_FILE=none: the user wants none, on any network.
  bool is_declined() const noexcept { return file_ == "none"; }
  /// "WEFT_SECRET_FILE=/home/me/secret", or that there is none.
  std::string describe() const;

  Proof prove(std::string_view text) const noexcept;
  /// In a time that does not depend on the bytes.
  bool accepts(std::string_view text, const Proof& proof) const noexcept;

 private:
  void clear() noexcept;
  std::string bytes_;
  std::string file_;
};

/// A new secret for a job of processes that this one starts: a file without a name, which they
/// inherit. `setting` is set to the WEFT_SECRET_FILE that they need.
File make_secret(std::string& setting);

}  // namespace weft::comm
