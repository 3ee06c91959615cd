// Simulates sessions that share passes, without a model: a scripted drafter with an acceptance rate
// for each session, and a simulated clock.
#pragma once

#include <functional>
#include <vector>

#include "engine/cost_observer.h"
#include "tree/tree_policy.h"

namespace foretoken {

struct BatchOutcome {
  double tokens = 0, passes = 0;  // tokens written; simulated time in one-row passes
  std::vector<int> nodes;         // [sessions] nodes scored in all passes
  int pass_count = 0;

  double Speed() const { return tokens / passes; }
};

class BatchSimulation {
 public:
  // `hits`: [sessions] the probability that a guess of that session is right. `costs` must outlive
  // this.
  BatchSimulation(CostModel& costs, std::vector<double> hits);

  // Times in one-row passes: `truth` is that of a pass of `rows` rows, `level` that of drafting one
  // level for all sessions at once.
  std::function<double(int rows)> truth = [](int rows) { return 1 + 0.1 * (rows - 1); };
  double level = 0.05;
  // Whether every session gets an equal part of the rows. Each session then assumes that every
  // other session has as many nodes as it has itself.
  bool splits_equally = false;
  int prompts = 0;  // prompt rows in every pass
  int room = 64;    // maximum rows of a pass, prompt rows included

  // Simulates `passes` passes, beginning with new texts.
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
