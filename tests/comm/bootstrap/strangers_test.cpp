// Strangers at the ports of ranks that TCP joins: they are kept out, delay nobody and end nothing.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "comm/bootstrap/handshake.hpp"
#include "comm/bootstrap/meeting.hpp"
#include "comm/bootstrap/tcp_address.hpp"
#include "tests/comm/support/processes.hpp"
#include "tests/comm/support/secret_file.hpp"

namespace weft::strangers_test {
namespace {

using comm::Clock;
using test::Ended;
using test::run_processes;
using test::SecretFile;
using Settings = std::vector<std::pair<std::string, std::string>>;

constexpr int kRanks = 3;
// Less than the time after which a stranger is dropped: nobody may wait for it.
constexpr const char* kTimeout = "8";
static_assert(comm::Meeting::kPatience > std::chrono::seconds(8));

/// A connection to rank 0, which may not listen yet.
File connect_to_root() {
  const auto address = comm::resolve_root(std::getenv("WEFT_ROOT")).addresses.front();
  const auto end = Clock::now() + std::chrono::seconds(30);
  File socket;
  while (!socket && Clock::now() < end) socket = comm::connect_until(address, end);
  if (!socket) throw Error("rank 0 does not listen");
  return socket;
}

void send(const File& socket, std::string_view bytes) {
  if (!comm::send_at_once(socket.get(), bytes)) throw Error("a stranger could not send");
}

/// What all ranks say to each other: "0 1 2 ", by both ways.
std::string meet(int rank) {
  const auto bootstrap = tcp_bootstrap();
  std::string said;
  for (const std::string& one : bootstrap->allgather(std::to_string(rank))) said += one + " ";
  std::vector<int> peers;
  for (int peer = 0; peer < kRanks; ++peer) {
    if (peer != rank) peers.push_back(peer);
  }
  const std::vector<std::string> mine(peers.size(), std::to_string(rank));
  const auto theirs = bootstrap->exchange(peers, mine);
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (theirs[i] != std::to_string(peers[i])) said += "but not in an exchange";
  }
  return said;
}

/// The job starts although `disturb` runs in rank 1 before it, and its result is there to the end.
template <class Disturb>
void expect_start(const std::string& secret, Disturb disturb) {
  const auto ended = run_processes(
      kRanks, {{"WEFT_SECRET_FILE", secret}, {"WEFT_CONNECT_TIMEOUT", kTimeout}}, [&](int rank) {
        if (rank != 1) return meet(rank);
        [[maybe_unused]] const auto strangers = disturb();
        return meet(rank);
      });
  for (const Ended& one : ended) {
    EXPECT_TRUE(one.in_time);
    EXPECT_EQ(one.said, "0 1 2 ");
  }
}

class Strangers : public testing::Test {
 protected:
  SecretFile secret_{"the secret of this test"};
};

TEST_F(Strangers, AreNotNeeded) {
  expect_start(secret_.path(), [] { return 0; });
  expect_start("", [] { return 0; });
  expect_start("none", [] { return 0; });
}

TEST_F(Strangers, MayBeSilent) {
  for (const std::string& secret : {secret_.path(), std::string()}) {
    expect_start(secret, [] { return connect_to_root(); });
  }
}

TEST_F(Strangers, MayComeTwoHundredTimes) {
  expect_start(secret_.path(), [] {
    std::vector<File> sockets;
    for (int i = 0; i < 200; ++i) sockets.push_back(connect_to_root());
    return sockets;
  });
}

TEST_F(Strangers, MayComeOftenerThanThereIsRoom) {
  expect_start(secret_.path(), [] {
    std::vector<File> sockets;
    for (std::size_t i = 0; i < comm::Meeting::kMostStrangers + 50; ++i) {
      sockets.push_back(connect_to_root());
    }
    return sockets;
  });
}

/// Sends a byte now and then, of a message that never ends.
class Dribbler {
 public:
  Dribbler() : thread_([this] { run(); }) {}
  Dribbler(const Dribbler&) = delete;
  Dribbler& operator=(const Dribbler&) = delete;
  ~Dribbler() {
    ends_ = true;
    thread_.join();
  }
  void wait_until_begun() const {
    while (sent_ == 0) std::this_thread::yield();
  }

 private:
  void run() {
    const File socket = connect_to_root();
    const std::string hello = comm::encode(comm::Hello{});
    while (!ends_) {
      if (sent_ + 1 < hello.size() &&
          comm::send_at_once(socket.get(), std::string_view(hello).substr(sent_, 1))) {
        ++sent_;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  std::atomic<bool> ends_{false};
  std::atomic<std::size_t> sent_{0};
  std::thread thread_;
};

TEST_F(Strangers, MayDribble) {
  expect_start(secret_.path(), [] {
    auto dribbler = std::make_unique<Dribbler>();
    dribbler->wait_until_begun();
    return dribbler;
  });
}

TEST_F(Strangers, MaySendAnything) {
  expect_start(secret_.path(), [] {
    std::vector<File> sockets;
    std::string huge = comm::encode(std::vector<std::string>{"x"});
    huge.replace(4, 4, "\xff\xff\xff\x0f");
    std::string long_hello = comm::encode(comm::Hello{});
    long_hello.replace(4, 4, "\xff\xff\xff\xff");
    std::string hello_to_nobody = comm::encode(comm::Hello{{}, {}, 1, 77, 1u << 31, 0});
    const std::vector<std::string> texts = {
        "GET / HTTP/1.1\r\n\r\n", huge, long_hello, hello_to_nobody, std::string(4096, '\xff'),
        std::string(4096, '\0')};
    for (const std::string& text : texts) {
      sockets.push_back(connect_to_root());
      send(sockets.back(), text);
    }
    return sockets;
  });
}

/// What rank 0 does with a hello; `self` makes it, `replays`: on another connection than its own.
comm::Handshake::State try_hello(const comm::Party& self, bool replays) {
  File first = connect_to_root(), second = connect_to_root();
  comm::ArrivingMessage challenge;
  const auto end = Clock::now() + std::chrono::seconds(20);
  while (challenge.read(first.get(), {comm::MessageKind::challenge}) ==
             comm::ArrivingMessage::State::partial &&
         Clock::now() < end) {
    std::this_thread::yield();
  }
  const auto read = comm::decode_challenge(challenge.body());
  if (!read) throw Error("no challenge");
  comm::Hello hello{{}, {}, self.rank, 0, self.size, 1};
  hello.proof = self.secret.prove(comm::hello_to_prove(*read, hello));
  const File& to = replays ? second : first;
  send(to, comm::encode(hello));
  comm::ArrivingMessage answer;
  if (replays) {
    while (answer.read(to.get(), {comm::MessageKind::challenge}) ==
               comm::ArrivingMessage::State::partial &&
           Clock::now() < end) {
      std::this_thread::yield();
    }
    answer = {};
  }
  auto state = comm::ArrivingMessage::State::partial;
  while (state == comm::ArrivingMessage::State::partial && Clock::now() < end) {
    state = answer.read(to.get(), {comm::MessageKind::welcome, comm::MessageKind::refusal});
    std::this_thread::yield();
  }
  if (state != comm::ArrivingMessage::State::whole) return comm::Handshake::State::ended;
  return answer.kind() == comm::MessageKind::welcome ? comm::Handshake::State::proven
                                                     : comm::Handshake::State::refused;
}

TEST_F(Strangers, MayNotClaimARank) {
  expect_start(secret_.path(), [] {
    const comm::Party stranger{{}, 1, kRanks, 0};
    const auto state = try_hello(stranger, false);
    if (state != comm::Handshake::State::refused) throw Error("a stranger was let in");
    return 0;
  });
}

TEST_F(Strangers, MayNotReplayAHello) {
  expect_start(secret_.path(), [] {
    const comm::Party rank1{comm::Secret::from_settings(), 1, kRanks, 0};
    const auto state = try_hello(rank1, true);
    if (state != comm::Handshake::State::refused) throw Error("an old hello was taken");
    return 0;
  });
}

TEST_F(Strangers, AreToldFromRanksByTheErrorOfAllThatCame) {
  const SecretFile other("another secret than that");
  const auto ended = run_processes(
      kRanks, {{"WEFT_SECRET_FILE", secret_.path()}, {"WEFT_CONNECT_TIMEOUT", "2"}}, [&](int rank) {
        if (rank == 1) ::setenv("WEFT_SECRET_FILE", other.path().c_str(), 1);
        return meet(rank);
      });
  EXPECT_TRUE(ended[1].said.starts_with("rank 0 at WEFT_ROOT=127.0.0.1:")) << ended[1].said;
  EXPECT_TRUE(ended[1].said.ends_with(
      ": it has another secret than this rank, where WEFT_SECRET_FILE=" + other.path() +
      ": all ranks of a job need the same"))
      << ended[1].said;
  EXPECT_TRUE(ended[0].said.starts_with("rank 0: 1 other ranks did not appear at WEFT_ROOT="))
      << ended[0].said;
  EXPECT_NE(ended[0].said.find("1 connections without the secret of the job were refused"),
            std::string::npos)
      << ended[0].said;
  EXPECT_NE(ended[0].said.find(" as rank 1;"), std::string::npos) << ended[0].said;
  EXPECT_EQ(ended[2].said, ended[0].said);
}

TEST_F(Strangers, AreRanksThatHaveNoSecretWhereOthersHaveOne) {
  const auto ended = run_processes(
      2, {{"WEFT_SECRET_FILE", secret_.path()}, {"WEFT_CONNECT_TIMEOUT", "1"}}, [&](int rank) {
        if (rank == 1) ::unsetenv("WEFT_SECRET_FILE");
        return meet(rank);
      });
  EXPECT_TRUE(ended[1].said.ends_with(
      ": it asks for the secret of the job, and here WEFT_SECRET_FILE is not set"))
      << ended[1].said;
}

TEST(Ranks, ThatDisagreeAboutTheirNumberEndWithOneError) {
  const auto ended = run_processes(kRanks, {{"WEFT_CONNECT_TIMEOUT", kTimeout}}, [](int rank) {
    if (rank == 1) ::setenv("WEFT_SIZE", "5", 1);
    return meet(rank);
  });
  for (const Ended& one : ended) {
    // A rank may come when the others have ended.
    if (one.said.find("did not appear") != std::string::npos) continue;
    EXPECT_EQ(one.said, "WEFT_RANK=1 WEFT_SIZE=5: a rank came that rank 0 of 3 does not expect");
  }
  EXPECT_TRUE(ended[0].said.starts_with("WEFT_RANK=1 "));
}

TEST(Ranks, OnANetworkNeedASecretOrAWord) {
  const Settings open = {{"WEFT_ROOT", "192.0.2.1:7000"}, {"WEFT_CONNECT_TIMEOUT", "1"}};
  for (const Ended& one : run_processes(2, open, meet)) {
    EXPECT_EQ(one.said,
              "WEFT_ROOT=192.0.2.1:7000 is open to a network, and WEFT_SECRET_FILE is not set: it "
              "names a file of mode 600 with the same random bytes on all ranks; or none, where "
              "everybody is trusted");
  }
}

/// The addresses at which this process listens.
std::vector<std::string> listening() {
  std::vector<std::string> hosts;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int descriptor = std::stoi(entry.path().filename());
    int listens = 0, domain = 0;
    socklen_t size = sizeof listens;
    if (::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0) continue;
    size = sizeof domain;
    ::getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size);
    sockaddr_in own{};
    size = sizeof own;
    if (listens == 0 || domain != AF_INET) continue;
    ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &size);
    hosts.push_back(comm::host_text(own));
  }
  return hosts;
}

TEST(Ranks, ListenAtTheAddressOfTheRootOnly) {
  std::string root;
  const File port = comm::reserve_root(root);
  for (const char* host : {"127.0.0.1", "127.0.1.1"}) {
    const std::string there = host + root.substr(root.rfind(':'));
    const auto ended = run_processes(kRanks, {{"WEFT_ROOT", there}}, [&](int) {
      const auto bootstrap = tcp_bootstrap();
      bootstrap->allgather("");
      const auto hosts = listening();
      bootstrap->allgather("");
      return hosts.size() == 1 ? hosts.front() : fmt::format("{} listeners", hosts.size());
    });
    EXPECT_EQ(ended[0].said, host);
    // The kernel's choice for a connection to 127.0.1.1 is 127.0.0.1.
    for (int rank = 1; rank < kRanks; ++rank) EXPECT_EQ(ended[rank].said, "127.0.0.1");
  }
}

TEST(Ranks, AreFoundAtTheAddressOfSeveralThatAnswers) {
  std::string text;
  const File port = comm::reserve_root(text);
  auto at = [&](const char* host) {
    auto address = comm::resolve_root(text).addresses.front();
    EXPECT_EQ(::inet_pton(AF_INET, host, &address.sin_addr), 1);
    return address;
  };
  comm::Meeting root({{}, 0, 2, 0}), other({{}, 1, 2, 0});
  root.listen(comm::listen_at_root({text, {at("127.0.0.2")}}));
  other.ask(0, {at("127.0.0.3"), at("127.0.0.2")}, "rank 0");
  const auto until = Clock::now() + std::chrono::seconds(30);
  std::vector<comm::Guest> at_other;
  std::thread thread([&] { at_other = other.wait(until); });
  const auto at_root = root.wait(until);
  thread.join();
  ASSERT_EQ(at_root.size(), 1u);
  EXPECT_EQ(at_root[0].hello.rank, 1u);
  ASSERT_EQ(at_other.size(), 1u);
  EXPECT_TRUE(at_other[0].was_asked);
}

}  // namespace
}  // namespace weft::strangers_test
