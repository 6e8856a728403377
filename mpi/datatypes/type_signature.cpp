#include "mpi/datatypes/type_signature.hpp"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "mpi/datatypes/combiner.hpp"

namespace weft::mpi {

namespace {

struct ArgumentCounts {
  int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
  static std::optional<ArgumentCounts> of(MPI_Datatype type) {
    ArgumentCounts made;
    const int error =
        PMPI_Type_get_envelope(type, &made.integers, &made.addresses, &made.types, &made.combiner);
    return error == MPI_SUCCESS ? std::optional(made) : std::nullopt;
  }
};

/// What a constructor was given. Frees the handles that it has got.
class Constructor {
 public:
  Constructor(MPI_Datatype type, const ArgumentCounts& made)
      : combiner_(made.combiner),
        integers_(static_cast<std::size_t>(made.integers)),
        addresses_(static_cast<std::size_t>(made.addresses)),
        types_(static_cast<std::size_t>(made.types), MPI_DATATYPE_NULL),
        is_known_(PMPI_Type_get_contents(type, made.integers, made.addresses, made.types,
                                         integers_.data(), addresses_.data(),
                                         types_.data()) == MPI_SUCCESS) {}
  Constructor(const Constructor&) = delete;
  Constructor& operator=(const Constructor&) = delete;
  ~Constructor() {
    for (MPI_Datatype& type : types_) {
      if (type == MPI_DATATYPE_NULL) continue;
      const auto made = ArgumentCounts::of(type);
      if (made && !is_predefined(made->combiner)) PMPI_Type_free(&type);
    }
  }

  std::optional<TypeSignature> signature() const {
    if (!is_known_ || types_.empty()) return std::nullopt;
    if (combiner_ == MPI_COMBINER_STRUCT) return of_structure();
    const auto inner = TypeSignature::of(types_.front());
    const auto count = inner ? elements() : std::nullopt;
    return count ? std::optional(inner->times(*count)) : std::nullopt;
  }

 private:
  std::uint64_t integer(std::size_t at) const {
    return at < integers_.size() && integers_[at] > 0 ? static_cast<std::uint64_t>(integers_[at])
                                                      : 0;
  }

  /// How many of the inner type.
  std::optional<std::uint64_t> elements() const {
    std::uint64_t all = 0;
    switch (combiner_) {
      case MPI_COMBINER_DUP:
      case MPI_COMBINER_RESIZED:
        return 1;
      case MPI_COMBINER_CONTIGUOUS:
        return integer(0);
      case MPI_COMBINER_VECTOR:
      case MPI_COMBINER_HVECTOR:
      case MPI_COMBINER_INDEXED_BLOCK:
      case MPI_COMBINER_HINDEXED_BLOCK:
        return integer(0) * integer(1);
      case MPI_COMBINER_INDEXED:
      case MPI_COMBINER_HINDEXED:
        for (std::size_t i = 1; i <= integer(0); ++i) all += integer(i);
        return all;
      case MPI_COMBINER_SUBARRAY: {
        const std::size_t dimensions = integer(0);
        all = 1;
        for (std::size_t i = 0; i < dimensions; ++i) all *= integer(1 + dimensions + i);
        return all;
      }
      default:
        return std::nullopt;
    }
  }

  std::optional<TypeSignature> of_structure() const {
    TypeSignature all;
    for (std::size_t i = 0; i < types_.size(); ++i) {
      const auto inner = TypeSignature::of(types_[i]);
      if (!inner) return std::nullopt;
      all = all.then(inner->times(integer(1 + i)));
    }
    return all;
  }

  int combiner_;
  std::vector<int> integers_;
  std::vector<MPI_Aint> addresses_;
  std::vector<MPI_Datatype> types_;
  bool is_known_;
};

}  // namespace

TypeSignature TypeSignature::of_name(const std::string& name) noexcept {
  std::uint64_t digest = 0xcbf29ce484222325;
  for (const char one : name) {
    digest = (digest ^ static_cast<unsigned char>(one)) * 0x100000001b3;
  }
  return {digest, 0x9e3779b97f4a7c15};
}

TypeSignature TypeSignature::times(std::uint64_t count) const noexcept {
  TypeSignature all;
  TypeSignature power = *this;
  for (; count != 0; count >>= 1) {
    if ((count & 1) != 0) all = power.then(all);
    power = power.then(power);
  }
  return all;
}

std::optional<TypeSignature> TypeSignature::of(MPI_Datatype type) {
  const auto made = ArgumentCounts::of(type);
  if (!made) return std::nullopt;
  if (is_predefined(made->combiner)) return of_name(name_of(type));
  return Constructor(type, *made).signature();
}

std::string name_of(MPI_Datatype type) {
  std::array<char, MPI_MAX_OBJECT_NAME> name{};
  int length = 0;
  if (PMPI_Type_get_name(type, name.data(), &length) == MPI_SUCCESS && length > 0) {
    return {name.data(), static_cast<std::size_t>(length)};
  }
  int bytes = 0;
  PMPI_Type_size(type, &bytes);
  return fmt::format("a datatype of {} bytes", bytes);
}

}  // namespace weft::mpi
