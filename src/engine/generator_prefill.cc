// What the generator does with prompts.
#include <algorithm>
#include <numeric>
#include <string>

#include "base/timer.h"
#include "engine/generator.h"

namespace foretoken {
namespace {

int CommonPrefix(std::span<const Token> a, std::span<const Token> b) {
  return static_cast<int>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

}  // namespace

Status Generator::Prefill(Session& session, std::span<const Token> prompt, int max_new) {
  const Timer timer(seconds_.prefill);
  const int size = static_cast<int>(prompt.size()), context = session.context_;
  if (prompt.empty()) return Error{"the prompt is empty"};
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
  if (session.broken_) Renew(session);
  // The last prompt token is always scored again: its logits choose the first new token.
  const int held = session.cache_->length();
  const int common =
      CommonPrefix(std::span(session.tokens).first(static_cast<size_t>(held)), prompt);
  session.reused = std::min(common, size - 1);
  Rewind(session, session.reused);
  session.tokens.assign(prompt.begin(), prompt.end());
  session.prompt = size;
  session.limit = std::min(context, max_new < context - size ? size + max_new : context);
  session.finish = Finish::kNot;
  if (observer_) {
    // What was learned of a text says little of one that shares only its beginning.
    const bool is_new = session.reused < size / 2 || session.costs_.governors.empty();
    if (is_new) observer_->BeginText(session.costs_);
    observer_->BeginAnswer(session.costs_, session.limit - size);
    if (session.reused == 0) session.read_from_ = 0;
    // Decided once a text, but for one of which nothing that is left was read.
    const bool has_read = session.reused > 0 && session.read_from_ < session.reused;
    if (!has_read && options_.policy->MayDecline()) {
      const int count = observer_->TokensWorthReading(session.costs_, size - session.reused);
      session.read_from_ = count > 0 ? size - count : Session::kNever;
    }
  }
  session.cycles.clear();
  session.sources.clear();
  session.logprobs.clear();
  session.filter_ = session.answer_filter_ ? session.answer_filter_->Fork() : nullptr;
  const Result<int> scored = PrefillText(session);
  if (!scored.ok()) {
    Session* batch[] = {&session};
    Break(batch);
    return scored.error();
  }
  if (*scored < size) {
    session.tokens.resize(static_cast<size_t>(*scored));
    session.prompt = *scored;
    return Error{"stopped after " + std::to_string(*scored) + " of the prompt's " +
                 std::to_string(size) + " tokens"};
  }
  CheckFinish(session, static_cast<size_t>(size));
  return {};
}

// Returns how many of the prompt's tokens are cached: all, unless it was stopped.
Result<int> Generator::PrefillText(Session& session) {
  constexpr int kAhead = 256;  // tokens of an answer whose rows are reserved with the prompt's
  const int size = session.prompt;
  const int nodes = std::min(options_.limits.max_nodes, target_.max_rows());
  const int ahead = std::min(session.limit - size, kAhead) + nodes;
  // Where there is no memory for that, the prompt may still have its own.
  if (!session.cache_->Reserve(size + ahead).ok())
    FT_RETURN_IF_ERROR(session.cache_->Reserve(size));
  for (int begin = session.reused; begin < size;) {
    const bool may_stop = begin > session.reused && session.is_stopped_;
    if (may_stop && session.is_stopped_()) return begin;
    int end = std::min(size, begin + target_.max_rows());
    if (begin < session.read_from_) end = std::min(end, session.read_from_);
    FT_RETURN_IF_ERROR(PrefillChunk(session, begin, end));
    begin = end;
  }
  return size;
}

Status Generator::PrefillChunk(Session& session, int begin, int end) {
  Session* batch[] = {&session};
  const bool last = end == session.prompt;
  const auto chunk = std::span(session.tokens).subspan(begin, end - begin);
  FT_ASSIGN_OR_RETURN(const Pass pass, Score(batch, {CandidateTree::Chain(chunk)},
                                             last ? LogitRows::kLast : LogitRows::kNone));
  Acceptance accepted;  // a prompt is given: every row is right
  accepted.path.resize(chunk.size());
  std::iota(accepted.path.begin(), accepted.path.end(), 0);
  if (last) {
    const CandidateTree root(session.tokens.back());
    const Scoring scoring{root,
                          pass.logits,
                          session.tokens,
                          session.sampler_,
                          session.filter_.get(),
                          session.logprobs_};
    Acceptance first = verifier_.Verify(std::span(&scoring, 1))[0];
    accepted.next = first.next;
    accepted.is_dead_end = first.is_dead_end;
    accepted.logprobs = std::move(first.logprobs);
    FT_RETURN_IF_ERROR(CheckChosen(batch, pass.trees, std::span(&accepted, 1)));
  } else {
    accepted.next = session.tokens[static_cast<size_t>(end)];
  }
  session.cache_->Commit(accepted.path);
  if (last) {
    session.tokens.push_back(accepted.next);
    session.sources.push_back(kNoPos);
    Account(session, accepted, 1);
  }
  return Learn(batch, pass, std::span(&accepted, 1), /*prompt=*/true);
}

}  // namespace foretoken
