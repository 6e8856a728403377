// The public C++ API of weft.
//
//   weft::Communicator world(weft::tcp_bootstrap());      // or MPI's ranks: weft/mpi.hpp
//   std::vector<double> in(n * world.size()), out(in.size());
//   world.alltoall(std::span<const double>(in), std::span(out));
//
// Making a communicator, and the first call of each size on it, are collective: all of its ranks
// come. Setup and misuse throw weft::Error (base/error_types.hpp): one line that names the thing,
// its value and what is allowed. A failure of one rank ends as the same PeerError on every rank.
// Ranks learn of it one after the other: until the last of them has, the buffers of a call that
// threw may still be read and written by the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error_types.hpp"
#include "kernels/operation.hpp"
#include "weft/bootstrap.hpp"
#include "weft/statistics.hpp"

namespace weft {

namespace comm {
struct Facts;
}
namespace engine {
struct Elements;
struct NetworkShare;
}  // namespace engine

/// Settings of one communicator. Those that are not given are as the environment says, then as is
/// named here. All ranks must give the same, but where another is allowed.
struct Options {
  /// The node of each rank. Default: found from the hosts, split as WEFT_NODES says.
  std::vector<int> node_of_rank;
  /// The socket of each rank: any numbers, which count on each node apart. Default: found from
  /// where the ranks are bound, or as WEFT_SOCKETS says.
  std::vector<int> socket_of_rank;
  /// Algorithms by collective, both as `weft plan` names them: {"alltoall", "sa:between=bruck"}.
  /// WEFT_ALLTOALL, WEFT_BROADCAST, ..; default: chosen by size, and on several nodes by what is
  /// known of the device (WEFT_PROFILE).
  std::map<std::string, std::string> algorithms;
  /// Reductions give bitwise the same on every placement of the same ranks. Default: no, unless
  /// WEFT_DETERMINISTIC says so.
  bool deterministic = false;
  /// A thread moves on what was started while the caller computes, and calls the functions of its
  /// reductions' operations, except those that are `only_in_calls`. It sleeps while nothing is
  /// under way. Default: none, unless WEFT_PROGRESS_THREAD asks for it. Ranks need not give the
  /// same.
  bool progress_thread = false;
  /// Whether the ranks of this host outnumber its cores, those outside this communicator included:
  /// waiting ranks give their cores away then. WEFT_WAIT, where it is set, counts instead. Default:
  /// whether those of this communicator do. Ranks of one host give the same.
  std::optional<bool> crowded;
  /// For weft's own add-ons: what is known of all ranks already, so that they need not tell each
  /// other. All ranks give it or none does; of the other options only `network` counts then.
  std::shared_ptr<const comm::Facts> facts;
  /// For weft's own add-ons: what the communicators of one rank share of the device. Default: the
  /// communicator has a device context and connections of its own.
  std::shared_ptr<const engine::NetworkShare> network;
};

/// One rank's part of a buffer whose parts differ in size, in bytes.
struct Part {
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

/// A block for a neighbour, or from one: bytes of a buffer.
struct Edge {
  int rank = 0;
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

/// Functions of a caller that copy bytes `from` to `to` of a block, as if the block were packed
/// from its beginning to its end: to rank `rank`, out of the caller's memory, or from that rank,
/// into it.
struct Packer {
  std::function<void(int rank, std::size_t from, std::size_t to, std::byte* packed)> pack;
  std::function<void(int rank, std::size_t from, std::size_t to, const std::byte* packed)> unpack;
  /// For weft's own add-ons: where the block to or from a rank lies, until the call is over. Null:
  /// only the functions above know. Both may be missing.
  std::function<const engine::Elements*(int rank)> send_elements = {};
  std::function<const engine::Elements*(int rank)> receive_elements = {};
};

/// Memory in the shared heap, which the ranks of the node map: peers copy it where it lies, without
/// a system call. At a multiple of 64. Seen by communicators that are made after the first call, or
/// under WEFT_SHARED_HEAP. Where there is no such heap, or it is full, other memory.
/// std::bad_alloc when there is none. Threads may call it.
WEFT_API void* allocate(std::size_t bytes);
/// Gives back memory of allocate(), or null.
WEFT_API void deallocate(void* memory) noexcept;

/// A collective of a communicator with its buffers, made by Communicator::alltoall_init() and so
/// on. Use it from the thread that uses the communicator, which outlives it.
class WEFT_API Request {
 public:
  Request(Request&&) noexcept;
  Request& operator=(Request&&) noexcept;
  /// Waits for what was started.
  ~Request();

  /// Begins it. The buffers are weft's until its end. UsageError when it is under way already.
  /// Several requests may be under way; any call on the communicator moves all of them on, and so
  /// does Options::progress_thread.
  void start();
  /// Whether what was started has ended; moves it on. Without a start: true.
  bool test();
  /// Returns when what was started has ended.
  void wait();

  // Of Communicator::alltoall_pieces_init(): a program computes on one piece while others travel.
  // Other requests are one piece.

  /// Their number.
  std::size_t pieces() const noexcept;
  /// Begins the next piece alone, after the last one the first again; start() begins all that are
  /// left. The input of a piece need not be there before.
  void start_piece();
  /// Whether piece `number`, from 0, has come; moves all on. UsageError where it is not begun.
  bool test_piece(std::size_t number);
  /// Returns when it has come.
  void wait_piece(std::size_t number);

 private:
  friend class Communicator;
  struct WEFT_HIDDEN Impl;
  explicit WEFT_HIDDEN Request(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Of a call that was refused, as it is new: see Communicator::if_next_is_new().
class WEFT_API NotPrepared : public Error {
 public:
  using Error::Error;
};

/// Ranks that run collectives together. Use it from one thread at a time; different communicators
/// are independent. A child of fork() leaves it alone.
class WEFT_API Communicator {
 public:
  /// Collective over the ranks of the bootstrap.
  explicit Communicator(std::unique_ptr<Bootstrap> bootstrap, const Options& options = {});
  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) noexcept;
  /// Waits until the other ranks end theirs, too, between nodes only and 2 s at most: see close().
  ~Communicator();
  /// Goes on to end this rank's part, without waiting; nothing else may be called after it. True
  /// when the destructor will not wait.
  bool close() noexcept;

  int rank() const noexcept;
  int size() const noexcept;
  /// The node of each rank, numbered from 0.
  std::span<const int> node_of_rank() const noexcept;
  /// The socket of each rank, numbered from 0, node after node; the only one of a node where
  /// nothing is known of several.
  std::span<const int> socket_of_rank() const noexcept;

  /// Block j of `input` becomes block rank() of rank j's `output`. Both have size() blocks of
  /// block_bytes; they are the same buffer, on every rank, or do not overlap. All ranks give the
  /// same block_bytes. In place it takes no more memory than else, but for a copy of blocks that
  /// are together no larger than half of WEFT_STAGE.
  void alltoall(const void* input, void* output, std::size_t block_bytes);

  /// The same for trivially copyable elements; sizes must be equal and divisible by size().
  template <class T>
  void alltoall(std::span<const T> input, std::span<T> output) {
    static_assert(std::is_trivially_copyable_v<T>);
    alltoall(input.data(), output.data(), block_bytes(input.size_bytes(), output.size_bytes()));
  }

  /// The same with blocks of any sizes: sends[j] of `input` becomes receives[i] of rank j's
  /// `output`, where i is this rank; both ends give it the same bytes. In place, on every rank:
  /// `sends` is empty, and what goes to j lies in `output` where what comes from j is to be. Only
  /// the first call on a communicator is collective beyond what it moves.
  void alltoallv(const void* input, std::span<const Part> sends, void* output,
                 std::span<const Part> receives);

  /// The same with blocks that are not in one piece, of sends[j] and receives[j] bytes, which the
  /// caller packs and unpacks, in any order of the ranks: inside a node in small parts, which stay
  /// in caches; elsewhere a few MiB at a time. A part of a block is unpacked when the same part of
  /// the block that goes the other way has been packed, so where both have the same bytes, and no
  /// elements are given, they may be the same memory.
  void alltoallw(std::span<const std::size_t> sends, std::span<const std::size_t> receives,
                 const Packer& packer);
  /// gather() and scatter() of blocks of different sizes that are not in one piece, which the
  /// caller packs and unpacks a few MiB at a time: `bytes` of this rank, and at the root blocks[i]
  /// for each rank i, in any order of the ranks. The root's own block is not moved. Other ranks may
  /// make the same call with blocks in one piece (`parts`).
  void gatherw(std::size_t bytes, std::span<const std::size_t> blocks, const Packer& packer,
               int root);
  void scatterw(std::span<const std::size_t> blocks, std::size_t bytes, const Packer& packer,
                int root);
  /// Neighbourhood exchange: the k-th of the edges `out` to rank j, bytes of `input`, becomes the
  /// k-th of j's edges `in` from this rank, bytes of j's `output`; both ends give it the same
  /// bytes. A rank may be its own neighbour. All ranks make the call, those without edges included,
  /// and none looks at ranks that are no neighbours. Only the first call on a communicator is
  /// collective beyond what it moves.
  void neighbours(const void* input, std::span<const Edge> out, void* output,
                  std::span<const Edge> in);

  /// Whether alltoallw() packs in parts on this communicator: the same on all ranks.
  bool packs_in_parts() const;
  /// Whether all ranks are on one node and read neighbours' buffers by system calls alone, as the
  /// MPIs do: the same on all ranks.
  bool reads_by_system_calls() const;
  /// Whether an alltoallv would move blocks of so many bytes into this buffer of its rank by system
  /// calls, where alltoallw() would pack them in parts, which takes less time.
  bool takes_system_calls(const void* output, std::size_t block_bytes) const;

  // The other collectives mean what MPI's mean. All ranks give the same sizes, roots, parts and
  // operations. A *block* is block_bytes bytes; "blocks of all" are size() of them, one after
  // another in rank order, or as `parts` says: one for each rank, without overlap. Buffers that
  // a rank does not need for its part are ignored. In place: the buffer that a rank gives and the
  // one that it takes may be the very same bytes, in particular
  //   - reduce (the root), allreduce, scan, exscan: input == output
  //   - allgather, gather (the root): input is the rank's own block of the output
  //   - scatter (the root): output is its own block of the input
  //   - reduce_scatter: input == output, the result at its beginning
  // Any other overlap is a mistake that goes unnoticed.

  /// A call of this rank, for repeat().
  struct Made {
    const void* call = nullptr;  // null: none
    std::uint64_t at = 0;
  };
  /// The last call of a collective; none where repeat() would not do. Not of alltoallv, alltoallw
  /// and neighbours, which leave it as it was.
  Made last_made() const noexcept;
  /// Makes the call `made` again with other buffers, which must not be the same memory, without
  /// looking up its plan anew. `operation`: the one that it had. False, and nothing was done, if
  /// that plan is no longer kept. Each rank may make its calls in this way or anew.
  bool repeat(const Made& made, const void* input, void* output,
              const Operation* operation = nullptr);
  /// The same of a reduction whose input is where its result goes.
  bool repeat_in_place(const Made& made, void* buffer, const Operation* operation);

  /// Inside a node ranks read neighbours' buffers where they lie, if those of the first call of a
  /// size are of the shared heap. Buffers outside of it, in later calls, are slow to read, and
  /// mostly two copies by way of stages take less time. Which it is on this machine can be
  /// measured: the calls after set_by_stages(true) that take blocks of one size, or of sizes that
  /// all ranks know, read no buffers, until set_by_stages(false). All ranks make the same calls so.
  /// On several nodes it changes nothing.
  void set_by_stages(bool by_stages) noexcept;

  /// A call of a size that is new to the communicator waits for all ranks, which prepare it
  /// together, even where a rank could leave it early: the root of a broadcast or scatter, any rank
  /// but the root of a gather or reduce, the first ones of a scan or exscan.
  enum class IfNew : std::uint8_t {
    prepare,
    /// It throws NotPrepared on all ranks, and does nothing, where it could be left early.
    put_off,
    /// The same, and in any collective but those of neighbourhoods; and it is not put off.
    refuse,
  };
  /// Says of the next call alone what it does where it is new; or what was said last. Where all
  /// ranks alike have said that it is put off, prepare_put_off(), a collective, prepares it.
  void if_next_is_new(IfNew what) noexcept;
  IfNew if_next_is_new() const noexcept;
  void prepare_put_off();

  /// Bytes so far of neighbours' buffers outside of the shared heap that this rank has read, and of
  /// its own that it copied there. On several nodes 0.
  std::uint64_t bytes_outside_heap() const noexcept;

  /// Instead of a call that this rank cannot make: those that wait for it, and this rank, end in a
  /// PeerError that says why. The communicator serves no more calls.
  [[noreturn]] void fail(std::string_view why);

  /// Whether ranks compare what they call (WEFT_CHECK=1).
  bool checks_calls() const noexcept;
  /// Of the next call, what its caller knows and this interface does not ask for, such as the
  /// datatypes of MPI: ranks with another `key` make another call, which `words` describes. Neither
  /// has control characters.
  void describe_next_call(std::string key, std::string words);
  /// What one rank sends another: ranks that expect something of another `key` make another call. A
  /// key of 0 fits all.
  struct Described {
    std::uint64_t key = 0;
    std::string words;
  };
  /// The same of a call in which each rank knows its own blocks only: what this rank sends to each
  /// rank and receives from it. All ranks describe such a call like that, or none does.
  void describe_next_call(std::string key, std::string words, std::vector<Described> sends,
                          std::vector<Described> receives);

  /// No rank returns before all have come.
  void barrier();
  /// `bytes` bytes of the root's buffer appear in everyone's.
  void broadcast(void* buffer, std::size_t bytes, int root);
  /// Block r of the root's input becomes rank r's output.
  void scatter(const void* input, void* output, std::size_t block_bytes, int root);
  /// Everyone's block becomes blocks of all in the root's output.
  void gather(const void* input, void* output, std::size_t block_bytes, int root);
  /// Everyone's block becomes blocks of all in everyone's output.
  void allgather(const void* input, void* output, std::size_t block_bytes);
  /// Blocks of different sizes. Only the root knows `parts` (others give none); all know their own
  /// `bytes`.
  void scatter(const void* input, std::span<const Part> parts, void* output, std::size_t bytes,
               int root);
  void gather(const void* input, std::size_t bytes, void* output, std::span<const Part> parts,
              int root);
  /// Blocks of different sizes, known to all.
  void allgather(const void* input, void* output, std::span<const Part> parts);

  /// The root's output becomes the reduction of all inputs, element by element, in rank order.
  void reduce(const void* input, void* output, std::size_t elements, const Operation& operation,
              int root);
  /// Every rank's output becomes that reduction, with the same bits on all.
  void allreduce(const void* input, void* output, std::size_t elements, const Operation& operation);
  /// Rank r's output becomes block r, of elements[r] elements, of the inputs reduced. Blocks follow
  /// one another.
  void reduce_scatter(const void* input, void* output, std::span<const std::size_t> elements,
                      const Operation& operation);
  /// The same with `elements` elements a block.
  void reduce_scatter(const void* input, void* output, std::size_t elements,
                      const Operation& operation);
  /// Rank r's output becomes the reduction of the inputs of ranks 0 to r, in this order.
  void scan(const void* input, void* output, std::size_t elements, const Operation& operation);
  /// Rank r's output becomes the reduction of the inputs of ranks 0 to r - 1; rank 0's stays as it
  /// is.
  void exscan(const void* input, void* output, std::size_t elements, const Operation& operation);

  // The same collectives, to be started later and any number of times: persistent, and, started at
  // once, nonblocking. All ranks make and start their requests in the same order. Making one is
  // collective where the first call would be.
  Request barrier_init();
  Request alltoall_init(const void* input, void* output, std::size_t block_bytes);
  /// The same in pieces: of every block first the bytes from 0 to piece_bytes, then as many more;
  /// of the last piece what is left. Input and output do not overlap. See Request::start_piece().
  Request alltoall_pieces_init(const void* input, void* output, std::size_t block_bytes,
                               std::size_t piece_bytes);
  Request alltoallv_init(const void* input, std::span<const Part> sends, void* output,
                         std::span<const Part> receives);
  Request broadcast_init(void* buffer, std::size_t bytes, int root);
  Request scatter_init(const void* input, void* output, std::size_t block_bytes, int root);
  Request gather_init(const void* input, void* output, std::size_t block_bytes, int root);
  Request allgather_init(const void* input, void* output, std::size_t block_bytes);
  Request scatter_init(const void* input, std::span<const Part> parts, void* output,
                       std::size_t bytes, int root);
  Request gather_init(const void* input, std::size_t bytes, void* output,
                      std::span<const Part> parts, int root);
  Request allgather_init(const void* input, void* output, std::span<const Part> parts);
  Request reduce_init(const void* input, void* output, std::size_t elements,
                      const Operation& operation, int root);
  Request allreduce_init(const void* input, void* output, std::size_t elements,
                         const Operation& operation);
  Request reduce_scatter_init(const void* input, void* output, std::size_t elements,
                              const Operation& operation);
  Request reduce_scatter_init(const void* input, void* output,
                              std::span<const std::size_t> elements, const Operation& operation);
  Request scan_init(const void* input, void* output, std::size_t elements,
                    const Operation& operation);
  Request exscan_init(const void* input, void* output, std::size_t elements,
                      const Operation& operation);

  /// The algorithm that a collective ("alltoall", "allreduce", ..) takes here, for blocks or
  /// vectors of this size.
  std::string algorithm_for(std::string_view collective, std::size_t bytes) const;
  Statistics statistics() const;

 private:
  friend class Request;
  std::size_t block_bytes(std::size_t input_bytes, std::size_t output_bytes) const;
  class WEFT_HIDDEN Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
