// What a pass of the target costs, by the rows it scores and the context they attend to, and what
// drafting costs: measured at load, then refreshed by every cycle.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "model/model.h"

namespace foretoken {

// What a drafter's proposals cost, and how far it is trusted to be worth that: shared by all
// sequences it drafts for. Thread-safety: one thread.
class DraftCosts {
 public:
  // `level`: a guess of what a level takes, in seconds, for as long as none was timed.
  explicit DraftCosts(double level) : level_(level) {}

  // Seconds of `levels` levels of drafting.
  double Seconds(int levels) const { return fixed_ + level_ * levels; }
  void Observe(int levels, double seconds);

  // 1 for a drafter that was never judged or wins time, down to 1/16 where sequence after sequence
  // had to send it to rest.
  double trust() const { return trust_; }
  void ObserveRest();   // a sequence did
  void ObserveGain();   // a sequence won as much as is remembered
  void ObserveStart();  // of a sequence: doubts fade, so that what lost is tried again

  bool observed() const { return fixed_seen_ + level_seen_ > 0; }
  // [fixed, level, trust]; a level that was never timed is 0.
  Json ToJson() const;
  // Takes over what ToJson wrote. False for anything else.
  bool Restore(const Json& json);

 private:
  double fixed_ = 0, level_, trust_ = 1;
  int fixed_seen_ = 0, level_seen_ = 0;
};

// Thread-safety: one thread.
class CostModel {
 public:
  // A pass without context.
  struct Point {
    int rows = 0;
    double seconds = 0;
  };
  // Attention's share of a pass, a position of context: of the pass itself and of each row.
  struct ContextShare {
    double pass = 0, row = 0;
  };

  // REQUIRES: points not empty, their rows >= 1 and distinct, their seconds > 0.
  CostModel(std::vector<Point> points, ContextShare context);
  CostModel(CostModel&&) = default;  // map nodes keep their place

  // Seconds of a pass over `rows` rows, each of which attends to `context` positions. Never falls
  // as rows or context grow.
  double VerifySeconds(double rows, int context) const;
  // Of the drafter `name`, as typed after --drafter; stays where it is.
  DraftCosts& Drafter(const std::string& name);

  // What a cycle took. Where it took several times what was expected, the machine was doing
  // something else: such a one counts for little more than the others.
  void ObserveVerify(int rows, int context, double seconds);

  // Times passes over made-up tokens for at most `budget` seconds, or a little more where one pass
  // takes longer than that.
  static CostModel Measure(Model& model, double budget);

  // What was measured, and what is known of drafters:
  // {"points": [[rows, seconds]...], "context": [pass, row], "drafters": {name: DraftCosts}}.
  Json ToJson() const;
  // Errors: not what ToJson writes; `origin` opens the message.
  static Result<CostModel> FromJson(const Json& json, const std::string& origin);

 private:
  double Shape(double rows, int context) const;
  double AtRows(double rows) const;
  void KeepOrder();

  std::vector<Point> points_;  // by rows, ascending; seconds never fall
  ContextShare context_;
  // As they were measured: cycles move them at most to the half or the double of that, as cycles
  // are no fair sample of rows and contexts.
  std::vector<Point> measured_points_;
  ContextShare measured_context_;
  double log_pace_ = 0;  // of this machine now, against the points
  std::map<std::string, DraftCosts> drafters_;
};

}  // namespace foretoken
