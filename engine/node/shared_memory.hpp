// Shared memory that one rank creates and the ranks of its node attach.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/file.hpp"

namespace weft::engine {

/// Anonymous: it has no name that could be left behind, and is freed with its last owner. Ranks
/// that are threads of one process share one mapping, so that addresses mean the same to all of
/// them. A value that shares ownership.
class SharedMemory {
 public:
  SharedMemory() = default;
  /// Zero at the beginning, all of it committed. SystemError when there is not enough memory.
  static SharedMemory create(const char* label, std::size_t bytes);
  /// From another rank's handle(). SystemError when the system does not let this process open it,
  /// or the rank's process has ended.
  static SharedMemory attach(std::string_view bytes);

  /// For attach(), while this object lives. Of fixed size.
  std::string handle() const;
  std::byte* data() const noexcept { return mapping_ ? mapping_->data() : nullptr; }
  std::size_t size() const noexcept { return mapping_ ? mapping_->size() : 0; }

 private:
  std::shared_ptr<Mapping> mapping_;
  std::shared_ptr<File> file_;  // the creator's only
};

}  // namespace weft::engine
