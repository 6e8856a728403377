// Type signature: the sequence of predefined datatypes in elements, as a number that is the same
// for the same sequence, however its datatype is built, and in every process.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <string>

namespace weft::mpi {

/// A digest of a sequence: polynomial in the digests of its members, modulo 2^64. So that of a
/// sequence repeated n times takes log n steps.
///
/// J. L. Traff, "A signature datatype for type correct collective operations, revisited" (2015),
/// and W. Gropp, "Runtime checking of datatype signatures in MPI" (2000), have the like.
struct TypeSignature {
  std::uint64_t digest = 0;
  std::uint64_t factor = 1;  // to put another sequence before this one
  bool operator==(const TypeSignature&) const = default;

  /// Of one predefined datatype, by its name.
  static TypeSignature of_name(const std::string& name) noexcept;
  /// This sequence and then the other.
  TypeSignature then(const TypeSignature& other) const noexcept {
    return {digest * other.factor + other.digest, factor * other.factor};
  }
  TypeSignature times(std::uint64_t count) const noexcept;

  /// Of an element of a committed datatype, as its constructors say. nullopt: they cannot be told.
  static std::optional<TypeSignature> of(MPI_Datatype type);
};

/// MPI's name of a datatype; of one that the program has made and not named "a datatype of N
/// bytes".
std::string name_of(MPI_Datatype type);

}  // namespace weft::mpi
