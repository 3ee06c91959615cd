#include "serve/kept_texts.h"

namespace foretoken {

Status KeptTexts::Begin(Job& job) {
  const ActiveRequest& request = job.request();
  auto session = generator_.Start({.sampling = job.Sampling(),
                                   .stop = request.stop_tokens,
                                   .capacity = options_.context,
                                   .cache_type = options_.cache_type,
                                   .drafter = request.asked.drafter,
                                   .filter = job.filter(),
                                   .logprobs = request.asked.logprobs});
  const int left = request.limit - static_cast<int>(job.text().size());
  if (MayKeep(job)) {
    // Where there is no memory for a fork, the session computes all by itself.
    const Result<int> adopted = generator_.AdoptFrom(cache_, *session, job.text(), left);
    (void)adopted;
  }
  FT_RETURN_IF_ERROR(generator_.Begin(*session, job.text(), left));
  job.Begin(std::move(session));
  return {};
}

int KeptTexts::Touch(const Job& job) {
  if (!MayKeep(job)) return 0;
  const int left = job.request().limit - static_cast<int>(job.text().size());
  return generator_.TouchPrefix(cache_, job.request().asked.drafter, job.text(), left);
}

bool KeptTexts::MayKeep(const Job& job) const {
  return options_.keeps_texts && job.request().asked.keeps_text;
}

void KeptTexts::KeepPrompt(const Job& job) {
  if (!MayKeep(job)) return;
  Result<TextPrefix> prefix = generator_.Share(*job.session, job.prompt());
  if (prefix.ok()) cache_.Keep(*std::move(prefix));
}

void KeptTexts::Keep(Job& job) {
  if (MayKeep(job)) cache_.Keep(generator_.Leave(std::move(job.session)));
  job.session.reset();
}

bool KeptTexts::EvictOldest() {
  const bool holds_any = cache_.size() > 0;
  if (holds_any) cache_.ShrinkTo(cache_.bytes() - 1);
  return holds_any;
}

bool KeptTexts::EvictAll() {
  const bool holds_any = cache_.size() > 0;
  cache_.ShrinkTo(0);
  return holds_any;
}

size_t KeptTexts::bytes() const { return cache_.bytes(); }

size_t KeptTexts::row_bytes() const {
  const ModelConfig& c = model_.config();
  return 2 * static_cast<size_t>(c.layers) *
         RowBytes(options_.cache_type, static_cast<int64_t>(c.kv_heads) * c.head_dim);
}

}  // namespace foretoken
