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
constexpr int kMostRows = 64;
constexpr double kOfWeights = 0.125;  // the bytes of a context's keys and values at most

class Passes {
 public:
  explicit Passes(Model& model)
      : model_(model),
        context_(Context(model)),
        cache_(model.NewCache(context_ + kMostRows, DType::kF16)) {
    status_ = Touch();
  }

  // The most cached positions that Time takes; none where a model has no room for any.
  int context() const { return context_; }

  // Whether every pass found the memory it needs.
  const Status& status() const { return status_; }

  // Seconds of a pass of `rows` rows at `context` cached positions; 0 without memory.
  double Time(int rows, int context) {
    if (status_.ok()) status_ = Extend(context);
    if (!status_.ok()) return 0;
    RowBatch batch;
    for (int i = 0; i < rows; ++i) {
      batch.token.push_back(i % model_.config().vocab);
      batch.position.push_back(context + i);
      batch.parent.push_back(i - 1);
      batch.logit_rows.push_back(i);
    }
    batch.begin.push_back(rows);
    KvCache* const caches[] = {cache_.get()};
    chosen_.resize(static_cast<size_t>(rows));
    const Clock::time_point begin = Clock::now();
    const Result<Tensor> logits = model_.Forward(batch, caches, {}, {});
    if (logits.ok()) {
      model_.backend().ArgMax(*logits, chosen_);
    } else {
      status_ = logits.error();
    }
    const double seconds = Since(begin);
    cache_->Truncate(0);
    return seconds;
  }

 private:
  using Clock = std::chrono::steady_clock;

  static double Since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  // As many as the model has room for, and as take few bytes beside its weights.
  static int Context(const Model& model) {
    const ModelConfig& c = model.config();
    const auto row = static_cast<double>(RowBytes(DType::kF16, c.kv_heads * c.head_dim));
    const double most =
        kOfWeights * static_cast<double>(model.weight_bytes()) / (2 * c.layers * row);
    return std::max(
        0, std::min(c.context - kMostRows, static_cast<int>(std::min<double>(most, kContext))));
  }

  // Memory that nobody has written is no memory yet: the system's work at the first look at each
  // page takes as long as a small model's pass.
  Status Touch() {
    FT_RETURN_IF_ERROR(cache_->Reserve(context_ + kMostRows));
    Backend& backend = model_.backend();
    const ModelConfig& c = model_.config();
    FT_ASSIGN_OR_RETURN(const Buffer zeros,
                        backend.Allocate(DType::kF32, kMostRows, c.kv_heads * c.head_dim));
    for (int layer = 0; layer < c.layers; ++layer) {
      for (int row = 0; row < cache_->capacity(); row += kMostRows) {
        const int count = std::min(kMostRows, cache_->capacity() - row);
        backend.StoreRows(zeros.tensor.Rows(0, count), cache_->Keys(layer).Rows(row, count));
        backend.StoreRows(zeros.tensor.Rows(0, count), cache_->Values(layer).Rows(row, count));
      }
    }
    return {};
  }

  // To `rows` committed ones: zeros take as long to attend to as anything.
  Status Extend(int rows) {
    if (rows == 0) return {};
    std::vector<Node> parents(static_cast<size_t>(rows)), path(parents.size());
    std::iota(parents.begin(), parents.end(), -1);
    std::iota(path.begin(), path.end(), 0);
    FT_RETURN_IF_ERROR(cache_->Append(parents));
    cache_->Commit(path);
    return {};
  }

  Model& model_;
  int context_;
  std::unique_ptr<KvCache> cache_;
  std::vector<Token> chosen_;
  Status status_;
};

}  // namespace

Result<CostModel> CostModel::Measure(Model& model, double budget) {
  Passes passes(model);
  CostModel costs = Measure([&passes](int rows, int context) { return passes.Time(rows, context); },
                            passes.context(), model.max_rows(), budget);
  FT_RETURN_IF_ERROR(passes.status());
  return costs;
}

CostModel CostModel::Measure(const TimePass& time, int context, int max_rows, double budget) {
  constexpr int kRounds = 5;
  // The most telling first, for models that leave time for few.
  constexpr std::array kRows{1, 8, 16, 4, 2, 32, 12, 6, kMostRows};
  constexpr double kNever = std::numeric_limits<double>::infinity();
  double left = budget;
  const auto spend = [&](int rows, int at) {
    const double seconds = time(rows, at);
    left -= seconds;
    return seconds;
  };
  spend(1, 0);  // reads the weights, from the disk perhaps
  std::array<double, kRows.size()> best;
  best.fill(kNever);
  best[0] = spend(1, 0);                   // whatever it takes: all else is weighed against it
  double first = kNever, second = kNever;  // of 1 and 8 rows at the context
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = round == 0 ? 1 : 0; i < kRows.size(); ++i) {
      // A pass takes no longer than its rows one by one.
      const double expected = best[i] < kNever ? best[i] : best[0] * kRows[i] / 2;
      if (kRows[i] > max_rows || expected > 0.8 * left) continue;
      best[i] = std::min(best[i], spend(kRows[i], 0));
    }
    if (best[1] == kNever || context == 0 || left <= 0.1 * budget) continue;
    first = std::min(first, spend(1, context));
    second = std::min(second, spend(kRows[1], context));
  }
  std::vector<Point> points;
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (i == 0 || best[i] < kNever) points.push_back({kRows[i], std::max(best[i], 1e-9)});
  }
  ContextShare share;
  if (first < kNever) {
    const double one = std::max(0.0, first - best[0]) / context;
    const double many = std::max(0.0, second - best[1]) / context;
    share.row = std::max(0.0, many - one) / (kRows[1] - 1);
    share.pass = std::max(0.0, one - share.row);
  }
  return CostModel(std::move(points), share);
}

}  // namespace foretoken
