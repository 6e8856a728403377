// Error types that weft throws, and the macros for symbols that the shared library exports.
// Includes no other header of weft, because it is installed with the public API.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

// The public API is marked WEFT_API, its hidden parts WEFT_HIDDEN.
#if defined(__GNUC__)
#define WEFT_API __attribute__((visibility("default")))
#define WEFT_HIDDEN __attribute__((visibility("hidden")))
#else
#define WEFT_API
#define WEFT_HIDDEN
#endif

namespace weft {

/// Root of everything that weft throws. what() is one line that names the thing, its value and
/// what is allowed.
class WEFT_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Bad input from the caller or the user: an argument, an environment variable, a plan's text.
/// Tools end with exit code 2.
class WEFT_API UsageError : public Error {
 public:
  using Error::Error;
};

/// Arguments of a call that contradict each other, or those that other ranks give. Settings are
/// good. Where ranks disagree it is thrown on all of them.
class WEFT_API CallError : public UsageError {
 public:
  using UsageError::UsageError;
};

/// A system call or a library call failed: names the call, its object and errno.
class WEFT_API SystemError : public Error {
 public:
  /// `call` as it stands in source code ("open(/dev/xpmem)"); `error` is an errno value.
  SystemError(std::string_view call, int error);
  int error() const noexcept { return error_; }

 private:
  int error_;
};

/// Another rank failed or died during an operation of several ranks.
class WEFT_API PeerError : public Error {
 public:
  using Error::Error;
};

/// What a call needs could not be set up, on this rank or another one: thrown on all ranks alike,
/// before any byte of the call has moved.
class WEFT_API SetupError : public PeerError {
 public:
  using PeerError::PeerError;
};

}  // namespace weft
