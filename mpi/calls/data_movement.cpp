#include "mpi/calls/data_movement.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "mpi/host/host.hpp"

namespace weft::mpi {

namespace {

constexpr std::size_t kPiece = 4 << 20;

bool is_rank(int root, const Context& context) {
  return root >= 0 && root < context.size();
}

}  // namespace

std::optional<Passed> Barrier::judge(const Context&) {
  return std::nullopt;
}

std::optional<std::uint64_t> Barrier::block_bytes(const Context&) const {
  return 0;
}

void Barrier::run(const Context& context) {
  context.weft().barrier();
}

std::optional<Passed> Allgather::judge(const Context& context) {
  std::vector<Part>& parts = context.attached.parts;
  const int rank = context.rank();
  if (receive_.is_in_place() || !receive_.look_up(context.layouts(), context.size(), parts))
    return Passed::arguments;
  if (!send_.is_in_place()) {
    if (!send_.look_up(context.layouts(), 1, parts)) return Passed::arguments;
    compare_sizes("MPI_Allgather", send_.bytes(0), receive_.bytes(rank));
    if (kRefusesEqualBuffers && send_.bytes(0) != 0 && receive_.is_same_block(rank, send_))
      return Passed::arguments;
  }
  if (receive_.total_bytes() == 0) return Passed::no_bytes;
  return std::nullopt;
}

std::optional<std::uint64_t> Allgather::block_bytes(const Context& context) const {
  return receive_.total_bytes() / static_cast<std::size_t>(context.size());
}

void Allgather::run(const Context& context) {
  Attached& attached = context.attached;
  std::byte* output = receive_.output(attached.packed_output);
  const std::byte* input = output + receive_.offset(context.rank());
  if (send_.is_in_place()) {
    receive_.pack(context.layouts(), context.rank(), output);
  } else {
    input = send_.input(context.layouts(), attached.packed_input);
  }
  if (receive_.is_irregular()) {
    context.weft().allgather(input, output, receive_.parts());
  } else {
    context.weft().allgather(input, output, receive_.bytes(0));
  }
  receive_.deliver(context.layouts(), output);
}

std::optional<Passed> Broadcast::judge(const Context& context) {
  if (!is_rank(root_, context) || data_.is_in_place() ||
      !data_.look_up(context.layouts(), 1, context.attached.parts)) {
    return Passed::arguments;
  }
  if (data_.total_bytes() == 0) return Passed::no_bytes;
  return std::nullopt;
}

std::optional<std::uint64_t> Broadcast::block_bytes(const Context&) const {
  return data_.total_bytes();
}

/// Whether some rank would have to pack all of a long block and can pack pieces: all have to send
/// pieces then. A datatype is each rank's own affair, so they ask one another.
bool Broadcast::goes_in_pieces(const Context& context) const {
  if (data_.total_bytes() <= kPiece) return false;
  const int here = data_.is_packed() && data_.can_be_cut() ? 1 : 0;
  int any = here;
  const Resolution* largest =
      context.world.operations().resolve(MPI_MAX, MPI_INT, context.attached.operations);
  if (largest == nullptr) throw Error("the host refuses MPI_MAX of MPI_INT");
  context.weft().allreduce(&here, &any, 1, largest->operation);
  return any != 0;
}

void Broadcast::run_in_pieces(const Context& context) {
  const Layouts& layouts = context.layouts();
  Buffer& packed = context.attached.packed_output;
  const bool root = context.rank() == root_;
  const bool cuts = data_.is_packed() && data_.can_be_cut();
  std::byte* whole = cuts ? nullptr : data_.output(packed);
  if (root && !cuts) data_.pack(layouts, 0, whole);
  for (std::size_t from = 0; from < data_.total_bytes(); from += kPiece) {
    const std::size_t to = std::min(from + kPiece, data_.total_bytes());
    std::byte* piece = cuts ? packed.reserve(kPiece + Blocks::kLargestElement) : whole + from;
    if (root && cuts) data_.pack_part(layouts, from, to, packed);
    context.weft().broadcast(piece, to - from, root_);
    if (!root && cuts) data_.deliver_part(layouts, from, to, packed);
  }
  if (!root && !cuts) data_.deliver(layouts, whole);
}

void Broadcast::run(const Context& context) {
  if (goes_in_pieces(context)) return run_in_pieces(context);
  Buffer& packed = context.attached.packed_output;
  std::byte* bytes = data_.output(packed);
  if (context.rank() == root_) data_.pack(context.layouts(), 0, bytes);
  context.weft().broadcast(bytes, data_.total_bytes(), root_);
  if (context.rank() != root_) data_.deliver(context.layouts(), bytes);
}

std::optional<Passed> Rooted::judge(const Context& context) {
  std::vector<Part>& parts = context.attached.parts;
  if (!is_rank(root_, context)) return Passed::arguments;
  const bool root = at_root(context);
  if (root && (all_.is_in_place() || !all_.look_up(context.layouts(), context.size(), parts)))
    return Passed::arguments;
  if (own_.is_in_place()) {
    if (!root) return Passed::arguments;
  } else if (!own_.look_up(context.layouts(), 1, parts)) {
    return Passed::arguments;
  } else if (root && own_.total_bytes() != all_.bytes(root_)) {
    compare_sizes(collective() == plan::Collective::scatter ? "MPI_Scatter" : "MPI_Gather",
                  own_.total_bytes(), all_.bytes(root_));
  }
  // A rank knows only its own irregular block: other blocks may have bytes where this one is empty.
  if (!all_.is_irregular() && own_bytes(context) == 0) return Passed::no_bytes;
  return std::nullopt;
}

std::optional<std::uint64_t> Rooted::block_bytes(const Context& context) const {
  if (all_.is_irregular()) return std::nullopt;
  return own_bytes(context);
}

std::size_t Rooted::own_bytes(const Context& context) const {
  return at_root(context) ? all_.bytes(root_) : own_.total_bytes();
}

void Scatter::run(const Context& context) {
  Attached& attached = context.attached;
  const std::byte* input =
      at_root(context) ? all_.input(context.layouts(), attached.packed_input) : nullptr;
  std::byte* output = nullptr;
  if (in_place(context)) {
    // Not written: input and output are the same block.
    output = const_cast<std::byte*>(input + all_.offset(root_));
  } else {
    output = own_.output(attached.packed_output);
  }
  const std::size_t bytes = own_bytes(context);
  if (!all_.is_irregular()) {
    context.weft().scatter(input, output, bytes, root_);
  } else {
    const auto parts = at_root(context) ? all_.parts() : std::span<const Part>();
    context.weft().scatter(input, parts, output, bytes, root_);
  }
  if (!in_place(context)) own_.deliver(context.layouts(), output);
}

void Gather::run(const Context& context) {
  Attached& attached = context.attached;
  std::byte* output = at_root(context) ? all_.output(attached.packed_output) : nullptr;
  const std::byte* input = nullptr;
  if (in_place(context)) {
    all_.pack(context.layouts(), root_, output);
    input = output + all_.offset(root_);
  } else {
    input = own_.input(context.layouts(), attached.packed_input);
  }
  const std::size_t bytes = own_bytes(context);
  if (!all_.is_irregular()) {
    context.weft().gather(input, output, bytes, root_);
  } else {
    const auto parts = at_root(context) ? all_.parts() : std::span<const Part>();
    context.weft().gather(input, bytes, output, parts, root_);
  }
  if (at_root(context)) all_.deliver(context.layouts(), output);
}

}  // namespace weft::mpi
