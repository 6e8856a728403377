#include "mpi/operations/operations.hpp"

#include "base/error_types.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "mpi/operations/predefined.hpp"

namespace weft::mpi {

namespace {

// Size and offset of the fields of a pair with gaps.
struct PairFields {
  Type type;
  std::size_t value_bytes, index_offset;
};

template <class Value>
constexpr PairFields fields_of(Type type) {
  struct Pair {
    Value value;
    int index;
  };
  return {type, sizeof(Value), offsetof(Pair, index)};
}

constexpr std::array kPairsWithGaps = {
    fields_of<std::int16_t>(Type::int16_int32),
    fields_of<std::int64_t>(Type::int64_int32),
    fields_of<double>(Type::float64_int32),
    fields_of<long double>(Type::float_extended_int32),
};

// The kernel for a predefined operation; nullopt: weft has no kernel with this host's layout.
std::optional<Resolution> kernel_for(Operator op, Type type, const Layout& layout) {
  Resolution result;
  result.layout = layout;
  try {
    result.operation = operation(op, type);
  } catch (const UsageError&) {
    // Hosts support more operations than kernels do: MPICH has logical ones on floating point.
    return std::nullopt;
  }
  if (static_cast<MPI_Aint>(result.operation.element_bytes) != layout.extent_bytes)
    return std::nullopt;
  if (layout.contiguous) return result;
  const auto fields = std::ranges::find(kPairsWithGaps, type, &PairFields::type);
  if (fields == kPairsWithGaps.end()) return std::nullopt;
  result.form = Resolution::Form::pairs;
  result.value_bytes = fields->value_bytes;
  result.index_offset = fields->index_offset;
  return result;
}

}  // namespace

const Resolution* Operations::resolve(MPI_Op op, MPI_Datatype type,
                                      Resolutions& resolutions) const {
  if (const Resolution* known = resolutions.find(op, type)) return known;
  if (!operator_of(op) || !is_for_reductions(type)) {
    std::optional<Resolution> made = make(op, type);
    if (!made) return nullptr;
    resolutions.temporary = std::move(made);
    return &*resolutions.temporary;
  }
  auto made = predefined(op, type);
  if (made == nullptr) return nullptr;
  resolutions.known.push_back({op, type, std::move(made)});
  return resolutions.known.back().resolution.get();
}

/// Null where the host refuses it.
std::shared_ptr<const Resolution> Operations::predefined(MPI_Op op, MPI_Datatype type) const {
  {
    const std::lock_guard lock(mutex_);
    for (const Resolutions::Known& one : kernels_) {
      if (one.op == op && one.type == type) return one.resolution;
    }
  }
  std::optional<Resolution> made = make(op, type);
  if (!made) return nullptr;
  const bool is_kernel = made->host == nullptr;  // else it is of one communicator
  auto resolution = std::make_shared<const Resolution>(std::move(*made));
  if (is_kernel) {
    const std::lock_guard lock(mutex_);
    kernels_.push_back({op, type, resolution});  // twice, where two threads do so at once
  }
  return resolution;
}

bool Operations::refuses(MPI_Op op, MPI_Datatype type, const Resolutions& resolutions) const {
  if (resolutions.find(op, type) != nullptr) return false;
  return !layouts_.of(type).valid || !accepted(op, type);
}

// On a communicator of one rank and with no elements, the host checks its arguments and does
// nothing else.
bool Operations::accepted(MPI_Op op, MPI_Datatype type) const {
  char from = 0, to = 0;
  return PMPI_Allreduce(&from, &to, 0, type, op, self_) == MPI_SUCCESS;
}

std::optional<Resolution> Operations::make(MPI_Op op, MPI_Datatype type) const {
  const Layout layout = layouts_.of(type);
  if (!layout.valid || layout.size_bytes == 0 || !accepted(op, type)) return std::nullopt;
  const auto predefined = operator_of(op);
  const auto element = element_of(type);
  if (predefined && element) {
    if (auto kernel = kernel_for(*predefined, *element, layout)) return kernel;
  }
  Resolution result;
  result.layout = layout;
  result.host = std::make_unique<HostOperation>(layouts_, op, layout);
  result.operation = result.host->operation();
  if (!layout.contiguous) result.form = Resolution::Form::packed;
  return result;
}

}  // namespace weft::mpi
