// Slabs: blocks of shared memory that threads of several processes create, attach and free.
#include "engine/node/slab.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "base/error_types.hpp"
#include "base/file.hpp"
#include "engine/node/shared_memory.hpp"
#include "tests/engine/fresh_process.hpp"

namespace weft::engine::slab_test {
namespace {

constexpr std::size_t kPage = Slab::kPage;

/// What this process has of slabs: its own files and what is committed in them, and mappings. What
/// it has inherited is another's.
struct Taken {
  int descriptors = 0;
  int mappings = 0;
  std::uint64_t bytes = 0;
};

Taken all_taken() {
  Taken result;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string path = std::filesystem::read_symlink(entry, gone).string();
    struct stat status {};
    if (gone || !path.starts_with("/memfd:weft-slab")) continue;
    if (::stat(entry.path().c_str(), &status) != 0) continue;
    ++result.descriptors;
    result.bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
  }
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    result.mappings += line.find("/memfd:weft-slab") == line.npos ? 0 : 1;
  }
  return result;
}

/// Counts from its creation on.
class Since {
 public:
  Taken taken() const {
    const Taken now = all_taken();
    return {now.descriptors - before_.descriptors, now.mappings - before_.mappings,
            now.bytes - before_.bytes};
  }

 private:
  Taken before_ = all_taken();
};

std::uint64_t* words_of(const SharedMemory& block) {
  return reinterpret_cast<std::uint64_t*>(block.data());
}

bool is_full_of(const SharedMemory& block, std::uint64_t value) {
  const std::uint64_t* words = words_of(block);
  return std::all_of(words, words + block.size() / 8, [value](auto word) { return word == value; });
}

/// Memory that a test shares with its children by itself, zero at the beginning.
template <class Content>
Content& shared() {
  void* memory =
      ::mmap(nullptr, sizeof(Content), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return *new (memory) Content;
}

template <class Ready>
void wait_until(Ready ready) {
  while (!ready()) ::sched_yield();
}

constexpr int kProcesses = 3;
constexpr int kThreads = 2;
constexpr int kSteps = 1500;

/// Where blocks are offered to whoever wants to attach them.
struct Board {
  struct Offer {
    std::atomic<int> locked{0};
    std::uint64_t value = 0;  // of all its words; 0: nothing is offered
    std::array<char, sizeof(BlockHandle)> handle{};

    void lock() {
      wait_until([this] { return locked.exchange(1) == 0; });
    }
    void unlock() { locked = 0; }
  };
  std::array<Offer, 24> offers;
  std::atomic<int> done{0};
};

// The words of a slab, and freed blocks whose memory is kept for the next ones.
constexpr std::uint64_t kMostLeft = (64 + 160) << 10;
constexpr int kUses = 2;
constexpr std::uint64_t kFirstForDevice = 256 << 10;

/// A thread that does all of it in a random order.
class Actor {
 public:
  Actor(Board& board, unsigned seed) : board_(board), random_(seed) {}

  void run() {
    for (int step = 0; step < kSteps; ++step) {
      auto& offer = board_.offers[random_() % board_.offers.size()];
      switch (random_() % 5) {
        case 0:
          offer_block(offer);
          break;
        case 1:
          withdraw(offer);
          break;
        case 2:
          attach(offer);
          break;
        case 3:
          drop_one(attached_);
          break;
        default:
          check_one();
          break;
      }
    }
    for (auto& offer : board_.offers) withdraw(offer);
    while (!attached_.empty()) drop_one(attached_);
  }

 private:
  struct Known {
    SharedMemory block;
    std::uint64_t value;
  };

  void offer_block(Board::Offer& offer) {
    const std::size_t most = random_() % 20 == 0 ? 700 : 30;
    const auto use = random_() % 3 == 0 ? MemoryUse::device : MemoryUse::node;
    Known made{SharedMemory::create("weft-test", 1 + random_() % (most * kPage), use),
               random_() | 1};
    ASSERT_TRUE(is_full_of(made.block, 0));
    std::fill_n(words_of(made.block), made.block.size() / 8, made.value);
    const std::lock_guard lock(offer);
    if (offer.value != 0) return;  // and frees the block
    const std::string handle = made.block.handle();
    std::ranges::copy(handle, offer.handle.begin());
    offer.value = made.value;
    created_.push_back(std::move(made));
  }

  /// Frees the block, if it is this actor's: others may have it attached.
  void withdraw(Board::Offer& offer) {
    const std::lock_guard lock(offer);
    const auto mine = std::ranges::find(created_, offer.value, &Known::value);
    if (mine == created_.end()) return;
    offer.value = 0;
    EXPECT_TRUE(is_full_of(mine->block, mine->value));
    created_.erase(mine);
  }

  void attach(Board::Offer& offer) {
    const std::lock_guard lock(offer);
    if (offer.value == 0) return;
    attached_.push_back(
        {SharedMemory::attach({offer.handle.data(), offer.handle.size()}), offer.value});
  }

  void check_one() {
    if (attached_.empty()) return;
    const Known& one = attached_[random_() % attached_.size()];
    EXPECT_TRUE(is_full_of(one.block, one.value));
  }

  void drop_one(std::vector<Known>& known) {
    if (known.empty()) return;
    const std::size_t at = random_() % known.size();
    EXPECT_TRUE(is_full_of(known[at].block, known[at].value));
    known.erase(known.begin() + static_cast<std::ptrdiff_t>(at));
  }

  Board& board_;
  std::mt19937_64 random_;
  std::vector<Known> created_;
  std::vector<Known> attached_;
};

// Each block is full of a value of its own from its creation until the last has let go of it, so
// blocks that overlapped would be seen.
TEST(Slab, KeepsBlocksApartWhateverTheOrder) {
  Board& board = shared<Board>();
  const auto take_part = [&board](int process) {
    const Since since;
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&board, process, i] {
        try {
          Actor(board, static_cast<unsigned>(10 * process + i)).run();
        } catch (const Error& error) {
          ADD_FAILURE() << error.what();
        }
      });
    }
    for (auto& thread : threads) thread.join();
    ++board.done;
    wait_until([&board] { return board.done == kProcesses; });
    // What others had when this process freed it is taken back now.
    SharedMemory::create("weft-test", 1);
    const Taken after = since.taken();
    EXPECT_EQ(after.descriptors, kUses);
    // One for each use of each process stays mapped.
    EXPECT_LE(after.mappings, kUses * kProcesses);
    EXPECT_LE(after.bytes, kMostLeft + kFirstForDevice);
  };
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) children.push_back(begin_child([&] { take_part(i); }));
  for (const pid_t child : children) EXPECT_EQ(code_of(child), 0);
}

// So its pages are the same as long as it lives, and an adapter may have them registered.
TEST(Slab, ForTheDeviceHasItsMemoryFromItsBeginningOn) {
  EXPECT_EQ(in_child([] {
              const Since since;
              const auto make = [] {
                return SharedMemory::create("weft-test", 20 * kPage, MemoryUse::device);
              };
              SharedMemory block = make();
              const auto whole = block.slab();
              EXPECT_EQ(whole.memory.size(), kFirstForDevice - kPage);
              EXPECT_EQ(since.taken().bytes, kFirstForDevice);
              std::fill_n(words_of(block), block.size() / 8, 4711);
              const auto* data = block.data();
              const SharedMemory other = make();
              EXPECT_EQ(other.slab().memory.data(), whole.memory.data());
              block = SharedMemory();
              EXPECT_EQ(since.taken().bytes, kFirstForDevice);
              block = make();
              EXPECT_EQ(block.data(), data) << "it is used again";
              EXPECT_TRUE(is_full_of(block, 0));
              // More than fits: slabs grow.
              std::vector<SharedMemory> more;
              for (int i = 0; i < 100; ++i) more.push_back(make());
              EXPECT_LE(since.taken().descriptors, 6);
              EXPECT_LE(since.taken().bytes, 2 * (102 * 20 + 1) * kPage + kFirstForDevice);
              more.clear();
              SharedMemory::create("weft-test", 1, MemoryUse::device);
              EXPECT_EQ(since.taken().bytes, kFirstForDevice);
            }),
            0);
}

TEST(Slab, ManyBlocksTakeFewDescriptorsAndMappings) {
  EXPECT_EQ(in_child([] {
              const Since since;
              std::vector<SharedMemory> blocks;
              for (int i = 0; i < 2000; ++i) {
                blocks.push_back(SharedMemory::create("weft-test", 5 * kPage));
                blocks.push_back(SharedMemory::attach(blocks.back().handle()));
              }
              // 39 MiB: slabs of 4, 8, 16 and 32.
              EXPECT_EQ(since.taken().descriptors, 4);
              EXPECT_EQ(since.taken().mappings, 4);
              EXPECT_LE(since.taken().bytes, 2000 * 5 * kPage + (200 << 10));
              blocks.clear();
              // Attachments went after their blocks: these are taken back now.
              SharedMemory::create("weft-test", 1);
              EXPECT_EQ(since.taken().descriptors, 1);
              EXPECT_LE(since.taken().bytes, kMostLeft);
            }),
            0);
}

// Programs that make communicators one after another need no new memory, and the new block is as
// empty as the first.
TEST(Slab, ASmallBlockIsUsedAgainAsItWasCommitted) {
  EXPECT_EQ(in_child([] {
              const Since since;
              const std::byte* first = nullptr;
              for (int i = 0; i < 100; ++i) {
                SharedMemory block = SharedMemory::create("weft-test", 20 * kPage);
                const SharedMemory attached = SharedMemory::attach(block.handle());
                if (i == 0) first = block.data();
                EXPECT_EQ(block.data(), first);
                EXPECT_TRUE(is_full_of(block, 0));
                std::fill_n(words_of(block), block.size() / 8, 4711);
                block = {};
                EXPECT_GE(since.taken().bytes, 20 * kPage);
              }
              SharedMemory::create("weft-test", 1);
              EXPECT_LE(since.taken().bytes, kMostLeft);
            }),
            0);
}

// The owner frees a block and makes no other: the last that has it attached gives the memory back.
TEST(Slab, MemoryIsGivenBackByTheLastThatLetsGo) {
  struct Steps {
    std::atomic<int> step{0};
  };
  EXPECT_EQ(in_child([] {
              Steps& steps = shared<Steps>();
              const Since since;
              SharedMemory block = SharedMemory::create("weft-test", 1 << 20);
              const std::string handle = block.handle();
              *words_of(block) = 4711;
              const pid_t peer = begin_child([&] {
                SharedMemory attached = SharedMemory::attach(handle);
                steps.step = 1;
                wait_until([&] { return steps.step == 2; });
                EXPECT_EQ(*words_of(attached), 4711u);
                attached = {};
              });
              wait_until([&] { return steps.step == 1; });
              block = {};
              EXPECT_GE(since.taken().bytes, 1u << 20);
              steps.step = 2;
              EXPECT_EQ(code_of(peer), 0);
              EXPECT_LE(since.taken().bytes, 64u << 10);
            }),
            0);
}

TEST(Slab, AChildOfForkLeavesItsParentsBlocksAlone) {
  EXPECT_EQ(in_child([] {
              const Since since;
              SharedMemory block = SharedMemory::create("weft-test", 100'000);
              SharedMemory attached = SharedMemory::attach(block.handle());
              std::fill_n(words_of(block), block.size() / 8, 1);
              const Taken before = since.taken();
              EXPECT_EQ(in_child([&] {
                          EXPECT_TRUE(is_full_of(block, 1));
                          block = {};
                          attached = {};
                          SharedMemory own = SharedMemory::create("weft-test", 100'000);
                          EXPECT_TRUE(is_full_of(own, 0));
                          std::fill_n(words_of(own), own.size() / 8, 2);
                          own = {};
                        }),
                        0);
              EXPECT_TRUE(is_full_of(block, 1));
              EXPECT_EQ(since.taken().bytes, before.bytes);
              // Still counted: as the child has not, this is the last that lets go.
              block = {};
              EXPECT_TRUE(is_full_of(attached, 1));
              EXPECT_TRUE(is_full_of(SharedMemory::create("weft-test", 100'000), 0));
              EXPECT_TRUE(is_full_of(attached, 1));
            }),
            0);
}

/// Whether a handle that was changed in this way is refused.
template <class Change>
bool is_refused(const SharedMemory& block, Change change) {
  BlockHandle handle;
  const std::string text = block.handle();
  std::memcpy(&handle, text.data(), sizeof handle);
  change(handle);
  try {
    SharedMemory::attach({reinterpret_cast<const char*>(&handle), sizeof handle});
  } catch (const Error&) {
    return true;
  }
  return false;
}

/// A file that looks like a slab with a block in its fifth page.
File imitation(std::uint64_t token, std::uint64_t generation, unsigned seals) {
  File file(::memfd_create("weft-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(::ftruncate(file.get(), 4 << 20), 0);
  std::array<std::uint64_t, 5> words = {token, 0, 0, 0, generation << 32};
  EXPECT_EQ(::pwrite(file.get(), words.data(), sizeof words, 0), sizeof words);
  EXPECT_EQ(::fcntl(file.get(), F_ADD_SEALS, seals), 0);
  return file;
}

TEST(Slab, HandlesThatDoNotFitTheFileAreRefused) {
  const SharedMemory block = SharedMemory::create("weft-test", 10 * kPage);
  const File sealed = imitation(1, 2, F_SEAL_SHRINK);
  const File open_ended = imitation(1, 2, F_SEAL_GROW);
  const File others = imitation(1, 2, F_SEAL_SHRINK);
  if (::geteuid() == 0) {
    ASSERT_EQ(::fchown(others.get(), 65534, 65534), 0);
  }
  using Handle = BlockHandle&;
  const auto imitated = [](const File& file) {
    return [descriptor = file.get()](Handle handle) {
      handle.descriptor = descriptor;
      handle.token = 1;
      handle.slab_pages = 1024;
      handle.first_page = 4;
      handle.pages = 1;
      handle.generation = 2;
    };
  };
  // In a process that does not find the slab among its own.
  EXPECT_EQ(in_child([&] {
              EXPECT_FALSE(is_refused(block, [](Handle) {}));
              EXPECT_FALSE(is_refused(block, imitated(sealed)));
              // Its owner could make it shorter.
              EXPECT_TRUE(is_refused(block, imitated(open_ended)));
              if (::geteuid() == 0) {
                EXPECT_TRUE(is_refused(block, imitated(others)));
              }
              // Touching what lies beyond its end would be SIGBUS.
              EXPECT_TRUE(is_refused(block, [&](Handle handle) {
                imitated(sealed)(handle);
                handle.token = 1;
                handle.slab_pages = 2048;
              }));
              EXPECT_TRUE(is_refused(block, [&](Handle handle) {
                imitated(sealed)(handle);
                handle.token = 3;
              }));
              EXPECT_TRUE(is_refused(block, [](Handle handle) { handle.pages = 1024; }));
              EXPECT_TRUE(is_refused(block, [](Handle handle) { handle.pages = 0; }));
              EXPECT_TRUE(is_refused(block, [](Handle handle) { handle.first_page += 1024; }));
              EXPECT_TRUE(is_refused(block, [](Handle handle) { handle.first_page = 0; }));
              EXPECT_TRUE(is_refused(block, [](Handle handle) { ++handle.generation; }));
              EXPECT_TRUE(is_refused(block, [](Handle handle) { handle.generation = 0; }));
            }),
            0);
}

TEST(Slab, ABlockThatWasFreedCannotBeAttached) {
  SharedMemory block = SharedMemory::create("weft-test", 10 * kPage);
  const SharedMemory attached = SharedMemory::attach(block.handle());
  const std::string handle = block.handle();
  block = {};
  EXPECT_THROW(SharedMemory::attach(handle), Error);
  const SharedMemory next = SharedMemory::create("weft-test", 10 * kPage);
  EXPECT_THROW(SharedMemory::attach(handle), Error);
}

// Some programs close all descriptors that they do not know, and go on with files of their own.
TEST(Slab, LeavesADescriptorAloneThatIsTheProgramsByNow) {
  EXPECT_EQ(in_child([] {
              SharedMemory first = SharedMemory::create("weft-test", 100'000);
              SharedMemory second = SharedMemory::create("weft-test", 100'000);
              BlockHandle handle;
              std::memcpy(&handle, first.handle().data(), sizeof handle);
              const int number = static_cast<int>(handle.descriptor);
              const File file(::memfd_create("weft-test", MFD_CLOEXEC));
              const std::vector<char> data(8 << 20, 'a');
              ASSERT_EQ(::pwrite(file.get(), data.data(), data.size(), 0),
                        static_cast<ssize_t>(data.size()));
              ASSERT_EQ(::dup2(file.get(), number), number);
              first = {};
              const SharedMemory third = SharedMemory::create("weft-test", 100'000);
              EXPECT_EQ(in_child([&] { SharedMemory::attach(third.handle()); }), 0);
              second = {};
              SharedMemory::create("weft-test", 1);
              std::vector<char> there(data.size() + 1);
              EXPECT_EQ(::pread(number, there.data(), there.size(), 0),
                        static_cast<ssize_t>(data.size()));
              EXPECT_TRUE(std::equal(data.begin(), data.end(), there.begin()));
            }),
            0);
}

// A file beyond the limit would end the program by SIGXFSZ.
TEST(Slab, IsAsLargeAsFilesMayBe) {
  EXPECT_EQ(in_child([] {
              const rlimit little{1 << 20, 1 << 20};
              ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
              std::vector<SharedMemory> blocks;
              for (int i = 0; i < 20; ++i) {
                blocks.push_back(SharedMemory::create("weft-test", 300'000));
              }
              EXPECT_THROW(SharedMemory::create("weft-test", 2 << 20), SystemError);
            }),
            0);
}

}  // namespace
}  // namespace weft::engine::slab_test
