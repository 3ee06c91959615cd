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

constexpr int64_t kDerivedRows = 128;  // objectives keep many values of each token

// By libtorch's own derivatives: these losses are for comparisons.
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

class EagleLossFn : public Function<EagleLossFn> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& outputs, const Tensor& features,
                        const Tensor& head, const Tensor& learnt, const EagleLossOptions& options,
                        double scale, int64_t chunk, bool wants_grad, EagleLossParts* parts) {
    const auto passes = static_cast<int64_t>(options.pass_weights.size());
    const bool by_top = options.objective == nullptr;
    const int64_t rows = features.size(0);
    Tensor gradient = torch::zeros_like(outputs);
    Tensor sums = torch::zeros({2}, outputs.options().dtype(torch::kFloat64));
    for (int64_t first = 0; first < learnt.size(0); first += chunk) {
      const Tensor at = learnt.narrow(0, first, std::min(chunk, learnt.size(0) - first));
      const Tensor wanted = features.index_select(0, at + 1);
      const Tensor said = at::mm(wanted, head.t());
      const Tensor targets = DistillationTargets(said, options.soft, by_top ? options.hard : 0.0,
                                                 by_top ? options.likely.top : 0);
      for (int64_t pass = 0; pass < passes; ++pass) {
        const double weight = options.pass_weights[pass], factor = weight * scale;
        const Tensor row = at + pass * rows;
        Tensor logits = at::mm(GatherRows(outputs, row, head.scalar_type()), head.t());
        const RowLosses more = by_top ? RowLosses() : Derived(options, said, logits);
        Tensor tokens = SoftCrossEntropy(logits, targets, factor);
        if (!by_top) {
          logits.add_(more.gradient, options.hard * factor);
          tokens = tokens + more.losses * options.hard;
        }
        const Tensor feature = SmoothL1(outputs, row, wanted, at::mm(logits, head),
                                        options.feature * factor, gradient);
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
    result.resize(9);
    return result;
  }
};

}  // namespace

Tensor EagleLoss(const Tensor& outputs, const Tensor& features, const Tensor& head,
                 const Tensor& learnt, const EagleLossOptions& options, double scale, int64_t chunk,
                 EagleLossParts& parts) {
  const bool wants_grad = torch::GradMode::is_enabled();
  return EagleLossFn::apply(outputs, features, head, learnt, options, scale, chunk, wants_grad,
                            &parts);
}

}  // namespace foretoken::train
