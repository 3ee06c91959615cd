// What a pass of the target costs, by the rows it scores and the context they attend to, and what
// is known of drafters: guessed at first, then learned from the passes that are run anyway.
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

// A pass of one row, the plain pass, is the unit that everything is compared with; only its seconds
// are kept. Thread-safety: one thread.
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

  // Costs that are known, in seconds. REQUIRES: points not empty, their rows >= 1 and distinct,
  // their seconds > 0 and not falling.
  CostModel(std::vector<Point> points, ContextShare context);
  CostModel(CostModel&&) = default;  // map nodes keep their place
  // The same as guesses, in plain passes: has_plain_pass() is false.
  static CostModel Assume(std::vector<Point> points, ContextShare context);
  // What passes of `model` cost by the look of it: from its bytes, its multiplications and the
  // instruction set (docs/performance.md). Nothing is run.
  static CostModel Guess(const Model& model);

  // Seconds of a pass over `rows` rows, each of which attends to `context` positions. Never falls
  // as rows or context grow.
  double VerifySeconds(double rows, int context) const;
  // Whether plain passes were timed, so that seconds mean something: two, as one may be disturbed.
  bool has_plain_pass() const { return plain_.observations() > 1; }
  // Rows that a pass may have so that the curve is learned further: twice what was timed, so that
  // no such pass costs much more than one that was.
  int MostRows() const { return 2 * most_timed_; }

  // What a cycle's pass took, its verification included.
  void ObserveVerify(int rows, int context, double seconds);

  // Of the drafter that `name` stands for; stays where it is.
  DraftCosts& Drafter(const std::string& name);
  AnswerLengths& answers() { return answers_; }
  const AnswerLengths& answers() const { return answers_; }

  // What was observed: {"plain": seconds, "most_rows": rows, "curve": [[rows, of the guess,
  // observations]...], "answer": tokens, "drafters": {name: DraftCosts}}.
  Json ToJson() const;
  // Takes over what ToJson wrote. Errors: anything else; `origin` opens the message.
  Status Restore(const Json& json, const std::string& origin);

 private:
  // A count of rows, and how passes near it compare with the guess.
  struct Knot {
    int rows;
    double guess;       // plain passes
    Estimate of_guess;  // what was observed, of that
    double cost;        // plain passes, by the guess and all observations
  };

  static constexpr double kFirstGuess = 0.01;  // seconds of a plain pass that nobody timed

  // A pass of `rows` rows without context, in plain passes: as guessed; by all that was observed.
  double GuessedPasses(double rows) const;
  double Passes(double rows) const;
  Knot& Nearest(double rows);
  void FollowPace(double residual, double observations);
  void Redraw();

  std::vector<Knot> knots_;  // by rows, ascending, the first of one row
  ContextShare context_;     // plain passes a position
  Estimate plain_;           // seconds of a plain pass without context
  double log_pace_ = 0;      // of the machine now, against that
  int most_timed_ = 1;
  AnswerLengths answers_;
  std::map<std::string, DraftCosts> drafters_;
};

}  // namespace foretoken
