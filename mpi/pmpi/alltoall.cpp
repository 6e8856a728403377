#include "mpi/pmpi/alltoall.hpp"

#include <climits>

#include "mpi/pmpi/communicators.hpp"
#include "mpi/pmpi/failure.hpp"
#include "mpi/pmpi/world.hpp"

namespace weft::pmpi {

namespace {

// Whether this thread is inside weft already: what MPI calls from there is the host's.
thread_local bool inside = false;

class Inside {
 public:
  Inside() { inside = true; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { inside = false; }
};

// Open MPI takes equal buffers as if in place, without a word; MPICH refuses them.
#ifdef OPEN_MPI
constexpr bool kEqualBuffersAllowed = true;
#else
constexpr bool kEqualBuffersAllowed = false;
#endif

// One call with its datatypes looked up.
struct Exchange {
  const Alltoall& call;
  bool in_place;
  Layout send, receive;
  MPI_Count block_bytes;
};

bool is_valid(MPI_Count count, const Layout& layout, const void* buffer) {
  return count >= 0 && layout.valid &&
         (buffer != nullptr || !layout.contiguous || count * layout.size_bytes == 0);
}

// Nullopt: arguments that the host is to judge.
std::optional<Exchange> look_at(const Alltoall& call, const Layouts& layouts) {
  if (call.receive_buffer == MPI_IN_PLACE) return std::nullopt;
  Exchange exchange{call, call.send_buffer == MPI_IN_PLACE, {}, layouts.of(call.receive_type), 0};
  if (!is_valid(call.receive_count, exchange.receive, call.receive_buffer)) return std::nullopt;
  exchange.block_bytes = call.receive_count * exchange.receive.size_bytes;
  if (exchange.in_place) return exchange;
  exchange.send = layouts.of(call.send_type);
  if (!is_valid(call.send_count, exchange.send, call.send_buffer)) return std::nullopt;
  if (call.send_count * exchange.send.size_bytes != exchange.block_bytes) return std::nullopt;
  if (call.send_buffer == call.receive_buffer && exchange.block_bytes != 0) {
    if (!kEqualBuffersAllowed) return std::nullopt;
    exchange.in_place = exchange.send.contiguous && exchange.receive.contiguous;
  }
  return exchange;
}

// The blocks to send, one after another: where they lie, or packed. Null when MPI refuses to pack.
const void* input_of(const Exchange& exchange, const Layouts& layouts, Attached& attached) {
  const Alltoall& call = exchange.call;
  const bool own = exchange.in_place;
  const Layout& layout = own ? exchange.receive : exchange.send;
  const void* buffer = own ? call.receive_buffer : call.send_buffer;
  if (layout.contiguous) return buffer;
  std::byte* packed = attached.packed_input.reserve(static_cast<std::size_t>(exchange.block_bytes) *
                                                    static_cast<std::size_t>(attached.size));
  const int error = layouts.pack(buffer, own ? call.receive_count : call.send_count,
                                 own ? call.receive_type : call.send_type, attached.size, packed);
  return error == MPI_SUCCESS ? packed : nullptr;
}

int finish(const Exchange& exchange, const Layouts& layouts, const void* input,
           Attached& attached) {
  const Alltoall& call = exchange.call;
  const auto block_bytes = static_cast<std::size_t>(exchange.block_bytes);
  if (exchange.receive.contiguous) {
    if (input == call.receive_buffer) {
      attached.weft->alltoall(call.receive_buffer, call.receive_buffer, block_bytes);
    } else {
      attached.weft->alltoall(input, call.receive_buffer, block_bytes);
    }
    return MPI_SUCCESS;
  }
  std::byte* output =
      attached.packed_output.reserve(block_bytes * static_cast<std::size_t>(attached.size));
  attached.weft->alltoall(input, output, block_bytes);
  return layouts.unpack(output, call.receive_buffer, call.receive_count, call.receive_type,
                        attached.size);
}

struct Result {
  int code = MPI_SUCCESS;
  std::string line;  // of weft's error
};

std::optional<Result> exchange_blocks(const Exchange& exchange, World& world, Attached& attached) {
  Result result;
  try {
    const void* input = input_of(exchange, world.layouts(), attached);
    if (input == nullptr) return std::nullopt;
    result.code = finish(exchange, world.layouts(), input, attached);
  } catch (const UsageError& error) {
    end_job(error.what());
  } catch (const std::exception& error) {
    result.line = error.what();
  }
  attached.packed_input.release_if_large();
  attached.packed_output.release_if_large();
  return result;
}

}  // namespace

std::optional<int> run(const Alltoall& call) {
  World* world = World::get();
  if (world == nullptr || inside || call.comm == MPI_COMM_NULL) return std::nullopt;
  const auto pass = [world](Passed why) {
    world->tally().count_passed(why);
    return std::nullopt;
  };
  if (world->disabled()) return pass(Passed::disabled);

  std::optional<Result> result;
  {
    const Inside guard;
    const auto exchange = look_at(call, world->layouts());
    if (!exchange) return pass(Passed::arguments);
    if (exchange->block_bytes == 0) return pass(Passed::no_bytes);
    if (exchange->block_bytes > INT_MAX) return pass(Passed::large_blocks);
    Attached* attached = world->communicators().of(call.comm);
    if (attached == nullptr) return pass(Passed::arguments);
    if (!attached->weft) return pass(attached->why);
    result = exchange_blocks(*exchange, *world, *attached);
  }
  if (!result) return pass(Passed::arguments);
  // Outside the guard and with nothing held: an error handler may do anything.
  if (!result->line.empty()) return raise_error(call.comm, result->line);
  if (result->code != MPI_SUCCESS) PMPI_Comm_call_errhandler(call.comm, result->code);
  return result->code;
}

}  // namespace weft::pmpi
