#include "serve/kept_texts.h"

#include <utility>

namespace foretoken {

Status KeptTexts::Begin(Job& job) {
  const ActiveRequest& request = job.request();
  auto session = generator_.Start({.sampling = job.Sampling(),
                                   .stop = request.stop_tokens,
                                   .capacity = options_.context,
                                   .cache_type = options_.cache_type,
                                   .drafter = request.asked.drafter,
                                   .filter = job.filter(),
                                   .logprobs = request.asked.logprobs,
                                   .prediction = job.prediction()});
  if (PrefixCache* from = SourceFor(job)) {
    // If there is no memory for a fork, the session computes the whole prompt itself.
    const Result<int> adopted = generator_.AdoptFrom(*from, *session, job.text(), job.left());
    (void)adopted;
  }
  FT_RETURN_IF_ERROR(generator_.Begin(*session, job.text(), job.left()));
  job.Begin(std::move(session));
  return {};
}

int KeptTexts::Touch(const Job& job) {
  PrefixCache* from = SourceFor(job);
  if (from == nullptr) return 0;
  return generator_.TouchPrefix(*from, job.request().asked.drafter, job.text(), job.left());
}

int KeptTexts::PrefixFrom(const Job& other, const Job& job) const {
  if (!MayKeep(other) || !MayKeep(job)) return 0;
  return generator_.PrefixFrom(*other.session, job.request().asked.drafter, job.text(), job.left());
}

// The request's own held prompt comes first: it contains all of the prompt that can be reused.
PrefixCache* KeptTexts::SourceFor(const Job& job) {
  if (job.answer() != 0 && !job.was_admitted) {
    const auto found = held_.find(job.request().id);
    if (found != held_.end()) return &found->second.cache;
  }
  return MayKeep(job) ? &cache_ : nullptr;
}

bool KeptTexts::MayKeep(const Job& job) const {
  return options_.keeps_texts && job.request().asked.keeps_text;
}

bool KeptTexts::KeepPrompt(const Job& job) {
  // The pass that finished the prompt may have failed the session through a drafter error.
  if (!MayKeep(job) || !job.session->status.ok()) return false;
  return generator_.ShareWith(cache_, *job.session, job.prompt()).ok();
}

void KeptTexts::HoldPrompt(const Job& job) {
  const int others = job.request().asked.answers - 1;
  if (others == 0 || job.prompt() == 1 || !job.session->status.ok()) return;
  HeldPrompt held{PrefixCache(options_.memory), others};
  // The last token is excluded: it is scored again to obtain its logits.
  const Status shared = generator_.ShareWith(held.cache, *job.session, job.prompt() - 1);
  if (shared.ok()) held_.emplace(job.request().id, std::move(held));
}

void KeptTexts::ReleasePrompt(const Job& job) {
  const auto found = held_.find(job.request().id);
  if (job.answer() == 0 || found == held_.end()) return;
  if (--found->second.answers == 0) held_.erase(found);
}

void KeptTexts::Keep(Job& job) {
  if (MayKeep(job)) cache_.Keep(generator_.Leave(std::move(job.session)));
  job.session.reset();
}

bool KeptTexts::EvictOldest() {
  if (cache_.size() > 0) {
    cache_.ShrinkTo(cache_.bytes() - 1);
    return true;
  }
  if (held_.empty()) return false;
  held_.erase(held_.begin());
  return true;
}

bool KeptTexts::EvictAll() {
  const bool holds_any = cache_.size() > 0 || !held_.empty();
  cache_.ShrinkTo(0);
  held_.clear();
  return holds_any;
}

size_t KeptTexts::bytes() const {
  size_t sum = cache_.bytes();
  for (const auto& [request, held] : held_) sum += held.cache.bytes();
  return sum;
}

}  // namespace foretoken
