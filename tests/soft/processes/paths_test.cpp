// Data between two processes, on each path that bytes can take.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>

#include "tests/soft/endpoint.hpp"
#include "tests/soft/processes/roles.hpp"

namespace weft::soft::test::paths_test {
namespace {

struct Way {
  const char* path;
  bool shared_memory;
};
void PrintTo(const Way& way, std::ostream* out) {
  *out << way.path << (way.shared_memory ? ", shared memory" : ", private memory");
}

constexpr std::size_t kBytes = 512 * 1024;
constexpr int kRounds = 200;

/// Random writes into the other's memory and reads back; then sends of random shape. Both ends do
/// the same with the same seed, each in its own direction, so each knows what it must receive.
void exercise(Endpoint& end, unsigned my_seed, unsigned peer_seed) {
  std::mt19937 random(my_seed);
  std::vector<std::byte> expected(kBytes / 4);
  for (int round = 0; round < kRounds; ++round) {
    const std::size_t bytes = round % 7 == 0 ? random() % 100'000 : random() % 300;
    const std::size_t offset = random() % (kBytes / 4 - bytes);
    fill({end.data(kBytes / 4), bytes}, static_cast<unsigned>(round) + my_seed);
    std::copy_n(end.data(kBytes / 4), bytes, expected.begin() + static_cast<long>(offset));
    ASSERT_EQ(end.post_send(IBV_WR_RDMA_WRITE, 1, {end.sge(kBytes / 4, bytes)}, offset), 0);
    ASSERT_EQ(end.sent().status, IBV_WC_SUCCESS);
  }
  ASSERT_EQ(end.post_send(IBV_WR_RDMA_READ, 2, {end.sge(kBytes / 4, kBytes / 4)}, 0), 0);
  ASSERT_EQ(end.sent().status, IBV_WC_SUCCESS);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), end.data(kBytes / 4)));

  std::mt19937 sizes(my_seed + 1000), peer_sizes(peer_seed + 1000);
  for (int round = 0; round < kRounds; ++round) {
    const std::size_t bytes = sizes() % 5000;
    const std::size_t incoming = peer_sizes() % 5000;
    const std::size_t half = incoming / 2;
    ASSERT_EQ(end.post_recv(3, {end.sge(kBytes / 2, half), end.sge(kBytes * 3 / 4, 5000)}), 0);
    fill({end.data(kBytes / 4), 5000}, static_cast<unsigned>(round) + my_seed);
    ASSERT_EQ(end.post_send(IBV_WR_SEND, 4,
                            {end.sge(kBytes / 4, bytes / 3),
                             end.sge(kBytes / 4 + bytes / 3, bytes - bytes / 3)}),
              0);
    ASSERT_EQ(end.sent().status, IBV_WC_SUCCESS);
    const ibv_wc wc = end.received();
    ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
    ASSERT_EQ(wc.byte_len, incoming);
    std::vector<std::byte> text(5000);
    fill(text, static_cast<unsigned>(round) + peer_seed);
    EXPECT_TRUE(
        std::equal(text.begin(), text.begin() + static_cast<long>(half), end.data(kBytes / 2)));
    EXPECT_TRUE(std::equal(text.begin() + static_cast<long>(half),
                           text.begin() + static_cast<long>(incoming), end.data(kBytes * 3 / 4)));
  }
  auto* result = reinterpret_cast<std::uint64_t*>(end.data(kBytes / 4));
  for (std::uint64_t i = 0; i < 20; ++i) {
    ASSERT_EQ(
        end.post_atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, 5, end.sge(kBytes / 4, 8), kBytes - 8, 3), 0);
    ASSERT_EQ(end.sent().status, IBV_WC_SUCCESS);
    EXPECT_EQ(*result, 3 * i);
  }
}

void run_role(Line& line, const Way& way, unsigned my_seed, unsigned peer_seed) {
  ::setenv("WEFT_SOFT_PATH", way.path, 1);
  Endpoint end(Options{.bytes = kBytes, .shared_memory = way.shared_memory, .timeout = 18});
  end.connect(line.exchange(end.address()));
  line.exchange('r');
  exercise(end, my_seed, peer_seed);
  line.exchange('d');  // neither goes before the other is done
}

class Paths : public ::testing::TestWithParam<Way> {};

TEST_P(Paths, CarryEveryOperation) {
  const Way way = GetParam();
  Role first([&](Line& line) { run_role(line, way, 1, 2); });
  Role second([&](Line& line) { run_role(line, way, 2, 1); });
  introduce<Address>(first, second);
  introduce<char>(first, second);
  introduce<char>(first, second);
  first.expect_success();
  second.expect_success();
}

INSTANTIATE_TEST_SUITE_P(Ways, Paths,
                         ::testing::Values(Way{"auto", true}, Way{"auto", false},
                                           Way{"direct", true}, Way{"cma", true}, Way{"cma", false},
                                           Way{"agent", true}, Way{"agent", false}));

/// From here on the kernel refuses process_vm_readv and process_vm_writev, as containers' do.
void forbid_copying() {
  sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog program = {.len = std::size(filter), .filter = filter};
  ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

TEST(Fallback, TheAgentCopiesWhereTheKernelRefuses) {
  const Way way = {"auto", false};
  const auto role = [&](unsigned mine, unsigned theirs) {
    return [&way, mine, theirs](Line& line) {
      forbid_copying();
      run_role(line, way, mine, theirs);
    };
  };
  Role first(role(1, 2));
  Role second(role(2, 1));
  introduce<Address>(first, second);
  introduce<char>(first, second);
  introduce<char>(first, second);
  first.expect_success();
  second.expect_success();
}

/// Makes the memory file of this process's region shorter.
void cut_off_file(std::size_t bytes) {
  for (int descriptor = 0; descriptor < 1000; ++descriptor) {
    std::array<char, 64> name{};
    const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
    if (::readlink(link.c_str(), name.data(), name.size() - 1) < 0) continue;
    if (!std::string_view(name.data()).starts_with("/memfd:weft-test")) continue;
    ASSERT_EQ(::ftruncate(descriptor, static_cast<off_t>(bytes)), 0);
    return;
  }
  FAIL() << "no file behind the region";
}

// To touch what a mapping has beyond the end of its file is SIGBUS.
TEST(FileBehindARegion, ThatIsShorterByNowEndsNoRequester) {
  Role target([](Line& line) {
    Endpoint end(Options{.bytes = kBytes, .shared_memory = true, .timeout = 18});
    end.connect(line.exchange(end.address()));
    cut_off_file(kBytes / 2);
    line.exchange('r');
    line.exchange('d');
  });
  Role requester([](Line& line) {
    Endpoint end(Options{.bytes = kBytes, .shared_memory = true, .timeout = 18});
    end.connect(line.exchange(end.address()));
    line.exchange('r');
    ASSERT_EQ(end.post_send(IBV_WR_RDMA_WRITE, 1, {end.sge(0, 100)}, 0), 0);
    EXPECT_EQ(end.sent().status, IBV_WC_SUCCESS);
    ASSERT_EQ(end.post_send(IBV_WR_RDMA_WRITE, 2, {end.sge(0, 100)}, kBytes * 3 / 4), 0);
    EXPECT_NE(end.sent().status, IBV_WC_SUCCESS);
    line.exchange('d');
  });
  introduce<Address>(target, requester);
  introduce<char>(target, requester);
  introduce<char>(target, requester);
  target.expect_success();
  requester.expect_success();
}

TEST(Atomics, OfManyProcessesOnOneWordAddUp) {
  constexpr std::uint64_t additions = 300;
  for (const bool shared : {true, false}) {
    std::vector<std::unique_ptr<Role>> clients;
    Role server([&](Line& line) {
      std::vector<std::unique_ptr<Endpoint>> ends;
      Endpoint first(Options{.shared_memory = shared, .timeout = 18});
      for (int i = 0; i < 3; ++i) {
        // The word lies in the first endpoint's memory; each client has a QP of its own device.
        auto end = std::make_unique<Endpoint>(Options{.bytes = 4096, .timeout = 18});
        ASSERT_EQ(ibv_dereg_mr(end->mr), 0);
        end->mr = ibv_reg_mr(end->pd, first.data(), 4096, kAllAccess);
        Address mine = end->address();
        mine.buffer = reinterpret_cast<std::uint64_t>(first.data());
        line.send(mine);
        end->connect(line.receive<Address>());
        ends.push_back(std::move(end));
      }
      line.send('r');
      line.receive<char>();
      EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(first.data()), 3 * additions);
    });
    for (int i = 0; i < 3; ++i) {
      clients.push_back(std::make_unique<Role>([&](Line& line) {
        Endpoint end(Options{.timeout = 18});
        end.connect(line.exchange(end.address()));
        line.receive<char>();
        for (std::uint64_t n = 0; n < additions; ++n) {
          ASSERT_EQ(end.post_atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, n, end.sge(0, 8), 0, 1), 0);
          ASSERT_EQ(end.sent().status, IBV_WC_SUCCESS);
        }
        line.send('d');
      }));
      introduce<Address>(server, *clients.back());
    }
    server.line().receive<char>();
    for (auto& client : clients) client->line().send('g');
    for (auto& client : clients) {
      client->line().receive<char>();
      client->expect_success();
    }
    server.line().send('d');
    server.expect_success();
  }
}

TEST(Slots, ManyProcessesHaveDifferentNumbers) {
  std::vector<std::unique_ptr<Role>> roles;
  for (int i = 0; i < 24; ++i) {
    roles.push_back(std::make_unique<Role>([](Line& line) {
      Endpoint end(Options{.bytes = 4096});
      line.send(end.qp->qp_num);
      line.receive<char>();
    }));
  }
  std::vector<std::uint32_t> slots;
  for (auto& role : roles) slots.push_back(role->line().receive<std::uint32_t>() >> 14);
  std::ranges::sort(slots);
  EXPECT_EQ(std::ranges::adjacent_find(slots), slots.end());
  for (auto& role : roles) role->line().send('d');
  for (auto& role : roles) role->expect_success();
}

TEST(Events, WakeAProcessThatSleeps) {
  constexpr int messages = 200;
  const auto role = [](bool begins) {
    return [begins](Line& line) {
      Endpoint end(Options{.with_channel = true, .timeout = 18});
      ASSERT_EQ(ibv_req_notify_cq(end.recv_cq, 0), 0);
      end.connect(line.exchange(end.address()));
      for (int i = 0; i < 8; ++i) ASSERT_EQ(end.post_recv(0, {end.sge(0, 64)}), 0);
      line.exchange('r');
      int received = 0;
      if (begins) {
        ASSERT_EQ(end.post_send(IBV_WR_SEND, 0, {end.sge(64, 8)}), 0);
      }
      while (received < messages) {
        pollfd waiting = {.fd = end.channel->fd, .events = POLLIN, .revents = 0};
        ASSERT_EQ(::poll(&waiting, 1, 10'000), 1);
        ibv_cq* cq = nullptr;
        void* cq_context = nullptr;
        ASSERT_EQ(ibv_get_cq_event(end.channel, &cq, &cq_context), 0);
        ibv_ack_cq_events(cq, 1);
        ASSERT_EQ(ibv_req_notify_cq(cq, 0), 0);
        ibv_wc wc{};
        while (ibv_poll_cq(end.recv_cq, 1, &wc) == 1) {
          ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
          ++received;
          ASSERT_EQ(end.post_recv(0, {end.sge(0, 64)}), 0);
          ASSERT_EQ(end.post_send(IBV_WR_SEND, 0, {end.sge(64, 8)}), 0);
          EXPECT_EQ(end.sent().status, IBV_WC_SUCCESS);
        }
      }
      line.exchange('d');
    };
  };
  Role first(role(true));
  Role second(role(false));
  introduce<Address>(first, second);
  introduce<char>(first, second);
  introduce<char>(first, second);
  first.expect_success();
  second.expect_success();
}

}  // namespace
}  // namespace weft::soft::test::paths_test
