// The errors that weft throws, and how the shared library shows what programs see of it. Free of
// other headers of ours, as it is installed with the public API.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

// What programs see is marked WEFT_API, but for its parts that are marked WEFT_HIDDEN.
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

/// The caller or the user asked for something that does not exist or cannot be: a bad argument,
/// environment variable, plan text. Tools end with exit code 2.
class WEFT_API UsageError : public Error {
 public:
  using Error::Error;
};

/// A system call or a library call failed: names the call, its object and errno.
class WEFT_API SystemError : public Error {
 public:
  /// `call` as one would write it ("open(/dev/xpmem)"); `error` is an errno value.
  SystemError(std::string_view call, int error);
  int error() const noexcept { return error_; }

 private:
  int error_;
};

/// The program asked ranks to do something together and another rank failed or died.
class WEFT_API PeerError : public Error {
 public:
  using Error::Error;
};

}  // namespace weft
