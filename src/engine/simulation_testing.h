// Decoding without a model: scripted drafters, a text that is known beforehand and a clock that
// says what a test wants it to.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/cost_observer.h"
#include "tree/tree_policy.h"

namespace foretoken {

// A drafter whose guesses come true as often as it says.
struct ScriptedDrafter {
  std::string name = "draft";
  // The probability that its guess for the token at position `at` of the text is right.
  std::function<double(int at)> hits = [](int) { return 0.0; };
  double confidence = 0.6;
  // Tokens that it copies as one run; 0: it drafts by levels.
  int run = 0;
  // In plain passes.
  double asking = 0.002, level = 0.1, reading = 0;  // a proposal, a level, a token of text to read
  size_t level_bytes = 0;  // of a target of 1000: what a level costs by the look of it
  // DraftPrior::acceptance.
  std::vector<float> acceptance;
  // Whether it may leave out the beginning of a prompt, and what its hits are multiplied with where
  // it leaves out almost all.
  bool may_skip = false;
  double skipping = 1;
};

struct SimulatedAnswer {
  double passes = 0;             // time, in plain passes
  double disturbance = 0;        // of that, what a test added by Simulation::disturb
  std::vector<int> nodes;        // [cycles] scored, by any part
  std::vector<int> nodes_by[2];  // [cycles] of the first and the second part
  std::vector<int> begin;        // [cycles] tokens written before
  int tokens = 0;
};

// What a session of answers to new texts is like. Deterministic.
class Simulation {
 public:
  // `costs` must outlive this.
  Simulation(CostModel& costs, std::vector<ScriptedDrafter> parts);

  // Plain passes that a pass of `rows` rows truly takes.
  std::function<double(int rows)> truth = [](int rows) { return 1 + 0.1 * (rows - 1); };
  // What a time is multiplied with: of pass or proposal number `event` of all.
  std::function<double(int event)> disturb = [](int) { return 1.0; };
  double noise = 0.05;
  int prompt = 50;

  SimulatedAnswer Answer(int tokens);

 private:
  double Clock(double passes, SimulatedAnswer& answer);
  double Propose(size_t part, int begin, TreeBuilder& builder);
  Token Guess(size_t part, int at);
  int TokensToRead(size_t part, int begin, const TreeBuilder& builder) const;

  std::vector<ScriptedDrafter> parts_;
  std::unique_ptr<TreePolicy> policy_ = *NewTreePolicy("auto");
  CostObserver observer_;
  std::vector<int> read_;  // [parts] tokens of the prompt that were read, and those after it
  int events_ = 0;
  uint64_t text_ = 0;
};

}  // namespace foretoken
