// CostModel::Measure: a handful of passes over a cache of zeros.
#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <numeric>

#include "engine/cost_model.h"

namespace foretoken {
namespace {

constexpr int kContext = 1024;  // positions, for attention's share

class Passes {
 public:
  Passes(Model& model, double budget) : model_(model), budget_(budget) {}

  double left() const { return budget_ - Since(start_); }

  // The time of a pass of `rows` rows after `context` positions.
  double Time(int rows, int context) {
    const std::unique_ptr<KvCache> cache = model_.NewCache(context + rows, DType::kF16);
    Fill(*cache, context);
    RowBatch batch;
    for (int i = 0; i < rows; ++i) {
      batch.token.push_back(i % model_.config().vocab);
      batch.position.push_back(context + i);
      batch.parent.push_back(i - 1);
      batch.logit_rows.push_back(i);
    }
    batch.begin.push_back(rows);
    KvCache* const caches[] = {cache.get()};
    chosen_.resize(static_cast<size_t>(rows));
    const Clock::time_point begin = Clock::now();
    model_.backend().ArgMax(model_.Forward(batch, caches, {}, {}), chosen_);
    return Since(begin);
  }

 private:
  using Clock = std::chrono::steady_clock;

  static double Since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  // Rows of zeros take as long to attend to as any.
  static void Fill(KvCache& cache, int rows) {
    if (rows == 0) return;
    std::vector<Node> parents(static_cast<size_t>(rows)), path(parents.size());
    std::iota(parents.begin(), parents.end(), -1);
    std::iota(path.begin(), path.end(), 0);
    cache.Append(parents);
    cache.Commit(path);
  }

  Model& model_;
  double budget_;
  Clock::time_point start_ = Clock::now();
  std::vector<Token> chosen_;
};

}  // namespace

CostModel CostModel::Measure(Model& model, double budget) {
  constexpr int kRounds = 5;
  // The most telling first, for models that leave time for few.
  constexpr std::array kRows{1, 8, 16, 4, 2, 32, 12, 6, 64};
  constexpr double kNever = std::numeric_limits<double>::infinity();
  Passes passes(model, budget);
  passes.Time(1, 0);  // reads the weights once
  std::array<double, kRows.size()> best;
  best.fill(kNever);
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < kRows.size(); ++i) {
      const int rows = std::min(kRows[i], model.max_rows());
      // A pass takes no longer than its rows one by one.
      const double expected = best[i] < kNever ? best[i] : i == 0 ? 0 : best[0] * rows / 2;
      if (rows != kRows[i] || expected > 0.8 * passes.left()) continue;
      best[i] = std::min(best[i], passes.Time(rows, 0));
    }
  }
  std::vector<Point> points;
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (best[i] < kNever) points.push_back({kRows[i], std::max(best[i], 1e-9)});
  }
  ContextShare share;
  const int context = std::min(kContext, model.config().context - kRows[1]);
  if (best[1] < kNever && context > 0 && passes.left() > 0.1 * budget) {
    double first = kNever, second = kNever;
    for (int round = 0; round < 3 && (round == 0 || passes.left() > 0); ++round) {
      first = std::min(first, passes.Time(1, context));
      second = std::min(second, passes.Time(kRows[1], context));
    }
    const double one = std::max(0.0, first - best[0]) / context;
    const double many = std::max(0.0, second - best[1]) / context;
    share.row = std::max(0.0, many - one) / (kRows[1] - 1);
    share.pass = std::max(0.0, one - share.row);
  }
  return CostModel(std::move(points), share);
}

}  // namespace foretoken
