#include "backend/cpu/linear/unit_chooser.h"

#include <algorithm>
#include <chrono>

#include "base/rng.h"

namespace foretoken {

double UnitChooser::SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

size_t UnitChooser::Hash::operator()(const ProductShape& shape) const {
  uint64_t hash = shape.formats;
  for (const auto field :
       {static_cast<uint64_t>(shape.inputs), static_cast<uint64_t>(shape.outputs),
        static_cast<uint64_t>(2 * shape.rows + (shape.gated ? 1 : 0))}) {
    hash = Mix(hash ^ field);
  }
  return hash;
}

ProductUnit UnitChooser::Prior(int rows) {
  return rows < kPriorMatrixRows ? ProductUnit::kVector : ProductUnit::kMatrix;
}

void UnitChooser::Record(Measured& measured, int rows, double seconds) {
  const int unit_index = measured.unit == ProductUnit::kVector ? 0 : 1;
  double& shortest = measured.shortest[unit_index];
  shortest = measured.trials[unit_index] == 0 ? seconds : std::min(shortest, seconds);
  ++measured.trials[unit_index];
  const bool complete = measured.complete();
  const auto vector = complete ? measured.shortest[0] : measured.trials[0];
  const auto matrix = complete ? measured.shortest[1] : measured.trials[1];
  measured.unit = vector < matrix   ? ProductUnit::kVector
                  : matrix < vector ? ProductUnit::kMatrix
                                    : Prior(rows);
}

UnitChooser::Call UnitChooser::Begin(const ProductShape& shape) {
  if (shape.rows > kMostVectorRows) return Call(ProductUnit::kMatrix);
  const auto [entry, is_new] = shapes_.try_emplace(shape);
  Measured& measured = entry->second;
  if (is_new) measured.unit = Prior(shape.rows);
  if (measured.complete()) return Call(measured.unit);
  return Call(clock_, shape.rows, measured);
}

UnitChooser::Call::~Call() {
  if (measured_ != nullptr) Record(*measured_, rows_, clock_() - begin_);
}

}  // namespace foretoken
