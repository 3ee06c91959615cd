// CostModel::Guess: a pass as a roofline of bytes and multiply-adds.
#include <cmath>

#include "engine/cost_model.h"

namespace foretoken {
namespace {

// Products of floats take so much longer than those of bytes.
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
  // Bytes and arithmetic overlap in part: between the longer of the two and their sum.
  constexpr double kOverlap = 1.5;
  // Attention's arithmetic is in floats.
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
                {.pass = cached * 2 / bytes,  // F16
                 .row = kAttentionSlowness * attended / weights / crossover});
}

}  // namespace foretoken
