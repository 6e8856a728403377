#include "mpi/calls/alltoall.hpp"

#include <algorithm>
#include <cstring>

#include "engine/copying/copy.hpp"
#include "mpi/calls/pieces.hpp"
#include "mpi/host/host.hpp"

namespace weft::mpi {

namespace {

/// Where blocks lie. Nullopt: the host has to pack them.
std::optional<PlacedBlocks> place(const Blocks& blocks, int count) {
  PlacedBlocks placed(static_cast<std::size_t>(count));
  placed.sizes = blocks.sizes();
  for (int block = 0; block < count; ++block) {
    const auto number = static_cast<std::size_t>(block);
    const auto found = blocks.elements(block, placed.in_a_row[number]);
    if (!found) return std::nullopt;
    placed.elements[number] = *found;
  }
  return placed;
}

/// Copies where both are there, of equal bytes, and apart from each other.
bool copy_elements(const std::optional<engine::Elements>& from,
                   const std::optional<engine::Elements>& to) {
  if (!from || !to || from->bytes() == 0 || from->bytes() != to->bytes()) return false;
  const engine::Range read = engine::range_of(*from), written = engine::range_of(*to);
  if (read.begin < written.end && written.begin < read.end) return false;
  engine::copy(*to, *from, engine::exceeds_caches(2 * from->bytes(), 1));
  return true;
}

/// What a rank sends and receives in place, of blocks of so many bytes: its own stays where it is.
std::vector<std::size_t> in_place_sizes(const Context& context, std::vector<std::size_t> sizes) {
  sizes[static_cast<std::size_t>(context.rank())] = 0;
  return sizes;
}

/// Moves the blocks of an alltoall or alltoallv as those of an alltoallw. In place `send` is
/// `receive`.
void run_in_parts(const Context& context, const Blocks& send, const Blocks& receive) {
  const int size = context.size();
  const PieceCopies copies(context.layouts());
  Packer packer{
      .pack = [&](int rank, std::size_t from, std::size_t to,
                  std::byte* packed) { copies.take(send, rank, from, to, packed); },
      .unpack = [&](int rank, std::size_t from, std::size_t to,
                    const std::byte* packed) { copies.put(receive, rank, from, to, packed); }};
  if (&send == &receive) {
    const std::vector<std::size_t> sizes = in_place_sizes(context, receive.sizes());
    return context.weft().alltoallw(sizes, sizes, packer);
  }
  const auto sent = place(send, size);
  const auto received = place(receive, size);
  if (sent) packer.send_elements = [&](int rank) { return &(*sent)[rank]; };
  if (received) packer.receive_elements = [&](int rank) { return &(*received)[rank]; };
  context.weft().alltoallw(send.sizes(), receive.sizes(), packer);
}

}  // namespace

std::optional<Passed> Alltoall::judge(const Context& context) {
  std::vector<Part>& parts = context.attached.lists.parts;
  if (receive_.is_in_place() || !receive_.look_up(context.layouts(), context.size(), parts))
    return Passed::arguments;
  if (!send_.is_in_place()) {
    if (!send_.look_up(context.layouts(), context.size(), parts)) return Passed::arguments;
    compare_sizes("MPI_Alltoall", send_.bytes(0), receive_.bytes(0));
    if (kRefusesEqualBuffers && send_.bytes(0) != 0 && receive_.is_same_block(0, send_))
      return Passed::arguments;
  }
  if (receive_.bytes(0) == 0) return Passed::no_bytes;
  return std::nullopt;
}

std::optional<std::uint64_t> Alltoall::block_bytes(const Context&) const {
  return receive_.bytes(0);
}

std::optional<Call::Plain> Alltoall::plain(const Context&) const {
  const bool is_plain = !send_.is_in_place() && !send_.is_packed() && !receive_.is_packed() &&
                        receive_.total_bytes() <= kMostPlain;
  return is_plain ? std::optional(Plain{}) : std::nullopt;
}

/// Plain bytes are left to the host, which copies them as well.
bool Alltoall::copy_alone(const Context& context) {
  device_memory::look_for_drivers();
  std::vector<Part>& parts = context.attached.lists.parts;
  if (send_.is_in_place() || receive_.is_in_place() ||
      !send_.look_up(context.layouts(), 1, parts) ||
      !receive_.look_up(context.layouts(), 1, parts) ||
      (!send_.is_packed() && !receive_.is_packed())) {
    return false;
  }
  engine::Nest from, to;
  return copy_elements(send_.elements(0, from), receive_.elements(0, to));
}

void Alltoall::run_in_pieces(const Context& context, std::size_t piece) {
  const PieceCopies copies(context.layouts());
  const auto size = static_cast<std::size_t>(context.size());
  const bool in_place = send_.is_in_place();
  std::byte* output = context.attached.packed_output.reserve(piece * size);
  std::byte* input = in_place ? output : context.attached.packed_input.reserve(piece * size);
  for_each_piece(receive_.bytes(0), piece, [&](std::size_t from, std::size_t to) {
    const std::size_t bytes = to - from;
    for (std::size_t block = 0; block < size; ++block) {
      copies.take(in_place ? receive_ : send_, static_cast<int>(block), from, to,
                  input + bytes * block);
    }
    context.weft().alltoall(input, output, bytes);
    for (std::size_t block = 0; block < size; ++block) {
      copies.put(receive_, static_cast<int>(block), from, to, output + bytes * block);
    }
  });
}

void Alltoall::run(const Context& context) {
  Attached& attached = context.attached;
  if (!send_.is_in_place() && context.weft().packs_in_parts()) {
    if (go_in_parts(context, receive_.bytes(0), send_, receive_)) {
      return run_in_parts(context, send_, receive_);
    }
  } else if (const auto piece = piece_of(context, receive_.bytes(0), context.size(),
                                         {&receive_, send_.is_in_place() ? &receive_ : &send_})) {
    return run_in_pieces(context, *piece);
  }
  std::byte* output = receive_.output(attached.packed_output);
  const std::byte* input = output;
  if (send_.is_in_place()) {
    for (int block = 0; receive_.is_packed() && block < context.size(); ++block) {
      receive_.pack(context.layouts(), block, output);
    }
  } else {
    input = send_.input(context.layouts(), attached.packed_input);
    // MPI_IN_PLACE was not given, so other ranks may have two buffers: not run in place.
    if (input == output) {
      std::byte* copy = attached.packed_input.reserve(receive_.total_bytes());
      std::memcpy(copy, input, receive_.total_bytes());
      input = copy;
    }
  }
  context.weft().alltoall(input, output, receive_.bytes(0));
  receive_.deliver(context.layouts(), output);
}

std::optional<Passed> Alltoallv::judge(const Context& context) {
  Attached& attached = context.attached;
  if (receive_.is_in_place() ||
      !receive_.look_up(context.layouts(), context.size(), attached.lists.receive_parts, true)) {
    return Passed::arguments;
  }
  if (send_.is_in_place()) return std::nullopt;
  if (!send_.look_up(context.layouts(), context.size(), attached.lists.parts, true)) {
    return Passed::arguments;
  }
  compare_sizes("MPI_Alltoallv", send_.bytes(context.rank()), receive_.bytes(context.rank()));
  if (kRefusesEqualBuffers && receive_.has_same_arguments(send_)) return Passed::arguments;
  return std::nullopt;
}

std::optional<std::uint64_t> Alltoallv::block_bytes(const Context&) const {
  return std::nullopt;
}

std::optional<std::uint64_t> Alltoallv::sent_bytes() const {
  return sends().total_bytes();
}

std::optional<Call::Traffic> Alltoallv::traffic_with(int rank, const Context&) const {
  return Traffic{{sends().type(), sends().count(rank)}, {receive_.type(), receive_.count(rank)}};
}

void Alltoallv::run(const Context& context) {
  Attached& attached = context.attached;
  if (go_in_parts(context, sends(), receive_)) return run_in_parts(context, sends(), receive_);
  std::byte* output = receive_.output(attached.packed_output);
  if (send_.is_in_place()) {
    for (int block = 0; block < context.size(); ++block) {
      receive_.pack(context.layouts(), block, output);
    }
    context.weft().alltoallv(nullptr, {}, output, receive_.parts());
  } else {
    const std::byte* input = send_.input(context.layouts(), attached.packed_input);
    context.weft().alltoallv(input, send_.parts(), output, receive_.parts());
  }
  receive_.deliver(context.layouts(), output);
}

std::optional<Alltoallv::Straight> Alltoallv::straight() const {
  const bool is_plain = !send_.is_in_place() && !send_.is_packed() && !receive_.is_packed() &&
                        std::max(send_.total_bytes(), receive_.total_bytes()) <= kMostPlain;
  if (!is_plain) return std::nullopt;
  return Straight{send_.parts(), receive_.parts(), send_.direct_offset(), receive_.direct_offset()};
}

std::optional<Passed> Alltoallw::judge(const Context& context) {
  Attached& attached = context.attached;
  if (receive_.is_in_place() ||
      !receive_.look_up(context.layouts(), context.size(), attached.lists.receive_parts)) {
    return Passed::arguments;
  }
  if (send_.is_in_place()) return std::nullopt;
  if (!send_.look_up(context.layouts(), context.size(), attached.lists.parts))
    return Passed::arguments;
  const auto self = static_cast<std::size_t>(context.rank());
  compare_sizes("MPI_Alltoallw", attached.lists.parts[self].bytes,
                attached.lists.receive_parts[self].bytes);
  if (kRefusesEqualBuffers && receive_.has_same_arguments(send_)) return Passed::arguments;
  return std::nullopt;
}

std::optional<std::uint64_t> Alltoallw::block_bytes(const Context&) const {
  return std::nullopt;
}

std::optional<std::uint64_t> Alltoallw::sent_bytes() const {
  return sends().total_bytes();
}

bool Alltoallw::copy_alone(const Context& context) {
  device_memory::look_for_drivers();
  if (send_.is_in_place() || receive_.is_in_place()) return false;
  engine::Nest from, to;
  return copy_elements(send_.first_elements(context.layouts(), from),
                       receive_.first_elements(context.layouts(), to));
}

/// Inside a node blocks lie in shared memory in any case, unless they are swapped in place.
bool Alltoallw::goes_in_parts(const Context& context) const {
  if (!send_.is_in_place() && context.weft().packs_in_parts()) return true;
  return go_in_parts(context, sends(), receive_);
}

void Alltoallw::run_in_parts(const Context& context) {
  const Layouts& layouts = context.layouts();
  if (send_.is_in_place()) {
    receive_.pack_whole(layouts, context.attached.packed_output);
    receive_.place(layouts);
    Packer packer = packer_of(receive_.placed(), receive_.placed());
    packer.send_elements = packer.receive_elements = nullptr;
    const std::vector<std::size_t> sizes = in_place_sizes(context, receive_.placed().sizes);
    context.weft().alltoallw(sizes, sizes, packer);
  } else {
    send_.pack_whole(layouts, context.attached.packed_input);
    receive_.reserve_whole(layouts, context.attached.packed_output);
    send_.place(layouts);
    receive_.place(layouts);
    const PlacedBlocks &sent = send_.placed(), &received = receive_.placed();
    context.weft().alltoallw(sent.sizes, received.sizes, packer_of(sent, received));
    went_straight_ = context.weft().packs_in_parts();
  }
  receive_.unpack_whole(layouts);
}

std::optional<Alltoallw::Placed> Alltoallw::take_placed() {
  if (!went_straight_) return std::nullopt;
  auto sends = send_.take_placed();
  auto receives = receive_.take_placed();
  if (!sends || !receives) return std::nullopt;
  return Placed{std::move(*sends), std::move(*receives)};
}

std::optional<Call::Traffic> Alltoallw::traffic_with(int rank, const Context&) const {
  return Traffic{{sends().type(rank), sends().count(rank)},
                 {receive_.type(rank), receive_.count(rank)}};
}

void Alltoallw::run(const Context& context) {
  Attached& attached = context.attached;
  if (goes_in_parts(context)) return run_in_parts(context);
  std::byte* output = receive_.output(attached.packed_output);
  if (send_.is_in_place()) {
    receive_.pack(context.layouts(), output);
    context.weft().alltoallv(nullptr, {}, output, attached.lists.receive_parts);
  } else {
    std::byte* input = send_.output(attached.packed_input);
    send_.pack(context.layouts(), input);
    context.weft().alltoallv(input, attached.lists.parts, output, attached.lists.receive_parts);
  }
  receive_.deliver(context.layouts(), output);
}

void Alltoall::add_handles(Handles& handles, const Attached&) const {
  handles.add(send_.type());
  handles.add(receive_.type());
}

void Alltoallv::keep(Arrays& arrays, const Attached& attached) {
  send_.keep(arrays, attached.size);
  receive_.keep(arrays, attached.size);
}

void Alltoallv::add_handles(Handles& handles, const Attached&) const {
  handles.add(send_.type());
  handles.add(receive_.type());
}

void Alltoallw::keep(Arrays& arrays, const Attached& attached) {
  send_.keep(arrays, attached.size);
  receive_.keep(arrays, attached.size);
}

void Alltoallw::add_handles(Handles& handles, const Attached& attached) const {
  send_.add_types(handles, attached.size);
  receive_.add_types(handles, attached.size);
}

}  // namespace weft::mpi
