// Faults of the software device, and a checked exchange, for tests.
#pragma once

#include <string>

#include "weft/weft.hpp"

namespace weft::test {

/// From here on the software device of this process has these faults (WEFT_SOFT_FAULTS has the
/// form).
void inject(const std::string& faults);

/// Alltoalls of several sizes with contents of their own, all of it checked; "" or what was wrong.
std::string exchange(Communicator& comm, int round);

}  // namespace weft::test
