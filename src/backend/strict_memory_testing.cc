#include "backend/strict_memory_testing.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>

#include "base/division.h"

#if defined(__x86_64__)
#include <ucontext.h>
#endif

namespace foretoken {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kArena = size_t{256} << 30;  // of address space; memory is taken as it is used
constexpr size_t kReadableBytes = 64;         // beyond the end of an allocation

std::atomic<const char*> running_op = nullptr;
struct sigaction previous_action;

// The kind of access that faulted, as far as this architecture tells.
const char* AccessVerb([[maybe_unused]] void* context) {
#if defined(__x86_64__)
  constexpr greg_t kWrite = 2;
  const auto* machine = static_cast<const ucontext_t*>(context);
  return (machine->uc_mcontext.gregs[REG_ERR] & kWrite) != 0 ? "wrote" : "read";
#else
  return "touched";
#endif
}

void ReportFault(const std::byte* at, void* context) {
  char text[400];
  const char* op = running_op.load();
  int length = std::snprintf(
      text, sizeof(text),
      "strict backend: %s %s device memory that %s: ", op != nullptr ? op : "the host",
      AccessVerb(context),
      op != nullptr ? "it was not given" : "only Upload, Download and other ops may touch");
  const auto rest = [&] { return sizeof(text) - static_cast<size_t>(length); };
  const StrictAllocation* a = StrictMemory::Get().Find(at);
  if (a == nullptr) {
    length +=
        std::snprintf(text + length, rest(), "a freed buffer, or bytes past the end of one\n");
  } else {
    length += std::snprintf(text + length, rest(), "byte %td of a buffer of %lld x %lld %s\n",
                            at - a->begin, static_cast<long long>(a->description.rows),
                            static_cast<long long>(a->description.cols),
                            std::string(DTypeName(a->description.type)).c_str());
  }
  if (write(STDERR_FILENO, text, static_cast<size_t>(length)) < 0) return;  // stderr is closed
}

}  // namespace

StrictMemory& StrictMemory::Get() {
  static StrictMemory& memory = *new StrictMemory;
  return memory;
}

StrictMemory::StrictMemory() {
  void* const p =
      mmap(nullptr, kArena, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) {
    std::fprintf(stderr, "strict backend: cannot reserve %zu GiB of addresses\n", kArena >> 30);
    std::abort();
  }
  arena_ = static_cast<std::byte*>(p);
  // The instruction is retried under the previous action, which ends the process.
  struct sigaction action {};
  action.sa_flags = SA_SIGINFO;
  action.sa_sigaction = [](int, siginfo_t* info, void* context) {
    const auto* at = static_cast<const std::byte*>(info->si_addr);
    const std::byte* begin = Get().arena_;
    if (at >= begin && at < begin + kArena) ReportFault(at, context);
    sigaction(SIGSEGV, &previous_action, nullptr);
  };
  sigaction(SIGSEGV, &action, &previous_action);
}

// The end of an allocation, rather than its beginning, lies next to an inaccessible page, because
// access past the end is the more common mistake.
std::shared_ptr<std::byte> StrictMemory::Allocate(size_t bytes, int owner,
                                                  const Tensor& description) {
  if (bytes > kArena / 2) return nullptr;
  const std::lock_guard lock(mutex_);
  const size_t taken = RoundUp(bytes, size_t{64}) + kReadableBytes;
  const size_t page_bytes = RoundUp(taken, kPage);
  if (used_ + page_bytes + kPage > kArena) return nullptr;
  std::byte* const pages = arena_ + used_;
  used_ += page_bytes + kPage;
  std::byte* const begin = pages + page_bytes - taken;
  live_[begin] = {begin, bytes, pages, page_bytes, owner, description};
  return {begin, [this](std::byte* p) { Free(p); }};
}

void StrictMemory::Free(std::byte* begin) {
  const std::lock_guard lock(mutex_);
  const StrictAllocation& a = live_.at(begin);
  madvise(a.pages, a.page_bytes, MADV_DONTNEED);
  live_.erase(begin);
}

const StrictAllocation* StrictMemory::Find(const std::byte* at) {
  const std::lock_guard lock(mutex_);
  const auto next = live_.upper_bound(at);
  if (next == live_.begin()) return nullptr;
  const StrictAllocation& a = std::prev(next)->second;
  return at <= a.begin + a.bytes ? &a : nullptr;
}

void StrictMemory::Open(const StrictAllocation& allocation, bool may_write) {
  const int access = may_write ? PROT_READ | PROT_WRITE : PROT_READ;
  FT_CHECK(mprotect(allocation.pages, allocation.page_bytes, access) == 0);
}

void StrictMemory::Close(const StrictAllocation& allocation) {
  FT_CHECK(mprotect(allocation.pages, allocation.page_bytes, PROT_NONE) == 0);
}

void StrictMemory::NameOp(const char* op) { running_op = op; }

}  // namespace foretoken
