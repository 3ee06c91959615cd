// The part of BatchLoop that divides the memory. Running answers take precedence over kept texts,
// and older answers over newer ones.
#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "backend/paged_rows.h"
#include "base/division.h"
#include "serve/batch_loop.h"

namespace foretoken {
namespace {

std::string Mebibytes(size_t bytes) {
  constexpr size_t kMebibyte = size_t{1} << 20;
  return std::to_string(DivideUp(bytes, kMebibyte)) + " MiB";
}

}  // namespace

// Bytes of the cache pages that a text of `tokens` tokens and the nodes of its tree occupy during
// the next pass.
size_t BatchLoop::BytesFor(size_t tokens) const {
  const int nodes = std::min(generator_.MostNodes(), options_.rows);
  const size_t pages = DivideUp(tokens + static_cast<size_t>(nodes), size_t{kPageRows});
  return pages * kept_.page_bytes();
}

// Bytes by which the next pass may enlarge the caches of running answers.
size_t BatchLoop::GrowthBytes() const {
  size_t bytes = 0;
  for (const auto& job : running_) {
    const size_t wanted = BytesFor(job->session->tokens.size());
    bytes += wanted - std::min(wanted, job->session->cache().bytes());
  }
  return bytes;
}

// Bytes that running answers occupy during the next pass. A page that is shared with kept texts
// counts in part for each holder (KvCache::bytes_share).
size_t BatchLoop::RunningBytes() const {
  size_t bytes = GrowthBytes();
  for (const auto& job : running_) bytes += generator_.Bytes(*job->session);
  return bytes;
}

// Bytes that running answers would occupy during the next pass if no text were kept.
size_t BatchLoop::RunningBytesAlone() const {
  size_t bytes = GrowthBytes();
  std::vector<const KvCache*> caches;
  for (const auto& job : running_) {
    const KvCache& cache = job->session->cache();
    bytes += generator_.DraftBytes(*job->session);
    caches.push_back(&cache);
  }
  return bytes + KvCache::BytesTogether(caches);
}

Status BatchLoop::CheckFits(int tokens) const {
  const size_t bytes = BytesFor(static_cast<size_t>(tokens));
  if (bytes <= options_.memory) return {};
  return Error{"a sequence of " + std::to_string(tokens) + " tokens takes " + Mebibytes(bytes) +
               "; the memory for sequences is " + Mebibytes(options_.memory)};
}

// Expected bytes of the drafter's state after it has read the job's text. For a resumed job, those
// that it took before; else the job's tokens times the bytes per token of the longest running text
// with this drafter.
size_t BatchLoop::DraftBytesFor(const Job& job) const {
  if (job.was_admitted) return job.draft_bytes;
  const Session* longest = nullptr;
  for (const auto& other : running_) {
    const Session& session = *other->session;
    if (session.drafter() != job.request().asked.drafter) continue;
    if (longest == nullptr || session.cache().length() > longest->cache().length()) {
      longest = &session;
    }
  }
  if (longest == nullptr || longest->cache().length() == 0) return 0;
  const auto of = static_cast<size_t>(longest->cache().length());
  return generator_.DraftBytes(*longest) * job.text().size() / of;
}

// Bytes by which the drafter states of texts that are still being read are expected to grow.
size_t BatchLoop::DraftGrowthBytes() const {
  size_t bytes = 0;
  for (const auto& job : running_) {
    if (!job->session->reading()) continue;
    const size_t held = generator_.DraftBytes(*job->session);
    bytes += job->draft_bytes - std::min(job->draft_bytes, held);
  }
  return bytes;
}

// Makes room for a job that starts, and returns whether it fits. Cached rows of the job's prefix
// need no further memory, unless they are evicted to make room for the rest.
bool BatchLoop::MakeRoomToStart(Job& job) {
  job.draft_bytes = DraftBytesFor(job);
  const size_t drafts = job.draft_bytes + DraftGrowthBytes();
  int shared = kept_.Touch(job);
  while (true) {
    const size_t pages = static_cast<size_t>(shared / kPageRows) * kept_.page_bytes();
    if (!MakeRoom(BytesFor(job.text().size()) - pages + drafts)) return false;
    const int left = kept_.Touch(job);
    if (left >= shared) return true;
    shared = left;
  }
}

// Evicts kept texts until `bytes` more bytes fit beside the running answers. Returns whether they
// fit. If they would not fit even without kept texts, evicts nothing.
bool BatchLoop::MakeRoom(size_t bytes) {
  const auto fits = [&] { return RunningBytes() + kept_.bytes() + bytes <= options_.memory; };
  if (fits()) return true;
  if (RunningBytesAlone() + bytes > options_.memory) return false;
  while (!fits()) {
    if (!kept_.EvictOldest()) return false;
  }
  return true;
}

// Sets the newest answers aside until the others fit into the next pass. The oldest answer always
// continues, unless it does not fit even alone.
void BatchLoop::FitRunning() {
  while (!running_.empty() && !MakeRoom(0)) {
    std::unique_ptr<Job> newest = std::move(running_.back());
    running_.pop_back();
    if (!running_.empty()) {
      SetAside(std::move(newest));
      continue;
    }
    kept_.EvictAll();
    const Status fits = CheckFits(static_cast<int>(newest->session->tokens.size()));
    if (fits.ok()) {
      running_.push_back(std::move(newest));
      return;
    }
    Finish(*newest, FinishReason::kError, fits.error().message, {});
  }
}

// If `new` failed during the last pass, that pass continued with memory of the reserve. Refills the
// reserve before the next pass, with memory that kept texts and then running answers give up. If
// that is not enough, ends waiting answers with an error, because none can be written.
void BatchLoop::RefillReserve() {
  const auto is_filled = [this] {
    return options_.reserve == nullptr || options_.reserve->Refill();
  };
  if (is_filled()) return;
  kept_.EvictAll();
  while (!running_.empty() && !is_filled()) {
    std::unique_ptr<Job> newest = std::move(running_.back());
    running_.pop_back();
    limit_ = std::max(1, static_cast<int>(running_.size()));
    SetAside(std::move(newest));
  }
  while (!waiting_.empty() && !is_filled()) {
    const std::unique_ptr<Job> ended = std::move(waiting_.front());
    waiting_.pop_front();
    Finish(*ended, FinishReason::kError,
           "out of memory: the system has no more memory for this process", {});
  }
}

// Ends the job's session and puts the job at the front of the queue. Its text so far will be read
// again like a prompt, and the answer continues unchanged.
void BatchLoop::SetAside(std::unique_ptr<Job> job) {
  job->draft_bytes = std::max(job->draft_bytes, generator_.DraftBytes(*job->session));
  job->SetAside();
  ++counters_.set_aside;
  waiting_.push_front(std::move(job));
}

}  // namespace foretoken
