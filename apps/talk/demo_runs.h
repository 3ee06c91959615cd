// What foretoken demo measured: answers by task and way of decoding, and what they add up to.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "runtime/answer.h"

namespace foretoken {

// One prompt decoded in one way, as often as there was time. The tokens are those of the first
// time; `seconds` adds up all times.
struct DemoRun {
  std::string task, drafter;  // "none": plain decoding
  Answer answer;
  int times = 0;
  double seconds = 0;
  bool identical = true;  // every time, to the first answer of plain decoding

  double Rate() const;  // tokens/s, prompt included
};

class DemoRuns {
 public:
  // Adds one more answer. Returns its run, whose address stays. The first answer to a task is that
  // of plain decoding.
  const DemoRun& Add(const std::string& task, const std::string& drafter, Answer answer,
                     const Tokenizer& tokenizer);
  bool AllIdentical() const;
  // Tokens/s over those of plain decoding of the same task; 1 where that was not measured.
  double SpeedUp(const DemoRun& run) const;
  // The same over all tasks that both ways answered: plain decoding's time over that of `drafter`.
  double SpeedUpOf(const std::string& drafter) const;

  void PrintTable(const char* bold, const char* off) const;
  // "auto: 1.6 times as fast as plain decoding over these 4 tasks, the same tokens."
  std::string Sentence(const std::string& drafter) const;
  Json ToJson(double load_seconds) const;

 private:
  std::deque<DemoRun> runs_;
};

}  // namespace foretoken
