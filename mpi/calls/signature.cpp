#include "mpi/calls/signature.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "mpi/datatypes/type_signature.hpp"

namespace weft::mpi {

namespace {

std::string operation_name(MPI_Op op) {
  const std::array known = {
      std::pair{MPI_SUM, "MPI_SUM"},       std::pair{MPI_PROD, "MPI_PROD"},
      std::pair{MPI_MIN, "MPI_MIN"},       std::pair{MPI_MAX, "MPI_MAX"},
      std::pair{MPI_LAND, "MPI_LAND"},     std::pair{MPI_LOR, "MPI_LOR"},
      std::pair{MPI_LXOR, "MPI_LXOR"},     std::pair{MPI_BAND, "MPI_BAND"},
      std::pair{MPI_BOR, "MPI_BOR"},       std::pair{MPI_BXOR, "MPI_BXOR"},
      std::pair{MPI_MINLOC, "MPI_MINLOC"}, std::pair{MPI_MAXLOC, "MPI_MAXLOC"},
  };
  for (const auto& [one, name] : known) {
    if (one == op) return name;
  }
  int commutes = 0;
  PMPI_Op_commutative(op, &commutes);
  return commutes != 0 ? "an operation of the program" : "an operation of the program, in order";
}

/// Of `bytes` of elements of the type; nothing where that is not a whole number of them.
std::optional<TypeSignature> signature_of(MPI_Datatype type, std::uint64_t bytes,
                                          const Layouts& layouts) {
  const Layout layout = layouts.of(type);
  const auto size = static_cast<std::uint64_t>(layout.size_bytes);
  if (!layout.valid || size == 0 || bytes % size != 0) return std::nullopt;
  const auto one = TypeSignature::of(type);
  return one ? std::optional(one->times(bytes / size)) : std::nullopt;
}

/// Of nothing but for its words, whatever the datatype. A packed buffer matches every type.
Communicator::Described describe(const Call::Elements& elements) {
  constexpr std::uint64_t kNothing = 1;
  if (elements.count == 0 || elements.type == MPI_DATATYPE_NULL) return {kNothing, "nothing"};
  const auto one = TypeSignature::of(elements.type);
  const auto count = static_cast<std::uint64_t>(elements.count);
  std::string words = fmt::format("{} of {}", count, name_of(elements.type));
  if (!one || elements.type == MPI_PACKED) return {0, std::move(words)};
  const TypeSignature all = one->times(count);
  if (all == TypeSignature{}) return {kNothing, std::move(words)};  // of a datatype of no bytes
  return {all.digest > kNothing ? all.digest : all.digest + 2, std::move(words)};
}

}  // namespace

void describe_for_check(const Call& call, const Context& context) {
  Handles handles;
  call.add_handles(handles, context.attached);
  std::string key, words;
  const auto bytes = call.block_bytes(context);
  // A packed buffer matches every type; and of blocks that differ each rank knows its own.
  if (bytes && !handles.contains(MPI_PACKED)) {
    // The last first: of a send in place the datatype means nothing.
    for (const MPI_Datatype* at = handles.types.end(); at != handles.types.begin();) {
      MPI_Datatype type = *--at;
      const auto signature = signature_of(type, *bytes, context.layouts());
      if (!signature) continue;
      key = fmt::format("{:x}", signature->digest);
      words = mpi::name_of(type);
      break;
    }
  }
  if (is_reduction(call.collective())) {
    const std::string op = operation_name(handles.op);
    key += ' ' + op;
    words += (words.empty() ? "" : " with ") + op;
  }
  std::vector<Communicator::Described> sends, receives;
  for (int rank = 0; rank < context.size(); ++rank) {
    const auto traffic = call.traffic_with(rank, context);
    if (!traffic) break;
    sends.push_back(describe(traffic->sent));
    receives.push_back(describe(traffic->received));
  }
  context.weft().describe_next_call(std::move(key), std::move(words), std::move(sends),
                                    std::move(receives));
}

}  // namespace weft::mpi
