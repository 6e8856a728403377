// The public communicator: argument checks around the implementation.
#include <fmt/format.h>

#include <cstring>

#include "base/error.hpp"
#include "comm/calls/impl.hpp"
#include "weft/weft.hpp"

namespace weft {

Communicator::Communicator(std::unique_ptr<Bootstrap> bootstrap, const Options& options)
    : impl_(std::make_unique<Impl>(std::move(bootstrap), options)) {}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;
Communicator::~Communicator() = default;

int Communicator::rank() const noexcept {
  return impl_->rank();
}
int Communicator::size() const noexcept {
  return impl_->size();
}

std::span<const int> Communicator::node_of_rank() const noexcept {
  return impl_->machine().node_of_rank();
}

std::span<const int> Communicator::socket_of_rank() const noexcept {
  return impl_->machine().domain_of_rank();
}

std::size_t Communicator::block_bytes(std::size_t input_bytes, std::size_t output_bytes) const {
  if (input_bytes != output_bytes || input_bytes % static_cast<std::size_t>(size()) != 0) {
    throw_usage("alltoall from {} bytes into {} on {} ranks: both must be the same multiple of {}",
                input_bytes, output_bytes, size(), size());
  }
  return input_bytes / static_cast<std::size_t>(size());
}

std::string Communicator::algorithm_for(std::string_view collective, std::size_t bytes) const {
  plan::Problem problem = plan::Problem::alltoall(size(), bytes);
  problem.collective = plan::parse_collective(collective);
  return impl_->algorithm_for(problem).name();
}

void Communicator::fail(std::string_view why) {
  impl_->fail(why);
}

void Communicator::if_next_is_new(IfNew what) noexcept {
  impl_->if_next_is_new(what);
}
Communicator::IfNew Communicator::if_next_is_new() const noexcept {
  return impl_->if_next_is_new();
}
void Communicator::prepare_put_off() {
  impl_->prepare_put_off();
}

bool Communicator::checks_calls() const noexcept {
  return impl_->checks_calls();
}

void Communicator::describe_next_call(std::string key, std::string words) {
  describe_next_call(std::move(key), std::move(words), {}, {});
}

void Communicator::describe_next_call(std::string key, std::string words,
                                      std::vector<Described> sends,
                                      std::vector<Described> receives) {
  const auto ranks = static_cast<std::size_t>(size());
  if (sends.size() != receives.size() || (!sends.empty() && sends.size() != ranks)) {
    throw_usage("{} sends and {} receives are described to {} ranks", sends.size(), receives.size(),
                ranks);
  }
  impl_->describe_next_call(
      {std::move(key), std::move(words), std::move(sends), std::move(receives)});
}

bool Communicator::close() noexcept {
  return impl_->close();
}

Statistics Communicator::statistics() const {
  return impl_->statistics();
}

}  // namespace weft
