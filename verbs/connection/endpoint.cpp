#include "verbs/connection/endpoint.hpp"

#include <cerrno>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "verbs/connection/port_choice.hpp"

namespace weft::verbs {

Registration::Registration(Registration&& other) noexcept
    : endpoint_(other.endpoint_), key_(std::exchange(other.key_, 0)) {}

Registration& Registration::operator=(Registration&& other) noexcept {
  if (this != &other) {
    reset();
    endpoint_ = other.endpoint_;
    key_ = std::exchange(other.key_, 0);
  }
  return *this;
}

void Registration::reset() noexcept {
  if (key_ != 0) endpoint_->forget_region(key_);
  key_ = 0;
}

Endpoint::Endpoint(const PortSettings& settings, int turn)
    : settings_(settings), recoveries_(settings.recovery_s, settings.absence_ns) {
  const int here = numa_node_of_thread();
  std::vector<int> distances;
  for (OpenPort& port : choose_ports(settings)) {
    const std::string name = port.name();
    try {
      rails_.push_back(std::make_unique<Rail>(std::move(port), settings_));
    } catch (const Error& error) {
      // A port that the user has not named need not be usable.
      if (!settings.ports.empty() || rails_.empty()) throw;
      log::warn("{} is not used: {}", name, error.what());
      continue;
    }
    distances.push_back(numa_distance(here, rails_.back()->numa_node()));
  }
  order_ = verbs::nearest_first(distances, turn);
}

void Endpoint::set_caretaker(const LivenessResponder::Caretaker& caretaker) {
  for (const auto& rail : rails_) {
    if (rail->responder() != nullptr) rail->responder()->set_caretaker(caretaker);
  }
}

void Endpoint::add_troubled(int more) noexcept {
  troubled_.fetch_add(static_cast<std::size_t>(more), std::memory_order_relaxed);
  // The wire's owner may be in another call, or leave weft before the wire has resumed.
  if (more > 0 && rails_.front()->responder() != nullptr) rails_.front()->responder()->wake();
}

std::string Endpoint::describe() const {
  std::string text;
  for (const auto& rail : rails_) text += (text.empty() ? "" : ", ") + rail->describe();
  return text;
}

Registration Endpoint::register_memory(void* address, std::size_t bytes) {
  // Not under the guard: pinning memory takes long.
  std::array<ibv_mr*, kMaxRails> handles{};
  for (std::size_t i = 0; i < rails_.size(); ++i) {
    handles[i] = rails_[i]->register_memory(address, bytes);
    if (handles[i] != nullptr) continue;
    const int error = errno;
    while (i-- > 0) rails_[i]->library().dereg_mr(handles[i]);
    throw SystemError(fmt::format("ibv_reg_mr({}, {} bytes)", rails_[i + 1]->name(), bytes), error);
  }
  const Guard guard = this->guard();
  if (free_keys_.empty()) {
    regions_.emplace_back();
    handles_.emplace_back();
    free_keys_.push_back(static_cast<std::uint32_t>(regions_.size() - 1));
    free_keys_.reserve(regions_.size());  // so that forget_region() need not allocate
  }
  const std::uint32_t key = free_keys_.back();
  free_keys_.pop_back();
  handles_[key] = handles;
  for (std::size_t i = 0; i < rails_.size(); ++i) {
    regions_[key].lkeys[i] = handles[i]->lkey;
    regions_[key].rkeys[i] = handles[i]->rkey;
  }
  return {*this, key};
}

void Endpoint::forget_region(std::uint32_t key) noexcept {
  std::array<ibv_mr*, kMaxRails> handles{};
  {
    const Guard guard = this->guard();
    handles = std::exchange(handles_[key], {});
    regions_[key] = {};
    free_keys_.push_back(key);
  }
  for (std::size_t i = 0; i < rails_.size(); ++i) {
    if (handles[i] != nullptr) rails_[i]->library().dereg_mr(handles[i]);
  }
}

Region Endpoint::region(std::uint32_t key) const noexcept {
  const Guard guard = this->guard();
  return region_guarded(key);
}

void Endpoint::set_teller(const LivenessResponder::Teller& teller) {
  for (const auto& rail : rails_) {
    if (rail->responder() != nullptr) rail->responder()->set_teller(teller);
  }
}

std::vector<Endpoint::Answer> Endpoint::take_answers() {
  const Guard guard = this->guard();
  return std::exchange(answers_, {});
}

void Endpoint::add_answer(const Answer& answer) noexcept {
  try {
    if (answers_.size() < kMostAnswers) answers_.push_back(answer);
  } catch (const std::bad_alloc&) {
    // As if it were lost on the way.
  }
}

int Endpoint::poll() noexcept {
  const Guard guard = this->guard();
  return poll_guarded();
}

int Endpoint::poll_guarded() noexcept {
  int count = 0;
  for (const auto& rail : rails_) count += rail->poll();
  recoveries_.advance();
  return count;
}

}  // namespace weft::verbs
