#include "base/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <string>
#include <system_error>

#include "base/available_cores.h"
#include "base/futex.h"

namespace foretoken {
namespace {

// Polls before a waiting thread sleeps: about 50 microseconds, longer than the gap between two
// kernels of a pass. In a team with more threads than cores, spinning would delay the threads that
// work.
constexpr int kSpins = 4000;
constexpr int kCrowdedSpins = 20;
// Seconds within which a woken thread runs if a core is free, or if the scheduler takes a core from
// another process for it: even a process of lower priority keeps its core until its time slice
// ends, after up to 3 milliseconds.
constexpr double kWakesWithin = 3e-3;

inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double Seconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

constexpr uint32_t Number(uint64_t ticket) { return static_cast<uint32_t>(ticket >> 32); }
constexpr int Members(uint64_t ticket) { return static_cast<int>(ticket & 0xffffffff); }

}  // namespace

ThreadPool::ThreadPool(int threads, IdleWork* idle)
    : threads_(threads),
      cores_(AvailableCores()),
      idle_(idle),
      seats_(std::make_unique<Seat[]>(static_cast<size_t>(threads))),
      active_(threads),
      shares_(threads) {}

Result<std::unique_ptr<ThreadPool>> ThreadPool::Create(int threads, IdleWork* idle) {
  std::unique_ptr<ThreadPool> pool(new ThreadPool(threads > 0 ? threads : AvailableCores(), idle));
  FT_RETURN_IF_ERROR(pool->Start());
  return pool;
}

Status ThreadPool::Start() {
  workers_.reserve(static_cast<size_t>(threads_));
  for (int t = 1; t < threads_; ++t) {
    try {
      workers_.emplace_back([this, t] { Work(t); });
    } catch (const std::system_error& refused) {
      return Error{"cannot start " + std::to_string(threads_) + " threads, only " +
                   std::to_string(t) + " (" + refused.code().message() +
                   "): ask for fewer with -t (--threads)"};
    }
    pthread_getcpuclockid(workers_.back().native_handle(), &seats_[t].cpu_clock);
  }
  return {};
}

ThreadPool::~ThreadPool() {
  stop_.store(true, std::memory_order_relaxed);
  Publish(nullptr, nullptr, threads_);
  for (std::thread& w : workers_) w.join();
}

int ThreadPool::Spins(int members) const { return members > cores_ ? kCrowdedSpins : kSpins; }

// One poll of a waiting thread.
void ThreadPool::Wait(int thread) {
  Pause();
  if (idle_ != nullptr) idle_->Step(thread);
}

void ThreadPool::DispatchToAll(Call call, const void* context) {
  Publish(call, context, threads_);
  call(context, 0);
  const Profile::Scope waiting(profile_, 0, Profile::kWaiting);
  for (int t = 1; t < threads_; ++t) WaitFor(seats_[t], Spins(threads_));
}

void ThreadPool::DispatchShared(Call call, const void* context) {
  const int members = active_.count();
  if (members == 1) {
    call(context, 0);
  } else {
    const double begin = missing_ ? Seconds(CLOCK_THREAD_CPUTIME_ID) : 0;
    Publish(call, context, members);
    call(context, 0);
    const Profile::Scope waiting(profile_, 0, Profile::kWaiting);
    const int missing = Close(members);
    double lost = missing > 0 ? (Seconds(CLOCK_THREAD_CPUTIME_ID) - begin) * missing : 0;
    for (int t = 1; t < members; ++t) lost += WaitFor(seats_[t], Spins(members)) * members;
    if (lost > 0) {
      active_.OnLost(Seconds(), Seconds(CLOCK_THREAD_CPUTIME_ID), lost);
      trying_ = trying_ && active_.count() == members;
    }
  }
  if (active_.count() < threads_) TryOneMore();
}

void ThreadPool::Publish(Call call, const void* context, int members) {
  call_ = call;
  context_ = context;
  if (profile_ != nullptr) part_ = profile_->current(0);
  number_ = (number_ + 1) & 0x7fffffff;
  // Sequentially consistent, like the accesses in Sleep: either the worker sees the ticket, or this
  // thread sees that the worker sleeps.
  ticket_.store(static_cast<uint64_t>(number_) << 32 | static_cast<uint64_t>(members));
  for (int t = 1; t < members; ++t) Wake(seats_[t]);
}

int ThreadPool::Close(int members) {
  const uint32_t over = JobWord(number_, kOver), taken = JobWord(number_, kTaken);
  int missing = 0;
  missing_ = false;
  for (int t = 1; t < members; ++t) {
    Seat& seat = seats_[t];
    uint32_t job = seat.job.load(std::memory_order_relaxed);
    while (job != over && job != taken && !seat.job.compare_exchange_weak(job, over)) {
    }
    const bool missed = job != over && job != taken;
    if (missed && seat.missing) ++missing;
    seat.missing = missed;
    missing_ = missing_ || missed;
  }
  return missing;
}

double ThreadPool::WaitFor(Seat& seat, int spins) {
  const uint32_t over = JobWord(number_, kOver);
  for (int i = 0; i < spins; ++i) {
    if (seat.job.load(std::memory_order_acquire) == over) return 0;
    Wait(0);
  }
  return SleepUntilOver(seat, over);
}

double ThreadPool::SleepUntilOver(Seat& seat, uint32_t over) {
  const double begin = Seconds(), ran = Seconds(seat.cpu_clock);
  seat.awaited.store(1);
  for (uint32_t job = seat.job.load(); job != over; job = seat.job.load()) {
    FutexWait(seat.job, job);
  }
  seat.awaited.store(0, std::memory_order_relaxed);
  return std::max(0.0, (Seconds() - begin) - (Seconds(seat.cpu_clock) - ran));
}

void ThreadPool::TryOneMore() {
  Seat& next = seats_[active_.count()];
  const double now = Seconds();
  if (!trying_) {
    if (!active_.ShouldTry(now)) return;
    next.woken.store(0, std::memory_order_relaxed);
    next.missing = false;
    tried_ = now;
    trying_ = true;
    Wake(next);
    return;
  }
  const double woken = next.woken.load(std::memory_order_relaxed);
  if (woken == 0 && now - tried_ < kWakesWithin) return;
  const bool ran_at_once = woken >= tried_ && woken - tried_ < kWakesWithin;
  active_.OnTried(now, Seconds(CLOCK_THREAD_CPUTIME_ID), ran_at_once);
  trying_ = false;
}

void ThreadPool::Work(int thread) {
  Seat& seat = seats_[thread];
  uint64_t ticket = 0;
  for (;;) {
    ticket = NextTicket(thread, ticket);
    if (stop_.load(std::memory_order_relaxed)) return;
    const uint32_t over = JobWord(Number(ticket), kOver), taken = JobWord(Number(ticket), kTaken);
    // A worker that was preempted after reading the ticket may find that this job, or a later one,
    // was closed. As long as the ticket stands, only Close for this job changes the seat.
    uint32_t job = seat.job.load(std::memory_order_acquire);
    if (job == over || ticket_.load() != ticket) continue;
    if (!seat.job.compare_exchange_strong(job, taken)) continue;
    {
      const Profile::Scope working(profile_, thread, part_);
      call_(context_, thread);
    }
    seat.job.store(over);
    if (seat.awaited.load() != 0) FutexWake(seat.job);
  }
}

uint64_t ThreadPool::NextTicket(int thread, uint64_t last) {
  for (;;) {
    const int spins = Spins(Members(ticket_.load(std::memory_order_relaxed)));
    for (int i = 0; i < spins; ++i) {
      const uint64_t ticket = ticket_.load(std::memory_order_acquire);
      if (ticket != last && Members(ticket) > thread) return ticket;
      Wait(thread);
    }
    Sleep(thread, last);
  }
}

void ThreadPool::Sleep(int thread, uint64_t last) {
  Seat& seat = seats_[thread];
  seat.asleep.store(1);
  const uint64_t ticket = ticket_.load();
  if (ticket != last && Members(ticket) > thread) {
    seat.asleep.store(0);
    return;
  }
  while (seat.asleep.load(std::memory_order_acquire) != 0) FutexWait(seat.asleep, 1);
  seat.woken.store(Seconds(), std::memory_order_relaxed);
}

bool ThreadPool::Wake(Seat& seat) {
  if (seat.asleep.load() == 0 || seat.asleep.exchange(0) == 0) return false;
  FutexWake(seat.asleep);
  return true;
}

}  // namespace foretoken
