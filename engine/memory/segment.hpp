// Memory that one rank makes and the ranks of its node attach.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/file.hpp"

namespace weft::engine {

/// Anonymous shared memory: it has no name that could stay behind, and goes with its last holder.
/// Ranks that are threads of one process attach the very same mapping, so that an address means the
/// same to all of them. A value that shares ownership.
class Segment {
 public:
  Segment() = default;
  /// Zero at the beginning, all of it committed. SystemError when there is not enough memory.
  static Segment create(const char* label, std::size_t bytes);
  /// From another rank's handle(). SystemError when its process does not let us in or has ended.
  static Segment attach(std::string_view bytes);

  /// For attach(), while this segment lives. Of fixed size.
  std::string handle() const;
  std::byte* data() const noexcept { return mapping_ ? mapping_->data() : nullptr; }
  std::size_t size() const noexcept { return mapping_ ? mapping_->size() : 0; }

 private:
  std::shared_ptr<Mapping> mapping_;
  std::shared_ptr<File> file_;  // the maker's only
};

}  // namespace weft::engine
