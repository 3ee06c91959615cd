#include "engine/cost_model.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/check.h"
#include "base/json.h"
#include "engine/number_list.h"

namespace foretoken {
namespace {

// Numbers of rows that have a knot, besides those of the given points.
constexpr int kRows[] = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 256, 512};
// kGuessWeight: weight of the guess, in observations. kReach: reach of an observation, in doublings
// of rows. kNoWeight: weight of a guess that the first observation replaces.
constexpr double kGuessWeight = 0.5, kReach = 0.5, kNoWeight = 1e-6;
// A pass that was slower or faster than expected moves the estimated pace of the machine by
// kPaceStep times its deviation, a logarithm limited to kMostOfPace.
constexpr double kPaceStep = 0.25, kMostOfPace = 0.5;
// From this number of observations of a pass size on, a deviation is attributed to the machine
// rather than to the estimate.
constexpr double kKnown = 4;

// Piecewise linear interpolation between `places` (ascending by rows, at least two). Extrapolates
// the last segment; constant before the first place.
template <typename Place>
double Interpolate(std::span<const Place> places, double Place::*value, double rows) {
  size_t right = 1;
  while (right + 1 < places.size() && places[right].rows < rows) ++right;
  const Place &a = places[right - 1], &b = places[right];
  if (rows <= a.rows) return a.*value;
  return a.*value + (b.*value - a.*value) * (rows - a.rows) / (b.rows - a.rows);
}

double PiecewiseLinear(std::span<const CostModel::Point> points, double rows) {
  // With a single point, each further row is guessed to cost a tenth: weights are read once a pass.
  if (points.size() == 1) return points[0].seconds * (1 + 0.1 * std::max(rows - 1, 0.0));
  return Interpolate(points, &CostModel::Point::seconds, rows);
}

}  // namespace

CostModel::CostModel(std::vector<Point> points, ContextShare context)
    : plain_(kFirstGuess, kNoWeight) {
  FT_CHECK(!points.empty());
  std::ranges::sort(points, {}, &Point::rows);
  std::vector<int> rows(std::begin(kRows), std::end(kRows));
  for (const Point& p : points) rows.push_back(p.rows);
  std::ranges::sort(rows);
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  const double plain = PiecewiseLinear(points, 1);
  for (const int count : rows) {
    const double cost = PiecewiseLinear(points, count) / plain;
    knots_.push_back({count, cost, Estimate(1, kGuessWeight), cost});
  }
  context_ = {context.pass / plain, context.row / plain};
  plain_ = Estimate(plain);
  for (int i = 0; i < 4; ++i) plain_.Observe(plain);
  most_timed_ = std::max(points.back().rows, 1);
  Redraw();
}

CostModel CostModel::Assume(std::vector<Point> points, ContextShare context) {
  CostModel costs(std::move(points), context);
  costs.plain_ = Estimate(kFirstGuess, kNoWeight);
  costs.most_timed_ = 1;
  return costs;
}

// Recomputes all costs. A knot without observations follows its neighbours' ratios; a knot with
// observations relies mostly on its own ratio.
void CostModel::Redraw() {
  double least = 1;
  for (Knot& knot : knots_) {
    double weight = kGuessWeight, sum = 0;
    for (const Knot& near : knots_) {
      if (near.rows == 1 || near.of_guess.observations() == 0) continue;
      const double distance = std::log2(static_cast<double>(near.rows) / knot.rows) / kReach;
      double lent = near.of_guess.observations() * std::exp(-distance * distance);
      if (&near != &knot) lent /= 1 + 4 * knot.of_guess.observations();
      weight += lent;
      sum += lent * std::log(near.of_guess.value());
    }
    const double cost = knot.rows == 1 ? 1 : knot.guess * std::exp(sum / weight);
    least = std::max(least, cost);  // more rows never cost less
    knot.cost = least;
  }
}

double CostModel::Passes(double rows) const {
  return rows <= 1 ? 1 : Interpolate<Knot>(knots_, &Knot::cost, rows);
}

double CostModel::GuessedPasses(double rows) const {
  return rows <= 1 ? 1 : Interpolate<Knot>(knots_, &Knot::guess, rows);
}

double CostModel::VerifySeconds(double rows, int context) const {
  return plain_.value() * std::exp(log_pace_) *
         (Passes(rows) + context * (context_.pass + context_.row * rows));
}

CostModel::Knot& CostModel::Nearest(double rows) {
  return *std::ranges::min_element(
      knots_, {}, [rows](const Knot& knot) { return std::abs(std::log(knot.rows / rows)); });
}

// Updates the machine's pace from a pass. `residual`: logarithm of its time over the expected time.
// `observations`: number of earlier passes with about as many rows. A deviation that all passes
// share, such as one caused by another process, belongs to the pace; a deviation at a single number
// of rows belongs to the curve.
void CostModel::FollowPace(double residual, double observations) {
  if (observations < kKnown) return;
  const double part = observations / (observations + kKnown);
  log_pace_ += kPaceStep * part * std::clamp(residual, -kMostOfPace, kMostOfPace);
  // A lasting deviation is moved to the cost of the one-row pass.
  constexpr double kLasting = 0.05;
  plain_.Scale(std::exp(kLasting * log_pace_));
  log_pace_ -= kLasting * log_pace_;
}

void CostModel::ObserveVerify(int rows, int context, double seconds) {
  const double attention = context * (context_.pass + context_.row * rows);
  const double residual = std::log(seconds / VerifySeconds(rows, context));
  if (rows == 1) {
    const double paced = seconds / std::exp(log_pace_);
    FollowPace(residual, plain_.observations());
    return plain_.Observe(paced / (1 + attention));
  }
  most_timed_ = std::max(most_timed_, rows);
  // While several texts share passes, there may be no one-row pass for long, so larger passes
  // provide the estimate.
  if (!has_plain_pass()) {
    return plain_.Observe(seconds / std::exp(log_pace_) / (Passes(rows) + attention));
  }
  // More rows never cost less: if they seem to, the one-row passes were disturbed.
  constexpr double kTolerance = 1.1;
  const double pace = std::exp(log_pace_);
  plain_.Limit(kTolerance * seconds / pace / (1 + attention));
  Knot& knot = Nearest(rows);
  const double cost = seconds / (pace * plain_.value()) - attention;
  FollowPace(residual, knot.of_guess.observations());
  knot.of_guess.Observe(std::max(cost, 1.0) / GuessedPasses(rows));
  Redraw();
}

DraftCosts& CostModel::Drafter(const std::string& name) { return drafters_[name]; }

Json CostModel::ToJson() const {
  Json curve = Json::array(), drafters = Json::object();
  for (const Knot& knot : knots_) {
    if (knot.of_guess.observations() == 0) continue;
    curve.push_back(Json::array({knot.rows, knot.of_guess.ToJson()}));
  }
  for (const auto& [name, costs] : drafters_) {
    if (costs.observed()) drafters[name] = costs.ToJson();
  }
  return {{"plain", plain_.ToJson()},
          {"most_rows", most_timed_},
          {"curve", std::move(curve)},
          {"answer", answers_.ToJson()},
          {"drafters", std::move(drafters)}};
}

Status CostModel::Restore(const Json& json, const std::string& origin) {
  const Error bad{origin + ": not a table of costs"};
  if (!json.is_object()) return bad;
  const Json curve = json.value("curve", Json()), drafters = json.value("drafters", Json()),
             most = json.value("most_rows", Json());
  if (!curve.is_array() || !drafters.is_object() || !most.is_number_integer()) return bad;
  if (!plain_.Restore(json.value("plain", Json()))) return bad;
  if (!answers_.Restore(json.value("answer", Json()))) return bad;
  most_timed_ = std::clamp(most.get<int>(), 1, 1 << 16);
  for (const Json& entry : curve) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_number_integer()) return bad;
    const auto knot = std::ranges::find(knots_, entry[0].get<int>(), &Knot::rows);
    if (knot == knots_.end() || !knot->of_guess.Restore(entry[1])) return bad;
  }
  for (const auto& [name, entry] : drafters.items()) {
    if (!Drafter(name).Restore(entry)) return bad;
  }
  Redraw();
  return {};
}

}  // namespace foretoken
