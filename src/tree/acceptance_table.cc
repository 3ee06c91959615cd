#include "tree/acceptance_table.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/json.h"
#include "tree/selection.h"

namespace foretoken {
namespace {

// Forgetting factors. They amount to averages over the last 33 observations within a text and 500
// over all texts.
constexpr float kMemory = 0.97f, kLongMemory = 0.998f;
constexpr double kPriorWeight = 4;  // of the rate that a rate falls back on, in observations
// Rates of the best guess, the second best, and so on, before anything is observed.
constexpr double kPriorByRank[] = {0.6, 0.1, 0.05, 0.03};
// Weight of other texts' rates when a text begins, in observations.
constexpr float kKnown = 16;

// The class of a depth: 1, 2, 3, 4, 5 and 6, 7 to 9, more.
int DepthClass(int depth) {
  constexpr int kLast[] = {1, 2, 3, 4, 6, 9};
  static_assert(std::size(kLast) + 1 == DrafterRates::kDepths);
  return static_cast<int>(std::lower_bound(std::begin(kLast), std::end(kLast), depth) -
                          std::begin(kLast));
}

// Bins are finer where confidences mostly lie: close to 0 and close to 1.
int BinOf(float log_q) {
  constexpr float kEdges[] = {.01f, .03f, .1f, .2f, .35f, .5f, .65f, .8f, .9f, .95f, .99f};
  static_assert(std::size(kEdges) + 1 == DrafterRates::kBins);
  return static_cast<int>(std::upper_bound(std::begin(kEdges), std::end(kEdges), std::exp(log_q)) -
                          std::begin(kEdges));
}

bool IsBy(size_t part, const CandidateTree& tree, Node n) {
  return tree.offered(n) && (tree.proposers(n) >> part & 1) != 0;
}

// The nodes that `part` offered after `parent`, best first.
std::vector<Node> OffersOf(size_t part, const CandidateTree& tree, Node parent) {
  std::vector<Node> offers;
  for (Node n = tree.FirstChild(parent); n != kNoNode; n = tree.NextSibling(n)) {
    if (IsBy(part, tree, n)) offers.push_back(n);
  }
  return Best(tree, std::move(offers), DrafterRates::kRanks);
}

}  // namespace

void HitRate::Add(bool hit, float memory) {
  seen = seen * memory + 1;
  taken = taken * memory + (hit ? 1 : 0);
}

HitRate HitRate::AtMost(float most) const {
  if (seen <= most) return *this;
  return {most, taken * most / seen};
}

template <typename Rates, typename Visit>
void DrafterRates::ForEach(Rates& rates, Visit visit) {
  for (auto& rate : rates.by_bin) visit(rate);
  for (auto& mood : rates.by_mood) std::for_each(mood.begin(), mood.end(), visit);
  for (auto& mood : rates.best) std::for_each(mood.begin(), mood.end(), visit);
  for (auto& rate : rates.best_anywhere) visit(rate);
  for (auto& rate : rates.by_rank) visit(rate);
}

Json DrafterRates::ToJson() const {
  const auto rounded = [](float value) { return std::round(value * 100.0) / 100.0; };
  Json list = Json::array();
  ForEach(*this, [&](const HitRate& rate) {
    list.push_back(Json::array({rounded(rate.seen), rounded(rate.taken)}));
  });
  return list;
}

bool DrafterRates::Restore(const Json& json) {
  if (!json.is_array()) return false;
  std::vector<HitRate> read;
  for (const Json& pair : json) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number() || !pair[1].is_number()) {
      return false;
    }
    const HitRate rate{pair[0].get<float>(), pair[1].get<float>()};
    if (!(rate.taken >= 0 && rate.taken <= rate.seen && rate.seen <= 1e6f)) return false;
    read.push_back(rate);
  }
  DrafterRates fresh;
  size_t count = 0;
  ForEach(fresh, [&](HitRate&) { ++count; });
  if (read.size() != count) return false;
  auto next = read.begin();
  ForEach(*this, [&](HitRate& rate) { rate = *next++; });
  return true;
}

void AcceptanceTable::Begin(int part, const DrafterRates& known, std::span<const float> trained) {
  Part& own = parts_[static_cast<size_t>(part)];
  own.trained.assign(trained.begin(), trained.end());
  own.rates = known;
  const auto fade = [](auto& rates) {
    for (HitRate& rate : rates) rate = rate.AtMost(kKnown);
  };
  for (auto& mood : own.rates.best) fade(mood);
  fade(own.rates.best_anywhere);
  fade(own.rates.by_rank);
  Cells& cells = cells_[1u << part];
  cells.by_bin = known.by_bin;
  cells.by_mood = known.by_mood;
  fade(cells.by_bin);
  for (auto& mood : cells.by_mood) fade(mood);
}

double AcceptanceTable::Alone(uint32_t proposers, float log_q, int depth, double prior) const {
  const auto found = cells_.find(proposers);
  if (found == cells_.end()) return prior;
  const Cells& cells = found->second;
  const auto bin = static_cast<size_t>(BinOf(log_q)), at = static_cast<size_t>(DepthClass(depth));
  const auto mood = static_cast<size_t>(MoodOf(proposers));
  const double of_bin = cells.by_bin[bin].Given(prior, kPriorWeight);
  const double of_mood = cells.by_mood[mood][bin].Given(of_bin, kPriorWeight);
  return cells.by_depth[mood][at][bin].Given(of_mood, kPriorWeight);
}

// A node that several parts propose is assumed to fail only where each of them would fail alone.
double AcceptanceTable::Probability(const CandidateTree& tree, Node n) const {
  const double confidence = std::exp(tree.log_q(n));
  const uint32_t by = tree.proposers(n);
  if (std::has_single_bit(by)) return Alone(by, tree.log_q(n), tree.depth(n), confidence);
  double fails = 1;
  for (uint32_t left = by; left != 0; left &= left - 1) {
    fails *= 1 - Alone(left & -left, tree.log_q(n), tree.depth(n), confidence);
  }
  return Alone(by, tree.log_q(n), tree.depth(n), 1 - fails);
}

double AcceptanceTable::NextProbability(int part, int depth, int rank) const {
  const Part& own = parts_[static_cast<size_t>(part)];
  if (rank >= DrafterRates::kRanks) return 0;
  if (rank > 0) {
    return own.rates.by_rank[static_cast<size_t>(rank)].Given(kPriorByRank[rank], kPriorWeight);
  }
  double prior = kPriorByRank[0];
  if (!own.trained.empty()) {
    prior = own.trained[std::min(static_cast<size_t>(depth), own.trained.size() - 1)];
  }
  const auto mood = static_cast<size_t>(own.mood), at = static_cast<size_t>(DepthClass(depth + 1));
  const double anywhere = own.rates.best_anywhere[mood].Given(prior, kPriorWeight);
  return own.rates.best[mood][at].Given(anywhere, kPriorWeight);
}

// If several parts proposed a node, the mood (class of the last cycle) of the first part counts,
// because parts that copy propose first and their moods persist.
int AcceptanceTable::MoodOf(uint32_t proposers) const {
  const auto first = static_cast<size_t>(std::countr_zero(proposers));
  return first < parts_.size() ? parts_[first].mood : 0;
}

int AcceptanceTable::MoodAfter(size_t part, const CandidateTree& offered,
                               std::span<const Token> written) {
  Node at = 0;
  for (size_t i = 0; i < written.size(); ++i) {
    if (OffersOf(part, offered, at).empty()) return i == 0 ? 0 : 2;
    at = offered.Child(at, written[i]);
    if (at == kNoNode || !IsBy(part, offered, at)) return i == 0 ? 0 : 1;
  }
  return 2;
}

void AcceptanceTable::Observe(const CandidateTree& offered, std::span<const Token> written,
                              std::span<DrafterRates* const> known) {
  Node at = 0;
  for (size_t i = 0; i < written.size() && at != kNoNode; ++i) {
    if (BestChild(offered, at) == kNoNode) break;
    Judge(offered, at, written[i], known);
    at = offered.Child(at, written[i]);
  }
  for (size_t part = 0; part < parts_.size(); ++part) {
    parts_[part].mood = MoodAfter(part, offered, written);
  }
}

void AcceptanceTable::Judge(const CandidateTree& offered, Node parent, Token written,
                            std::span<DrafterRates* const> known) {
  for (size_t part = 0; part < parts_.size(); ++part) {
    JudgeBest(part, offered, parent, written, known);
  }
  for (Node n = offered.FirstChild(parent); n != kNoNode; n = offered.NextSibling(n)) {
    if (!offered.offered(n)) continue;
    const bool hit = offered.token(n) == written;
    const auto bin = static_cast<size_t>(BinOf(offered.log_q(n)));
    const auto depth = static_cast<size_t>(DepthClass(offered.depth(n)));
    const auto mood = static_cast<size_t>(MoodOf(offered.proposers(n)));
    Cells& cells = cells_[offered.proposers(n)];
    cells.by_bin[bin].Add(hit, kMemory);
    cells.by_mood[mood][bin].Add(hit, kMemory);
    cells.by_depth[mood][depth][bin].Add(hit, kMemory);
    for (size_t part = 0; part < known.size(); ++part) {
      if (!IsBy(part, offered, n)) continue;
      known[part]->by_bin[bin].Add(hit, kLongMemory);
      known[part]->by_mood[static_cast<size_t>(parts_[part].mood)][bin].Add(hit, kLongMemory);
    }
  }
}

void AcceptanceTable::JudgeBest(size_t part, const CandidateTree& offered, Node parent,
                                Token written, std::span<DrafterRates* const> known) {
  const std::vector<Node> offers = OffersOf(part, offered, parent);
  if (offers.empty()) return;
  const auto mood = static_cast<size_t>(parts_[part].mood);
  const auto depth = static_cast<size_t>(DepthClass(offered.depth(offers[0])));
  const auto note = [&](DrafterRates& rates, float memory) {
    const bool hit = offered.token(offers[0]) == written;
    rates.best[mood][depth].Add(hit, memory);
    rates.best_anywhere[mood].Add(hit, memory);
    for (size_t rank = 0; rank < offers.size(); ++rank) {
      rates.by_rank[rank].Add(offered.token(offers[rank]) == written, memory);
    }
  };
  note(parts_[part].rates, kMemory);
  if (part < known.size()) note(*known[part], kLongMemory);
}

}  // namespace foretoken
