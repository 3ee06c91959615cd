// The part of Generator that begins and ends prompts.
#include <algorithm>
#include <string>

#include "engine/generator.h"
#include "engine/prefix_tree.h"

namespace foretoken {

Status Generator::CheckPrompt(const Session& session, std::span<const Token> prompt,
                              int max_new) const {
  const int size = static_cast<int>(prompt.size()), context = session.context_;
  if (prompt.empty()) {
    return Error{target_.origin() + ": the prompt has no tokens, expected at least one"};
  }
  if (max_new < 1)
    return Error{"the limit of new tokens is " + std::to_string(max_new) + ", expected 1 or more"};
  if (size >= context) {
    return Error{"the prompt has " + std::to_string(size) + " tokens and the context " +
                 std::to_string(context) + "; raise the context or shorten the prompt"};
  }
  const int vocab = target_.config().vocab;
  for (Token token : prompt) {
    if (token < 0 || token >= vocab) {
      return Error{"the prompt holds token " + std::to_string(token) + "; the model knows 0 to " +
                   std::to_string(vocab - 1)};
    }
  }
  return {};
}

Status Generator::Begin(Session& session, std::span<const Token> prompt, int max_new) {
  FT_RETURN_IF_ERROR(CheckPrompt(session, prompt, max_new));
  const int size = static_cast<int>(prompt.size()), context = session.context_;
  if (session.broken_) Renew(session);
  // The last prompt token is always scored again: its logits choose the first new token.
  const auto held = std::span(session.tokens).first(static_cast<size_t>(session.cache_->length()));
  const int common = static_cast<int>(CommonTokens(held, prompt));
  session.reused = std::min(common, size - 1);
  Rewind(session, session.reused);
  session.tokens.assign(prompt.begin(), prompt.end());
  session.prompt = size;
  session.limit = std::min(context, max_new < context - size ? size + max_new : context);
  session.finish = Finish::kNot;
  session.status = {};
  session.failed_by_itself_ = false;
  session.reading_ = true;
  session.begun_ = ++begun_;
  session.usual_nodes_ = session.usual_levels_ = 0;
  session.usual_tokens_ = 1;
  BeginCosts(session);
  session.cycles.clear();
  session.sources.clear();
  session.predicted.clear();
  session.prediction_.Begin(size);
  session.logprobs.clear();
  session.filter_ = session.answer_filter_ ? session.answer_filter_->Fork() : nullptr;
  return {};
}

void Generator::BeginCosts(Session& session) {
  Speculation& by = Of(session);
  if (!by.observer) return;
  const int size = session.prompt;
  // Costs and gains observed in a text say little about one that shares only its beginning.
  const bool is_new = session.reused < size / 2 || session.costs_.governors.empty();
  if (is_new) by.observer->BeginText(session.costs_);
  by.observer->BeginAnswer(session.costs_, session.limit - size);
  if (session.reused == 0) session.read_from_ = 0;
  // read_from is decided once for a text, and again if the drafter has read none of the rows that
  // were kept.
  const bool has_read = session.reused > 0 && session.read_from_ < session.reused;
  if (has_read || !by.options.policy->MayDecline()) return;
  const int count = by.observer->TokensWorthReading(session.costs_, size - session.reused);
  session.read_from_ = count > 0 ? size - count : Session::kNever;
}

Status Generator::Prefill(Session& session, std::span<const Token> prompt, int max_new) {
  FT_RETURN_IF_ERROR(Begin(session, prompt, max_new));
  Session* alone[] = {&session};
  while (session.reading()) FT_RETURN_IF_ERROR(Step(alone));
  return {};
}

// Returns the maximum number of tokens of the session's next chunk. A chunk does not cross
// read_from: the tokens that the drafter may not read and those that it may read are separate
// chunks.
int Generator::ChunkLimit(const Session& session) {
  const int begin = session.cache_->length();
  int end = session.prompt;
  if (begin < session.read_from_) end = std::min(end, session.read_from_);
  return end - begin;
}

void Generator::AskWhetherStopped(std::span<Session* const> batch) {
  for (Session* s : batch) {
    const int scored = s->cache_->length();
    if (!s->reading_ || scored == s->reused || !s->is_stopped_ || !s->is_stopped_()) continue;
    s->status = Error{"stopped after " + std::to_string(scored) + " of the prompt's " +
                      std::to_string(s->prompt) + " tokens"};
    s->tokens.resize(static_cast<size_t>(scored));
    s->prompt = scored;
    s->reading_ = false;
  }
}

// Ends a prompt whose tokens are all scored: appends the answer's first token.
void Generator::EndPrompt(Session& session, const Acceptance& accepted) {
  session.tokens.push_back(accepted.next);
  session.sources.push_back(kNoPos);
  session.predicted.push_back(kNoPos);
  session.reading_ = false;
  Account(session, accepted, 1);
  CheckFinish(session, session.tokens.size() - 1);
}

}  // namespace foretoken
