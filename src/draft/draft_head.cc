#include "draft/draft_head.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "draft/scratch.h"

namespace foretoken {
namespace {

Result<Buffer> PickColumns(const Buffer& bias, std::span<const int32_t> picked, Backend& backend) {
  std::vector<float> all(static_cast<size_t>(bias.tensor.cols)), values;
  backend.Download(bias.tensor, all.data());
  values.reserve(picked.size());
  for (const int32_t row : picked) values.push_back(all[static_cast<size_t>(row)]);
  FT_ASSIGN_OR_RETURN(Buffer kept, backend.Allocate(DType::kF32, 1, std::ssize(values)));
  backend.Upload(values.data(), kept.tensor);
  return kept;
}

}  // namespace

Result<DraftHead> DraftHead::Load(const DraftTokenRule& rule, const HeadSpec& spec,
                                  const DraftFile& file, WeightSource& source, Model& target,
                                  size_t body_bytes) {
  DraftHead head(target.backend());
  const LevelCost cost{.body_bytes = body_bytes,
                       .pass_bytes = target.weight_bytes(),
                       .acceptance = file.info().acceptance};
  const int vocab = target.config().vocab;
  if (!spec.names.empty()) {
    // A missing matrix is reported when it is loaded.
    FT_ASSIGN_OR_RETURN(head.tokens_,
                        PickTokens(rule, cost, spec.rows, spec.cols, file.TypeOf(spec.names[0]),
                                   spec.tokens, vocab, file.path()));
    FT_RETURN_IF_ERROR(head.LoadOwn(spec, source));
    return head;
  }
  const Weight& target_head = target.OutputHead();
  FT_ASSIGN_OR_RETURN(head.tokens_, PickTokens(rule, cost, target_head.rows(), target_head.cols(),
                                               target_head.type(), {}, vocab, file.path()));
  if (head.tokens_.picks()) {
    FT_ASSIGN_OR_RETURN(auto picked, target.PickHeadRows(head.tokens_.rows, head.tokens_.type));
    head.own_.push_back(std::move(picked));
  }
  head.weights_ = {head.own_.empty() ? &target_head : head.own_[0].get()};
  return head;
}

Status DraftHead::LoadOwn(const HeadSpec& spec, WeightSource& source) {
  const std::vector<int32_t>& picked = tokens_.rows;
  for (const std::string& name : spec.names) {
    auto loaded = tokens_.picks()
                      ? source.PickRows(name, spec.rows, spec.cols, picked, tokens_.type)
                      : source.Matrix(name, spec.rows, spec.cols);
    if (!loaded.ok()) return loaded.error();
    own_.push_back(*std::move(loaded));
    weights_.push_back(own_.back().get());
  }
  biases_ = spec.biases;
  if (!tokens_.picks()) return {};
  for (Buffer& bias : biases_) {
    if (bias.tensor.empty()) continue;
    FT_ASSIGN_OR_RETURN(bias, PickColumns(bias, picked, *backend_));
  }
  return {};
}

Result<Tensor> DraftHead::Logits(const LinearIn& x, int index) {
  const size_t i = weights_.size() == 1 ? 0 : static_cast<size_t>(index);
  FT_ASSIGN_OR_RETURN(const Tensor logits,
                      ReserveRows(*backend_, static_cast<int>(x.x.rows), size(), logits_));
  const Tensor bias = biases_.empty() ? Tensor{} : biases_[i].tensor;
  backend_->Linear(x, std::array{LinearOut{.weight = weights_[i], .out = logits, .bias = bias}});
  return logits;
}

}  // namespace foretoken
