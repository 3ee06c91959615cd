// Acceptance rates of guesses, measured while decoding: by proposing part, by the part's
// confidence, by depth, and by how the last cycle's guesses fared (because text is copied in
// stretches).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/json_fwd.h"
#include "tree/candidate_tree.h"

namespace foretoken {

// A running frequency with exponential forgetting.
struct HitRate {
  float seen = 0, taken = 0;

  // `memory`: the factor by which older observations are scaled down, below 1.
  void Add(bool hit, float memory);
  // The rate, with `prior` weighted as `weight` observations.
  double Given(double prior, double weight) const {
    return (taken + weight * prior) / (seen + weight);
  }
  // A copy of this rate that is weighted as at most `most` observations.
  HitRate AtMost(float most) const;
};

// Rates of one drafter, over all texts that it drafted for.
struct DrafterRates {
  static constexpr int kDepths = 7;  // classes of depth: 1, 2, 3, 4, 5 and 6, 7 to 9, more
  static constexpr int kBins = 12;   // classes of confidence
  static constexpr int kMoods = 3;   // classes of the last cycle: all first guesses wrong (or none
                                     // made); a later guess wrong; no guess wrong
  static constexpr int kRanks = 4;   // best guess, second best, ...

  std::array<HitRate, kBins> by_bin = {};
  std::array<std::array<HitRate, kBins>, kMoods> by_mood = {};
  // `best`, best_anywhere: of the best guess after a node, whatever its confidence. by_rank: of all
  // guesses.
  std::array<std::array<HitRate, kDepths>, kMoods> best = {};
  std::array<HitRate, kMoods> best_anywhere = {};
  std::array<HitRate, kRanks> by_rank = {};

  // An array of pairs [seen, taken], in the order of the fields above.
  Json ToJson() const;
  // Restores what ToJson wrote. Returns false for anything else and then changes nothing.
  bool Restore(const Json& json);

 private:
  template <typename Rates, typename Visit>
  static void ForEach(Rates& rates, Visit visit);
};

// One text's rates. Old observations are forgotten slowly, so that the rates follow the text. A
// rate with few observations falls back on coarser rates, then on what other texts showed, and
// finally on the drafter's own confidence.
class AcceptanceTable {
 public:
  // A table without observations, for one part or for `parts` parts.
  AcceptanceTable() : AcceptanceTable(1) {}
  explicit AcceptanceTable(int parts) : parts_(static_cast<size_t>(parts)) {}

  // Starts with the rates that part `part` had in other texts, weighted as a few observations.
  // `trained`: rates of best guesses by depth, from depth 1, used until something is observed.
  void Begin(int part, const DrafterRates& known, std::span<const float> trained);

  // The probability that the target accepts `n` (offered, not the root), given that it has accepted
  // its parent.
  double Probability(const CandidateTree& tree, Node n) const;
  // The acceptance probability of a child that is not offered yet, of a node at depth `depth`: for
  // rank 0 of the best guess of `part`, for rank 1 of its second best.
  double NextProbability(int part, int depth, int rank) const;

  // Updates the rates. `offered`: a cycle's guesses, whether they were scored or not; `written`:
  // what the target wrote after the root, at least one token. Guesses are judged only after nodes
  // on the written path. `known`: by part, the rates over all texts, which are updated too; or
  // empty.
  void Observe(const CandidateTree& offered, std::span<const Token> written,
               std::span<DrafterRates* const> known = {});

 private:
  using Bins = std::array<HitRate, DrafterRates::kBins>;
  struct Cells {
    Bins by_bin = {};
    std::array<Bins, DrafterRates::kMoods> by_mood = {};
    std::array<std::array<Bins, DrafterRates::kDepths>, DrafterRates::kMoods> by_depth = {};
  };
  struct Part {
    DrafterRates rates;  // of guesses that are not offered yet; by_bin and by_mood are unused,
                         // cells_ has them
    std::vector<float> trained;
    int mood = 0;  // class of the last cycle (kMoods)
  };

  double Alone(uint32_t proposers, float log_q, int depth, double prior) const;
  // Records which of the children of `parent` were right.
  void Judge(const CandidateTree& offered, Node parent, Token written,
             std::span<DrafterRates* const> known);
  void JudgeBest(size_t part, const CandidateTree& offered, Node parent, Token written,
                 std::span<DrafterRates* const> known);
  int MoodOf(uint32_t proposers) const;
  static int MoodAfter(size_t part, const CandidateTree& offered, std::span<const Token> written);

  std::map<uint32_t, Cells> cells_;  // by CandidateTree::proposers
  std::vector<Part> parts_;
};

}  // namespace foretoken
