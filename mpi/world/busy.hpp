// Busy: what a thread is in the middle of, where calls of MPI are not the program's own or are
// special.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace weft::mpi {

/// What this thread is in the middle of: a word that is 0 where calls of MPI are the program's.
class Busy {
 public:
  static bool is_any() noexcept { return word_ != 0; }

 private:
  friend class Inside;
  friend class Freeing;
  static constexpr std::uint32_t kInside = 1;
  static constexpr std::uint32_t kFreeing = 2;  // for each scope of it
  [[gnu::tls_model("initial-exec")]] static inline constinit thread_local std::uint32_t word_ = 0;
};

/// Scope in which this thread is inside of weft: MPI's calls from there go to the host.
class Inside {
 public:
  Inside() noexcept : outer_(Busy::word_ & Busy::kInside) { Busy::word_ |= Busy::kInside; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { Busy::word_ = (Busy::word_ & ~Busy::kInside) | outer_; }

  static bool here() noexcept { return (Busy::word_ & Busy::kInside) != 0; }

 private:
  std::uint32_t outer_;
};

/// Scope in which this thread frees `*comm`. Attribute callbacks of the program may call
/// collectives on it once more; those go to the host, since ranks may delete attributes, weft's
/// among them, in different orders.
class Freeing {
 public:
  explicit Freeing(const MPI_Comm* comm);
  Freeing(const Freeing&) = delete;
  Freeing& operator=(const Freeing&) = delete;
  ~Freeing();

  /// Whether this thread is freeing `comm`.
  static bool contains(MPI_Comm comm);

 private:
  // Innermost scope of a list: while a communicator is freed, callbacks may free others.
  [[gnu::tls_model("initial-exec")]] static inline constinit thread_local const Freeing* last_ =
      nullptr;

  MPI_Comm comm_;
  const Freeing* outer_;
};

}  // namespace weft::mpi
