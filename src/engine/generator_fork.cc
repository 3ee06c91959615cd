// The part of Generator that shares common prefixes between texts.
#include <algorithm>
#include <utility>

#include "engine/generator.h"
#include "engine/prefix_cache.h"

namespace foretoken {

Result<TextPrefix> Generator::Share(const Session& session, int length) const {
  FT_CHECK(!session.broken_ && 0 <= length && length <= session.cache_->length());
  TextPrefix prefix{.tokens = {session.tokens.begin(), session.tokens.begin() + length},
                    .cache = nullptr,
                    .drafter = Of(session).drafter,
                    .draft = nullptr,
                    .read_from = session.read_from_};
  FT_ASSIGN_OR_RETURN(prefix.cache, session.cache_->Fork(length));
  if (prefix.drafter != nullptr) {
    FT_ASSIGN_OR_RETURN(prefix.draft, prefix.drafter->Fork(*session.draft_, length));
  }
  return prefix;
}

Status Generator::ShareWith(PrefixCache& cache, const Session& session, int length) const {
  FT_CHECK(!session.broken_ && 0 <= length && length <= session.cache_->length());
  const auto tokens = std::span(session.tokens).first(static_cast<size_t>(length));
  if (cache.Covers(tokens, Of(session).drafter, session.read_from_)) return {};
  FT_ASSIGN_OR_RETURN(TextPrefix prefix, Share(session, length));
  cache.Keep(std::move(prefix));
  return {};
}

TextPrefix Generator::Leave(std::unique_ptr<Session> session) const {
  FT_CHECK(!session->broken_);
  const int length = session->cache_->length();
  session->tokens.resize(static_cast<size_t>(length));
  session->cache_->Truncate(length);  // gives back pages reserved beyond it
  return {.tokens = std::move(session->tokens),
          .cache = std::move(session->cache_),
          .drafter = Of(*session).drafter,
          .draft = std::move(session->draft_),
          .read_from = session->read_from_};
}

// Leaves the session in the state after a stopped prompt, so that its next prompt continues from
// the rows it holds.
void Generator::Adopt(Session& session, TextPrefix prefix) const {
  FT_CHECK(session.tokens.empty() && session.cache_->length() == 0);
  FT_CHECK(prefix.cache->length() == prefix.length());
  FT_CHECK(prefix.cache->type() == session.cache_->type() && prefix.drafter == Of(session).drafter);
  session.tokens = std::move(prefix.tokens);
  session.prompt = static_cast<int>(session.tokens.size());
  session.cache_ = std::move(prefix.cache);
  session.draft_ = std::move(prefix.draft);
  session.read_from_ = prefix.read_from;
}

Result<std::unique_ptr<Session>> Generator::Fork(const Session& session,
                                                 const SessionOptions& options, int length) {
  FT_ASSIGN_OR_RETURN(TextPrefix prefix, Share(session, length < 0 ? session.prompt - 1 : length));
  std::unique_ptr<Session> fork = Start(options);
  Adopt(*fork, std::move(prefix));
  return fork;
}

Result<int> Generator::AdoptFrom(PrefixCache& cache, Session& session,
                                 std::span<const Token> prompt, int max_new) const {
  const int read_from = ReadFrom(Of(session), static_cast<int>(prompt.size()), max_new);
  FT_ASSIGN_OR_RETURN(auto found, cache.Find(prompt, Of(session).drafter, read_from));
  if (!found) return 0;
  const int length = found->length();
  Adopt(session, *std::move(found));
  return length;
}

size_t Generator::Bytes(const Session& session) const {
  return session.cache_->bytes_share() + DraftBytes(session);
}

size_t Generator::DraftBytes(const Session& session) const {
  const Drafter* drafter = Of(session).drafter;
  return drafter == nullptr ? 0 : drafter->StateBytes(*session.draft_);
}

int Generator::TouchPrefix(PrefixCache& cache, int drafter, std::span<const Token> prompt,
                           int max_new) const {
  const Speculation& by = speculations_[static_cast<size_t>(drafter)];
  return cache.Touch(prompt, by.drafter, ReadFrom(by, static_cast<int>(prompt.size()), max_new));
}

int Generator::PrefixFrom(const Session& other, int drafter, std::span<const Token> prompt,
                          int max_new) const {
  const Speculation& by = speculations_[static_cast<size_t>(drafter)];
  const auto kept = std::span(other.tokens).first(static_cast<size_t>(other.prompt));
  const size_t common = CommonTokens(kept, prompt.first(prompt.size() - 1));
  return UsablePrefix(static_cast<int>(common), Of(other).drafter, other.read_from_, by.drafter,
                      ReadFrom(by, static_cast<int>(prompt.size()), max_new));
}

int Generator::ReadFrom(const Session& session, int prompt, int max_new) const {
  return ReadFrom(Of(session), prompt, max_new);
}

int Generator::ReadFrom(const Speculation& by, int prompt, int max_new) {
  if (!by.observer || !by.options.policy->MayDecline()) return 0;
  const int count = by.observer->TokensWorthReading(prompt, max_new);
  return count > 0 ? prompt - count : Session::kNever;
}

int Generator::MostNodes() const {
  int most = 1;
  for (const Speculation& by : speculations_) most = std::max(most, by.options.limits.max_nodes);
  return most;
}

}  // namespace foretoken
