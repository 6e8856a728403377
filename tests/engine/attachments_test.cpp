// Attachments of peers' memory by xpmem: the right bytes, the bounds, the release.
#include "engine/views/attachments.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/file.hpp"
#include "engine/views/xpmem.hpp"
#include "tests/engine/fake_xpmem.hpp"

namespace weft::engine::attachments_test {
namespace {

using test::FakeXpmem;
using test::XpmemBuffer;

constexpr std::uint64_t kPage = 4096;

class AttachmentsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    segment_ = xpmem::own_segment(why);
    ASSERT_NE(segment_, 0) << why;
  }
  void TearDown() override {
    FakeXpmem::refuse(0);
    FakeXpmem::set_most_bytes(UINT64_MAX);
    EXPECT_EQ(FakeXpmem::attached(), 0);
    EXPECT_EQ(FakeXpmem::broken_rule(), "");
  }

  FakeXpmem device_;
  std::int64_t segment_ = 0;
};

// The numbers of the public interface, written once more as its header makes them.
TEST(Xpmem, SpeaksTheModulesCommands) {
  const auto io = [](unsigned number) { return ('x' << 8) + number; };
  EXPECT_EQ(static_cast<unsigned>(xpmem::Command::version), io(0));
  EXPECT_EQ(static_cast<unsigned>(xpmem::Command::make), io(1));
  EXPECT_EQ(static_cast<unsigned>(xpmem::Command::get), io(3));
  EXPECT_EQ(static_cast<unsigned>(xpmem::Command::release), io(4));
  EXPECT_EQ(static_cast<unsigned>(xpmem::Command::attach), io(5));
  EXPECT_EQ(static_cast<unsigned>(xpmem::Command::detach), io(6));
  EXPECT_EQ(offsetof(xpmem::Make, segment), 32u);
  EXPECT_EQ(offsetof(xpmem::Get, access), 24u);
  EXPECT_EQ(offsetof(xpmem::Attach, address), 24u);
}

RC_GTEST_FIXTURE_PROP(AttachmentsTest, MapsTheOwnersBytesWithinItsBounds, ()) {
  const XpmemBuffer buffer(std::size_t{400} << 20);  // sparse: few of its pages are ever touched
  Attachments attachments(3);
  RC_ASSERT(attachments.connect(1, segment_));
  const int finds = *rc::gen::inRange(1, 150);
  for (int i = 0; i < finds; ++i) {
    const std::size_t bytes = *rc::gen::inRange<std::size_t>(1, 6 << 20);
    const std::size_t at = *rc::gen::inRange<std::size_t>(0, buffer.size() - bytes);
    std::byte* found = attachments.find(1, buffer.address() + at, bytes);
    RC_ASSERT(found != nullptr);
    const auto mark = static_cast<std::byte>(i + 1);
    buffer.data()[at] = buffer.data()[at + bytes - 1] = mark;
    RC_ASSERT(attachments.reach([&] {
      RC_ASSERT(found[0] == mark && found[bytes - 1] == mark);
      found[bytes / 2] = mark;
    }));
    RC_ASSERT(buffer.data()[at + bytes / 2] == mark);
    RC_ASSERT(attachments.pieces(1) <= Attachments::kMostPieces);
    RC_ASSERT(static_cast<std::size_t>(FakeXpmem::attached()) == attachments.pieces(1));
    // What was found last is still there.
    const int attaches = FakeXpmem::attaches();
    RC_ASSERT(attachments.find(1, buffer.address() + at, bytes) == found);
    RC_ASSERT(FakeXpmem::attaches() == attaches);
  }
}

TEST_F(AttachmentsTest, KeepsThePiecesThatOneStepHasFound) {
  const XpmemBuffer buffer(std::size_t{600} << 20);
  Attachments attachments(1);
  ASSERT_TRUE(attachments.connect(0, segment_));
  std::vector<std::byte*> found;
  const std::size_t most = Attachments::kMostPieces + 8;
  for (std::size_t i = 0; i < most; ++i) {
    buffer.data()[i * 2 * Attachments::kGranule] = static_cast<std::byte>(i);
    found.push_back(attachments.find(0, buffer.address() + i * 2 * Attachments::kGranule, kPage));
  }
  EXPECT_TRUE(attachments.reach([&] {
    for (std::size_t i = 0; i < most; ++i) EXPECT_EQ(*found[i], static_cast<std::byte>(i));
  }));
  attachments.find(0, buffer.address() + Attachments::kGranule, kPage);
  EXPECT_LE(attachments.pieces(0), Attachments::kMostPieces);
}

TEST_F(AttachmentsTest, TakesFewerPagesWhereTheDeviceRefusesMore) {
  const XpmemBuffer buffer(4 * Attachments::kGranule);
  Attachments attachments(1);
  ASSERT_TRUE(attachments.connect(0, segment_));
  FakeXpmem::set_most_bytes(2 * kPage);
  buffer.data()[kPage + 7] = std::byte{9};
  std::byte* found = attachments.find(0, buffer.address() + kPage + 7, kPage);
  ASSERT_NE(found, nullptr);
  EXPECT_TRUE(attachments.reach([&] { EXPECT_EQ(*found, std::byte{9}); }));
  EXPECT_EQ(attachments.find(0, buffer.address(), 3 * kPage), nullptr);
  EXPECT_TRUE(attachments.is_connected(0)) << "the rest may be taken otherwise";
}

TEST_F(AttachmentsTest, MapsNothingOfAPeerThatRefuses) {
  Attachments attachments(2);
  EXPECT_FALSE(attachments.connect(0, 0)) << "it has no segment";
  FakeXpmem::refuse(EACCES);
  EXPECT_FALSE(attachments.connect(1, segment_));
  const std::uint64_t word = 0;
  EXPECT_EQ(attachments.find(1, reinterpret_cast<std::uint64_t>(&word), 8), nullptr);
}

TEST_F(AttachmentsTest, ReportsPagesThatAreGoneAndForgetsTheirOwner) {
  XpmemBuffer lost(8 * kPage);
  const XpmemBuffer kept(8 * kPage);
  Attachments attachments(2);
  ASSERT_TRUE(attachments.connect(0, segment_));
  ASSERT_TRUE(attachments.connect(1, segment_));
  std::memset(lost.data(), 1, lost.size());
  std::byte* there = attachments.find(0, lost.address(), lost.size());
  std::byte* other = attachments.find(1, kept.address(), kept.size());
  ASSERT_NE(there, nullptr);
  EXPECT_TRUE(attachments.touch({there, kPage, 4, 2 * kPage, 0}));

  lost.lose_pages();
  std::vector<std::byte> copy(lost.size(), std::byte{5});
  EXPECT_FALSE(attachments.reach([&] { std::memcpy(copy.data(), there, copy.size()); }));
  EXPECT_EQ(copy, std::vector<std::byte>(lost.size()));
  EXPECT_FALSE(attachments.is_connected(0));
  EXPECT_EQ(attachments.find(0, kept.address(), 8), nullptr);

  EXPECT_TRUE(attachments.touch({other, kept.size(), 1, kept.size(), 0}));
  EXPECT_TRUE(attachments.reach([&] { *other = std::byte{3}; }));
  EXPECT_EQ(*kept.data(), std::byte{3});
}

TEST_F(AttachmentsTest, NoticesAMissingLastPageByTouchingIt) {
  XpmemBuffer buffer(4 * kPage);
  Attachments attachments(1);
  ASSERT_TRUE(attachments.connect(0, segment_));
  std::byte* found = attachments.find(0, buffer.address() + 100, 2 * kPage);
  buffer.lose_pages();
  EXPECT_FALSE(attachments.touch({found, 2 * kPage, 1, 2 * kPage, 0}));
}

TEST_F(AttachmentsTest, ForgetsPeersThatHaveEnded) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const XpmemBuffer buffer(kPage);
    std::string why;
    const std::int64_t said[2] = {xpmem::own_segment(why),
                                  static_cast<std::int64_t>(buffer.address())};
    const bool differs = said[0] != segment_;
    [[maybe_unused]] const auto written = ::write(ends[1], said, sizeof said);
    ::close(ends[1]);
    ::raise(SIGSTOP);
    ::_exit(differs ? 0 : 1);
  }
  std::int64_t said[2] = {};
  ASSERT_EQ(::read(ends[0], said, sizeof said), static_cast<ssize_t>(sizeof said));
  Attachments attachments(1);
  EXPECT_NE(said[0], segment_) << "a child is a process of its own";
  ASSERT_TRUE(attachments.connect(0, said[0]));
  const auto address = static_cast<std::uint64_t>(said[1]);
  EXPECT_NE(attachments.find(0, address, kPage), nullptr);
  int status = 0;
  ::waitpid(child, &status, WUNTRACED);
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  EXPECT_EQ(attachments.find(0, address + 64 * Attachments::kGranule, kPage), nullptr);
  ::close(ends[0]);
  ::close(ends[1]);
}

/// Touches a page that no file has, with or without attachments under guard.
void touch_other_memory() {
  const File empty(::memfd_create("empty", MFD_CLOEXEC));
  auto* page =
      static_cast<volatile char*>(::mmap(nullptr, kPage, PROT_READ, MAP_SHARED, empty.get(), 0));
  static_cast<void>(*page);
}

using AttachmentsDeathTest = AttachmentsTest;

TEST_F(AttachmentsDeathTest, DoesNotHandleFaultsElsewhere) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer's own handler ends the process";
#endif
  Attachments attachments(1);
  ASSERT_TRUE(attachments.connect(0, segment_));
  EXPECT_EXIT(touch_other_memory(), testing::KilledBySignal(SIGBUS), "");
  EXPECT_EXIT(static_cast<void>(attachments.reach(&touch_other_memory)),
              testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace weft::engine::attachments_test
