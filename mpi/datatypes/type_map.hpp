// Type map: where the bytes of a datatype's elements lie in memory, in the order in which MPI packs
// them, as nests of loops over runs of bytes. Copies any part of them to and from packed bytes.
//
// A vector, a subarray, columns of a matrix and all that is built of such types are one nest; an
// irregular type is as many nests as it has blocks. A type of more than kMostNests has no map, nor
// one of more than kMostLoops in a nest, nor MPI_Type_create_darray: the host packs these.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace weft::mpi {

class TypeMap {
 public:
  static constexpr std::size_t kMostNests = 4096;
  static constexpr std::size_t kMostLoops = 7;

  struct Loop {
    std::uint64_t count = 0;
    std::ptrdiff_t stride = 0;  // bytes
    bool operator==(const Loop&) const = default;
  };
  /// Runs of bytes at `at` and all offsets that the loops add to it, the last loop innermost.
  struct Nest {
    std::ptrdiff_t at = 0;
    std::uint64_t run_bytes = 0;
    std::vector<Loop> loops = {};
    std::uint64_t first = 0;  // of its packed bytes, within the element
    std::uint64_t bytes() const noexcept;
    bool operator==(const Nest&) const = default;
  };

  /// Of a committed datatype, as its constructors say (MPI_Type_get_contents). nullopt: it has
  /// none.
  static std::optional<TypeMap> of(MPI_Datatype type);

  /// Copies the packed bytes `from` to `to` of elements that begin at `buffer`, `extent` bytes
  /// apart, to `packed`; or back.
  void pack(const void* buffer, std::ptrdiff_t extent, std::uint64_t from, std::uint64_t to,
            std::byte* packed) const;
  void unpack(void* buffer, std::ptrdiff_t extent, std::uint64_t from, std::uint64_t to,
              const std::byte* packed) const;

  /// Of an element.
  std::uint64_t bytes() const noexcept { return bytes_; }
  const std::vector<Nest>& nests() const noexcept { return nests_; }

  bool operator==(const TypeMap&) const = default;

  // How constructors of datatypes combine maps. False: the map would be too large.
  static TypeMap run(std::uint64_t bytes);
  bool repeat(std::uint64_t count, std::ptrdiff_t stride);
  bool append(const TypeMap& other, std::ptrdiff_t at);

 private:
  void add(Nest nest);
  template <class Copy>
  void for_each_part(std::ptrdiff_t extent, std::uint64_t from, std::uint64_t to,
                     const Copy& copy) const;

  std::vector<Nest> nests_;
  std::uint64_t bytes_ = 0;
};

/// The map, kept to the end of the process: datatypes may be freed while calls use them, and
/// programs make the same ones again and again. Null where the maps that are kept have become many.
/// Safe from many threads.
const TypeMap* keep(TypeMap map);

}  // namespace weft::mpi
