// kill -9 of a process whose memory others are writing and reading, on each path.
#include <cstdlib>
#include <random>

#include "tests/soft/endpoint.hpp"
#include "tests/soft/processes/roles.hpp"

namespace weft::soft::test::target_death_test {
namespace {

struct Way {
  const char* path;
  bool shared_memory;
};

class DeathOfTheTarget : public ::testing::TestWithParam<Way> {};

/// The victim only registers memory; it is killed during large writes and reads.
TEST_P(DeathOfTheTarget, FailsTheTransferThatIsUnderWay) {
  const Way way = GetParam();
  const auto prepare = [&way] { ::setenv("WEFT_SOFT_PATH", way.path, 1); };
  std::mt19937 random(99);
  for (int round = 0; round < 5; ++round) {
    Role victim([&](Line& line) {
      prepare();
      Endpoint end(Options{.shared_memory = way.shared_memory, .timeout = 18});
      end.connect(line.exchange(end.address()));
      line.send('r');
      line.receive<char>();
    });
    Role survivor([&](Line& line) {
      prepare();
      Endpoint end(Options{.shared_memory = way.shared_memory, .timeout = 18});
      end.connect(line.exchange(end.address()));
      line.receive<char>();
      const auto deadline = Clock::now() + kPatience;
      ibv_wc_status status = IBV_WC_SUCCESS;
      for (std::uint64_t n = 0; status == IBV_WC_SUCCESS; ++n) {
        ASSERT_LT(Clock::now(), deadline);
        const auto opcode = n % 2 == 0 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
        ASSERT_EQ(end.post_send(opcode, n, {end.sge(0, 200'000)}, 8), 0);
        status = end.sent().status;
        if (n == 0) line.send('t');
      }
      EXPECT_TRUE(status == IBV_WC_RETRY_EXC_ERR || status == IBV_WC_WR_FLUSH_ERR)
          << ibv_wc_status_str(status);
      EXPECT_EQ(end.state(), IBV_QPS_ERR);
    });
    introduce<Address>(victim, survivor);
    victim.line().receive<char>();
    survivor.line().send('g');
    survivor.line().receive<char>();
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 5000));
    victim.kill(round % 2 == 0);
    survivor.expect_success();
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, DeathOfTheTarget,
                         ::testing::Values(Way{"direct", true}, Way{"cma", false},
                                           Way{"agent", false}),
                         [](const auto& way) { return std::string(way.param.path); });

}  // namespace
}  // namespace weft::soft::test::target_death_test
