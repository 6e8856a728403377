// Program image: a copy of an executable that dlmopen() can load into a running process.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/file.hpp"

namespace weft::cli {

/// A position independent executable, the default of compilers today. UsageError for other files,
/// and where main() cannot be found, as in a stripped program that is not linked with -rdynamic.
class ProgramImage {
 public:
  explicit ProgramImage(const std::string& path);

  /// Path of the copy for dlmopen(), valid while this object exists. It is not marked as a program,
  /// which the dynamic linker would refuse to load, and has no constructors for it to run.
  std::string loadable() const;

  /// Run the program's constructors, to be called after copy_variables(), and its main(). `handle`
  /// is the result of dlmopen().
  void construct(void* handle, int argc, char** argv, char** environment) const;
  int run_main(void* handle, int argc, char** argv, char** environment) const;

 private:
  /// Offsets from the load address.
  struct Entries {
    std::uintptr_t main = 0;
    std::uintptr_t init = 0;  // 0: there is none
    std::uintptr_t init_array = 0;
    std::size_t init_array_bytes = 0;
  };
  friend class Elf;
  File copy_;
  Entries entries_;
};

/// Initializes the program's copies of variables of libraries (stdout, ..), which the dynamic
/// linker does only for the first program of a process. All libraries use these copies already.
void copy_variables(void* handle);

/// A replacement for a function.
struct Binding {
  const char* name;
  void* function;
};

/// Redirects calls of these functions in all objects of the namespace of `handle` (of dlmopen())
/// but the C library. To be called once the program is loaded with RTLD_NOW. SystemError when
/// memory cannot be written.
void rebind(void* handle, std::span<const Binding> bindings);

}  // namespace weft::cli
