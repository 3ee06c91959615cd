// Chooses the unit that multiplies quantised weights where a set of kernels has two: the vector
// unit, faster for few rows, or the matrix unit (AMX), faster for many. Both give the same bits, so
// the choice may depend on timings: the first products of each shape are timed on both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "backend/cpu/kernels.h"

namespace foretoken {

// The properties of a group of products that determine how long it takes.
struct ProductShape {
  uint32_t formats = 0;  // bit i is set if a weight has Format i
  int64_t inputs = 0;
  int64_t outputs = 0;  // outputs of all weights together
  int rows = 0;         // rows of the tile, padding included
  bool gated = false;   // gate and up of a feed-forward block, fused with SiLU

  bool operator==(const ProductShape&) const = default;
};

// Thread-safety: one caller at a time.
class UnitChooser {
 public:
  using Clock = double (*)();  // seconds
  // Tiles with more rows always use the matrix unit.
  static constexpr int kMostVectorRows = 48;
  // Before anything is measured, tiles with fewer rows use the vector unit.
  static constexpr int kPriorMatrixRows = 24;
  // The number of groups of each shape that are measured with each unit.
  static constexpr int kTrials = 3;

  explicit UnitChooser(Clock clock = &SteadySeconds) : clock_(clock) {}

  class Call;
  // Chooses the unit for a group of products. The group ends when the returned Call is destroyed.
  Call Begin(const ProductShape& shape);

 private:
  // The measurements of a shape. During the trials, a group is computed by the unit with fewer
  // trials so far; afterwards, by the unit whose shortest trial was shorter. Ties go to the prior.
  struct Measured {
    ProductUnit unit = ProductUnit::kVector;  // of the next group
    double shortest[2] = {};                  // seconds, by unit: the vector unit's first
    int trials[2] = {};

    bool complete() const { return trials[0] == kTrials && trials[1] == kTrials; }
  };
  struct Hash {
    size_t operator()(const ProductShape& shape) const;
  };

  static double SteadySeconds();
  static ProductUnit Prior(int rows);
  // Records the duration of a group that measured.unit computed, and chooses the next group's unit.
  static void Record(Measured& measured, int rows, double seconds);

  Clock clock_;
  std::unordered_map<ProductShape, Measured, Hash> shapes_;
};

// A group of products in progress, and the unit that computes it. Measured groups are timed from
// construction to destruction.
class UnitChooser::Call {
 public:
  // A group that is not measured.
  explicit Call(ProductUnit unit) : unit_(unit) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call();

  ProductUnit unit() const { return unit_; }

 private:
  friend class UnitChooser;
  Call(Clock clock, int rows, Measured& measured)
      : unit_(measured.unit), rows_(rows), clock_(clock), measured_(&measured), begin_(clock()) {}

  const ProductUnit unit_;
  int rows_ = 0;
  Clock clock_ = nullptr;
  Measured* measured_ = nullptr;  // null: not measured
  double begin_ = 0;
};

}  // namespace foretoken
