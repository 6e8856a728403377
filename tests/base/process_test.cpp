// Processes are told apart by number and start.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "base/file.hpp"
#include "base/process_handle.hpp"
#include "base/process_id.hpp"
#include "tests/base/reused_number.hpp"

namespace weft::process_test {
namespace {

using engine::begin_child;
using engine::code_of;

/// A process that stands still, as it knows itself.
ProcessId begin_sleeper() {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const File reader(ends[0]), writer(ends[1]);
  ProcessId known;
  begin_child([&] {
    known = this_process();
    EXPECT_EQ(::write(writer.get(), &known, sizeof known), ssize_t{sizeof known});
    ::pause();
  });
  EXPECT_EQ(::read(reader.get(), &known, sizeof known), ssize_t{sizeof known});
  return known;
}

/// As the kernel writes it: the name may be anything.
std::string stat_text(const std::string& name, std::uint64_t start) {
  std::string text = "4711 (" + name + ") S";
  for (int field = 4; field < 22; ++field) text += " " + std::to_string(field - 5);
  text += " " + std::to_string(start);
  for (int field = 23; field <= 52; ++field) text += " 18446744073709551615";
  return text + "\n";
}

RC_GTEST_PROP(ProcessId, ReadsTheStartBehindAnyName, ()) {
  const auto start = *rc::gen::arbitrary<std::uint64_t>();
  const auto name = *rc::gen::container<std::string>(
      rc::gen::oneOf(rc::gen::elementOf(std::string("() \n1S")), rc::gen::arbitrary<char>()));
  RC_ASSERT(start_in(stat_text(name, start)) == start);
}

RC_GTEST_PROP(ProcessId, FindsNoStartInATextThatEndsBeforeIt, ()) {
  const std::string text = stat_text("a b", *rc::gen::arbitrary<std::uint64_t>());
  const std::size_t end = text.find(" 18446744073709551615");
  const auto bytes = *rc::gen::inRange<std::size_t>(0, end + 1);
  RC_ASSERT(!start_in(text.substr(0, bytes)));
}

TEST(ProcessId, IsThatOfAChildAfterFork) {
  const ProcessId parent = this_process();
  EXPECT_EQ(parent.number, ::getpid());
  EXPECT_NE(parent.start, 0u);
  const ProcessId child = begin_sleeper();
  EXPECT_NE(child.number, parent.number);
  EXPECT_GE(child.start, parent.start);
  EXPECT_FALSE(is_another(child));
  EXPECT_FALSE(is_another(parent));
  end(child.number);
  EXPECT_FALSE(is_another(child)) << "there is no other";
}

TEST(ProcessId, IsAnothersWhereTheStartDiffers) {
  ProcessId child = begin_sleeper();
  child.start += 1;
  EXPECT_TRUE(is_another(child));
  EXPECT_TRUE(ProcessHandle::of(child)->has_ended());
  ProcessId unknown = child;
  unknown.start = 0;
  EXPECT_FALSE(is_another(unknown));
  ProcessId of_other_clock = child;
  of_other_clock.clock += 1;
  EXPECT_FALSE(is_another(of_other_clock));
  end(child.number);
}

TEST(ProcessHandle, IsSharedAndTellsWhenItsProcessHasEnded) {
  const ProcessId child = begin_sleeper();
  const auto handle = ProcessHandle::of(child);
  ASSERT_NE(handle, nullptr);
  EXPECT_EQ(handle, ProcessHandle::of(child));
  EXPECT_FALSE(handle->has_ended());
  ::kill(child.number, SIGKILL);
  while (!handle->has_ended()) ::sched_yield();
  EXPECT_EQ(code_of(child.number), -SIGKILL);
  EXPECT_TRUE(handle->has_ended());
  EXPECT_TRUE(ProcessHandle::of(child)->has_ended());
}

TEST(ProcessHandle, TakesNoStrangerForAProcessThatHasEnded) {
  const auto code = in_pid_namespace([] {
    const ProcessId gone = begin_sleeper();
    const auto before = ProcessHandle::of(gone);
    end(gone.number);
    const pid_t stranger = take_number_of(gone);
    EXPECT_TRUE(is_another(gone));
    EXPECT_TRUE(before->has_ended());
    EXPECT_TRUE(ProcessHandle::of(gone)->has_ended());
    EXPECT_FALSE(ProcessHandle::of({.number = gone.number})->has_ended());
    end(stranger);
  });
  if (!code) GTEST_SKIP() << "no PID namespaces here";
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace weft::process_test
