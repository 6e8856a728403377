// The collectives of the C API.
#include <array>
#include <memory>
#include <mutex>
#include <string_view>

#include "base/error.hpp"
#include "comm/c_api/c_api.hpp"

using weft::comm::guarded;

struct weft_operation {
  weft::Operation operation;
  weft_combine* combine = nullptr;  // of the caller's own
  const void* context = nullptr;
};

namespace {

constexpr std::size_t kTypes = WEFT_FLOAT64_FLOAT64 + 1;
constexpr std::size_t kOperators = WEFT_MAXIMUM_WITH_PLACE + 1;
static_assert(kTypes == static_cast<std::size_t>(weft::Type::float64_float64) + 1);
static_assert(kOperators == static_cast<std::size_t>(weft::Operator::maximum_with_place) + 1);

/// Checks what every call has, then makes it.
template <class Call>
int run(std::string_view name, weft_comm* comm, std::size_t bytes, const void* input,
        const void* output, Call call) noexcept {
  return guarded([&] {
    if (comm == nullptr) weft::throw_usage("{}: a null communicator", name);
    if (bytes != 0 && (input == nullptr || output == nullptr)) {
      weft::throw_usage("{} of {} bytes: a null buffer", name, bytes);
    }
    call(comm->communicator);
  });
}

const weft::Operation& operation_of(std::string_view name, const weft_operation* operation) {
  if (operation == nullptr) weft::throw_usage("{}: a null operation", name);
  return operation->operation;
}

/// Ranks that are not the root need no buffer for what they do not give or take.
const void* or_other(bool needed, const void* buffer, const void* other) {
  return needed ? buffer : other;
}

}  // namespace

std::string& weft::comm::last_error() {
  thread_local std::string text;
  return text;
}

const weft_operation* weft_predefined(weft_operator op, weft_type type) {
  static std::mutex mutex;
  static std::array<std::unique_ptr<weft_operation>, kTypes * kOperators> made;
  const weft_operation* result = nullptr;
  guarded([&] {
    if (static_cast<std::size_t>(op) >= kOperators || static_cast<std::size_t>(type) >= kTypes) {
      weft::throw_usage("weft_predefined: operator {} on type {}: there are {} and {}",
                        static_cast<int>(op), static_cast<int>(type), kOperators, kTypes);
    }
    const std::lock_guard lock(mutex);
    auto& one = made[static_cast<std::size_t>(op) * kTypes + static_cast<std::size_t>(type)];
    if (!one) {
      one = std::make_unique<weft_operation>(weft_operation{
          weft::operation(static_cast<weft::Operator>(op), static_cast<weft::Type>(type))});
    }
    result = one.get();
  });
  return result;
}

int weft_operation_create(size_t element_bytes, int commutative, weft_combine* combine,
                          const void* context, weft_operation** operation) {
  return guarded([&] {
    if (combine == nullptr || operation == nullptr || element_bytes == 0) {
      weft::throw_usage("weft_operation_create on elements of {} bytes: a null pointer or no bytes",
                        element_bytes);
    }
    auto made = std::make_unique<weft_operation>();
    made->combine = combine;
    made->context = context;
    made->operation.element_bytes = element_bytes;
    made->operation.commutative = commutative != 0;
    made->operation.context = made.get();
    made->operation.combine = [](const void* self, std::byte* dst, const std::byte* left,
                                 const std::byte* right, std::size_t elements) {
      const auto& own = *static_cast<const weft_operation*>(self);
      own.combine(own.context, dst, left, right, elements);
    };
    *operation = made.release();
  });
}

void weft_operation_free(weft_operation* operation) {
  delete operation;
}

int weft_alltoall(const void* input, void* output, size_t block_bytes, weft_comm* comm) {
  return run("weft_alltoall", comm, block_bytes, input, output,
             [&](weft::Communicator& on) { on.alltoall(input, output, block_bytes); });
}

int weft_barrier(weft_comm* comm) {
  return run("weft_barrier", comm, 0, nullptr, nullptr,
             [](weft::Communicator& on) { on.barrier(); });
}

int weft_broadcast(void* buffer, size_t bytes, int root, weft_comm* comm) {
  return run("weft_broadcast", comm, bytes, buffer, buffer,
             [&](weft::Communicator& on) { on.broadcast(buffer, bytes, root); });
}

int weft_scatter(const void* input, void* output, size_t block_bytes, int root, weft_comm* comm) {
  const bool gives = comm != nullptr && comm->communicator.rank() == root;
  return run("weft_scatter", comm, block_bytes, or_other(gives, input, output), output,
             [&](weft::Communicator& on) { on.scatter(input, output, block_bytes, root); });
}

int weft_gather(const void* input, void* output, size_t block_bytes, int root, weft_comm* comm) {
  const bool takes = comm != nullptr && comm->communicator.rank() == root;
  return run("weft_gather", comm, block_bytes, input, or_other(takes, output, input),
             [&](weft::Communicator& on) { on.gather(input, output, block_bytes, root); });
}

int weft_allgather(const void* input, void* output, size_t block_bytes, weft_comm* comm) {
  return run("weft_allgather", comm, block_bytes, input, output,
             [&](weft::Communicator& on) { on.allgather(input, output, block_bytes); });
}

int weft_reduce(const void* input, void* output, size_t count, const weft_operation* operation,
                int root, weft_comm* comm) {
  const bool takes = comm != nullptr && comm->communicator.rank() == root;
  return run("weft_reduce", comm, count, input, or_other(takes, output, input),
             [&](weft::Communicator& on) {
               on.reduce(input, output, count, operation_of("weft_reduce", operation), root);
             });
}

int weft_allreduce(const void* input, void* output, size_t count, const weft_operation* operation,
                   weft_comm* comm) {
  return run("weft_allreduce", comm, count, input, output, [&](weft::Communicator& on) {
    on.allreduce(input, output, count, operation_of("weft_allreduce", operation));
  });
}

int weft_reduce_scatter(const void* input, void* output, size_t count,
                        const weft_operation* operation, weft_comm* comm) {
  return run("weft_reduce_scatter", comm, count, input, output, [&](weft::Communicator& on) {
    on.reduce_scatter(input, output, count, operation_of("weft_reduce_scatter", operation));
  });
}

int weft_scan(const void* input, void* output, size_t count, const weft_operation* operation,
              weft_comm* comm) {
  return run("weft_scan", comm, count, input, output, [&](weft::Communicator& on) {
    on.scan(input, output, count, operation_of("weft_scan", operation));
  });
}

int weft_exscan(const void* input, void* output, size_t count, const weft_operation* operation,
                weft_comm* comm) {
  return run("weft_exscan", comm, count, input, output, [&](weft::Communicator& on) {
    on.exscan(input, output, count, operation_of("weft_exscan", operation));
  });
}
