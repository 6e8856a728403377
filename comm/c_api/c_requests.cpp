// The requests of the C API.
#include <string_view>

#include "base/error.hpp"
#include "comm/c_api/c_api.hpp"

using weft::comm::guarded;

struct weft_request {
  weft::Request request;
};

namespace {

template <class Use>
int use(std::string_view name, weft_request* request, Use use) noexcept {
  return guarded([&] {
    if (request == nullptr) weft::throw_usage("{}: a null request", name);
    use(request->request);
  });
}

// NOLINTNEXTLINE(readability-non-const-parameter): what it points to is returned to be written
int& checked_flag(std::string_view name, int* is_here) {
  if (is_here == nullptr) weft::throw_usage("{}: a null pointer for the answer", name);
  return *is_here;
}

}  // namespace

int weft_alltoall_init(const void* input, void* output, std::size_t block_bytes,
                       std::size_t piece_bytes, weft_comm* comm, weft_request** request) {
  return guarded([&] {
    if (comm == nullptr || request == nullptr ||
        (block_bytes != 0 && (input == nullptr || output == nullptr))) {
      weft::throw_usage("weft_alltoall_init of {} bytes: a null pointer among its arguments",
                        block_bytes);
    }
    *request = new weft_request{
        comm->communicator.alltoall_pieces_init(input, output, block_bytes, piece_bytes)};
  });
}

void weft_request_free(weft_request* request) {
  delete request;
}

std::size_t weft_request_pieces(const weft_request* request) {
  return request->request.pieces();
}

int weft_start(weft_request* request) {
  return use("weft_start", request, [](weft::Request& one) { one.start(); });
}

int weft_start_piece(weft_request* request) {
  return use("weft_start_piece", request, [](weft::Request& one) { one.start_piece(); });
}

int weft_test(weft_request* request, int* is_here) {
  return use("weft_test", request,
             [&](weft::Request& one) { checked_flag("weft_test", is_here) = one.test() ? 1 : 0; });
}

int weft_test_piece(weft_request* request, std::size_t number, int* is_here) {
  return use("weft_test_piece", request, [&](weft::Request& one) {
    checked_flag("weft_test_piece", is_here) = one.test_piece(number) ? 1 : 0;
  });
}

int weft_wait(weft_request* request) {
  return use("weft_wait", request, [](weft::Request& one) { one.wait(); });
}

int weft_wait_piece(weft_request* request, std::size_t number) {
  return use("weft_wait_piece", request, [&](weft::Request& one) { one.wait_piece(number); });
}
