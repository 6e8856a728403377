// kill -9 at any instant: the survivors get their errors, keep working, and nothing is left.
#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "tests/soft/endpoint.hpp"
#include "tests/soft/processes/roles.hpp"

namespace weft::soft::test::death_test {
namespace {

/// Writes and sends as fast as it can, until it is killed.
void flood(Line& line) {
  Endpoint end(Options{.shared_memory = true, .timeout = 18});
  end.connect(line.exchange(end.address()));
  line.receive<char>();
  for (int i = 0; i < 32; ++i) end.post_recv(0, {end.sge(0, 64)});
  for (std::uint64_t n = 0;; ++n) {
    const auto opcode = n % 3 == 0 ? IBV_WR_RDMA_WRITE : IBV_WR_SEND;
    if (end.post_send(opcode, n, {end.sge(0, 40)}, 1024) == 0) {
      if (end.sent().status != IBV_WC_SUCCESS) return;
    }
    ibv_wc wc{};
    while (ibv_poll_cq(end.recv_cq, 1, &wc) == 1) end.post_recv(0, {end.sge(0, 64)});
  }
}

TEST(Death, ASendingSurvivorGetsAnErrorAndFlushesWithinSeconds) {
  for (int round = 0; round < 6; ++round) {
    const bool reaped = round % 2 == 0;  // a zombie is as dead
    Role victim(flood);
    Role survivor([round](Line& line) {
      Endpoint end(Options{.shared_memory = true, .timeout = 18});
      end.connect(line.exchange(end.address()));
      for (std::uint64_t i = 0; i < 32; ++i) {
        ASSERT_EQ(end.post_recv(i, {end.sge(512, 64)}), 0);
      }
      line.send('r');
      bool failed = false;
      int flushed = 0;
      int received = 0;
      const auto deadline = Clock::now() + std::chrono::seconds(15);
      while (!failed || flushed == 0) {
        ASSERT_LT(Clock::now(), deadline);
        if (!failed) {
          ASSERT_EQ(end.post_send(IBV_WR_SEND, 1, {end.sge(0, 8)}), 0);
          ibv_wc wc{};
          int count = 0;
          while ((count = ibv_poll_cq(end.send_cq, 1, &wc)) == 0 && Clock::now() < deadline) {
          }
          ASSERT_EQ(count, 1);
          failed = wc.status == IBV_WC_RETRY_EXC_ERR || wc.status == IBV_WC_WR_FLUSH_ERR;
          if (!failed) {
            ASSERT_EQ(wc.status, IBV_WC_SUCCESS) << ibv_wc_status_str(wc.status);
          }
        }
        ibv_wc wc{};
        while (ibv_poll_cq(end.recv_cq, 1, &wc) == 1) {
          if (wc.status == IBV_WC_WR_FLUSH_ERR) {
            ++flushed;
          } else {
            ASSERT_EQ(wc.status, IBV_WC_SUCCESS) << ibv_wc_status_str(wc.status);
            ASSERT_EQ(end.post_recv(wc.wr_id, {end.sge(512, 64)}), 0);
            if (received++ == 500 * round) line.send('k');
          }
        }
      }
      EXPECT_EQ(end.state(), IBV_QPS_ERR);
      ibv_async_event event{};
      ASSERT_EQ(ibv_get_async_event(end.context, &event), 0);
      EXPECT_EQ(event.event_type, IBV_EVENT_QP_FATAL);
      ibv_ack_async_event(&event);
    });
    introduce<Address>(victim, survivor);
    survivor.line().receive<char>();
    victim.line().send('g');
    survivor.line().receive<char>();  // so many of the victim's messages have come
    victim.kill(reaped);
    survivor.expect_success();
  }
}

TEST(Death, AWaitingSurvivorIsNotifiedToo) {
  Role victim(flood);
  Role survivor([](Line& line) {
    Endpoint end(Options{.with_channel = true, .timeout = 18});
    ASSERT_EQ(ibv_req_notify_cq(end.recv_cq, 1), 0);  // wakes for errors
    end.connect(line.exchange(end.address()));
    for (std::uint64_t i = 0; i < 4; ++i) ASSERT_EQ(end.post_recv(i, {end.sge(512, 64)}), 0);
    line.send('r');
    pollfd waiting = {.fd = end.channel->fd, .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&waiting, 1, 10'000), 1);
    std::set<std::uint64_t> seen;
    while (seen.size() < 4) seen.insert(end.received().wr_id);
    EXPECT_EQ(end.state(), IBV_QPS_ERR);
    ibv_cq* cq = nullptr;
    void* cq_context = nullptr;
    ASSERT_EQ(ibv_get_cq_event(end.channel, &cq, &cq_context), 0);
    ibv_ack_cq_events(cq, 1);
  });
  introduce<Address>(victim, survivor);
  survivor.line().receive<char>();
  victim.kill();
  survivor.expect_success();
}

struct Served {
  std::uint64_t completed;
  std::uint64_t errors;
};

/// One pool of receives and one completion queue for all clients: the death
/// of one that holds a lock must not stop the others, and no receive is lost or completed twice.
void serve(Line& line, int clients) {
  constexpr std::uint32_t pool = 48;
  Endpoint end(Options{.shared_memory = true, .with_srq = true, .timeout = 18});
  std::map<std::uint32_t, ibv_qp*> qps;
  std::set<std::uint64_t> posted;
  std::uint64_t next_id = 0;
  const auto post = [&] {
    ASSERT_EQ(end.post_recv(next_id, {end.sge(512, 64)}), 0);
    posted.insert(next_id++);
  };
  for (std::uint32_t i = 0; i < pool; ++i) post();
  const auto drain = [&] {
    ibv_wc wc{};
    while (ibv_poll_cq(end.recv_cq, 1, &wc) == 1) {
      ASSERT_EQ(posted.erase(wc.wr_id), 1U) << "receive " << wc.wr_id << " completed twice";
      ASSERT_TRUE(wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_WR_FLUSH_ERR)
          << ibv_wc_status_str(wc.status);
      post();
    }
  };
  ibv_qp* original = end.qp;
  for (int client = 0; client < clients; ++client) {
    ibv_qp_init_attr attributes{};
    attributes.send_cq = end.send_cq;
    attributes.recv_cq = end.recv_cq;
    attributes.srq = end.srq;
    attributes.qp_type = IBV_QPT_RC;
    attributes.cap = {.max_send_wr = 8,
                      .max_recv_wr = 0,
                      .max_send_sge = 1,
                      .max_recv_sge = 0,
                      .max_inline_data = 0};
    end.qp = ibv_create_qp(end.pd, &attributes);
    ASSERT_NE(end.qp, nullptr);
    end.connect(line.exchange(end.address()));
    qps[end.qp->qp_num] = end.qp;
    line.send('r');
    // The next client arrives when the parent has killed enough; traffic goes on meanwhile.
    const auto until = Clock::now() + std::chrono::milliseconds(30);
    while (Clock::now() < until) drain();
  }
  // All of them die in the end, and the server is told of each death.
  for (const auto& [number, qp] : qps) {
    const auto deadline = Clock::now() + kPatience;
    ibv_qp_attr attributes{};
    ibv_qp_init_attr initial{};
    while (attributes.qp_state != IBV_QPS_ERR) {
      ASSERT_LT(Clock::now(), deadline) << "QP " << number << " does not notice";
      drain();
      ASSERT_EQ(ibv_query_qp(qp, &attributes, IBV_QP_STATE, &initial), 0);
    }
  }
  drain();
  EXPECT_EQ(posted.size(), pool);
  for (const auto& [number, qp] : qps) EXPECT_EQ(ibv_destroy_qp(qp), 0);
  end.qp = original;
  // The receives that were posted and not completed are still in the pool and can be used.
  Endpoint last(Options{.timeout = 18});
  last.connect(end.address());
  end.connect(last.address());
  for (std::uint32_t i = 0; i < pool; ++i) {
    ASSERT_EQ(last.post_send(IBV_WR_SEND, i, {last.sge(0, 8)}), 0);
    ASSERT_EQ(last.sent().status, IBV_WC_SUCCESS);
    ASSERT_EQ(posted.erase(end.received().wr_id), 1U);
  }
  EXPECT_TRUE(posted.empty());
}

TEST(Death, OfManyClientsDuringTrafficOnSharedQueues) {
  constexpr int clients = 24;
  std::mt19937 random(12345);
  Role server([](Line& line) { serve(line, clients); });
  std::vector<std::unique_ptr<Role>> alive;
  for (int i = 0; i < clients; ++i) {
    alive.push_back(std::make_unique<Role>(flood));
    introduce<Address>(server, *alive.back());
    server.line().receive<char>();
    alive.back()->line().send('g');
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
    if (alive.size() == 3) {
      const std::size_t victim = random() % alive.size();
      alive[victim]->kill();
      alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(victim));
    }
  }
  for (auto& client : alive) client->kill();
  server.expect_success();
}

TEST(Death, LeavesNoNameAndNoFile) {
  const auto listing = [] {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
      if (entry.path().filename().string().find("weft-soft") != std::string::npos) {
        names.insert(entry.path());
      }
    }
    return names;
  };
  const auto before = listing();
  std::uint32_t slot = 0;
  pid_t dead = 0;
  {
    Role victim([](Line& line) {
      Endpoint end(Options{.shared_memory = true});
      line.send(end.qp->qp_num);
      ::pause();
    });
    slot = victim.line().receive<std::uint32_t>() >> 14;
    dead = victim.pid();
    victim.kill();
  }
  EXPECT_EQ(listing(), before);
  // No process answers at its slot's address, unless another one has taken the slot since.
  Role prober([&](Line&) {
    Endpoint end(Options{.timeout = 8});
    Address there = end.address();
    there.qp_num = slot << 14 | 5;
    end.connect(there);
    ASSERT_EQ(end.post_send(IBV_WR_SEND, 1, {end.sge(0, 8)}), 0);
    EXPECT_EQ(end.sent().status, IBV_WC_RETRY_EXC_ERR);
  });
  prober.expect_success();
  EXPECT_FALSE(std::filesystem::exists("/proc/" + std::to_string(dead)));
}

/// A program that ended well may leave messages to it behind. They fail when an adapter would give
/// them up, not in the same poll as the last completions that both sides waited for.
TEST(Death, AMessageToAnEndedPeerIsTriedForTheTimeOfItsQp) {
  constexpr auto least = std::chrono::microseconds(4 * (1 << 14) * 2);  // two tries: 131 ms
  Role leaver([](Line& line) {
    Endpoint end(Options{.timeout = 14});
    end.connect(line.exchange(end.address()));
    line.receive<char>();
  });
  Role stayer([least](Line& line) {
    Endpoint end(Options{.timeout = 14});
    end.connect(line.exchange(end.address()));
    ASSERT_EQ(end.post_send(IBV_WR_RDMA_WRITE, 1, {end.sge(0, 8)}, 8), 0);
    ASSERT_EQ(end.sent().status, IBV_WC_SUCCESS);
    line.send('w');
    line.receive<char>();
    const auto posted = Clock::now();
    ASSERT_EQ(end.post_send(IBV_WR_SEND, 2, {end.sge(0, 8)}), 0);
    EXPECT_EQ(end.sent().status, IBV_WC_RETRY_EXC_ERR);
    EXPECT_GE(Clock::now() - posted, least);
  });
  introduce<Address>(leaver, stayer);
  stayer.line().receive<char>();
  leaver.line().send('g');
  leaver.expect_success();
  stayer.line().send('g');
  stayer.expect_success();
}

TEST(Death, IsNoticedThoughAForkedChildLivesOn) {
  Role victim([](Line& line) {
    Endpoint end(Options{.shared_memory = true, .timeout = 18});
    end.connect(line.exchange(end.address()));
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, 0);
      ::sleep(20);
      ::_exit(0);
    }
    line.send(child);
    line.receive<char>();
  });
  Role survivor([](Line& line) {
    Endpoint end(Options{.shared_memory = true, .timeout = 18});
    end.connect(line.exchange(end.address()));
    line.send('r');
    line.receive<char>();
    const auto deadline = Clock::now() + std::chrono::seconds(8);
    for (;;) {
      ASSERT_LT(Clock::now(), deadline);
      ASSERT_EQ(end.post_send(IBV_WR_RDMA_WRITE, 1, {end.sge(0, 8)}), 0);
      const ibv_wc wc = end.sent();
      if (wc.status != IBV_WC_SUCCESS) break;
    }
  });
  introduce<Address>(victim, survivor);
  const pid_t grandchild = victim.line().receive<pid_t>();
  survivor.line().receive<char>();
  victim.kill();
  survivor.line().send('k');
  survivor.expect_success();
  ::kill(grandchild, SIGKILL);
}

}  // namespace
}  // namespace weft::soft::test::death_test
