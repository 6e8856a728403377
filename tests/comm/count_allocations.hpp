#pragma once

namespace weft::test {

/// How often this process has called operator new so far.
long allocations() noexcept;

}  // namespace weft::test
