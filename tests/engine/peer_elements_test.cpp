// Elements in a neighbour's memory that no view reaches: read by system calls, or by their owner
// where the kernel refuses these.
#include "engine/node/peer_elements.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "engine/node/node_control.hpp"
#include "tests/engine/refuse_process_vm.hpp"

namespace weft::engine::peer_elements_test {
namespace {

const std::vector<int> kRanks = {0, 1};

/// Two ranks of one process that do not know it: they have not tried which view there is.
class Strangers {
 public:
  Strangers() {
    const std::vector<std::string> handles = {mine_.handle(), theirs_.handle()};
    mine_.attach(handles);
    theirs_.attach(handles);
  }
  NodeControl& mine() { return mine_; }

 private:
  NodeControl mine_{0, kRanks, {}};
  NodeControl theirs_{1, kRanks, {}};
};

/// 300 rows of 7 runs of 12 bytes, and as many bytes in a row.
class Rows {
 public:
  Rows() : memory_(300 * 128 + 64), packed_(300 * 7 * 12), row_(packed_.size()) {
    for (std::size_t i = 0; i < packed_.size(); ++i) packed_[i] = static_cast<std::byte>(i * 37);
    unpack(elements(), 0, packed_.size(), packed_.data());
  }
  Elements elements() {
    return {reinterpret_cast<std::uintptr_t>(memory_.data()), {&nest_, 1}, 7 * 12, 128, 300};
  }
  Elements row() {
    return {reinterpret_cast<std::uintptr_t>(row_.data()), {&in_a_row_, 1}, row_.size(), 0, 1};
  }
  bool has_arrived() const { return row_ == packed_; }

 private:
  Nest nest_{.at = 8, .run_bytes = 12, .loops = {{7, 16}}};
  Nest in_a_row_{.at = 0, .run_bytes = 300 * 7 * 12};
  std::vector<std::byte> memory_, packed_, row_;
};

/// With scratch memory for some of them at a time. Whether all have come.
bool copy(NodeControl& node) {
  Rows rows;
  std::vector<std::byte> scratch(1000);
  PeerElements peer(node, 1, rows.elements(), scratch);
  return peer.copy_to(rows.row(), false) && rows.has_arrived();
}

TEST(PeerElements, AreReadBySystemCalls) {
  Strangers ranks;
  EXPECT_TRUE(copy(ranks.mine()));
  EXPECT_NE(ranks.mine().peers().moved_bytes(View::cma), 0u);
}

TEST(PeerElements, ComeFromTheirOwnerWhereTheKernelRefuses) {
  const auto ask_owner = [](bool answers) {
    if (!test::refuse_process_vm()) std::_Exit(2);
    Strangers ranks;
    int asked = 0;
    ranks.mine().set_copy_by_owner(
        [&](int, const verbs::Layout& ours, const verbs::Layout& theirs, bool writes) {
          if (!answers || writes) return false;
          std::memcpy(ours.base, theirs.base, ours.block_bytes);
          return ++asked > 0;
        });
    std::_Exit(copy(ranks.mine()) == answers && (asked > 0) == answers ? 0 : 1);
  };
  EXPECT_EXIT(ask_owner(true), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(ask_owner(false), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace weft::engine::peer_elements_test
