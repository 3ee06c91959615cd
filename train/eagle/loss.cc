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
  Tensor gradient;  // [rows, vocab] f32: gradient of the sum of `losses`
};

constexpr int64_t kObjectiveRows = 128;  // rows at a time: objectives keep many values per token

// Returns the losses and gradients of an objective, computed by libtorch's autograd. This is slow,
// but these objectives are only for comparisons.
RowLosses ObjectiveLosses(const EagleLossOptions& options, const Tensor& target,
                          const Tensor& draft) {
  const torch::AutoGradMode enabled(true);
  RowLosses result{torch::zeros({draft.size(0)}, draft.options().dtype(torch::kFloat32)),
                   torch::zeros(draft.sizes(), draft.options().dtype(torch::kFloat32))};
  for (int64_t first = 0; first < draft.size(0); first += kObjectiveRows) {
    const int64_t count = std::min(kObjectiveRows, draft.size(0) - first);
    const auto part = [&](const Tensor& x) { return x.narrow(0, first, count); };
    const Tensor leaf =
        part(draft).detach().to(torch::kFloat32, /*non_blocking=*/false, /*copy=*/true);
    leaf.requires_grad_();
    const Tensor losses =
        options.objective(part(target).to(torch::kFloat32), leaf, options.objective_options);
    part(result.losses).copy_(losses.detach());
    part(result.gradient).copy_(torch::autograd::grad({losses.sum()}, {leaf})[0]);
  }
  return result;
}

// Returns the root mean square of each dimension over `rows`: [hidden] f32, at least 1 % of the
// largest one.
Tensor Spread(const Tensor& features, const Tensor& rows) {
  const Tensor values = features.index_select(0, rows).to(torch::kFloat32);
  const Tensor spread = values.square().mean(0).sqrt();
  return torch::maximum(spread, spread.max() * 1e-2).clamp_min(1e-6);
}

// Like SmoothL1 of draft_ops.h, but of predictions and targets that are divided by `spread`.
Tensor NormalisedSmoothL1(const Tensor& predictions, const Tensor& rows, const Tensor& targets,
                          const Tensor& spread, const Tensor& other_gradient, double scale,
                          Tensor gradient) {
  const Tensor difference =
      (predictions.index_select(0, rows) - targets.to(torch::kFloat32)).div_(spread);
  const Tensor slope = difference.clamp(-1.0, 1.0);
  const double slope_scale = scale / static_cast<double>(predictions.size(1));
  gradient.index_copy_(0, rows,
                       other_gradient.to(torch::kFloat32) + slope.div(spread) * slope_scale);
  return (slope * (difference - 0.5 * slope)).mean(1);
}

class EagleLossFn : public Function<EagleLossFn> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& outputs,
                        const EagleLossTargets& loss_targets, const EagleLossOptions& options,
                        double scale, int64_t chunk, bool wants_grad, EagleLossParts* parts) {
    const Tensor &features = loss_targets.features, &head = loss_targets.head,
                 &loss_rows = loss_targets.loss_rows;
    const bool has_weights = loss_targets.token_weight.defined();
    const auto passes = static_cast<int64_t>(options.pass_weights.size());
    const bool uses_topk = options.objective == nullptr;
    const int64_t rows = features.size(0);
    Tensor gradient = torch::zeros_like(outputs);
    const Tensor spread = options.normalised_features ? Spread(features, loss_rows + 1) : Tensor();
    Tensor sums = torch::zeros({2}, outputs.options().dtype(torch::kFloat64));
    for (int64_t first = 0; first < loss_rows.size(0); first += chunk) {
      const Tensor chunk_rows =
          loss_rows.narrow(0, first, std::min(chunk, loss_rows.size(0) - first));
      const Tensor next_features = features.index_select(0, chunk_rows + 1);
      const Tensor target_logits = at::mm(next_features, head.t());
      const Tensor weights =
          has_weights ? loss_targets.token_weight.index_select(0, chunk_rows).unsqueeze(1)
                      : Tensor();
      Tensor targets =
          DistillationTargets(target_logits, options.soft, uses_topk ? options.hard : 0.0,
                              uses_topk ? options.objective_options.top : 0);
      if (has_weights) targets.mul_(weights);
      for (int64_t pass = 0; pass < passes; ++pass) {
        const double weight = options.pass_weights[pass], factor = weight * scale;
        const Tensor output_rows = chunk_rows + pass * rows;
        Tensor logits = at::mm(GatherRows(outputs, output_rows, head.scalar_type()), head.t());
        RowLosses objective_losses =
            uses_topk ? RowLosses() : ObjectiveLosses(options, target_logits, logits);
        Tensor tokens = SoftCrossEntropy(logits, targets, factor);
        if (!uses_topk) {
          if (has_weights) {
            objective_losses.losses.mul_(weights.squeeze(1));
            objective_losses.gradient.mul_(weights);
          }
          logits.add_(objective_losses.gradient, options.hard * factor);
          tokens = tokens + objective_losses.losses * options.hard;
        }
        const Tensor token_gradient = at::mm(logits, head);
        const double feature_scale = options.feature * factor;
        const Tensor feature = spread.defined()
                                   ? NormalisedSmoothL1(outputs, output_rows, next_features, spread,
                                                        token_gradient, feature_scale, gradient)
                                   : SmoothL1(outputs, output_rows, next_features, token_gradient,
                                              feature_scale, gradient);
        sums[0] += feature.to(torch::kFloat64).sum() * weight;
        sums[1] += tokens.to(torch::kFloat64).sum() * weight;
      }
    }
    if (wants_grad) ctx->save_for_backward({gradient});
    parts->feature_loss = sums[0].item<double>();
    parts->token_loss = sums[1].item<double>();
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

Tensor EagleLoss(const Tensor& outputs, const EagleLossTargets& loss_targets,
                 const EagleLossOptions& options, double scale, int64_t chunk,
                 EagleLossParts& parts) {
  const bool wants_grad = torch::GradMode::is_enabled();
  return EagleLossFn::apply(outputs, loss_targets, options, scale, chunk, wants_grad, &parts);
}

}  // namespace foretoken::train
