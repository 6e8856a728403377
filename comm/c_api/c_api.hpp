// C API, shared by its files: the communicator handle, and exceptions as error codes.
#pragma once

#include <exception>
#include <string>

#include "base/error_types.hpp"
#include "weft/weft.h"
#include "weft/weft.hpp"

struct weft_comm {
  weft::Communicator communicator;
};

namespace weft::comm {

/// The error of this thread's last call that failed.
std::string& last_error();

/// Runs `work`; what it throws becomes a code, its line is kept for weft_error().
template <class Work>
int guarded(Work work) noexcept {
  const auto keep = [](const char* text, int code) {
    last_error() = text;
    return code;
  };
  try {
    work();
    return WEFT_SUCCESS;
  } catch (const UsageError& error) {
    return keep(error.what(), WEFT_ERR_USAGE);
  } catch (const SystemError& error) {
    return keep(error.what(), WEFT_ERR_SYSTEM);
  } catch (const PeerError& error) {
    return keep(error.what(), WEFT_ERR_PEER);
  } catch (const std::exception& error) {
    return keep(error.what(), WEFT_ERR_OTHER);
  }
}

}  // namespace weft::comm
