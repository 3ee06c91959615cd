// What a drafter's proposals cost, and how far it is trusted to be worth that.
#pragma once

#include "base/json_fwd.h"

namespace foretoken {

// Shared by all sequences a drafter drafts for. Thread-safety: one thread.
class DraftCosts {
 public:
  // `plain`: seconds of a plain pass of the target, of which costs are guessed that were not timed.
  explicit DraftCosts(double plain);

  // Seconds of `levels` levels of drafting.
  double Seconds(int levels) const { return fixed_ + level_ * levels; }
  // What proposing that many levels took, for which `unread` tokens of text were read first.
  void Observe(int levels, int unread, double seconds);

  // 1 for a drafter that was never judged or wins time, down to 1/16 where sequence after sequence
  // had to send it to rest.
  double trust() const { return trust_; }
  void ObserveRest();   // a sequence did
  void ObserveGain();   // a sequence won as much as is remembered
  void ObserveStart();  // of a sequence: doubts fade, so that what lost is tried again

  // Whether reading `unread` tokens pays where `left` more may be written, each in at most `plain`
  // seconds, and no more than answers usually have.
  bool IsWorthReading(int unread, int left, double plain) const;
  // A cycle of a sequence whose text was read wrote `written` tokens, and saved `saved` plain
  // passes by what the drafter could only guess because it had read.
  void ObserveRead(double saved, double written);
  // An answer came to so many tokens, or was cut off at them.
  void ObserveAnswer(int tokens, bool cut_off);

  bool observed() const { return fixed_seen_ + level_seen_ > 0; }
  // [fixed, level, trust, token, worth, answer]; what was never timed is 0.
  Json ToJson() const;
  // Takes over what ToJson wrote. False for anything else.
  bool Restore(const Json& json);

 private:
  double fixed_ = 0, level_, trust_ = 1;
  double token_;   // seconds of reading one
  double worth_;   // plain passes saved a written token, once the text was read
  double answer_;  // tokens that answers usually have
  int fixed_seen_ = 0, level_seen_ = 0, token_seen_ = 0;
};

}  // namespace foretoken
