#include "mpi/calls/data_movement.hpp"

#include "base/error.hpp"
#include "mpi/calls/pieces.hpp"
#include "mpi/host/host.hpp"

namespace weft::mpi {

namespace {

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

std::optional<Call::Plain> Barrier::plain(const Context&) const {
  return Plain{};
}

void Barrier::run(const Context& context) {
  context.weft().barrier();
}

std::optional<Passed> Allgather::judge(const Context& context) {
  std::vector<Part>& parts = context.attached.lists.parts;
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

void Allgather::describe(RecordedKind& kind, const Context& context) const {
  kind.irregular = receive_.is_irregular();
  kind.bytes = receive_.bytes(context.rank());
}

std::optional<Call::Plain> Allgather::plain(const Context& context) const {
  const bool is_plain = !receive_.is_irregular() && is_straight();
  return is_plain ? std::optional(Plain{.own_offset = receive_.offset(context.rank())})
                  : std::nullopt;
}

/// Whether few bytes went straight from and to the program's memory.
bool Allgather::is_straight() const {
  return !receive_.is_packed() && (send_.is_in_place() || !send_.is_packed()) &&
         receive_.total_bytes() <= kMostPlain;
}

void Allgather::run_in_pieces(const Context& context, std::size_t pieces) {
  const PieceCopies copies(context.layouts());
  const auto size = static_cast<std::size_t>(context.size());
  const int rank = context.rank();
  const bool in_place = send_.is_in_place();
  std::vector<Piece> cut(size);
  std::vector<Part> parts(size);
  const auto place_pieces = [&](std::size_t number) {
    std::size_t all = 0;
    for (std::size_t block = 0; block < size; ++block) {
      cut[block] = piece_of_block(receive_.bytes(static_cast<int>(block)), pieces, number);
      parts[block] = {all, cut[block].length()};
      all += cut[block].length();
    }
    return all;
  };
  const Piece& own = cut[static_cast<std::size_t>(rank)];
  std::byte* const all = context.attached.packed_output.reserve(place_pieces(0));
  std::byte* const mine = context.attached.packed_input.reserve(own.length());
  run_pieces(pieces, [&](std::size_t number) {
    place_pieces(number);
    copies.take(in_place ? receive_ : send_, in_place ? rank : 0, own.from, own.to, mine);
    if (receive_.is_irregular()) {
      context.weft().allgather(mine, all, parts);
    } else {
      context.weft().allgather(mine, all, own.length());
    }
    for (std::size_t block = 0; block < size; ++block) {
      copies.put(receive_, static_cast<int>(block), cut[block].from, cut[block].to,
                 all + parts[block].offset);
    }
  });
}

void Allgather::run(const Context& context) {
  Attached& attached = context.attached;
  const auto pieces = number_of_pieces(context, receive_.total_bytes(),
                                       {&receive_, send_.is_in_place() ? &receive_ : &send_});
  if (pieces) return run_in_pieces(context, *pieces);
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

std::optional<Allgather::Straight> Allgather::straight(int rank) const {
  if (!receive_.is_irregular() || !is_straight()) return std::nullopt;
  const std::ptrdiff_t all = receive_.direct_offset();
  return Straight{all, all + static_cast<std::ptrdiff_t>(receive_.offset(rank))};
}

void Allgather::keep(Arrays& arrays, const Attached& attached) {
  receive_.keep(arrays, attached.size);
}

void Allgather::add_handles(Handles& handles, const Attached&) const {
  handles.add(send_.type());
  handles.add(receive_.type());
}

std::optional<Passed> Broadcast::judge(const Context& context) {
  if (!is_rank(root(), context) || data_.is_in_place() ||
      !data_.look_up(context.layouts(), 1, context.attached.lists.parts)) {
    return Passed::arguments;
  }
  if (data_.total_bytes() == 0) return Passed::no_bytes;
  return std::nullopt;
}

std::optional<std::uint64_t> Broadcast::block_bytes(const Context&) const {
  return data_.total_bytes();
}

void Broadcast::describe(RecordedKind& kind, const Context&) const {
  kind.root = static_cast<std::uint32_t>(root());
}

std::optional<Call::Plain> Broadcast::plain(const Context&) const {
  const bool is_plain = !data_.is_packed() && data_.total_bytes() <= kMostPlain;
  return is_plain ? std::optional(Plain{}) : std::nullopt;
}

void Broadcast::run_in_pieces(const Context& context, std::size_t piece) {
  const PieceCopies copies(context.layouts());
  const bool is_root = context.rank() == root();
  std::byte* packed = data_.is_packed() ? context.attached.packed_output.reserve(piece) : nullptr;
  for_each_piece(data_.total_bytes(), piece, [&](std::size_t from, std::size_t to) {
    std::byte* bytes =
        packed != nullptr ? packed : data_.output(context.attached.packed_output) + from;
    if (is_root && packed != nullptr) copies.take(data_, 0, from, to, packed);
    context.weft().broadcast(bytes, to - from, root());
    if (!is_root && packed != nullptr) copies.put(data_, 0, from, to, packed);
  });
}

void Broadcast::run(const Context& context) {
  const auto piece = piece_of(context, data_.total_bytes(), 1, {&data_});
  if (piece) return run_in_pieces(context, *piece);
  Buffer& packed = context.attached.packed_output;
  std::byte* bytes = data_.output(packed);
  if (context.rank() == root()) data_.pack(context.layouts(), 0, bytes);
  context.weft().broadcast(bytes, data_.total_bytes(), root());
  if (context.rank() != root()) data_.deliver(context.layouts(), bytes);
}

void Broadcast::add_handles(Handles& handles, const Attached&) const {
  handles.add(data_.type());
}

void Rooted::keep(Arrays& arrays, const Attached& attached) {
  if (attached.rank == root()) all_.keep(arrays, attached.size);
}

void Rooted::add_handles(Handles& handles, const Attached& attached) const {
  handles.add(own_.type());
  if (attached.rank == root()) handles.add(all_.type());
}

std::optional<Passed> Rooted::judge(const Context& context) {
  std::vector<Part>& parts = context.attached.lists.parts;
  if (!is_rank(root(), context)) return Passed::arguments;
  const bool is_root = at_root(context);
  if (is_root && (all_.is_in_place() || !all_.look_up(context.layouts(), context.size(), parts)))
    return Passed::arguments;
  if (own_.is_in_place()) {
    if (!is_root) return Passed::arguments;
  } else if (!own_.look_up(context.layouts(), 1, parts)) {
    return Passed::arguments;
  } else if (is_root && own_.total_bytes() != all_.bytes(root())) {
    compare_sizes(collective() == plan::Collective::scatter ? "MPI_Scatter" : "MPI_Gather",
                  own_.total_bytes(), all_.bytes(root()));
  }
  // A rank knows only its own irregular block: other blocks may have bytes where this one is empty.
  if (!all_.is_irregular() && own_bytes(context) == 0) return Passed::no_bytes;
  return std::nullopt;
}

std::optional<std::uint64_t> Rooted::block_bytes(const Context& context) const {
  if (all_.is_irregular()) return std::nullopt;
  return own_bytes(context);
}

std::optional<Call::Traffic> Rooted::traffic_with(int rank, const Context& context) const {
  if (!all_.is_irregular()) return std::nullopt;
  // From the root to this rank in a scatter.
  Elements at_all, at_own;
  if (at_root(context)) at_all = {all_.type(), all_.count(rank)};
  if (rank == root()) at_own = in_place(context) ? at_all : Elements{own_.type(), own_.count(0)};
  if (collective() == plan::Collective::scatter) return Traffic{at_all, at_own};
  return Traffic{at_own, at_all};
}

void Rooted::describe(RecordedKind& kind, const Context& context) const {
  kind.root = static_cast<std::uint32_t>(root());
  kind.irregular = all_.is_irregular();
  kind.bytes = own_bytes(context);
}

std::optional<Call::Plain> Rooted::plain(const Context& context) const {
  if (all_.is_irregular() || own_.is_in_place() || own_.is_packed()) return std::nullopt;
  if (at_root(context) && all_.is_packed()) return std::nullopt;
  const bool is_plain = own_bytes(context) * static_cast<std::size_t>(context.size()) <= kMostPlain;
  return is_plain ? std::optional(Plain{}) : std::nullopt;
}

std::optional<Rooted::Straight> Rooted::straight(const Attached& attached) const {
  const bool is_root = attached.rank == root();
  const Blocks& longer = is_root ? all_ : own_;
  if (!all_.is_irregular() || own_.is_in_place() || own_.is_packed() || longer.is_packed() ||
      longer.total_bytes() > kMostPlain) {
    return std::nullopt;
  }
  Straight result{.own = own_.direct_offset()};
  if (is_root) {
    result.all = all_.direct_offset();
    result.own_place = result.all + static_cast<std::ptrdiff_t>(all_.offset(root()));
  }
  return result;
}

std::size_t Rooted::own_bytes(const Context& context) const {
  return at_root(context) ? all_.bytes(root()) : own_.total_bytes();
}

std::optional<std::size_t> Rooted::piece(const Context& context) const {
  if (all_.is_irregular()) return std::nullopt;
  const bool is_root = at_root(context);
  const Blocks* own = in_place(context) ? &all_ : &own_;
  return piece_of(context, own_bytes(context), context.size(), {own, is_root ? &all_ : own});
}

bool Rooted::packs_in_pieces(const Context& context) const {
  constexpr std::size_t kLeastRooted = 1 << 20;  // shorter blocks fit into memory for a piece
  if (!all_.is_irregular()) return false;
  bool packs = false;
  bool can = true;
  const auto look_at = [&](const Blocks& blocks) {
    if (!blocks.is_packed() || blocks.total_bytes() <= kLeastRooted) return;
    packs = true;
    can = can && blocks.can_be_cut();
  };
  if (at_root(context)) look_at(all_);
  if (!in_place(context)) look_at(own_);
  return packs && can;
}

void Rooted::run_packed(const Context& context) {
  constexpr std::size_t kOwnPiece = 64 << 10;
  const PieceCopies copies(context.layouts());
  const bool gathers = collective() == plan::Collective::gather;
  const bool is_root = at_root(context);
  const Blocks& blocks = is_root ? all_ : own_;
  const auto block_of = [&](int rank) { return is_root ? rank : 0; };
  const Packer packer{
      .pack = [&](int rank, std::size_t from, std::size_t to,
                  std::byte* packed) { copies.take(blocks, block_of(rank), from, to, packed); },
      .unpack =
          [&](int rank, std::size_t from, std::size_t to, const std::byte* packed) {
            copies.put(blocks, block_of(rank), from, to, packed);
          }};
  std::vector<std::size_t> sizes;
  if (is_root) sizes = all_.sizes();
  if (is_root && !in_place(context)) {
    std::byte* const packed = context.attached.packed_input.reserve(kOwnPiece);
    for_each_piece(own_bytes(context), kOwnPiece, [&](std::size_t from, std::size_t to) {
      copies.take(gathers ? own_ : all_, gathers ? 0 : root(), from, to, packed);
      copies.put(gathers ? all_ : own_, gathers ? root() : 0, from, to, packed);
    });
  }
  if (gathers) {
    context.weft().gatherw(own_bytes(context), sizes, packer, root());
  } else {
    context.weft().scatterw(sizes, own_bytes(context), packer, root());
  }
}

void Scatter::run_in_pieces(const Context& context, std::size_t piece) {
  const PieceCopies copies(context.layouts());
  const bool is_root = at_root(context);
  const auto size = static_cast<std::size_t>(context.size());
  std::byte* all = is_root ? context.attached.packed_input.reserve(piece * size) : nullptr;
  std::byte* own = context.attached.packed_output.reserve(piece);
  for_each_piece(own_bytes(context), piece, [&](std::size_t from, std::size_t to) {
    const std::size_t bytes = to - from;
    for (std::size_t block = 0; is_root && block < size; ++block) {
      copies.take(all_, static_cast<int>(block), from, to, all + bytes * block);
    }
    context.weft().scatter(all, own, bytes, root());
    if (!in_place(context)) copies.put(own_, 0, from, to, own);
  });
}

void Scatter::run(const Context& context) {
  Attached& attached = context.attached;
  if (const auto bytes_at_once = piece(context)) return run_in_pieces(context, *bytes_at_once);
  if (packs_in_pieces(context)) return run_packed(context);
  const std::byte* input =
      at_root(context) ? all_.input(context.layouts(), attached.packed_input) : nullptr;
  std::byte* output = nullptr;
  if (in_place(context)) {
    // Not written: input and output are the same block.
    output = const_cast<std::byte*>(input + all_.offset(root()));
  } else {
    output = own_.output(attached.packed_output);
  }
  const std::size_t bytes = own_bytes(context);
  if (!all_.is_irregular()) {
    context.weft().scatter(input, output, bytes, root());
  } else {
    const auto parts = at_root(context) ? all_.parts() : std::span<const Part>();
    context.weft().scatter(input, parts, output, bytes, root());
  }
  if (!in_place(context)) own_.deliver(context.layouts(), output);
}

void Gather::run_in_pieces(const Context& context, std::size_t piece) {
  const PieceCopies copies(context.layouts());
  const bool is_root = at_root(context);
  const auto size = static_cast<std::size_t>(context.size());
  std::byte* own = context.attached.packed_input.reserve(piece);
  std::byte* all = is_root ? context.attached.packed_output.reserve(piece * size) : nullptr;
  for_each_piece(own_bytes(context), piece, [&](std::size_t from, std::size_t to) {
    const std::size_t bytes = to - from;
    copies.take(in_place(context) ? all_ : own_, in_place(context) ? root() : 0, from, to, own);
    context.weft().gather(own, all, bytes, root());
    for (std::size_t block = 0; is_root && block < size; ++block) {
      copies.put(all_, static_cast<int>(block), from, to, all + bytes * block);
    }
  });
}

void Gather::run(const Context& context) {
  Attached& attached = context.attached;
  if (const auto bytes_at_once = piece(context)) return run_in_pieces(context, *bytes_at_once);
  if (packs_in_pieces(context)) return run_packed(context);
  std::byte* output = at_root(context) ? all_.output(attached.packed_output) : nullptr;
  const std::byte* input = nullptr;
  if (in_place(context)) {
    all_.pack(context.layouts(), root(), output);
    input = output + all_.offset(root());
  } else {
    input = own_.input(context.layouts(), attached.packed_input);
  }
  const std::size_t bytes = own_bytes(context);
  if (!all_.is_irregular()) {
    context.weft().gather(input, output, bytes, root());
  } else {
    const auto parts = at_root(context) ? all_.parts() : std::span<const Part>();
    context.weft().gather(input, bytes, output, parts, root());
  }
  if (at_root(context)) all_.deliver(context.layouts(), output);
}

}  // namespace weft::mpi
