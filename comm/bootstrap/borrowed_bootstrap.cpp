#include "weft/bootstrap.hpp"

namespace weft {

namespace {

class BorrowedBootstrap final : public Bootstrap {
 public:
  explicit BorrowedBootstrap(Bootstrap& owner) : owner_(owner) {}

  int rank() const override { return owner_.rank(); }
  int size() const override { return owner_.size(); }
  std::vector<std::string> allgather(std::string_view mine) override {
    return owner_.allgather(mine);
  }
  std::vector<std::string> exchange(std::span<const int> peers,
                                    std::span<const std::string> mine) override {
    return owner_.exchange(peers, mine);
  }
  std::string combine(std::string_view mine, const Merge& merge) override {
    return owner_.combine(mine, merge);
  }
  std::vector<std::string> gather_among(std::span<const int> members,
                                        std::string_view mine) override {
    return owner_.gather_among(members, mine);
  }
  void give_up(std::string_view why) override { owner_.give_up(why); }
  void progress() override { owner_.progress(); }
  void check() override { owner_.check(); }

 private:
  Bootstrap& owner_;
};

}  // namespace

std::unique_ptr<Bootstrap> borrowed_bootstrap(Bootstrap& owner) {
  return std::make_unique<BorrowedBootstrap>(owner);
}

}  // namespace weft
