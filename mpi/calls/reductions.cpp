#include "mpi/calls/reductions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "mpi/datatypes/device_memory.hpp"
#include "mpi/host/host.hpp"

namespace weft::mpi {

namespace {

using Form = Resolution::Form;

std::size_t bytes_of(MPI_Count elements, const Resolution& resolution) {
  return static_cast<std::size_t>(elements) * resolution.operation.element_bytes;
}

// Copies the fields of pairs, and leaves the gaps between them as they are.
void copy_pairs(std::byte* to, const std::byte* from, MPI_Count count,
                const Resolution& resolution) {
  const std::size_t step = resolution.operation.element_bytes, index = resolution.index_offset;
  for (std::size_t at = 0; at < static_cast<std::size_t>(count) * step; at += step) {
    std::memcpy(to + at, from + at, resolution.value_bytes);
    std::memcpy(to + at + index, from + at + index, sizeof(int));
  }
}

// From or to another processor's memory.
void copy_gaps_too(void* to, const void* from, std::size_t bytes) {
  if (device_memory::copy(to, from, bytes)) return;
  throw Error(fmt::format("the driver refuses to copy {} bytes of another processor", bytes));
}

}  // namespace

bool Reduction::buffers_are_good() const {
  if (receives_ && vectors_.receive == MPI_IN_PLACE) return false;
  if (in_place_) return receives_;
  if (vectors_.send != vectors_.receive || !receives_) return true;
  // Of a reduce only the root can see this, and a refusal there would leave the others waiting.
  if (collective() == plan::Collective::reduce) return true;
  if (kRefusesEqualBuffers) return false;
  // Open MPI refuses this for allreduce alone, and treats it as in place elsewhere.
  return collective() != plan::Collective::allreduce || given_ <= 1;
}

std::optional<Passed> Reduction::judge(const Context& context) {
  in_place_ = vectors_.send == MPI_IN_PLACE;
  if (!read_counts(context) || !buffers_are_good()) return Passed::arguments;
  if (given_ == 0) return Passed::no_bytes;
  resolution_ =
      context.world.operations().resolve(vectors_.op, vectors_.type, context.attached.operations);
  if (resolution_ == nullptr) return Passed::arguments;
  const bool addressed = !resolution_->layout.contiguous;
  const bool reads = in_place_ || vectors_.send != nullptr || addressed;
  const bool writes = !receives_ || results_ == 0 || vectors_.receive != nullptr || addressed;
  if (!reads || !writes) return Passed::arguments;
  return std::nullopt;
}

std::optional<std::uint64_t> Reduction::block_bytes(const Context& context) const {
  const std::uint64_t bytes = bytes_of(given_, *resolution_);
  return has_blocks_of_all(collective()) ? bytes / static_cast<unsigned>(context.size()) : bytes;
}

void Reduction::describe(RecordedKind& kind, const Context&) const {
  const Operation& operation = resolution_->operation;
  kind.element_bytes = static_cast<std::uint32_t>(operation.element_bytes);
  kind.commutative = operation.commutative;
  kind.associative = operation.associative;
}

/// Of MPI's own operations, which are kept.
std::optional<Call::Plain> Reduction::plain(const Context& context) const {
  const std::optional<Resolution>& temporary = context.attached.operations.temporary;
  const bool is_kept = !temporary || &*temporary != resolution_;
  const bool is_plain = is_kept && resolution_->form == Form::in_place && !in_place_ &&
                        bytes_of(given_, *resolution_) <= kMostPlain;
  return is_plain ? std::optional(Plain{&resolution_->operation}) : std::nullopt;
}

void Reduction::add_handles(Handles& handles, const Attached&) const {
  handles.add(vectors_.type);
  handles.op = vectors_.op;
}

/// Vectors of a program's own operation, and of pairs, are copied, so long ones go in slices. All
/// ranks have the same operation and elements of one size.
MPI_Count Reduction::elements_at_once() const {
  constexpr std::size_t kSlice = 4 << 20;
  const bool is_copied = resolution_->host != nullptr || resolution_->form == Form::pairs;
  const bool is_scatter = collective() == plan::Collective::reduce_scatter;
  const std::size_t element_bytes = resolution_->operation.element_bytes;
  if (!is_copied || is_scatter || bytes_of(given_, *resolution_) <= kSlice) return given_;
  return static_cast<MPI_Count>(std::max<std::size_t>(kSlice / element_bytes, 1));
}

void Reduction::run(const Context& context) {
  const MPI_Count at_once = elements_at_once();
  for (MPI_Count from = 0; from < given_; from += at_once) {
    const MPI_Count elements = std::min(at_once, given_ - from);
    try {
      run_slice(context, from, elements,
                elements == given_ ? results_ : std::min(results_, elements));
    } catch (const SetupError& error) {
      // On all ranks alike. The host cannot serve the call any more: inputs may be results by now.
      if (from > 0) throw CallError(error.what());
      throw;
    }
  }
  // After all slices: other ranks wait for them.
  if (resolution_->host) resolution_->host->throw_if_failed();
}

void Reduction::run_slice(const Context& context, MPI_Count from, MPI_Count elements,
                          MPI_Count results) {
  Attached& attached = context.attached;
  const Layouts& layouts = context.layouts();
  const Resolution& resolution = *resolution_;
  const MPI_Aint skipped = from * resolution.layout.extent_bytes;
  const void* given = in_place_ ? vectors_.receive : vectors_.send;
  const auto* input = static_cast<const std::byte*>(given) + skipped;
  auto* receive = receives_ ? static_cast<std::byte*>(vectors_.receive) + skipped : nullptr;
  const bool packed = resolution.form == Form::packed;
  const bool has_gaps = resolution.form == Form::pairs && !resolution.layout.contiguous;
  const bool apart = receives_ && device_memory::contains(receive);
  if (packed || device_memory::contains(input)) {
    std::byte* copy = attached.packed_input.reserve(bytes_of(elements, resolution));
    if (has_gaps) {
      copy_gaps_too(copy, input, bytes_of(elements, resolution));
    } else {
      layouts.pack(input, elements, resolution.layout, copy);
    }
    input = copy;
  }
  std::byte* output = receive;
  if (receives_ && (apart || resolution.form != Form::in_place))
    output = attached.packed_output.reserve(bytes_of(results, resolution));
  reduce(context, input, output, static_cast<std::size_t>(elements), resolution.operation);
  if (results == 0) return;
  if (apart && has_gaps) {
    copy_gaps_too(receive, output, bytes_of(results, resolution));
  } else if (apart || packed) {
    layouts.unpack(output, receive, results, resolution.layout);
  } else if (resolution.form == Form::pairs) {
    copy_pairs(receive, output, results, resolution);
  }
}

void Reduce::describe(RecordedKind& kind, const Context& context) const {
  Reduction::describe(kind, context);
  kind.root = static_cast<std::uint32_t>(root_);
}

bool Reduce::read_counts(const Context& context) {
  given_ = count_;
  receives_ = context.rank() == root_;
  results_ = receives_ ? count_ : 0;
  return count_ >= 0 && root_ >= 0 && root_ < context.size();
}

void Reduce::reduce(const Context& context, const std::byte* input, std::byte* output,
                    std::size_t elements, const Operation& operation) {
  context.weft().reduce(input, output, elements, operation, root_);
}

bool ReduceForAll::read_counts(const Context& context) {
  given_ = count_;
  // An exscan has no result on rank 0.
  const bool nothing = collective() == plan::Collective::exscan && context.rank() == 0;
  results_ = nothing ? 0 : count_;
  return count_ >= 0;
}

void ReduceForAll::reduce(const Context& context, const std::byte* input, std::byte* output,
                          std::size_t elements, const Operation& operation) {
  switch (collective()) {
    case plan::Collective::allreduce:
      return context.weft().allreduce(input, output, elements, operation);
    case plan::Collective::scan:
      return context.weft().scan(input, output, elements, operation);
    default:
      return context.weft().exscan(input, output, elements, operation);
  }
}

bool ReduceScatterBlock::read_counts(const Context& context) {
  given_ = count_ * context.size();
  results_ = count_;
  return count_ >= 0;
}

void ReduceScatterBlock::reduce(const Context& context, const std::byte* input, std::byte* output,
                                std::size_t /*elements*/, const Operation& operation) {
  context.weft().reduce_scatter(input, output, static_cast<std::size_t>(count_), operation);
}

void ReduceScatter::keep(Arrays& arrays, const Attached& attached) {
  counts_.keep(arrays, attached.size);
}

bool ReduceScatter::read_counts(const Context& context) {
  if (counts_.is_null()) return false;
  std::vector<std::size_t>& counts = context.attached.counts;
  counts.resize(static_cast<std::size_t>(context.size()));
  for (int rank = 0; rank < context.size(); ++rank) {
    if (counts_[rank] < 0) return false;
    counts[static_cast<std::size_t>(rank)] = static_cast<std::size_t>(counts_[rank]);
    given_ += counts_[rank];
  }
  results_ = counts_[context.rank()];
  return true;
}

void ReduceScatter::reduce(const Context& context, const std::byte* input, std::byte* output,
                           std::size_t /*elements*/, const Operation& operation) {
  context.weft().reduce_scatter(input, output,
                                std::span<const std::size_t>(context.attached.counts), operation);
}

}  // namespace weft::mpi
