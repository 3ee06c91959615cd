// Cost of target passes by number of rows and cached positions, and costs of drafters: guessed at
// first, then measured on the passes that decoding runs anyway.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "engine/answer_lengths.h"
#include "engine/draft_costs.h"
#include "engine/estimate.h"
#include "model/model.h"

namespace foretoken {

// Costs are kept relative to the one-row pass ("plain" in names); only the cost of that pass itself
// is kept in seconds. Thread-safety: one thread.
class CostModel {
 public:
  // Cost of a pass with an empty cache.
  struct Point {
    int rows = 0;
    double seconds = 0;
  };
  // Cost of attention to one cached position, in the unit of the points: for the pass as a whole,
  // and for each row.
  struct ContextShare {
    double pass = 0, row = 0;
  };

  // Known costs, in seconds. REQUIRES: points not empty, their rows >= 1 and distinct, their
  // seconds > 0 and non-decreasing in rows.
  CostModel(std::vector<Point> points, ContextShare context);
  CostModel(CostModel&&) = default;  // references from Drafter stay valid: map nodes do not move
  // Guessed costs, relative to a one-row pass; has_plain_pass() is false. REQUIRES: those of the
  // constructor above.
  static CostModel Assume(std::vector<Point> points, ContextShare context);
  // A roofline guess for passes of `model` from its bytes, its multiply-adds and the instruction
  // set (docs/performance.md). Runs nothing.
  static CostModel Guess(const Model& model);

  // Seconds of a pass over `rows` rows that each attend to `context` cached positions.
  // Non-decreasing in both.
  double VerifySeconds(double rows, int context) const;
  // Whether the time of a one-row pass is known: at least two passes were timed, because one may
  // have been disturbed.
  bool has_plain_pass() const { return plain_.observations() > 1; }
  // Maximum number of rows of a pass while the curve is being measured: twice the largest number
  // timed so far, so that no pass costs much more than one that was timed.
  int MostRows() const { return 2 * most_timed_; }

  // Records the time of a cycle's pass, verification included.
  void ObserveVerify(int rows, int context, double seconds);

  // Costs of the drafter with key `name`, created on first use. The reference stays valid.
  DraftCosts& Drafter(const std::string& name);
  AnswerLengths& answers() { return answers_; }
  const AnswerLengths& answers() const { return answers_; }

  // {"plain": seconds, "most_rows": rows, "curve": [[rows, [ratio to the guess, observations]]...],
  // "answer": tokens, "drafters": {name: DraftCosts}}; the curve lists only what was observed.
  Json ToJson() const;
  // Restores what ToJson wrote. Errors: `json` is anything else; error messages begin with
  // `origin`.
  Status Restore(const Json& json, const std::string& origin);

 private:
  // A number of rows, and how the measured cost of passes near it compares with the guess.
  struct Knot {
    int rows;
    double guess;       // in one-row passes
    Estimate of_guess;  // ratio of observed cost to the guess
    double cost;        // in one-row passes, from the guess and all observations
  };

  static constexpr double kFirstGuess = 0.01;  // seconds of a one-row pass before any was timed

  // Cost of a pass of `rows` rows with an empty cache, in one-row passes. GuessedPasses is the
  // guess alone; Passes also weighs all observations.
  double GuessedPasses(double rows) const;
  double Passes(double rows) const;
  Knot& Nearest(double rows);
  void FollowPace(double residual, double observations);
  void Redraw();

  std::vector<Knot> knots_;  // ascending by rows; the first has one row
  ContextShare context_;     // in one-row passes for each position
  Estimate plain_;           // seconds of a one-row pass with an empty cache
  double log_pace_ = 0;      // logarithm of the machine's present slowdown against `plain_`
  int most_timed_ = 1;
  AnswerLengths answers_;
  std::map<std::string, DraftCosts> drafters_;
};

}  // namespace foretoken
