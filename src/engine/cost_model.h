// What a pass of the target costs, by the rows it scores and the context they attend to, and what
// drafting costs: measured at load, then refreshed by every cycle.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "engine/draft_costs.h"
#include "model/model.h"

namespace foretoken {

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
  // Whether passes took what was measured, within a factor of two.
  bool Holds() const;

  // Whether passes over so many rows, or nearly so many, were timed. VerifySeconds of more rows is
  // a guess, which should decide nothing.
  bool IsMeasured(double rows) const;
  // Rows that a pass may have so that the curve is learned further: twice what was timed, so that
  // no such pass costs much more than one that was.
  int MostRows() const { return 2 * points_.back().rows; }

  // Times passes over made-up tokens for about `budget` seconds. Two passes of one row are made
  // however long they take; a slow model may leave time for no more. Errors: out of memory.
  static Result<CostModel> Measure(Model& model, double budget);
  // Seconds of a pass of `rows` rows at `context` cached positions.
  using TimePass = std::function<double(int rows, int context)>;
  // The same by any clock: `budget` is spent by what `time` returns. It is asked for at most
  // `max_rows` rows and for a context of 0 or `context`.
  static CostModel Measure(const TimePass& time, int context, int max_rows, double budget);

  // What was measured, and what is known of drafters:
  // {"points": [[rows, seconds]...], "context": [pass, row], "drafters": {name: DraftCosts}}.
  Json ToJson() const;
  // Errors: not what ToJson writes; `origin` opens the message.
  static Result<CostModel> FromJson(const Json& json, const std::string& origin);

 private:
  double Shape(double rows, int context) const;
  double AtRows(double rows) const;
  void KeepOrder();
  void ObserveBeyond(int rows, int context, double seconds);

  // What passes over more rows than the last point's took, until there are enough for a new point.
  struct Beyond {
    int rows = 0, seen = 0;
    double slope = std::numeric_limits<double>::infinity();  // the least, seconds a row
  };

  std::vector<Point> points_;  // by rows, ascending; seconds never fall
  ContextShare context_;
  // As they were measured: cycles move them at most to the half or the double of that, as cycles
  // are no fair sample of rows and contexts.
  std::vector<Point> measured_points_;
  ContextShare measured_context_;
  Beyond beyond_;
  double log_pace_ = 0;  // of this machine now, against the points
  std::map<std::string, DraftCosts> drafters_;
};

}  // namespace foretoken
