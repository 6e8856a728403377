// Type map: where the bytes of a datatype's elements lie in memory, in the order in which MPI packs
// them, as nests of loops over runs of bytes. A type of more than kMostNests has no map, nor one of
// too many loops in a nest, nor MPI_Type_create_darray: the host packs these.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/copying/nest.hpp"

namespace weft::mpi {

class TypeMap {
 public:
  static constexpr std::size_t kMostNests = 4096;
  /// Of a committed datatype, as its constructors say (MPI_Type_get_contents). nullopt: it has
  /// none.
  static std::optional<TypeMap> of(MPI_Datatype type);

  /// `count` of them that begin at `buffer`, `extent` bytes apart: while this map lives.
  engine::Elements elements(const void* buffer, std::uint64_t count,
                            std::ptrdiff_t extent) const noexcept {
    return {reinterpret_cast<std::uintptr_t>(buffer), nests_, bytes_, extent, count};
  }

  /// Of an element.
  std::uint64_t bytes() const noexcept { return bytes_; }
  const std::vector<engine::Nest>& nests() const noexcept { return nests_; }

  bool operator==(const TypeMap&) const = default;

  // How constructors of datatypes combine maps. False: the map would be too large.
  static TypeMap run(std::uint64_t bytes);
  bool repeat(std::uint64_t count, std::ptrdiff_t stride);
  bool append(const TypeMap& other, std::ptrdiff_t at);

 private:
  void add(const engine::Nest& nest);

  std::vector<engine::Nest> nests_;
  std::uint64_t bytes_ = 0;
};

/// The map, kept to the end of the process: datatypes may be freed while calls use them, and
/// programs make the same ones again and again. Null where the maps that are kept have become many.
/// Safe from many threads.
const TypeMap* keep(TypeMap map);

}  // namespace weft::mpi
