#include "mpi/calls/reductions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/cast.hpp"
#include "base/error.hpp"
#include "mpi/calls/pieces.hpp"
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
  if (resolution_ == nullptr || lacks_buffer(resolution_->layout)) return Passed::arguments;
  return std::nullopt;
}

bool Reduction::lacks_buffer(const Layout& layout) const {
  const bool addressed = !layout.contiguous;
  const bool reads = in_place_ || vectors_.send != nullptr || addressed;
  const bool writes = !receives_ || results_ == 0 || vectors_.receive != nullptr || addressed;
  return !reads || !writes;
}

/// The operation and the datatype are refused also where there is nothing to reduce, buffers are
/// not. Elements without bytes, and two buffers that are both MPI_BOTTOM, are no reason.
bool Reduction::is_surely_refused(const Context& context) {
  in_place_ = vectors_.send == MPI_IN_PLACE;
  if (!read_counts(context)) return true;
  const Operations& operations = context.world.operations();
  if (operations.refuses(vectors_.op, vectors_.type, context.attached.operations)) return true;
  const Layout layout = context.layouts().of(vectors_.type);
  if (given_ == 0 || layout.size_bytes == 0) return false;
  return lacks_buffer(layout) || (vectors_.send != nullptr && !buffers_are_good());
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
  const bool is_plain = is_kept && resolution_->form == Form::in_place &&
                        bytes_of(given_, *resolution_) <= kMostPlain;
  return is_plain ? std::optional(Plain{&resolution_->operation}) : std::nullopt;
}

void Reduction::add_handles(Handles& handles, const Attached&) const {
  handles.add(vectors_.type);
  handles.op = vectors_.op;
}

/// Vectors of a program's own operation, and of pairs, are copied, so long ones go in slices. All
/// ranks have the same operation and elements of one size.
bool Reduction::is_long_and_copied() const {
  const bool is_copied = resolution_->host != nullptr || resolution_->form == Form::pairs;
  return is_copied && bytes_of(given_, *resolution_) > kPiece;
}

void Reduction::run(const Context& context) {
  if (!is_long_and_copied()) {
    run_slice(context, 0, given_, results_);
  } else if (collective() == plan::Collective::reduce_scatter) {
    scatter_in_pieces(context);
  } else {
    run_in_slices(context);
  }
  // After all slices: other ranks wait for them.
  if (resolution_->host) resolution_->host->throw_if_failed();
}

void Reduction::run_in_slices(const Context& context) {
  const std::size_t element_bytes = resolution_->operation.element_bytes;
  const std::size_t at_once = std::max<std::size_t>(kPiece / element_bytes, 1);
  for_each_piece(static_cast<std::size_t>(given_), at_once, [&](std::size_t from, std::size_t to) {
    const auto elements = static_cast<MPI_Count>(to - from);
    run_slice(context, static_cast<MPI_Count>(from), elements, std::min(results_, elements));
  });
}

/// Copies elements of the program to where the operation works on them.
void Reduction::take(const Layouts& layouts, const std::byte* input, MPI_Count elements,
                     std::byte* copy) const {
  if (resolution_->form != Form::pairs) {
    layouts.pack(input, elements, resolution_->layout, copy);
  } else if (device_memory::contains(input)) {
    copy_gaps_too(copy, input, bytes_of(elements, *resolution_));
  } else {
    std::memcpy(copy, input, bytes_of(elements, *resolution_));
  }
}

/// Copies results to the program.
void Reduction::deliver(const Layouts& layouts, const std::byte* output, std::byte* receive,
                        MPI_Count results) const {
  if (results == 0) return;
  if (resolution_->form != Form::pairs) {
    layouts.unpack(output, receive, results, resolution_->layout);
  } else if (device_memory::contains(receive)) {
    copy_gaps_too(receive, output, bytes_of(results, *resolution_));
  } else {
    copy_pairs(receive, output, results, *resolution_);
  }
}

void Reduction::run_slice(const Context& context, MPI_Count from, MPI_Count elements,
                          MPI_Count results) {
  Attached& attached = context.attached;
  const Resolution& resolution = *resolution_;
  const void* given = in_place_ ? vectors_.receive : vectors_.send;
  const auto* input = static_cast<const std::byte*>(given) + from * resolution.layout.extent_bytes;
  std::byte* const receive = receives_ ? receives_at(from) : nullptr;
  if (resolution.form == Form::packed || device_memory::contains(input)) {
    std::byte* copy = attached.packed_input.reserve(bytes_of(elements, resolution));
    take(context.layouts(), input, elements, copy);
    input = copy;
  }
  const bool is_copied =
      receives_ && (resolution.form != Form::in_place || device_memory::contains(receive));
  std::byte* const output =
      is_copied ? attached.packed_output.reserve(bytes_of(results, resolution)) : receive;
  reduce(context, input, output, static_cast<std::size_t>(elements), resolution.operation);
  if (is_copied) deliver(context.layouts(), output, receive, results);
}

/// Each rank's part of the vector is cut into as many pieces. In place a piece of the result is
/// written where all ranks' parts have been read already: at the beginning, where the first rank's
/// part is read as fast or faster, else where this rank's own part was, from where the whole is
/// moved at the end.
void Reduction::scatter_in_pieces(const Context& context) {
  const Layouts& layouts = context.layouts();
  const Operation& operation = resolution_->operation;
  const auto pieces = ceil_div(bytes_of(given_, *resolution_), kPiece);
  std::vector<Piece> cut(static_cast<std::size_t>(context.size()));
  std::vector<std::size_t> counts(cut.size());
  const auto cut_all = [&](std::size_t number) {
    for (std::size_t i = 0; i < cut.size(); ++i) {
      const auto elements = static_cast<std::size_t>(results_of(static_cast<int>(i)));
      cut[i] = piece_of_block(elements, pieces, number);
      counts[i] = cut[i].length();
    }
    return static_cast<MPI_Count>(std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
  };
  const Piece& own = cut[static_cast<std::size_t>(context.rank())];
  const void* const given = in_place_ ? vectors_.receive : vectors_.send;
  const bool waits = given == vectors_.receive && results_ > results_of(0);
  MPI_Count result = 0;  // where it is written
  for (int i = 0; waits && i < context.rank(); ++i) result += results_of(i);
  std::byte* const input =
      context.attached.packed_input.reserve(bytes_of(cut_all(0), *resolution_));
  const auto at_once = static_cast<MPI_Count>(own.length());
  std::byte* const output = context.attached.packed_output.reserve(bytes_of(at_once, *resolution_));
  run_pieces(pieces, [&](std::size_t number) {
    cut_all(number);
    const auto* block = static_cast<const std::byte*>(given);
    std::byte* next = input;
    for (std::size_t i = 0; i < cut.size(); ++i) {
      const auto elements = static_cast<MPI_Count>(counts[i]);
      const MPI_Aint extent = resolution_->layout.extent_bytes;
      take(layouts, block + static_cast<MPI_Count>(cut[i].from) * extent, elements, next);
      next += bytes_of(elements, *resolution_);
      block += results_of(static_cast<int>(i)) * extent;
    }
    context.weft().reduce_scatter(input, output, std::span<const std::size_t>(counts), operation);
    deliver(layouts, output, receives_at(result + static_cast<MPI_Count>(own.from)),
            static_cast<MPI_Count>(own.length()));
  });
  if (result != 0) move_result(layouts, result, at_once, output);
}

/// Moves the result from element `from` to the beginning, so many elements at a time: what a step
/// overwrites has been moved.
void Reduction::move_result(const Layouts& layouts, MPI_Count from, MPI_Count at_once,
                            std::byte* memory) const {
  for (MPI_Count at = 0; at < results_; at += at_once) {
    const MPI_Count elements = std::min(at_once, results_ - at);
    take(layouts, receives_at(from + at), elements, memory);
    deliver(layouts, memory, receives_at(at), elements);
  }
}

void Reduce::describe(RecordedKind& kind, const Context& context) const {
  Reduction::describe(kind, context);
  kind.root = static_cast<std::uint32_t>(root());
}

bool Reduce::read_counts(const Context& context) {
  given_ = count_;
  receives_ = context.rank() == root();
  results_ = receives_ ? count_ : 0;
  return count_ >= 0 && root() >= 0 && root() < context.size();
}

void Reduce::reduce(const Context& context, const std::byte* input, std::byte* output,
                    std::size_t elements, const Operation& operation) {
  context.weft().reduce(input, output, elements, operation, root());
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
  std::vector<std::size_t>& counts = context.attached.lists.counts;
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
  context.weft().reduce_scatter(
      input, output, std::span<const std::size_t>(context.attached.lists.counts), operation);
}

}  // namespace weft::mpi
