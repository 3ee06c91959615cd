#include "optimizer.h"

#include <ATen/Parallel.h>

#include <cfloat>
#include <cmath>

#include "base/division.h"
#include "train_kernels.h"

namespace foretoken::train {
namespace {

using torch::Tensor;

// Elements of a partial sum; fixed, so that norms do not depend on the thread count.
constexpr int64_t kNormBlock = 1 << 16;

double SumSquares(const Tensor& x) {
  if (!x.device().is_cpu()) return x.to(torch::kFloat64).pow(2).sum().item<double>();
  const int64_t count = x.numel(), parts = DivideUp(count, kNormBlock);
  std::vector<double> sums(parts);
  const float* data = x.data_ptr<float>();
  at::parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      sums[p] = BestKernels().flat.sum_squares(p * kNormBlock,
                                               std::min(count, (p + 1) * kNormBlock), data);
    }
  });
  double total = 0.0;
  for (double s : sums) total += s;
  return total;
}

// The gradient after clipping by norm and by value.
Tensor Clipped(const AdamWStep& s, const Tensor& grad) {
  return (grad * s.grad_scale).clamp(-s.grad_limit, s.grad_limit);
}

void UpdatePlain(const AdamWStep& s, const Tensor& grad, const Tensor& param, Tensor& first,
                 Tensor& second) {
  const Tensor g = Clipped(s, grad);
  first.mul_(s.beta1).add_(g, 1.0 - s.beta1);
  second.mul_(s.beta2).addcmul_(g, g, 1.0 - s.beta2);
  param.mul_(1.0 - s.lr * s.weight_decay);
  param.addcdiv_(first, (second / s.correction2).sqrt().add_(s.eps), -s.lr / s.correction1);
}

void UpdateAdamW(const AdamWStep& s, const Tensor& grad, const Tensor& param, Tensor& first,
                 Tensor& second) {
  if (!param.device().is_cpu()) return UpdatePlain(s, grad, param, first, second);
  const float* g = grad.data_ptr<float>();
  float *p = param.data_ptr<float>(), *m = first.data_ptr<float>(), *v = second.data_ptr<float>();
  at::parallel_for(0, param.numel(), 4096, [&](int64_t begin, int64_t end) {
    BestKernels().flat.adamw(begin, end, s, g, p, m, v);
  });
}

// Muon's rule: the momentum is replaced by a matrix of its directions with equal weights, whose
// entries have the root mean square of AdamW's updates, so that both rules share a rate (Liu et
// al., arXiv:2502.16982, section 2.2).
void UpdateMuon(const AdamWStep& s, torch::ScalarType compute, const Tensor& grad,
                const Tensor& param, Tensor& first) {
  constexpr double kMomentum = 0.95, kUpdateSize = 0.2;
  const Tensor g = Clipped(s, grad);
  first.mul_(kMomentum).add_(g);
  const Tensor update = Orthogonalized(g + first * kMomentum, compute);
  const double size = kUpdateSize * std::sqrt(std::max(param.size(0), param.size(1)));
  param.mul_(1.0 - s.lr * s.weight_decay);
  param.add_(update.to(torch::kFloat32), -s.lr * size);
}

}  // namespace

Tensor Orthogonalized(const Tensor& matrix, torch::ScalarType compute) {
  constexpr int kSteps = 5;
  constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;  // of x -> a x + b x^3 + c x^5
  const torch::NoGradGuard no_grad;
  const bool is_tall = matrix.size(0) > matrix.size(1);
  Tensor x = is_tall ? matrix.t() : matrix;
  x = (x / (matrix.norm() + 1e-12)).to(compute).contiguous();
  for (int step = 0; step < kSteps; ++step) {
    const Tensor square = at::mm(x, x.t());
    x = at::addmm(x, at::addmm(square, square, square, kB, kC), x, kA, 1.0);
  }
  return is_tall ? x.t() : x;
}

Optimizer::Optimizer(const std::vector<NamedParameter>& parameters, const OptimizerOptions& options)
    : parameters_(parameters), options_(options) {
  for (const NamedParameter& p : parameters) {
    const Tensor zeros = torch::zeros_like(p.value.detach());
    first_.push_back(zeros);
    const bool is_matrix = p.value.dim() == 2 && p.value.size(0) != options.vocab;
    second_.push_back(options.muon && is_matrix ? Tensor() : zeros.clone());
  }
}

void Optimizer::Update(const AdamWStep& step, const Tensor& grad, size_t index) {
  const Tensor& value = parameters_[index].value;
  if (second_[index].defined()) {
    UpdateAdamW(step, grad, value, first_[index], second_[index]);
  } else {
    UpdateMuon(step, options_.compute, grad, value, first_[index]);
  }
}

double Optimizer::GradNorm() const {
  double total = 0.0;
  for (const NamedParameter& p : parameters_) {
    if (p.value.grad().defined()) total += SumSquares(p.value.grad().contiguous());
  }
  return std::sqrt(total);
}

double Optimizer::Step(int64_t step, double lr) {
  torch::NoGradGuard no_grad;
  const double norm = GradNorm();
  const double clip = options_.clip > 0.0 && norm > options_.clip ? options_.clip / norm : 1.0;
  const auto power = static_cast<double>(step);
  AdamWStep s{};
  s.lr = static_cast<float>(lr);
  s.beta1 = static_cast<float>(options_.beta1);
  s.beta2 = static_cast<float>(options_.beta2);
  s.eps = static_cast<float>(options_.eps);
  s.correction1 = static_cast<float>(1.0 - std::pow(options_.beta1, power));
  s.correction2 = static_cast<float>(1.0 - std::pow(options_.beta2, power));
  s.grad_scale = static_cast<float>(clip);
  s.grad_limit = options_.clip_value > 0.0 ? static_cast<float>(options_.clip_value) : FLT_MAX;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    Tensor value = parameters_[i].value;
    if (std::isfinite(norm) && value.grad().defined()) {
      s.weight_decay = parameters_[i].decays ? static_cast<float>(options_.weight_decay) : 0.0f;
      Update(s, value.grad().contiguous(), i);
    }
    value.mutable_grad().reset();
  }
  return norm;
}

}  // namespace foretoken::train
