// Simulates decoding without a model: scripted drafters, a text that is known beforehand and a
// simulated clock.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/cost_observer.h"
#include "tree/tree_policy.h"

namespace foretoken {

// A drafter whose guesses are right with a given probability.
struct ScriptedDrafter {
  std::string name = "draft";
  // The probability that its guess for the token at position `at` of the text is right.
  std::function<double(int at)> hits = [](int) { return 0.0; };
  double confidence = 0.6;  // the probability that it states for its guesses
  // Tokens of the run that it copies; 0: it drafts by levels.
  int run = 0;
  // Times, in one-row passes, of a proposal, of a level and of reading a token of text.
  double asking = 0.002, level = 0.1, reading = 0;
  size_t level_bytes = 0;  // bytes of a level, from which its cost is guessed; the target has 1000
  // DraftPrior::acceptance.
  std::vector<float> acceptance;
  // Whether it may skip the beginning of a prompt, and the factor on `hits` if it skips almost the
  // whole prompt.
  bool may_skip = false;
  double skipping = 1;
};

struct SimulatedAnswer {
  double passes = 0;             // simulated time in one-row passes
  double disturbance = 0;        // the part of it added by Simulation::disturb
  std::vector<int> nodes;        // [cycles] nodes scored
  std::vector<int> nodes_by[2];  // [cycles] scored nodes that the first and the second part offered
  std::vector<int> begin;        // [cycles] tokens written before the cycle
  int tokens = 0;
};

// A series of answers to new texts. Deterministic.
class Simulation {
 public:
  // `costs` must outlive this.
  Simulation(CostModel& costs, std::vector<ScriptedDrafter> parts);

  // True time of a pass of `rows` rows, in one-row passes.
  std::function<double(int rows)> truth = [](int rows) { return 1 + 0.1 * (rows - 1); };
  // Factor on the time of event number `event`, an event being a pass or a proposal.
  std::function<double(int event)> disturb = [](int) { return 1.0; };
  double noise = 0.05;  // maximum relative error of a timed duration
  int prompt = 50;      // tokens of each prompt

  SimulatedAnswer Answer(int tokens);

 private:
  double Clock(double passes, SimulatedAnswer& answer);
  double Propose(size_t part, int begin, TreeBuilder& builder);
  Token Guess(size_t part, int at);
  int TokensToRead(size_t part, int begin, const TreeBuilder& builder) const;

  std::vector<ScriptedDrafter> parts_;
  std::unique_ptr<TreePolicy> policy_ = *NewTreePolicy("auto");
  CostObserver observer_;
  std::vector<int> read_;  // [parts] tokens of the text that were read
  int events_ = 0;
  uint64_t text_ = 0;
};

}  // namespace foretoken
