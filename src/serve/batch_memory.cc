// Who may use the memory of a BatchLoop: running answers before kept texts, older answers before
// newer ones.
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

// What a text of `tokens` takes during the next pass, whole pages, with the nodes of a tree.
size_t BatchLoop::BytesFor(size_t tokens) const {
  const int nodes = std::min(generator_.MostNodes(), options_.rows);
  const size_t pages = DivideUp(tokens + static_cast<size_t>(nodes), size_t{kPageRows});
  return pages * kept_.page_bytes();
}

// By how much the next pass may lengthen the caches of what runs.
size_t BatchLoop::GrowthBytes() const {
  size_t bytes = 0;
  for (const auto& job : running_) {
    const size_t wanted = BytesFor(job->session->tokens.size());
    bytes += wanted - std::min(wanted, job->session->cache().bytes());
  }
  return bytes;
}

// What runs takes during the next pass; pages that kept texts hold, too, are divided among them.
size_t BatchLoop::RunningBytes() const {
  size_t bytes = GrowthBytes();
  for (const auto& job : running_) bytes += generator_.Bytes(*job->session);
  return bytes;
}

// The same where no text was kept.
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
  return Error{"a text of " + std::to_string(tokens) + " tokens takes " + Mebibytes(bytes) +
               "; the memory for texts is " + Mebibytes(options_.memory)};
}

// The bytes that a drafter's state of a job's text is expected to take: those that it took before,
// else the bytes a token of the longest running text with this drafter, times the job's tokens.
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

// By how much the drafters' states of texts that are being read are expected to grow.
size_t BatchLoop::DraftGrowthBytes() const {
  size_t bytes = 0;
  for (const auto& job : running_) {
    if (!job->session->reading()) continue;
    const size_t held = generator_.DraftBytes(*job->session);
    bytes += job->draft_bytes - std::min(job->draft_bytes, held);
  }
  return bytes;
}

// Kept rows of the job's prefix need no further memory, unless they are given up to make room for
// the rest.
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

// Gives up kept texts until `bytes` fit beside what runs, if they can. Returns whether they do.
bool BatchLoop::MakeRoom(size_t bytes) {
  const auto fits = [&] { return RunningBytes() + kept_.bytes() + bytes <= options_.memory; };
  if (fits()) return true;
  if (RunningBytesAlone() + bytes > options_.memory) return false;
  while (!fits()) {
    if (!kept_.EvictOldest()) return false;
  }
  return true;
}

// The oldest answer can always go on, unless it does not fit alone.
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

// A pass in which `new` found no memory went on with the reserve. Before the next one it is filled
// from what kept texts and answers give up; where that is not enough, nothing can be written.
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
    Finish(*ended, FinishReason::kError, "out of memory: the system has no more for this process",
           {});
  }
}

// Puts the job at the front of the queue, with the text that it has written. That text will be read
// again like a prompt, and the answer continues unchanged.
void BatchLoop::SetAside(std::unique_ptr<Job> job) {
  job->draft_bytes = std::max(job->draft_bytes, generator_.DraftBytes(*job->session));
  job->SetAside();
  ++counters_.set_aside;
  waiting_.push_front(std::move(job));
}

}  // namespace foretoken
