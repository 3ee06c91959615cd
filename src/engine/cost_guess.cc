// CostModel::Guess: a roofline model of a pass, from bytes and multiply-adds.
#include <cmath>

#include "engine/cost_model.h"

namespace foretoken {
namespace {

// Cost of a multiply-add with weights of this type, relative to one with byte codes.
double Slowness(DType type) {
  switch (type) {
    case DType::kF32:
    case DType::kF16:
      return 5;
    case DType::kBF16:
      return 2;
    default:
      return 1;
  }
}

double Weights(const ModelConfig& c) {
  const double attention = 2.0 * c.hidden * c.head_dim * (c.heads + c.kv_heads);
  return c.layers * (attention + 3.0 * c.hidden * c.ffn) + static_cast<double>(c.vocab) * c.hidden;
}

}  // namespace

CostModel CostModel::Guess(const Model& model) {
  // Exponent of the norm that combines memory time and arithmetic time. The two overlap partly, so
  // the result lies between the larger of them and their sum.
  constexpr double kOverlap = 1.5;
  // Attention computes in floating point.
  constexpr double kAttentionSlowness = 4;
  const ModelConfig& c = model.config();
  const double weights = Weights(c), bytes = static_cast<double>(model.weight_bytes());
  const DType type = model.OutputHead().type();
  const double crossover = model.backend().CrossoverRows() * bytes / weights / Slowness(type);
  const auto cost = [&](int rows) {
    return std::pow(1 + std::pow(rows / crossover, kOverlap), 1 / kOverlap);
  };
  std::vector<Point> points;
  for (int rows = 1; rows <= 512; rows += rows < 16 ? 1 : rows / 4) {
    points.push_back({rows, cost(rows) / cost(1)});
  }
  const double cached = 2.0 * c.layers * c.kv_heads * c.head_dim;
  const double attended = 2.0 * c.layers * c.heads * c.head_dim;
  return Assume(std::move(points),
                {.pass = cached * 2 / bytes,  // cached values are F16
                 .row = kAttentionSlowness * attended / weights / crossover});
}

}  // namespace foretoken
