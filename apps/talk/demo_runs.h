// Measurements of foretoken demo: answers by task and drafter, and their totals.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "runtime/answer.h"

namespace foretoken {

// One prompt decoded with one drafter, repeated as time permits. The tokens are those of the first
// repetition; `seconds` is the total of all.
struct DemoRun {
  std::string task, drafter;  // "none": autoregressive baseline
  Answer answer;
  int times = 0;
  double seconds = 0;
  bool identical = true;  // all repetitions equal the first baseline answer

  double Rate() const;  // tokens/s, prompt included
};

class DemoRuns {
 public:
  // Adds an answer. Returns its run, whose address stays valid. The first answer to a task must be
  // the baseline's.
  const DemoRun& Add(const std::string& task, const std::string& drafter, Answer answer,
                     const Tokenizer& tokenizer);
  bool AllIdentical() const;
  // Tokens/s relative to the baseline on the same task; 1 if the baseline was not measured.
  double SpeedUp(const DemoRun& run) const;
  // Speed-up over all tasks that both the baseline and `drafter` answered: ratio of their times.
  double SpeedUpOf(const std::string& drafter) const;

  void PrintTable(const char* bold, const char* off) const;
  // "auto: 1.6 times as fast as autoregressive decoding over these 4 tasks, with the same tokens."
  std::string Sentence(const std::string& drafter) const;
  Json ToJson(double load_seconds) const;

 private:
  std::deque<DemoRun> runs_;
};

}  // namespace foretoken
