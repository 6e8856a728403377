// Errors of verbs: from exceptions to the errno that a verb returns.
#pragma once

#include <cerrno>
#include <exception>
#include <new>

#include "base/error.hpp"
#include "base/log.hpp"

namespace weft::soft {

/// The refusal of a verb that was used wrongly or is not supported. Carries only the errno.
class VerbError : public std::exception {
 public:
  explicit VerbError(int error) noexcept : error_(error) {}
  int error() const noexcept { return error_; }
  const char* what() const noexcept override { return "verb refused"; }

 private:
  int error_;
};

/// The errno of the exception in flight.
inline int current_error() noexcept {
  try {
    throw;
  } catch (const VerbError& error) {
    return error.error();
  } catch (const SystemError& error) {
    log::info("{}", error.what());
    return error.error() != 0 ? error.error() : EIO;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  } catch (...) {
    return EIO;
  }
}

/// For verbs that return an object: nullptr and errno on failure.
template <class Make>
auto make_object(Make&& make) noexcept -> decltype(make()) {
  try {
    return make();
  } catch (...) {
    errno = current_error();
    return nullptr;
  }
}

/// For verbs that return an errno.
template <class Do>
int run_verb(Do&& action) noexcept {
  try {
    action();
    return 0;
  } catch (...) {
    return current_error();
  }
}

}  // namespace weft::soft
