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
  return pages * kPageRows * kept_.row_bytes();
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
    bytes += generator_.Bytes(*job->session) - cache.bytes_share();
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

// The job waits before all others, with what it has written: it is read again like a prompt, and
// goes on as if nothing had happened.
void BatchLoop::SetAside(std::unique_ptr<Job> job) {
  job->SetAside();
  ++counters_.set_aside;
  waiting_.push_front(std::move(job));
}

}  // namespace foretoken
