// A custom bootstrap: ranks are children of fork(), connected by pairs of sockets.
//
//   build/release/examples/own_bootstrap 4
//
// weft needs two functions of a bootstrap: allgather, which gives the text of each rank to all, and
// exchange, which sends a text to each of some partners. Both are used only while communicators and
// plans are made, so they may be as simple as these.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/weft.hpp"

namespace {

class SocketBootstrap final : public weft::Bootstrap {
 public:
  /// sockets[r] is connected to rank r; the rank's own entry is not used.
  SocketBootstrap(int rank, std::vector<int> sockets) : rank_(rank), sockets_(std::move(sockets)) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(sockets_.size()); }

  std::vector<std::string> allgather(std::string_view mine) override {
    std::vector<int> others;
    for (int other = 0; other < size(); ++other) {
      if (other != rank_) others.push_back(other);
    }
    std::vector<std::string> all =
        exchange(others, std::vector<std::string>(others.size(), std::string(mine)));
    all.insert(all.begin() + rank_, std::string(mine));
    return all;
  }

  // All send first, so the texts must fit into the sockets' buffers, about 200 KB. Longer texts
  // would need poll().
  std::vector<std::string> exchange(std::span<const int> peers,
                                    std::span<const std::string> mine) override {
    for (std::size_t i = 0; i < peers.size(); ++i) {
      const std::uint64_t length = mine[i].size();
      move_all(peers[i], ::write, reinterpret_cast<const char*>(&length), sizeof length);
      move_all(peers[i], ::write, mine[i].data(), length);
    }
    std::vector<std::string> theirs;
    for (const int peer : peers) {
      std::uint64_t length = 0;
      move_all(peer, ::read, reinterpret_cast<char*>(&length), sizeof length);
      std::string text(length, '\0');
      move_all(peer, ::read, text.data(), length);
      theirs.push_back(std::move(text));
    }
    return theirs;
  }

 private:
  template <class Call, class Bytes>
  void move_all(int peer, Call call, Bytes* bytes, std::size_t length) {
    while (length > 0) {
      const ssize_t moved = call(sockets_[static_cast<std::size_t>(peer)], bytes, length);
      if (moved <= 0) throw weft::PeerError("rank " + std::to_string(peer) + " has ended");
      bytes += moved;
      length -= static_cast<std::size_t>(moved);
    }
  }

  int rank_;
  std::vector<int> sockets_;
};

int run_rank(int rank, std::vector<int> sockets) try {
  weft::Communicator world(std::make_unique<SocketBootstrap>(rank, std::move(sockets)));
  const std::int32_t mine = 1 << rank;
  std::int32_t all = 0;
  world.allreduce(&mine, &all, 1, weft::operation(weft::Operator::sum, weft::Type::int32));
  std::printf("rank %d of %d: %d\n", rank, world.size(), all);
  return all == (1 << world.size()) - 1 ? 0 : 1;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "own_bootstrap: rank %d: %s\n", rank, error.what());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 4;
  if (ranks < 1 || ranks > 30) {
    std::fprintf(stderr, "usage: own_bootstrap [RANKS, 1 to 30]\n");
    return 2;
  }
  std::vector<std::vector<int>> sockets(ranks, std::vector<int>(ranks, -1));
  for (int a = 0; a < ranks; ++a) {
    for (int b = a + 1; b < ranks; ++b) {
      int pair[2];
      if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return 1;
      sockets[a][b] = pair[0];
      sockets[b][a] = pair[1];
    }
  }
  for (int rank = 0; rank < ranks; ++rank) {
    if (fork() == 0) {
      // Closes the sockets of other ranks, so that the end of a rank closes its connections.
      for (int other = 0; other < ranks; ++other) {
        for (const int socket : sockets[other]) {
          if (other != rank && socket >= 0) close(socket);
        }
      }
      return run_rank(rank, sockets[rank]);
    }
  }
  for (auto& row : sockets) {
    for (const int socket : row) {
      if (socket >= 0) close(socket);
    }
  }
  int failed = 0, status = 0;
  while (wait(&status) > 0) failed += status != 0 ? 1 : 0;
  return failed == 0 ? 0 : 1;
}
