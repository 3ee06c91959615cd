#include "engine/generator.h"

#include <algorithm>
#include <numeric>

#include "base/rng.h"
#include "base/timer.h"
#include "tree/selection.h"
#include "verify/tree_filter.h"

namespace foretoken {
namespace {

// Lays the trees out as rows, one sequence after another.
RowBatch Layout(std::span<Session* const> batch, std::span<const CandidateTree> trees) {
  RowBatch rows;
  for (size_t s = 0; s < batch.size(); ++s) {
    for (Node n = 0; n < trees[s].size(); ++n) {
      rows.token.push_back(trees[s].token(n));
      rows.position.push_back(batch[s]->cache().length() + trees[s].depth(n));
      rows.parent.push_back(trees[s].parent(n));
    }
    rows.begin.push_back(rows.rows());
  }
  return rows;
}

std::vector<CandidateTree> FinishAll(std::span<const TreeBuilder> builders) {
  std::vector<CandidateTree> trees;
  trees.reserve(builders.size());
  for (const TreeBuilder& b : builders) trees.push_back(b.Finish());
  return trees;
}

// `kept`: tokens of the cycle that the answer keeps. `offered`: the tree before it was cut.
Cycle CycleOf(const CandidateTree& tree, const CandidateTree& offered, const Acceptance& accepted,
              size_t kept) {
  Cycle cycle{.n_acc = static_cast<int>(std::min(accepted.path.size() - 1, kept)),
              .written = static_cast<int>(kept),
              .nodes = tree.size() - 1,
              .max_depth = tree.max_depth(),
              .drafted_depth = tree.size() > 1 ? offered.max_depth() : 0,
              .guesses = GuessesAlong(tree, accepted.path, kept)};
  for (const WeighedToken& token : accepted.weighed) {
    if (token.depth >= cycle.written) continue;
    ++cycle.weighed;
    cycle.overlap += token.overlap;
  }
  return cycle;
}

}  // namespace

Generator::Generator(Model& target, Drafter* drafter, Verifier& verifier,
                     const GeneratorOptions& options)
    : target_(target), drafter_(drafter), verifier_(verifier), options_(options) {
  if (drafter_ != nullptr) {
    needs_ = drafter_->Needs();
    needs_unread_ = drafter_->NeedsUnread();
  }
  if (drafter_ == nullptr || options.costs == nullptr || !options.policy->UsesEconomy()) return;
  std::vector<DraftPart> parts = drafter_->Parts();
  for (DraftPart& part : parts) {
    if (part.name.empty()) part.name = options.drafter;
  }
  observer_.emplace(*options.costs, parts, target.weight_bytes(), options.refresh_costs);
}

std::unique_ptr<Session> Generator::Start(const SessionOptions& options) {
  FT_CHECK(options.capacity >= 1);
  const int usual = options.capacity + std::min(options_.limits.max_nodes, target_.max_rows());
  auto session = std::make_unique<Session>(options, target_.NewCache(usual, options.cache_type),
                                           drafter_ != nullptr ? drafter_->NewState() : nullptr);
  SetSampling(*session, options.sampling);
  return session;
}

void Generator::SetSampling(Session& session, const SamplingParams& sampling) const {
  const SamplingParams adapted = verifier_.Adapt(sampling);
  session.sampler_ = Sampler(adapted);
  session.draft_sampling_ = DraftSampling(adapted);
}

// What offers are ranked by. Draws that a verifier weighs come from the sampling itself: no choice
// of noise may bend the law.
SamplingParams Generator::DraftSampling(SamplingParams sampling) const {
  const bool shared = options_.noise == DraftNoise::kAuto ? verifier_.SharesNoise()
                                                          : options_.noise == DraftNoise::kShared;
  if (!shared && !verifier_.NeedsDraws()) sampling.temperature = 0;
  return sampling;
}

Status Generator::Step(std::span<Session* const> batch) {
  const Status status = Run(batch);
  if (!status.ok()) Break(batch);
  return status;
}

Status Generator::Run(std::span<Session* const> batch) {
  RoundSeconds seconds;
  Offers offers;
  std::vector<CandidateTree> trees;
  {
    const Timer timer(seconds.propose);
    FT_ASSIGN_OR_RETURN(offers, Propose(batch));
    trees = FinishAll(offers.builders);
  }
  Pass pass;
  std::vector<Acceptance> accepted;
  {
    const Timer timer(seconds.verify);
    FT_ASSIGN_OR_RETURN(pass, Score(batch, std::move(trees), LogitRows::kAll));
    accepted = Verify(batch, pass);
    FT_RETURN_IF_ERROR(CheckChosen(batch, pass.trees, accepted));
    for (size_t s = 0; s < batch.size(); ++s) batch[s]->cache_->Commit(accepted[s].path);
  }
  Status learned;
  {
    const Timer timer(seconds.learn);
    learned = Learn(batch, pass, accepted, /*prompt=*/false);
  }
  // What was accepted is written all the same.
  if (!learned.ok()) Break(batch);
  Write(batch, offers, pass, accepted, seconds);
  return learned;
}

// Lengthens the texts, and takes note of what that took.
void Generator::Write(std::span<Session* const> batch, const Offers& offers, const Pass& pass,
                      std::span<const Acceptance> accepted, const RoundSeconds& seconds) {
  // Costs charge the drafter for its first reading of a prompt; reports, as the papers, do not.
  double reading = 0;
  for (const TreeBuilder& builder : offers.builders) reading += builder.reading_seconds();
  const double draft_seconds = std::max(0.0, seconds.propose - reading) + seconds.learn;
  const auto share = static_cast<double>(batch.size());
  std::vector<ObservedCycle> observed;
  for (size_t s = 0; s < batch.size(); ++s) {
    const size_t kept = Extend(*batch[s], pass.trees[s], accepted[s]);
    const TreeBuilder& builder = offers.builders[s];
    Cycle cycle = CycleOf(pass.trees[s], builder.tree(), accepted[s], kept);
    cycle.draft_seconds = draft_seconds / share;
    cycle.verify_seconds = seconds.verify / share;
    batch[s]->cycles.push_back(std::move(cycle));
    if (!observer_) continue;
    const auto path = std::span(accepted[s].path);
    observed.push_back({batch[s]->costs_, offers.economies[s], builder, IsWorthAsking(offers, s),
                        pass.trees[s], path.first(std::min(path.size(), kept + 1)),
                        std::span(batch[s]->tokens).last(kept)});
  }
  seconds_.prefill += reading;
  seconds_.reading += reading;
  seconds_.draft += draft_seconds;
  seconds_.verify += seconds.verify;
  if (!observer_) return;
  observer_->Observe(observed, pass.begin.back(), seconds);
  for (Session* s : batch) {
    if (s->done()) observer_->EndAnswer(s->costs_, s->finish != Finish::kStop);
  }
}

Result<std::vector<CandidateTree>> Generator::Draft(std::span<Session* const> batch) {
  Result<Offers> offers = Propose(batch);
  if (offers.ok()) return FinishAll(offers->builders);
  Break(batch);
  return offers.error();
}

Result<Generator::Offers> Generator::Propose(std::span<Session* const> batch) {
  const int size = static_cast<int>(batch.size());
  Offers offers;
  offers.economies.reserve(batch.size());  // builders point at them
  offers.builders.reserve(batch.size());
  for (const Session* s : batch) {
    FT_CHECK(!s->done() && !s->broken_);
    FT_CHECK(s->cache_->length() + 1 == static_cast<int>(s->tokens.size()));
    const TreeEconomy* economy = nullptr;
    if (observer_) {
      const int left = s->limit - static_cast<int>(s->tokens.size());
      economy = &offers.economies.emplace_back(
          observer_->EconomyOf(s->costs_, s->cache_->length(), size, left));
    }
    offers.builders.emplace_back(s->tokens.back(), LimitsFor(*s, size), *options_.policy,
                                 DrawKey(*s), economy);
    if (s->filter_) offers.builders.back().SetFilter(std::make_shared<TreeFilter>(*s->filter_));
  }
  if (drafter_ == nullptr) return offers;
  std::vector<DraftSlot> slots;
  slots.reserve(batch.size());
  for (size_t s = 0; s < batch.size(); ++s) {
    if (!IsWorthAsking(offers, s)) continue;
    slots.push_back(batch[s]->Slot(offers.builders[s]));
  }
  if (!slots.empty()) {
    FT_RETURN_IF_ERROR(drafter_->Propose(slots));
    FT_RETURN_IF_ERROR(target_.backend().TakeFailure());
  }
  return offers;
}

bool Generator::IsWorthAsking(const Offers& offers, size_t sequence) const {
  const TreeBuilder& builder = offers.builders[sequence];
  if (observer_) return observer_->IsWorthAsking(offers.economies[sequence], builder);
  return builder.limits().max_nodes > 1;
}

// Greedy verification compares tokens, whatever they were drawn from.
std::optional<uint64_t> Generator::DrawKey(const Session& session) const {
  const SamplingParams& sampling = session.sampling();
  if (!verifier_.NeedsDraws() || sampling.greedy()) return std::nullopt;
  uint64_t key = SeedFor(sampling.seed, Purpose::kDraft);
  for (Token token : session.tokens) key = TreeBuilder::KeyAfter(key, token);
  return key;
}

// A cycle writes at most depth + 1 tokens, so that no node lies beyond the context; the pass must
// hold every node, for which the cache makes room.
TreeLimits Generator::LimitsFor(const Session& session, int batch) const {
  TreeLimits limits = options_.limits;
  const int left = session.limit - static_cast<int>(session.tokens.size());
  limits.max_depth = std::max(0, std::min(limits.max_depth, left - 1));
  limits.max_nodes = std::min(limits.max_nodes, target_.max_rows() / batch);
  FT_CHECK(limits.max_nodes >= 1);
  return limits;
}

Result<Generator::Pass> Generator::Score(std::span<Session* const> batch,
                                         std::vector<CandidateTree> trees, LogitRows wanted) {
  RowBatch rows = Layout(batch, trees);
  if (wanted == LogitRows::kLast) rows.logit_rows = {rows.rows() - 1};
  if (wanted == LogitRows::kAll) {
    rows.logit_rows.resize(static_cast<size_t>(rows.rows()));
    std::iota(rows.logit_rows.begin(), rows.logit_rows.end(), 0);
  }
  std::vector<KvCache*> caches;
  caches.reserve(batch.size());
  for (Session* s : batch) caches.push_back(s->cache_.get());
  Pass pass{std::move(trees), rows.begin, std::vector<Taps>(batch.size()), {}, {}};
  for (size_t s = 0; s < batch.size(); ++s) {
    pass.may_read.push_back(batch[s]->cache_->length() >= batch[s]->read_from_);
  }
  const bool may_read = std::ranges::find(pass.may_read, true) != pass.may_read.end();
  const Timer timer(seconds_.forward);
  auto logits = target_.Forward(rows, caches, may_read ? needs_ : needs_unread_, pass.taps);
  if (!logits.ok()) {
    for (KvCache* cache : caches) cache->Commit({});
    return logits.error();
  }
  pass.logits = *logits;
  return pass;
}

std::vector<Acceptance> Generator::Verify(std::span<Session* const> batch, const Pass& pass) {
  std::vector<Scoring> scored;
  for (size_t s = 0; s < batch.size(); ++s) {
    scored.push_back({pass.trees[s], pass.logits.Rows(pass.begin[s], pass.trees[s].size()),
                      batch[s]->tokens, batch[s]->sampler_, batch[s]->filter_.get(),
                      batch[s]->logprobs_});
  }
  return verifier_.Verify(scored);
}

Status Generator::CheckChosen(std::span<Session* const> batch, std::span<const CandidateTree> trees,
                              std::span<const Acceptance> accepted) const {
  for (size_t s = 0; s < batch.size(); ++s) {
    if (accepted[s].next != kNoToken) continue;
    const int position = batch[s]->cache_->length() + trees[s].depth(accepted[s].path.back());
    for (Session* each : batch) each->cache_->Commit({});
    if (accepted[s].is_dead_end) {
      return Error{"after position " + std::to_string(position) +
                   " no token of the model's vocabulary may follow: the text cannot be continued "
                   "as its grammar demands"};
    }
    return Error{"the pass at position " + std::to_string(position) +
                 " gave a logit that is not a number (NaN): a weight of the model is wrong, or "
                 "values overflowed"};
  }
  return {};
}

Status Generator::Learn(std::span<Session* const> batch, const Pass& pass,
                        std::span<const Acceptance> accepted, bool prompt) {
  if (drafter_ == nullptr) return {};
  std::vector<std::vector<Token>> committed;
  for (size_t s = 0; s < batch.size(); ++s) {
    committed.push_back(pass.trees[s].TokensOf(accepted[s].path));
  }
  std::vector<Observation> seen;
  for (size_t s = 0; s < batch.size(); ++s) {
    seen.push_back({*batch[s]->draft_, committed[s], accepted[s].next, pass.trees[s],
                    accepted[s].path, pass.taps[s], prompt, pass.may_read[s]});
  }
  FT_RETURN_IF_ERROR(drafter_->Observe(seen));
  return target_.backend().TakeFailure();
}

// Returns how many tokens the answer is longer by.
size_t Generator::Extend(Session& session, const CandidateTree& tree, const Acceptance& accepted) {
  const size_t before = session.tokens.size();
  for (size_t i = 1; i < accepted.path.size(); ++i) {
    session.tokens.push_back(tree.token(accepted.path[i]));
    session.sources.push_back(tree.source(accepted.path[i]));
  }
  session.tokens.push_back(accepted.next);
  session.sources.push_back(kNoPos);
  FT_CHECK(session.cache_->length() + 1 == static_cast<int>(session.tokens.size()));
  Account(session, accepted, session.tokens.size() - before);
  CheckFinish(session, before);
  return session.tokens.size() - before;
}

// Keeps the log-probabilities of the last `gained` tokens, and what may follow them.
void Generator::Account(Session& session, const Acceptance& accepted, size_t gained) {
  if (session.filter_) {
    for (Token t : std::span(session.tokens).last(gained)) session.filter_->Accept(t);
  }
  session.logprobs.insert(session.logprobs.end(), accepted.logprobs.begin(),
                          accepted.logprobs.end());
}

// Ends the answer after the first stop token among tokens [first_new, end), else at its limit.
void Generator::CheckFinish(Session& session, size_t first_new) {
  auto& tokens = session.tokens;
  const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(first_new);
  const auto stop =
      std::find_first_of(begin, tokens.end(), session.stop_.begin(), session.stop_.end());
  if (stop != tokens.end()) {
    tokens.erase(stop + 1, tokens.end());
    session.sources.resize(session.written().size());
    if (session.logprobs_ >= 0) session.logprobs.resize(session.written().size());
    session.finish = Finish::kStop;
    Rewind(session, std::min(session.cache_->length(), static_cast<int>(tokens.size()) - 1));
  } else if (static_cast<int>(tokens.size()) >= session.limit) {
    session.finish = session.limit == session.context_ ? Finish::kContext : Finish::kLimit;
  }
}

void Generator::Rewind(Session& session, int length) {
  if (session.cache_->length() == length) return;
  session.cache_->Truncate(length);
  if (drafter_ != nullptr && !session.broken_) drafter_->Truncate(*session.draft_, length);
}

// An error may have kept a second one from being asked for.
void Generator::Break(std::span<Session* const> batch) const {
  for (Session* s : batch) s->broken_ = true;
  const Status known = target_.backend().TakeFailure();
  (void)known;
}

// After an error nothing of the text is taken over.
void Generator::Renew(Session& session) const {
  session.cache_->Truncate(0);
  if (drafter_ != nullptr) session.draft_ = drafter_->NewState();
  session.broken_ = false;
}

}  // namespace foretoken
