// Texts that share passes, without a model: a scripted drafter whose guesses come true as often as
// each text says, and a clock that says what a test wants it to.
#pragma once

#include <functional>
#include <vector>

#include "engine/cost_observer.h"
#include "tree/tree_policy.h"

namespace foretoken {

struct BatchOutcome {
  double tokens = 0, passes = 0;  // written, and the time it took in plain passes
  std::vector<int> nodes;         // [sessions] scored in all passes
  int pass_count = 0;

  double Speed() const { return tokens / passes; }
};

class BatchSimulation {
 public:
  // `hits`: of each session, how often a guess comes true. `costs` must outlive this.
  BatchSimulation(CostModel& costs, std::vector<double> hits);

  // Plain passes that a pass of so many rows takes, and a level, drafted for any number of texts.
  std::function<double(int rows)> truth = [](int rows) { return 1 + 0.1 * (rows - 1); };
  double level = 0.05;
  // Rows are divided by session, each of which takes the others to want what it wants.
  bool splits_equally = false;
  int prompts = 0;  // rows of prompts in every pass
  int room = 64;    // rows of a pass, those of prompts included

  BatchOutcome Run(int passes);

 private:
  struct Text;
  Token TokenAt(size_t session, int at) const;
  double Propose(std::vector<Text>& texts);
  std::vector<CandidateTree> Allot(const std::vector<Text>& texts) const;

  CostObserver observer_;
  std::vector<double> hits_;
  std::vector<double> usual_nodes_, usual_levels_, usual_tokens_;
  std::unique_ptr<TreePolicy> policy_ = *NewTreePolicy("auto");
};

}  // namespace foretoken
