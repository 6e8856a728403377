// A message from each rank of a communicator to its next one.
#pragma once

#include <memory>
#include <string>

#include "call.hpp"
#include "side.hpp"

namespace weft::test {

class Message final : public Call {
 public:
  Message(const Communicator& with, int tag, std::uint64_t seed, const Limits& limits);

  MPI_Request receive();
  MPI_Request send();
  /// Both, at once.
  void exchange();

  void prepare(std::uint64_t) override {}
  int call(Form, MPI_Request*) override { return MPI_SUCCESS; }
  void free_handles() override;
  /// Known once both have ended; then of what is received.
  std::string fault() override;
  std::string text() const override;

 private:
  Communicator with_;
  int tag_, before_, after_;
  int ended_ = 0;
  std::unique_ptr<Side> send_, receive_;
};

}  // namespace weft::test
