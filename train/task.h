// The interface between a method and the training loop (trainer.h).
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
  // Returns the number of terms that the loss of `batch` sums up.
  virtual double CountLossTerms(const Batch& batch) const = 0;
  // Adds the gradients of scale * (sum of the batch's losses) to those of the weights. Returns
  // "loss" first, then its parts, all multiplied by `scale`.
  virtual Metrics Learn(const Batch& batch, double scale) = 0;
  // The number of weight updates in a step, each with the gradients of one part of the loss.
  virtual int64_t updates() const { return 1; }
  // Like Learn, for part `update` (from 0) of the loss. The training loop calls it with part 0 for
  // all batches of a step, updates the weights, then proceeds to part 1. The parts' metrics add up
  // to those of Learn.
  virtual Metrics LearnPart(const Batch& batch, double scale, int64_t /*update*/) {
    return Learn(batch, scale);
  }
  // Evaluates the weights on held-out data. Checkpoints record the first of the returned metrics.
  virtual Metrics Evaluate(const std::vector<Batch>& batches) = 0;
  // Formats Evaluate's result as a short text for the progress line.
  virtual std::string Summary(const Metrics& evaluated) const = 0;
  // Floating-point operations of the matrix products that a step executes for `batch`, in all its
  // updates.
  virtual double Flops(const Batch& batch) const = 0;
};

}  // namespace foretoken::train
