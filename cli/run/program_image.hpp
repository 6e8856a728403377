// A program's file, as something that can be loaded into a process that runs already.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/file.hpp"

namespace weft::cli {

/// An executable that is position independent, as compilers make them today. UsageError when it is
/// anything else, or when its main() cannot be found: that of a program without symbols, unless it
/// is linked with -rdynamic.
class ProgramImage {
 public:
  explicit ProgramImage(const std::string& path);

  /// For dlmopen(), while this lives: a copy that does not say that it is a program, which the
  /// system's linker refuses to load, and whose constructors it does not run.
  std::string loadable() const;

  /// What the start of a program does: its constructors, which come after copy_variables(), and
  /// main(). `handle` is of dlmopen().
  void construct(void* handle, int argc, char** argv, char** environment) const;
  int run_main(void* handle, int argc, char** argv, char** environment) const;

 private:
  /// From where the program is loaded.
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

/// Gives a program's copies of libraries' variables (stdout, ..) their first values: the system's
/// linker does so for a process's first program alone. All libraries use these copies already.
void copy_variables(void* handle);

/// What a name is bound to instead.
struct Binding {
  const char* name;
  void* function;
};

/// Binds calls by what is in the namespace of `handle` (of dlmopen()) but for the C library. Once
/// it is loaded with RTLD_NOW. SystemError when memory cannot be written.
void rebind(void* handle, std::span<const Binding> bindings);

}  // namespace weft::cli
