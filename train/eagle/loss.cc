#include "eagle/loss.h"

#include <torch/autograd.h>

#include "draft_ops.h"

namespace foretoken::train {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

class EagleLossFn : public Function<EagleLossFn> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& outputs, const Tensor& features,
                        const Tensor& head, const Tensor& learnt, const EagleLossOptions& options,
                        double scale, int64_t chunk, bool wants_grad, EagleLossParts* parts) {
    const auto passes = static_cast<int64_t>(options.pass_weights.size());
    const int64_t rows = features.size(0);
    Tensor gradient = torch::zeros_like(outputs);
    Tensor sums = torch::zeros({2}, outputs.options().dtype(torch::kFloat64));
    for (int64_t first = 0; first < learnt.size(0); first += chunk) {
      const Tensor at = learnt.narrow(0, first, std::min(chunk, learnt.size(0) - first));
      const Tensor wanted = features.index_select(0, at + 1);
      const Tensor targets =
          DistillationTargets(at::mm(wanted, head.t()), options.soft, options.hard, options.top);
      for (int64_t pass = 0; pass < passes; ++pass) {
        const double weight = options.pass_weights[pass], factor = weight * scale;
        const Tensor row = at + pass * rows;
        Tensor logits = at::mm(GatherRows(outputs, row, head.scalar_type()), head.t());
        const Tensor tokens = SoftCrossEntropy(logits, targets, factor);
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
