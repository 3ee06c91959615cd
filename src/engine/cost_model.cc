#include "engine/cost_model.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/json.h"
#include "engine/number_list.h"
#include "engine/typical.h"

namespace foretoken {
namespace {

constexpr double kPaceStep = 0.05;    // most that one pass changes the pace, as a logarithm
constexpr double kShapeStep = 0.004;  // and the points beside it
constexpr int kMakeAPoint = 2;        // passes; the cheaper one counts, as pauses only add

// Moves `value` by a logarithm, but not far from what was measured.
void Move(double by, double measured, double& value) {
  value = std::clamp(value * std::exp(by), measured / 2, measured * 2);
}

}  // namespace

CostModel::CostModel(std::vector<Point> points, ContextShare context)
    : points_(std::move(points)), context_(context) {
  FT_CHECK(!points_.empty());
  std::sort(points_.begin(), points_.end(),
            [](const Point& a, const Point& b) { return a.rows < b.rows; });
  KeepOrder();
  measured_points_ = points_;
  measured_context_ = context;
}

// More rows never cost less: points that say otherwise share their mean (pool adjacent violators).
void CostModel::KeepOrder() {
  struct Pool {
    double sum;
    size_t count;
  };
  std::vector<Pool> pools;
  for (const Point& p : points_) {
    pools.push_back({p.seconds, 1});
    while (pools.size() > 1) {
      const Pool last = pools.back();
      Pool& before = pools[pools.size() - 2];
      if (before.sum / static_cast<double>(before.count) <=
          last.sum / static_cast<double>(last.count)) {
        break;
      }
      before = {before.sum + last.sum, before.count + last.count};
      pools.pop_back();
    }
  }
  auto point = points_.begin();
  for (const Pool& pool : pools) {
    for (size_t i = 0; i < pool.count; ++i, ++point) {
      point->seconds = pool.sum / static_cast<double>(pool.count);
    }
  }
}

// Straight lines between points, and the last one beyond them.
double CostModel::AtRows(double rows) const {
  if (points_.size() == 1 || rows <= points_[0].rows) {
    // A pass reads the weights once, whatever its rows: a tenth a row is a guess for want of
    // points.
    const double beyond = points_.size() == 1 ? std::max(rows - points_[0].rows, 0.0) : 0.0;
    return points_[0].seconds * (1 + 0.1 * beyond);
  }
  size_t right = 1;
  while (right + 1 < points_.size() && points_[right].rows < rows) ++right;
  const Point &a = points_[right - 1], &b = points_[right];
  return a.seconds + (b.seconds - a.seconds) * (rows - a.rows) / (b.rows - a.rows);
}

double CostModel::Shape(double rows, int context) const {
  return AtRows(rows) + context * (context_.pass + context_.row * rows);
}

double CostModel::VerifySeconds(double rows, int context) const {
  return std::exp(log_pace_) * Shape(rows, context);
}

DraftCosts& CostModel::Drafter(const std::string& name) {
  return drafters_.try_emplace(name, AtRows(1)).first->second;
}

bool CostModel::IsMeasured(double rows) const {
  const int last = points_.back().rows;
  return rows < last + std::max(1, last / 4);
}

// More rows cost no less, and no more than a pass for every so many as the last point has.
void CostModel::ObserveBeyond(int rows, int context, double seconds) {
  const Point last = points_.back();
  const double without_context =
      seconds / std::exp(log_pace_) - context * (context_.pass + context_.row * rows);
  const double slope = (without_context - last.seconds) / (rows - last.rows);
  beyond_.rows = std::max(beyond_.rows, rows);
  beyond_.slope = std::min(beyond_.slope, std::clamp(slope, 0.0, last.seconds / last.rows));
  if (++beyond_.seen < kMakeAPoint) return;
  const double added = beyond_.slope * (beyond_.rows - last.rows);
  points_.push_back({beyond_.rows, last.seconds + added});
  measured_points_.push_back({beyond_.rows, measured_points_.back().seconds + added});
  beyond_ = {};
}

void CostModel::ObserveVerify(int rows, int context, double seconds) {
  if (!IsMeasured(rows)) return ObserveBeyond(rows, context, seconds);
  const double seen = std::log(std::max(seconds, kShortest) / Shape(rows, context));
  log_pace_ += kPaceStep * Towards(log_pace_, seen);
  // What the pace does not explain is the shape's; the context's share and each point beside take
  // the part they lent.
  const double step = kShapeStep * Towards(log_pace_, seen);
  const double at_rows = AtRows(rows) / Shape(rows, context);
  Move(step * (1 - at_rows), measured_context_.pass, context_.pass);
  Move(step * (1 - at_rows), measured_context_.row, context_.row);
  for (size_t i = 0; i < points_.size(); ++i) {
    const int at = points_[i].rows;
    const int left = i > 0 ? points_[i - 1].rows : at;
    const int right = i + 1 < points_.size() ? points_[i + 1].rows : at;
    const int width = std::max(1, rows <= at ? at - left : right - at);
    const double lent = 1 - static_cast<double>(std::abs(rows - at)) / width;
    if (lent > 0) Move(step * lent * at_rows, measured_points_[i].seconds, points_[i].seconds);
  }
  KeepOrder();
}

bool CostModel::Holds() const { return std::abs(log_pace_) <= std::log(2.0); }

Json CostModel::ToJson() const {
  Json points = Json::array(), drafters = Json::object();
  for (const Point& p : measured_points_) points.push_back(Json::array({p.rows, p.seconds}));
  for (const auto& [name, costs] : drafters_) {
    if (costs.observed()) drafters[name] = costs.ToJson();
  }
  return {{"points", std::move(points)},
          {"context", Json::array({measured_context_.pass, measured_context_.row})},
          {"drafters", std::move(drafters)}};
}

Result<CostModel> CostModel::FromJson(const Json& json, const std::string& origin) {
  const Error bad{origin + ": not a table of costs"};
  if (!json.is_object()) return bad;
  const Json list = json.value("points", Json()), share = json.value("context", Json()),
             drafters = json.value("drafters", Json::object());
  if (!list.is_array() || list.empty() || !AreNumbers(share, 2, 0) || !drafters.is_object())
    return bad;
  std::vector<Point> points;
  for (const Json& entry : list) {
    if (!AreNumbers(entry, 2, 1e-9) || !entry[0].is_number_integer()) return bad;
    const int rows = entry[0].get<int>();
    if (rows < 1 || (!points.empty() && rows <= points.back().rows)) return bad;
    points.push_back({rows, entry[1].get<double>()});
  }
  CostModel costs(std::move(points), {share[0].get<double>(), share[1].get<double>()});
  for (const auto& [name, entry] : drafters.items()) {
    if (!costs.Drafter(name).Restore(entry)) return bad;
  }
  return costs;
}

}  // namespace foretoken
