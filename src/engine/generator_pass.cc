// The part of Generator that scores and verifies trees, and commits and writes what was accepted.
#include <algorithm>
#include <numeric>

#include "base/timer.h"
#include "engine/generator.h"

namespace foretoken {
namespace {

// `kept`: tokens of the cycle that the answer keeps. `offered`: the tree before it was cut.
Cycle CycleOf(const CandidateTree& tree, const CandidateTree& offered, const Acceptance& accepted,
              size_t kept) {
  Cycle cycle{.n_acc = static_cast<int>(std::min(accepted.path.size() - 1, kept)),
              .written = static_cast<int>(kept),
              .nodes = tree.size() - 1,
              .max_depth = tree.max_depth(),
              .drafted_depth = tree.size() > 1 ? offered.max_depth() : 0,
              .guesses = GuessesAlong(tree, accepted.path, kept)};
  for (Node n = 1; n < tree.size(); ++n) cycle.predicted += tree.predicted(n) != kNoPos ? 1 : 0;
  for (const WeighedToken& token : accepted.weighed) {
    if (token.depth >= cycle.written) continue;
    ++cycle.weighed;
    cycle.overlap += token.overlap;
  }
  return cycle;
}

// If no token can follow the last accepted node, because the filter allows none or a logit is NaN,
// takes that node's token back and makes it the next root. Autoregressive decoding would write that
// token, too: it may end the text, and if it does not, the next pass reports the error. So the
// outcome does not depend on the tree.
void WriteBeforeItFails(const CandidateTree& tree, Acceptance& accepted) {
  if (accepted.next != kNoToken || accepted.path.size() == 1) return;
  accepted.next = tree.token(accepted.path.back());
  accepted.path.pop_back();
  accepted.is_dead_end = false;
}

}  // namespace

// Reserves cache rows. A session without memory for its rows is broken; other sessions continue.
void Generator::ReserveRows(Lanes& lanes) const {
  for (const auto& lane : lanes) {
    Session& s = lane->session;
    // All rows of a prompt are reserved at once, so that a prompt that does not fit is not started.
    // Rows of the answer are reserved as they are written.
    const int rows = lane->chunk > 0 ? s.prompt : s.cache_->length() + lane->tree.size();
    const Status status = s.cache_->Reserve(rows);
    if (!status.ok()) Break(s, status.error());
  }
  DropBroken(lanes);
}

// Lays out the rows of all lanes, lane after lane. Logits are wanted for all rows of a tree, and
// for the last row of a prompt.
RowBatch Generator::RowsOf(const Lanes& lanes) {
  RowBatch rows;
  for (const auto& lane : lanes) {
    const CandidateTree& tree = lane->tree;
    const int first = rows.rows(), length = lane->session.cache_->length();
    for (Node n = 0; n < tree.size(); ++n) {
      rows.token.push_back(tree.token(n));
      rows.position.push_back(length + tree.depth(n));
      rows.parent.push_back(tree.parent(n));
    }
    rows.begin.push_back(rows.rows());
    lane->logits_begin = static_cast<int>(rows.logit_rows.size());
    lane->logits = lane->chunk == 0 ? tree.size() : lane->ends_prompt ? 1 : 0;
    for (int i = lane->logits; i > 0; --i) rows.logit_rows.push_back(first + tree.size() - i);
  }
  return rows;
}

// Merges the taps that drafters need for any lane; they are taken in all lanes.
TapSpec Generator::NeedsOf(const Lanes& lanes) const {
  TapSpec needs;
  for (size_t d = 0; d < speculations_.size(); ++d) {
    bool reads = false, leaves_out = false;
    for (const auto& lane : lanes) {
      if (DrafterOf(*lane) != d) continue;
      reads = reads || lane->may_read;
      leaves_out = leaves_out || !lane->may_read;
    }
    if (reads) needs = Merge(needs, speculations_[d].needs);
    if (leaves_out) needs = Merge(needs, speculations_[d].needs_unread);
  }
  return needs;
}

Status Generator::Score(const Lanes& lanes, Pass& pass) {
  const RowBatch rows = RowsOf(lanes);
  std::vector<KvCache*> caches;
  caches.reserve(lanes.size());
  for (const auto& lane : lanes) {
    Session& s = lane->session;
    lane->may_read = s.cache_->length() >= s.read_from_;
    caches.push_back(s.cache_.get());
    pass.chunk_rows += lane->chunk;
  }
  pass.rows = rows.rows();
  pass.taps.resize(lanes.size());
  const Timer timer(seconds_.forward);
  auto logits = target_.Forward(rows, caches, NeedsOf(lanes), pass.taps);
  if (!logits.ok()) {
    for (KvCache* cache : caches) cache->Commit({});
    return logits.error();
  }
  pass.logits = *logits;
  return {};
}

// Runs the verifier on all trees, and on the last row of each prompt that ends.
void Generator::Verify(const Lanes& lanes, const Pass& pass) {
  std::vector<CandidateTree> roots;
  std::vector<Scoring> scored;
  std::vector<Lane*> chooses;
  roots.reserve(lanes.size());  // `scored` holds references to them
  for (const auto& lane : lanes) {
    Session& s = lane->session;
    if (lane->chunk > 0) {  // all tokens of a prompt are accepted
      lane->accepted.path.resize(static_cast<size_t>(lane->chunk));
      std::iota(lane->accepted.path.begin(), lane->accepted.path.end(), 0);
      const auto end = static_cast<size_t>(s.cache_->length() + lane->chunk);
      if (!lane->ends_prompt) lane->accepted.next = s.tokens[end];
    }
    if (lane->logits == 0) continue;
    if (lane->chunk > 0) roots.emplace_back(s.tokens.back());
    const CandidateTree& tree = lane->chunk > 0 ? roots.back() : lane->tree;
    scored.push_back({tree, pass.logits.Rows(lane->logits_begin, lane->logits), s.tokens,
                      s.sampler_, s.filter_.get(), s.logprobs_});
    chooses.push_back(lane.get());
  }
  if (scored.empty()) return;
  std::vector<Acceptance> accepted = verifier_.Verify(scored);
  for (size_t i = 0; i < chooses.size(); ++i) {
    if (chooses[i]->chunk > 0) {
      chooses[i]->accepted.next = accepted[i].next;
      chooses[i]->accepted.is_dead_end = accepted[i].is_dead_end;
      chooses[i]->accepted.logprobs = std::move(accepted[i].logprobs);
    } else {
      chooses[i]->accepted = std::move(accepted[i]);
      WriteBeforeItFails(chooses[i]->tree, chooses[i]->accepted);
    }
  }
}

// Commits accepted rows. A session without a next token is broken, and its rows of this pass are
// dropped.
void Generator::Commit(const Lanes& lanes) const {
  for (const auto& lane : lanes) {
    Session& s = lane->session;
    if (lane->accepted.next != kNoToken) {
      s.cache_->Commit(lane->accepted.path);
      continue;
    }
    const int position = s.cache_->length() + lane->tree.depth(lane->accepted.path.back());
    s.cache_->Commit({});
    s.failed_by_itself_ = true;
    if (lane->accepted.is_dead_end) {
      Break(s, Error{"after position " + std::to_string(position) +
                     " no token of the model's vocabulary may follow: the text cannot be continued "
                     "as its grammar demands"});
      continue;
    }
    Break(s, Error{target_.origin() + ": the pass at position " + std::to_string(position) +
                   " gave a logit that is not a number (NaN): a weight is wrong, or values "
                   "overflowed"});
  }
}

void Generator::Learn(const Lanes& lanes, const Pass& pass, DraftTimes& times) {
  std::vector<std::vector<Token>> committed;
  for (const auto& lane : lanes) committed.push_back(lane->tree.TokensOf(lane->accepted.path));
  for (size_t d = 0; d < speculations_.size(); ++d) {
    if (speculations_[d].drafter == nullptr) continue;
    std::vector<Observation> seen;
    for (size_t l = 0; l < lanes.size(); ++l) {
      const Lane& lane = *lanes[l];
      const Session& s = lane.session;
      if (s.broken_ || DrafterOf(lane) != d) continue;
      seen.push_back({*s.draft_, committed[l], lane.accepted.next, lane.tree, lane.accepted.path,
                      pass.taps[l], lane.chunk > 0, lane.may_read});
    }
    if (seen.empty()) continue;
    const Timer timer(times[d].learn);
    Status status = speculations_[d].drafter->Observe(seen);
    if (status.ok()) status = target_.backend().TakeFailure();
    if (!status.ok()) BreakAll(lanes, status.error(), d);
  }
}

// Appends accepted tokens to the texts, and accounts for the times of the pass.
void Generator::Write(const Lanes& lanes, const Pass& pass, double verify,
                      const DraftTimes& times) {
  const double of_prompts = static_cast<double>(pass.chunk_rows) / pass.rows;
  const double of_trees = static_cast<double>(pass.rows - pass.chunk_rows) / pass.rows;
  const auto writing = std::ranges::count_if(lanes, [](const auto& l) { return l->chunk == 0; });
  seconds_.prefill += verify * of_prompts;
  seconds_.verify += verify * of_trees;
  std::vector<const CostModel*> taught;  // cost models that were given the time of this pass
  for (size_t d = 0; d < speculations_.size(); ++d) {
    double reading = 0;  // seconds of reading prompts that drafters had postponed
    int sessions = 0, rows = 0, chunk_rows = 0;
    for (const auto& lane : lanes) {
      if (DrafterOf(*lane) != d) continue;
      if (lane->builder) reading += lane->builder->reading_seconds();
      sessions += lane->chunk == 0 ? 1 : 0;
      rows += lane->tree.size();
      chunk_rows += lane->chunk;
    }
    if (rows == 0) continue;
    // A drafter's first reading of a prompt counts as drafting in cost models. Reports count it as
    // prefill, following the papers.
    const double of_own_prompts = static_cast<double>(chunk_rows) / rows;
    const double learn = times[d].learn * (1 - of_own_prompts);
    const double draft = std::max(0.0, times[d].propose - reading) + learn;
    seconds_.prefill += reading + times[d].learn * of_own_prompts;
    seconds_.reading += reading;
    seconds_.draft += draft;
    Round round{.rows = pass.rows, .prompts = pass.chunk_rows};
    round.sessions = static_cast<int>(writing);
    round.propose = times[d].propose;
    round.verify = verify * of_trees;
    round.learn = learn;
    const CostModel* costs = speculations_[d].options.costs;
    round.is_pass_known = std::ranges::find(taught, costs) != taught.end();
    if (WriteBy(lanes, d, round, draft / std::max(sessions, 1))) taught.push_back(costs);
  }
}

// Updates the averages from which LoadOf predicts the session's next cycle.
void Generator::NoteUsual(Session& session, const Lane& lane, double tokens) {
  constexpr double kNewest = 0.25;
  session.usual_nodes_ += kNewest * (lane.tree.size() - 1 - session.usual_nodes_);
  session.usual_levels_ += kNewest * (LevelsOf(lane) - session.usual_levels_);
  session.usual_tokens_ += kNewest * (tokens - session.usual_tokens_);
}

int Generator::LevelsOf(const Lane& lane) {
  int levels = 0;
  for (int part = 0; part < lane.builder->parts(); ++part) {
    levels = std::max(levels, lane.builder->levels(part));
  }
  return levels;
}

// The actual load of the pass, for a session that took part in it.
PassLoad Generator::LoadAfter(const Lane& own, const Lanes& lanes, const Round& round) {
  PassLoad load = own.economy->cycle().load;
  load.sessions = round.sessions;
  load.prompts = round.prompts;
  load.own_nodes = own.tree.size() - 1;
  load.nodes = round.rows - round.prompts - round.sessions - load.own_nodes;
  load.levels.clear();
  for (const auto& lane : lanes) {
    if (lane.get() == &own || !lane->asked || DrafterOf(*lane) != DrafterOf(own)) continue;
    load.levels.push_back(LevelsOf(*lane));
  }
  return load;
}

bool Generator::WriteBy(const Lanes& lanes, size_t drafter, const Round& round, double draft) {
  Speculation& by = speculations_[drafter];
  std::vector<ObservedCycle> observed;
  for (const auto& lane : lanes) {
    Session& s = lane->session;
    // Accepted tokens are written even if the drafter failed to observe them.
    if (DrafterOf(*lane) != drafter || lane->accepted.next == kNoToken) continue;
    if (lane->chunk > 0) {
      if (lane->ends_prompt) EndPrompt(s, lane->accepted);
      continue;
    }
    const size_t kept = Extend(s, lane->tree, lane->accepted);
    Cycle cycle = CycleOf(lane->tree, lane->builder->tree(), lane->accepted, kept);
    cycle.draft_seconds = draft;
    cycle.verify_seconds = round.verify / round.sessions;
    s.cycles.push_back(std::move(cycle));
    NoteUsual(s, *lane, static_cast<double>(kept));
    if (!by.observer) continue;
    lane->economy->SetLoad(LoadAfter(*lane, lanes, round));
    const auto path = std::span(lane->accepted.path);
    observed.push_back({s.costs_, *lane->economy, *lane->builder, lane->asked, lane->tree,
                        path.first(std::min(path.size(), kept + 1)),
                        std::span(s.tokens).last(kept)});
  }
  if (observed.empty()) return false;
  by.observer->Observe(observed, round);
  for (const auto& lane : lanes) {
    Session& s = lane->session;
    if (lane->chunk > 0 || DrafterOf(*lane) != drafter || !s.done()) continue;
    by.observer->EndAnswer(s.costs_, s.finish != Finish::kStop);
  }
  return by.options.refresh_costs;
}

}  // namespace foretoken
