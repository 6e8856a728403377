// The C API: the C++ one with codes for exceptions.
#include "comm/c_api/c_api.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "base/installation.hpp"

using weft::comm::guarded;

namespace {

/// The caller's callbacks move messages of one size: texts go as their lengths, then padded to the
/// longest.
class CallbackBootstrap final : public weft::Bootstrap {
 public:
  explicit CallbackBootstrap(const weft_bootstrap& callbacks) : callbacks_(callbacks) {}
  int rank() const override { return callbacks_.rank; }
  int size() const override { return callbacks_.size; }

  std::vector<std::string> allgather(std::string_view mine) override {
    const std::uint64_t length = mine.size();
    std::vector<std::uint64_t> lengths(size());
    check("allgather",
          callbacks_.allgather(callbacks_.context, &length, lengths.data(), sizeof length));
    const std::uint64_t longest = *std::max_element(lengths.begin(), lengths.end());
    std::vector<std::string> result(size());
    if (longest == 0) return result;
    std::string padded(mine);
    padded.resize(longest);
    std::string all(longest * size(), '\0');
    check("allgather",
          callbacks_.allgather(callbacks_.context, padded.data(), all.data(), longest));
    for (int rank = 0; rank < size(); ++rank)
      result[rank] = all.substr(rank * longest, lengths[rank]);
    return result;
  }

  std::vector<std::string> exchange(std::span<const int> peers,
                                    std::span<const std::string> mine) override {
    // Both ends of a pair must agree on the size, and a pair knows only itself: so a fixed one.
    std::vector<Message> out(peers.size());
    std::vector<Message> in(peers.size());
    std::vector<const void*> send;
    std::vector<void*> receive;
    for (std::size_t i = 0; i < peers.size(); ++i) {
      if (mine[i].size() > sizeof out[i].text) {
        throw weft::Error("weft_bootstrap: " + std::to_string(mine[i].size()) + " bytes for rank " +
                          std::to_string(peers[i]) + " in one exchange: at most " +
                          std::to_string(sizeof out[i].text) + " are allowed");
      }
      out[i].length = mine[i].size();
      std::memcpy(out[i].text, mine[i].data(), mine[i].size());
      send.push_back(&out[i]);
      receive.push_back(&in[i]);
    }
    check("exchange",
          callbacks_.exchange(callbacks_.context, static_cast<int>(peers.size()), peers.data(),
                              send.data(), receive.data(), sizeof(Message)));
    std::vector<std::string> result;
    for (const Message& message : in) {
      if (message.length > sizeof message.text)
        throw weft::Error("not a bootstrap message of weft's");
      result.emplace_back(message.text, message.length);
    }
    return result;
  }

 private:
  struct Message {
    std::uint64_t length = 0;
    char text[504] = {};
  };
  static void check(const char* name, int result) {
    if (result != 0) throw weft::Error(fmt::format("weft_bootstrap.{} returned {}", name, result));
  }
  weft_bootstrap callbacks_;
};

}  // namespace

int weft_comm_create(const weft_bootstrap* bootstrap, weft_comm** comm) {
  return guarded([&] {
    if (bootstrap == nullptr || comm == nullptr || bootstrap->allgather == nullptr ||
        bootstrap->exchange == nullptr) {
      weft::throw_usage("weft_comm_create: a null pointer among its arguments or callbacks");
    }
    if (bootstrap->size < 1 || bootstrap->rank < 0 || bootstrap->rank >= bootstrap->size) {
      weft::throw_usage("weft_comm_create: rank {} of {} ranks", bootstrap->rank, bootstrap->size);
    }
    *comm = new weft_comm{weft::Communicator(std::make_unique<CallbackBootstrap>(*bootstrap))};
  });
}

int weft_comm_create_tcp(weft_comm** comm) {
  return guarded([&] {
    if (comm == nullptr)
      weft::throw_usage("weft_comm_create_tcp: a null pointer for the communicator");
    *comm = new weft_comm{weft::Communicator(weft::tcp_bootstrap())};
  });
}

void* weft_alloc(std::size_t bytes) {
  try {
    return weft::allocate(bytes);
  } catch (const std::exception&) {
    return nullptr;
  }
}

void weft_free(void* memory) {
  weft::deallocate(memory);
}

void weft_comm_free(weft_comm* comm) {
  delete comm;
}

int weft_comm_rank(const weft_comm* comm) {
  return comm->communicator.rank();
}
int weft_comm_size(const weft_comm* comm) {
  return comm->communicator.size();
}

const char* weft_error(void) {
  return weft::comm::last_error().c_str();
}
const char* weft_version(void) {
  return weft::kVersion;
}
