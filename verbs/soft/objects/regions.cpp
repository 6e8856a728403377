#include "verbs/soft/objects/objects.hpp"

#include <cerrno>

#include "verbs/soft/process/device_settings.hpp"
#include "verbs/soft/process/verb_error.hpp"
#include "verbs/soft/queues/runtime.hpp"

namespace weft::soft {

namespace {

constexpr unsigned kNeedsLocalWrite = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
// Optional flags (relaxed ordering and its like) may be ignored by definition.
constexpr unsigned kKnownAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                                  IBV_ACCESS_ZERO_BASED | IBV_ACCESS_HUGETLB |
                                  static_cast<unsigned>(IBV_ACCESS_OPTIONAL_RANGE);

void check_access(unsigned access) {
  if ((access & (IBV_ACCESS_ON_DEMAND | IBV_ACCESS_MW_BIND)) != 0) throw VerbError(EOPNOTSUPP);
  if ((access & ~kKnownAccess) != 0) throw VerbError(EINVAL);
  if ((access & kNeedsLocalWrite) != 0 && (access & IBV_ACCESS_LOCAL_WRITE) == 0) {
    throw VerbError(EINVAL);
  }
}

struct Registration {
  std::uint64_t address;
  std::uint64_t length;
  std::uint64_t iova;
  unsigned access;
  std::uint32_t pd;
};

/// Fills the entry and makes it valid; returns its key.
std::uint32_t publish(Process& process, std::uint32_t index, const Registration& region) {
  if (region.length > settings().max_mr_size) throw VerbError(ENOMEM);
  SharedFile shared;
  const bool must_write = (region.access & IBV_ACCESS_LOCAL_WRITE) != 0;
  RangeState state = RangeState::ordinary;
  if (region.length != 0) {
    state = inspect_range(region.address, region.length, must_write, shared);
  }
  if (state == RangeState::unmapped) throw VerbError(EFAULT);
  MrEntry& entry = process.segment().mr(index);
  process.file().commit(kMrTable + index * sizeof(MrEntry), sizeof(MrEntry));
  if (process.registered_bytes.fetch_add(region.length) + region.length >
      settings().max_registered) {
    process.registered_bytes.fetch_sub(region.length);
    throw VerbError(ENOMEM);
  }
  const std::uint32_t epoch = entry.epoch.load() + 1;
  entry.pd = region.pd;
  entry.access = region.access;
  entry.iova = region.iova;
  entry.address = region.address;
  entry.length = region.length;
  entry.file_offset = shared.offset;
  entry.shared = state == RangeState::shared ? 1 : 0;
  if (entry.shared != 0) process.publish_region(index, epoch, std::move(shared));
  entry.tag = (entry.tag + 1) & 0xff;
  entry.epoch.store(epoch, std::memory_order_release);
  const std::uint32_t key = index << 8 | entry.tag;
  entry.key.store(key, std::memory_order_release);
  return key;
}

/// Invalidates the entry; when it returns, no process uses the region any more.
void retire(Runtime& runtime, std::uint32_t index) noexcept {
  Process& process = runtime.process();
  MrEntry& entry = process.segment().mr(index);
  entry.key.store(0, std::memory_order_release);
  runtime.quiesce();
  if (entry.shared != 0) process.withdraw_region(index);
  process.registered_bytes.fetch_sub(entry.length);
  entry.epoch.fetch_add(1, std::memory_order_release);
}

void describe(Mr& mr, const Registration& region, std::uint32_t key) noexcept {
  mr.addr = reinterpret_cast<void*>(region.address);
  mr.length = region.length;
  mr.access = region.access;
  mr.lkey = key;
  mr.rkey = key;
}

}  // namespace

ibv_pd* alloc_pd(ibv_context* context) {
  auto pd = std::make_unique<Pd>();
  pd->context = context;
  pd->handle = of(context).process->next_pd.fetch_add(1);
  ++of(context).users;
  return pd.release();
}

int dealloc_pd(ibv_pd* pd) noexcept {
  if (of(pd).users != 0) return EBUSY;
  --of(pd->context).users;
  delete &of(pd);
  return 0;
}

ibv_mr* reg_mr(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova, unsigned access) {
  check_access(access);
  const Registration region = {.address = reinterpret_cast<std::uint64_t>(address),
                               .length = length,
                               .iova = (access & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : iova,
                               .access = access,
                               .pd = pd->handle};
  if (region.address + length < region.address || region.iova + length < region.iova) {
    throw VerbError(EINVAL);
  }
  Process& process = *of(pd->context).process;
  auto mr = std::make_unique<Mr>();
  const auto index = process.mr_indices.take();
  if (!index) throw VerbError(ENOMEM);
  try {
    describe(*mr, region, publish(process, *index, region));
  } catch (...) {
    process.mr_indices.give_back(*index);
    throw;
  }
  mr->context = pd->context;
  mr->pd = pd;
  mr->handle = *index;
  Context& context = of(pd->context);
  std::lock_guard lock(context.regions_mutex);
  context.regions.insert(mr.get());
  ++of(pd).users;
  return mr.release();
}

int rereg_mr(ibv_mr* public_mr, int flags, ibv_pd* pd, void* address, std::size_t length,
             int access) noexcept {
  Mr& mr = of(public_mr);
  Process& process = *of(mr.context).process;
  if ((flags & ~IBV_REREG_MR_FLAGS_SUPPORTED) != 0 || flags == 0 ||
      ((flags & IBV_REREG_MR_CHANGE_PD) != 0 && pd == nullptr)) {
    errno = EINVAL;
    return IBV_REREG_MR_ERR_INPUT;
  }
  Registration region = {.address = reinterpret_cast<std::uint64_t>(mr.addr),
                         .length = mr.length,
                         .iova = process.segment().mr(mr.handle).iova,
                         .access = mr.access,
                         .pd = mr.pd->handle};
  if ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0) {
    region.address = reinterpret_cast<std::uint64_t>(address);
    region.length = length;
    region.iova = region.address;
  }
  if ((flags & IBV_REREG_MR_CHANGE_ACCESS) != 0) region.access = static_cast<unsigned>(access);
  if ((flags & IBV_REREG_MR_CHANGE_PD) != 0) region.pd = pd->handle;
  if (const int error = run_verb([&] { check_access(region.access); })) {
    errno = error;
    return IBV_REREG_MR_ERR_INPUT;
  }
  retire(*of(mr.context).runtime, mr.handle);
  const int error = run_verb([&] { describe(mr, region, publish(process, mr.handle, region)); });
  if (error != 0) {
    errno = error;
    return IBV_REREG_MR_ERR_CMD;
  }
  if ((flags & IBV_REREG_MR_CHANGE_PD) != 0) {
    --of(mr.pd).users;
    mr.pd = pd;
    ++of(pd).users;
  }
  return 0;
}

int dereg_mr(ibv_mr* public_mr) noexcept {
  Mr& mr = of(public_mr);
  Context& context = of(mr.context);
  retire(*context.runtime, mr.handle);
  context.process->mr_indices.give_back(mr.handle);
  --of(mr.pd).users;
  {
    std::lock_guard lock(context.regions_mutex);
    context.regions.erase(&mr);
  }
  delete &mr;
  return 0;
}

void abandon_regions(Context& context) noexcept {
  std::lock_guard lock(context.regions_mutex);
  for (const Mr* mr : context.regions) retire(*context.runtime, mr->handle);
  context.regions.clear();
}

}  // namespace weft::soft
