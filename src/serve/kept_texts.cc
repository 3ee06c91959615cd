#include "serve/kept_texts.h"

namespace foretoken {

Status KeptTexts::Begin(Job& job) {
  const ActiveRequest& request = job.request();
  auto session = generator_.Start({.sampling = job.Sampling(),
                                   .stop = request.stop_tokens,
                                   .capacity = options_.context,
                                   .cache_type = options_.cache_type,
                                   .drafter = request.asked.drafter});
  const int left = request.limit - static_cast<int>(job.text().size());
  FT_RETURN_IF_ERROR(generator_.Begin(*session, job.text(), left));
  job.session = std::move(session);
  return {};
}

void KeptTexts::KeepPrompt(const Job& job) { (void)job; }

void KeptTexts::Keep(Job& job) { job.session.reset(); }

bool KeptTexts::Evict(size_t bytes) { return bytes > this->bytes(); }

size_t KeptTexts::bytes() const { return 0; }

size_t KeptTexts::row_bytes() const {
  const ModelConfig& c = model_.config();
  return 2 * static_cast<size_t>(c.layers) *
         RowBytes(options_.cache_type, static_cast<int64_t>(c.kv_heads) * c.head_dim);
}

size_t KeptTexts::BytesOf(const Session& session) const { return session.cache().bytes(); }

}  // namespace foretoken
