// What is trained: the loop (trainer.h) knows nothing else of a method.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "llama.h"
#include "weights.h"

namespace foretoken::train {

// Named values for the logs.
using Metrics = std::vector<std::pair<std::string, double>>;

class Task {
 public:
  virtual ~Task() = default;

  virtual WeightSet& weights() = 0;
  // The number that the loss of `batch` is a sum over: what is learnt of it.
  virtual double Learnt(const Batch& batch) const = 0;
  // Adds the gradients of scale * (sum of the batch's losses) to the weights. "loss" comes first,
  // then its parts; all are scaled.
  virtual Metrics Learn(const Batch& batch, double scale) = 0;
  // Updates of the weights that a step makes, each with the gradients of a part of its batches.
  virtual int64_t updates() const { return 1; }
  // Learn, of part `update` (from 0): of all batches of a step, then of all of them again once the
  // weights are updated. Metrics add up to Learn's.
  virtual Metrics LearnPart(const Batch& batch, double scale, int64_t /*update*/) {
    return Learn(batch, scale);
  }
  // How good the weights are on held-out data; the first value is the one that checkpoints keep.
  virtual Metrics Evaluate(const std::vector<Batch>& batches) = 0;
  // Evaluate's result in a few words, for the progress line.
  virtual std::string Summary(const Metrics& evaluated) const = 0;
  // Floating-point operations of the matrix products of Learn, as executed.
  virtual double Flops(const Batch& batch) const = 0;
};

}  // namespace foretoken::train
