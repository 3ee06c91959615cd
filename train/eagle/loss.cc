#include "eagle/loss.h"

#include <torch/autograd.h>

#include "draft_ops.h"

namespace foretoken::train {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

struct RowLosses {
  Tensor losses;    // [rows] f32
  Tensor gradient;  // of their sum, [rows, vocab] f32
};

constexpr int64_t kDerivedRows = 128;  // rows at a time: objectives keep many values per token

// Returns the losses and gradients of an objective, computed by libtorch's autograd. This is slow,
// but these objectives are only for comparisons.
RowLosses Derived(const EagleLossOptions& options, const Tensor& target, const Tensor& draft) {
  const torch::AutoGradMode enabled(true);
  RowLosses all{torch::zeros({draft.size(0)}, draft.options().dtype(torch::kFloat32)),
                torch::zeros(draft.sizes(), draft.options().dtype(torch::kFloat32))};
  for (int64_t first = 0; first < draft.size(0); first += kDerivedRows) {
    const int64_t count = std::min(kDerivedRows, draft.size(0) - first);
    const auto part = [&](const Tensor& x) { return x.narrow(0, first, count); };
    const Tensor leaf =
        part(draft).detach().to(torch::kFloat32, /*non_blocking=*/false, /*copy=*/true);
    leaf.requires_grad_();
    const Tensor losses = options.objective(part(target).to(torch::kFloat32), leaf, options.likely);
    part(all.losses).copy_(losses.detach());
    part(all.gradient).copy_(torch::autograd::grad({losses.sum()}, {leaf})[0]);
  }
  return all;
}

// Returns the root mean square of each dimension over `rows`: [hidden] f32, at least 1 % of the
// largest one.
Tensor Spread(const Tensor& features, const Tensor& rows) {
  const Tensor values = features.index_select(0, rows).to(torch::kFloat32);
  const Tensor spread = values.square().mean(0).sqrt();
  return torch::maximum(spread, spread.max() * 1e-2).clamp_min(1e-6);
}

// Like SmoothL1 of draft_ops.h, with its gradient, but between `guesses` and `wanted` divided by
// `spread`.
Tensor NormalisedSmoothL1(const Tensor& guesses, const Tensor& rows, const Tensor& wanted,
                          const Tensor& spread, const Tensor& added, double factor,
                          Tensor gradient) {
  const Tensor difference =
      (guesses.index_select(0, rows) - wanted.to(torch::kFloat32)).div_(spread);
  const Tensor slope = difference.clamp(-1.0, 1.0);
  const double share = factor / static_cast<double>(guesses.size(1));
  gradient.index_copy_(0, rows, added.to(torch::kFloat32) + slope.div(spread) * share);
  return (slope * (difference - 0.5 * slope)).mean(1);
}

class EagleLossFn : public Function<EagleLossFn> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& outputs, const EagleAnswers& answers,
                        const EagleLossOptions& options, double scale, int64_t chunk,
                        bool wants_grad, EagleLossParts* parts) {
    const Tensor &features = answers.features, &head = answers.head, &loss_rows = answers.loss_rows;
    const bool weighs = answers.token_weight.defined();
    const auto passes = static_cast<int64_t>(options.pass_weights.size());
    const bool by_top = options.objective == nullptr;
    const int64_t rows = features.size(0);
    Tensor gradient = torch::zeros_like(outputs);
    const Tensor spread = options.normalised_features ? Spread(features, loss_rows + 1) : Tensor();
    Tensor sums = torch::zeros({2}, outputs.options().dtype(torch::kFloat64));
    for (int64_t first = 0; first < loss_rows.size(0); first += chunk) {
      const Tensor at = loss_rows.narrow(0, first, std::min(chunk, loss_rows.size(0) - first));
      const Tensor wanted = features.index_select(0, at + 1);
      const Tensor said = at::mm(wanted, head.t());
      const Tensor weights =
          weighs ? answers.token_weight.index_select(0, at).unsqueeze(1) : Tensor();
      Tensor targets = DistillationTargets(said, options.soft, by_top ? options.hard : 0.0,
                                           by_top ? options.likely.top : 0);
      if (weighs) targets.mul_(weights);
      for (int64_t pass = 0; pass < passes; ++pass) {
        const double weight = options.pass_weights[pass], factor = weight * scale;
        const Tensor row = at + pass * rows;
        Tensor logits = at::mm(GatherRows(outputs, row, head.scalar_type()), head.t());
        RowLosses more = by_top ? RowLosses() : Derived(options, said, logits);
        Tensor tokens = SoftCrossEntropy(logits, targets, factor);
        if (!by_top) {
          if (weighs) {
            more.losses.mul_(weights.squeeze(1));
            more.gradient.mul_(weights);
          }
          logits.add_(more.gradient, options.hard * factor);
          tokens = tokens + more.losses * options.hard;
        }
        const Tensor added = at::mm(logits, head);
        const double part = options.feature * factor;
        const Tensor feature =
            spread.defined()
                ? NormalisedSmoothL1(outputs, row, wanted, spread, added, part, gradient)
                : SmoothL1(outputs, row, wanted, added, part, gradient);
        sums[0] += feature.to(torch::kFloat64).sum() * weight;
        sums[1] += tokens.to(torch::kFloat64).sum() * weight;
      }
    }
    if (wants_grad) ctx->save_for_backward({gradient});
    parts->feature = sums[0].item<double>();
    parts->tokens = sums[1].item<double>();
    return ((sums[0] * options.feature + sums[1]) * scale).to(torch::kFloat32);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const Tensor gradient = ctx->get_saved_variables()[0];
    const double factor = grads[0].item<double>();
    variable_list result = {factor == 1.0 ? gradient : gradient * factor};
    result.resize(7);
    return result;
  }
};

}  // namespace

Tensor EagleLoss(const Tensor& outputs, const EagleAnswers& answers,
                 const EagleLossOptions& options, double scale, int64_t chunk,
                 EagleLossParts& parts) {
  const bool wants_grad = torch::GradMode::is_enabled();
  return EagleLossFn::apply(outputs, answers, options, scale, chunk, wants_grad, &parts);
}

}  // namespace foretoken::train
