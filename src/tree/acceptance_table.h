// How often guesses come true, learned while decoding: by who made them, how sure it was, how deep
// they are, and how the last cycle's guesses fared (text is copied in stretches).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>

#include "tree/candidate_tree.h"

namespace foretoken {

// Rates forget slowly, so they follow the text. What was rarely seen leans on coarser rates, and in
// the end on the drafter's own confidence.
class AcceptanceTable {
 public:
  // The probability that the target takes `n` (offered, not the root) once it has taken its parent.
  double Probability(const CandidateTree& tree, Node n) const;
  // The same for the best child of a node of that depth, before it is offered.
  double NextProbability(int depth) const;

  // `offered`: a cycle's guesses, whether they were scored or not; `written`: what the target wrote
  // after the root, at least one token. Guesses are judged as far as it reaches.
  void Observe(const CandidateTree& offered, std::span<const Token> written);

  // Cycles observed that offered anything.
  int64_t cycles() const { return cycles_; }

 private:
  static constexpr int kDepths = 7;  // classes of depth
  static constexpr int kBins = 12;   // classes of confidence
  static constexpr int kMoods = 3;   // the last cycle's first guess was wrong, a later one, none

  struct Rate {
    float seen = 0, taken = 0;
    void Add(bool hit);
    // The rate, `prior` counting as much as `weight` observations.
    double Given(double prior, double weight) const {
      return (taken + weight * prior) / (seen + weight);
    }
  };
  struct Cells {
    std::array<Rate, kBins> by_bin;
    std::array<std::array<Rate, kBins>, kMoods> by_mood;
    std::array<std::array<std::array<Rate, kBins>, kDepths>, kMoods> by_depth;
  };

  // Notes which of the children of `parent` (the best among them) came true.
  void Judge(const CandidateTree& offered, Node parent, Node best, Token written);
  static int DepthClass(int depth);
  static int Bin(float log_q);

  std::map<uint32_t, Cells> cells_;  // by CandidateTree::proposers
  std::array<std::array<Rate, kDepths>, kMoods> best_;
  std::array<Rate, kMoods> best_anywhere_;
  int mood_ = 0;
  int64_t cycles_ = 0;
};

}  // namespace foretoken
