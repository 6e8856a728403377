#include "message.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace weft::test {

namespace {

/// Messages are the MPI's own. Open MPI 4.1 receives wrongly into some deeper datatypes (program
/// 5209, step 5); MPICH 4.0 finds long ones of two different datatypes truncated (program 1000378,
/// step 20).
#ifdef OPEN_MPI
constexpr int kMostDepth = 2;
constexpr bool kArePlain = false;
#else
constexpr int kMostDepth = 0;
constexpr bool kArePlain = true;
#endif

}  // namespace

Message::Message(const Communicator& with, int tag, std::uint64_t seed, const Limits& limits)
    : with_(with),
      tag_(tag),
      before_((with.rank + with.size - 1) % with.size),
      after_((with.rank + 1) % with.size) {
  Random shared({seed, with.instance});
  const Signature signature = draw_signature(shared, std::min(6, limits.elements), kArePlain);
  const int many = shared.below(std::max(1, std::min(3000, limits.elements / 6)));
  const auto content = [&](int from) {
    return Content{many, Random({seed, with.instance, static_cast<std::uint64_t>(from)}).next(), 0};
  };
  Random own({seed, static_cast<std::uint64_t>(with.rank), 3});
  const auto side = [&](int from) {
    const int depth = std::min(limits.depth, kMostDepth);
    const Side::Shape shape = {signature, 1, Spread::regular, own.next(), depth};
    return std::make_unique<Side>(shape, std::vector{content(from)}, own);
  };
  send_ = side(with.rank);
  receive_ = side(before_);
  send_->begin_turn();
  receive_->begin_turn();
  send_->give(0, 0);
  receive_->expect(0, 0);
}

MPI_Request Message::receive() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(receive_->address(), receive_->count(), receive_->type(), before_, tag_, with_.handle,
            &request);
  return request;
}

MPI_Request Message::send() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(send_->address(), send_->count(), send_->type(), after_, tag_, with_.handle, &request);
  return request;
}

void Message::exchange() {
  MPI_Sendrecv(send_->address(), send_->count(), send_->type(), after_, tag_, receive_->address(),
               receive_->count(), receive_->type(), before_, tag_, with_.handle, MPI_STATUS_IGNORE);
  ended_ = 1;
}

void Message::free_handles() {
  send_->free_types();
  receive_->free_types();
}

std::string Message::fault() {
  std::ptrdiff_t at = 0;
  if (++ended_ < 2) return "";
  const int wrong = receive_->memory().wrong(&at);
  return wrong == 0 ? "" : fmt::format("{} bytes are wrong, the first at {}", wrong, at);
}

std::string Message::text() const {
  return fmt::format("message to {}", after_);
}

}  // namespace weft::test
