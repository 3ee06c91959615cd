#include "engine/generator.h"

#include <algorithm>

#include "base/timer.h"

namespace foretoken {

Generator::Generator(Model& target, Drafter* drafter, Verifier& verifier,
                     const GeneratorOptions& options)
    : target_(target), verifier_(verifier) {
  AddDrafter(drafter, options);
}

int Generator::AddDrafter(Drafter* drafter, const GeneratorOptions& options) {
  const int number = static_cast<int>(speculations_.size());
  Speculation& added = speculations_.emplace_back(Speculation{drafter, options, {}, {}, {}});
  if (drafter == nullptr) return number;
  added.needs = drafter->Needs();
  added.needs_unread = drafter->NeedsUnread();
  if (options.costs == nullptr || !options.policy->UsesEconomy()) return number;
  std::vector<DraftPart> parts = drafter->Parts();
  for (DraftPart& part : parts) {
    if (part.name.empty()) part.name = options.drafter;
  }
  added.observer.emplace(*options.costs, parts, target_.weight_bytes(), options.refresh_costs);
  return number;
}

void Generator::HoldCosts() {
  for (Speculation& by : speculations_) {
    if (by.observer) by.observer->HoldCosts();
  }
}

std::unique_ptr<Session> Generator::Start(const SessionOptions& options) {
  FT_CHECK(options.capacity >= 1);
  FT_CHECK(0 <= options.drafter && options.drafter < std::ssize(speculations_));
  const Speculation& by = speculations_[static_cast<size_t>(options.drafter)];
  const int usual = options.capacity + std::min(by.options.limits.max_nodes, target_.max_rows());
  auto session =
      std::make_unique<Session>(options, target_.NewCache(usual, options.cache_type),
                                by.drafter != nullptr ? by.drafter->NewState() : nullptr);
  SetSampling(*session, options.sampling);
  return session;
}

void Generator::SetSampling(Session& session, const SamplingParams& sampling) const {
  const SamplingParams adapted = verifier_.Adapt(sampling);
  session.sampler_ = Sampler(adapted);
  session.draft_sampling_ = DraftSampling(Of(session).options, verifier_, adapted);
}

// Sampling parameters with which drafters rank their offers. Draws that the verifier weighs must
// use the target's sampling, so that no choice of noise changes the distribution of the text.
SamplingParams Generator::DraftSampling(const GeneratorOptions& options, const Verifier& verifier,
                                        SamplingParams sampling) {
  const bool shared = options.noise == DraftNoise::kAuto ? verifier.SharesNoise()
                                                         : options.noise == DraftNoise::kShared;
  if (!shared && !verifier.NeedsDraws()) sampling.temperature = 0;
  return sampling;
}

Status Generator::Step(std::span<Session* const> batch, int budget) {
  FT_CHECK(!batch.empty() && budget >= 0);
  const int most = target_.max_rows();
  AskWhetherStopped(batch);
  std::vector<Session*> going;
  std::ranges::copy_if(batch, std::back_inserter(going), [](Session* s) { return s->status.ok(); });
  if (!going.empty()) Run(going, budget == 0 ? most : std::min(budget, most));
  const bool any = std::ranges::any_of(batch, [](Session* s) { return s->status.ok(); });
  return any ? Status() : batch[0]->status;
}

void Generator::Run(std::span<Session* const> batch, int budget) {
  DraftTimes times(speculations_.size());
  double layout = 0, verify = 0;
  Lanes lanes;
  {
    const Timer timer(layout);
    lanes = LayOut(batch, budget, times);
    ReserveRows(lanes);
  }
  if (lanes.empty()) return;
  for (const DraftSeconds& by : times) layout -= by.propose;
  for (const auto& lane : lanes) {
    double& total = lane->chunk > 0 ? seconds_.prefill : times[DrafterOf(*lane)].propose;
    total += layout / static_cast<double>(lanes.size());
  }
  ++passes_;
  Pass pass;
  {
    const Timer timer(verify);
    if (const Status scored = Score(lanes, pass); !scored.ok()) {
      return BreakAll(lanes, scored.error());
    }
    Verify(lanes, pass);
    Commit(lanes);
  }
  for (const auto& lane : lanes) lane->session.served_ = passes_;
  Learn(lanes, pass, times);
  Write(lanes, pass, verify, times);
}

// Appends the accepted tokens. Returns by how many tokens the answer grew.
size_t Generator::Extend(Session& session, const CandidateTree& tree, const Acceptance& accepted) {
  const size_t before = session.tokens.size();
  for (size_t i = 1; i < accepted.path.size(); ++i) {
    session.tokens.push_back(tree.token(accepted.path[i]));
    session.sources.push_back(tree.source(accepted.path[i]));
    session.predicted.push_back(tree.predicted(accepted.path[i]));
  }
  session.tokens.push_back(accepted.next);
  session.sources.push_back(kNoPos);
  session.predicted.push_back(kNoPos);
  FT_CHECK(session.cache_->length() + 1 == static_cast<int>(session.tokens.size()));
  Account(session, accepted, session.tokens.size() - before);
  CheckFinish(session, before);
  return session.tokens.size() - before;
}

// Updates filter, prediction and log-probabilities for the last `gained` tokens.
void Generator::Account(Session& session, const Acceptance& accepted, size_t gained) {
  if (session.filter_) {
    for (Token t : std::span(session.tokens).last(gained)) session.filter_->Accept(t);
  }
  session.prediction_.Follow(session.tokens);
  session.logprobs.insert(session.logprobs.end(), accepted.logprobs.begin(),
                          accepted.logprobs.end());
}

// Ends the answer after its first stop token in [first_new, end), or else at its limit.
void Generator::CheckFinish(Session& session, size_t first_new) {
  auto& tokens = session.tokens;
  const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(first_new);
  const auto stop =
      std::find_first_of(begin, tokens.end(), session.stop_.begin(), session.stop_.end());
  if (stop != tokens.end()) {
    CutTo(session, static_cast<size_t>(stop + 1 - tokens.begin()));
    session.finish = Finish::kStop;
    Rewind(session, std::min(session.cache_->length(), static_cast<int>(tokens.size()) - 1));
  } else if (static_cast<int>(tokens.size()) >= session.limit) {
    session.finish = session.limit == session.context_ ? Finish::kContext : Finish::kLimit;
  }
}

// Shortens the text to its first `length` tokens, together with what is kept for each token.
void Generator::CutTo(Session& session, size_t length) {
  session.tokens.resize(length);
  const size_t written = session.written().size();
  session.sources.resize(written);
  session.predicted.resize(written);
  if (session.logprobs_ >= 0) session.logprobs.resize(written);
}

void Generator::End(Session& session, int length) {
  FT_CHECK(session.status.ok() && !session.reading_);
  FT_CHECK(session.prompt < length && length <= static_cast<int>(session.tokens.size()));
  auto& observer = Of(session).observer;
  if (observer && !session.done()) observer->EndAnswer(session.costs_, /*cut_off=*/false);
  CutTo(session, static_cast<size_t>(length));
  session.finish = Finish::kStop;
  Rewind(session, std::min(session.cache_->length(), length - 1));
}

void Generator::Rewind(Session& session, int length) {
  if (session.cache_->length() == length) return;
  session.cache_->Truncate(length);
  Drafter* drafter = Of(session).drafter;
  if (drafter != nullptr && !session.broken_) drafter->Truncate(*session.draft_, length);
}

// Makes a broken session usable; nothing of its old text is kept.
void Generator::Renew(Session& session) const {
  session.cache_->Truncate(0);
  const Drafter* drafter = Of(session).drafter;
  if (drafter != nullptr) session.draft_ = drafter->NewState();
  session.broken_ = false;
}

// The device may hold a second failure, which is discarded: the session reports the first.
void Generator::Break(Session& session, const Error& why) const {
  session.status = why;
  session.broken_ = true;
  session.reading_ = false;
  const Status known = target_.backend().TakeFailure();
  (void)known;
}

// `drafter`: break only sessions of that drafter.
void Generator::BreakAll(const Lanes& lanes, const Error& why,
                         std::optional<size_t> drafter) const {
  for (const auto& lane : lanes) {
    Session& s = lane->session;
    if (!s.broken_ && (!drafter || static_cast<size_t>(s.drafter_) == *drafter)) Break(s, why);
  }
}

void Generator::DropBroken(Lanes& lanes) {
  std::erase_if(lanes, [](const auto& lane) { return lane->session.broken_; });
}

}  // namespace foretoken
