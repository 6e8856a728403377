// Datagrams of recovery and liveness: what comes off the adapter, and what a recovery makes of the
// notices that have the right token.
//
// The input is a list of steps: a byte that says which lane, what happens to it, and whether the
// datagram is made to look right; a length; and the datagram's bytes.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "engine/board/whereabouts.hpp"
#include "target.hpp"
#include "verbs/recovery/recovery.hpp"

namespace {

using namespace weft::verbs;

constexpr std::uint64_t kToken = 0x0123456789abcdef;
constexpr std::uint64_t kCommunicator = 7;

class Lane final : public RecoverableLane {
 public:
  const char* reset(std::uint32_t /*epoch*/) noexcept override { return nullptr; }
  const char* start() noexcept override { return nullptr; }
  bool has_control() const noexcept override { return true; }
  void send_notice(Notice notice) noexcept override {
    weft::test::must(notice.reason.back() == '\0');
  }
  void ask_liveness(Notice /*notice*/) noexcept override {}
  void stop_answering() noexcept override {}
  bool carried_nothing() const noexcept override { return false; }
  std::string name() const override { return "fuzz:1"; }
};

class Broken final : public RecoverableConnection {
 public:
  Broken() { recovery.start({lanes.data(), lanes.data() + 1}); }
  Received received() const noexcept override { return {3, 5}; }
  bool is_ending() const noexcept override { return false; }
  bool is_closed_by_peer() const noexcept override { return false; }
  void on_change() noexcept override {}
  std::string describe() const override { return "fuzz lanes"; }

  std::array<Lane, 2> lanes;
  RecoveryGroup group{10, 0};
  Recovery recovery{group, *this};
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  Broken broken;
  const std::uint8_t* const end = data + bytes;
  while (end - data >= 2) {
    const std::uint8_t how = data[0];
    const std::size_t length =
        std::min<std::size_t>(data[1], static_cast<std::size_t>(end - data) - 2);
    std::vector<std::byte> datagram(length);
    std::memcpy(datagram.data(), data + 2, length);
    data += 2 + length;
    Lane& lane = broken.lanes[how % 2];
    if (how / 2 % 2 != 0) broken.recovery.lane_failed(lane, "fuzz", how / 4 % 2 != 0);
    if (how / 8 % 2 != 0) {
      datagram.resize(sizeof(Notice));
      const std::uint32_t magic = Notice::kMagic;
      std::memcpy(datagram.data() + offsetof(Notice, magic), &magic, sizeof magic);
      std::memcpy(datagram.data() + offsetof(Notice, token), &kToken, sizeof kToken);
    }
    Notice notice;
    if (decode_notice(datagram, kToken, notice)) {
      weft::test::must(notice.token == kToken);
      if ((notice.flags & Notice::kWhere) != 0) {
        (void)weft::engine::board::rank_from(notice.reason, kCommunicator);
      } else {
        weft::test::must(notice.reason.back() == '\0');
        broken.recovery.receive(lane, notice);
        broken.recovery.advance();
        weft::test::must(std::strlen(broken.recovery.failure()) < 256);
      }
    }
  }
  return 0;
}
