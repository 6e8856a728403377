#pragma once

namespace weft::test {

/// Calls of operator new by this process so far.
long allocations() noexcept;

}  // namespace weft::test
