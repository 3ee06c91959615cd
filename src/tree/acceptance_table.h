// How often guesses come true, learned while decoding: by who made them, how sure it was, how deep
// they are, and how the last cycle's guesses fared (text is copied in stretches).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/json_fwd.h"
#include "tree/candidate_tree.h"

namespace foretoken {

// A running frequency.
struct HitRate {
  float seen = 0, taken = 0;

  // `memory`: what an observation counts at the next one.
  void Add(bool hit, float memory);
  // The rate, `prior` counting as much as `weight` observations.
  double Given(double prior, double weight) const {
    return (taken + weight * prior) / (seen + weight);
  }
  // The same rate, counting as much as `most` observations at most.
  HitRate AtMost(float most) const;
};

// Rates of one drafter, over all texts that it guessed for.
struct DrafterRates {
  static constexpr int kDepths = 7;  // classes of depth: 1, 2, 3, 4, 5 and 6, 7 to 9, more
  static constexpr int kBins = 12;   // classes of confidence
  static constexpr int kMoods = 3;   // the last cycle's first guess was wrong, a later one, none
  static constexpr int kRanks = 4;   // best guess, second best, ...

  std::array<HitRate, kBins> by_bin = {};
  std::array<std::array<HitRate, kBins>, kMoods> by_mood = {};
  // Of its best guess after a node, whatever its confidence; and of the others, by rank.
  std::array<std::array<HitRate, kDepths>, kMoods> best = {};
  std::array<HitRate, kMoods> best_anywhere = {};
  std::array<HitRate, kRanks> by_rank = {};

  // [[seen, taken]...], in the order above.
  Json ToJson() const;
  // Takes over what ToJson wrote. False for anything else.
  bool Restore(const Json& json);

 private:
  template <typename Rates, typename Visit>
  static void ForEach(Rates& rates, Visit visit);
};

// One text's rates. They forget slowly, so they follow the text. What was rarely seen leans on
// coarser rates, on what other texts showed, and in the end on the drafter's own confidence.
class AcceptanceTable {
 public:
  // Nothing is known of any drafter.
  AcceptanceTable() : AcceptanceTable(1) {}
  explicit AcceptanceTable(int parts) : parts_(static_cast<size_t>(parts)) {}

  // Begins with what other texts showed of part `part`, counting as much as a few observations.
  // `trained`: rates of best guesses by depth, from 1, that count where nothing was observed.
  void Begin(int part, const DrafterRates& known, std::span<const float> trained);

  // The probability that the target takes `n` (offered, not the root) once it has taken its parent.
  double Probability(const CandidateTree& tree, Node n) const;
  // The same for a child of a node of that depth which `part` has not offered yet: its best for
  // rank 0.
  double NextProbability(int part, int depth, int rank) const;

  // `offered`: a cycle's guesses, whether they were scored or not; `written`: what the target wrote
  // after the root, at least one token. Guesses are judged as far as it reaches. `known`: by part,
  // the rates over all texts that learn from it as well; or empty.
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
    DrafterRates rates;  // of guesses to come; by_bin and by_mood are those of `cells_`
    std::vector<float> trained;
    int mood = 0;
  };

  double Alone(uint32_t proposers, float log_q, int depth, double prior) const;
  // Notes which of the children of `parent` came true.
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
