#include "draft/medusa/medusa_net.h"

#include "draft/medusa/medusa_spec.h"
#include "draft/trained.h"
#include "io/draft_keys.h"

namespace foretoken {

Result<std::unique_ptr<MedusaNet>> MedusaNet::Load(std::unique_ptr<DraftFile> file, Model& target,
                                                   const DraftTokenRule& rule) {
  const DraftInfo& info = file->info();
  const MedusaSpec spec{target.config().hidden, target.config().vocab};
  if (info.output_heads < 1) {
    return WrongKey(file->path(), kOutputHeadsKey, info.output_heads,
                    "1 to " + std::to_string(kMostOutputHeads));
  }
  auto source = NewFileWeights(*file, target.backend());
  WeightLoader loader(*source);
  std::vector<Blocks> heads(static_cast<size_t>(info.output_heads));
  HeadSpec scores{.rows = spec.vocab, .cols = spec.hidden};
  for (int k = 0; k < info.output_heads; ++k) {
    for (int j = 0; j < info.head_layers; ++j) {
      heads[static_cast<size_t>(k)].push_back(
          LoadBlock(loader, spec.BlockWeight(k, j), spec.BlockBias(k, j)));
    }
    if (!info.Shares(kSharedHead)) scores.names.push_back(spec.Output(k, info.head_layers).name);
  }
  FT_RETURN_IF_ERROR(loader.status());
  FT_ASSIGN_OR_RETURN(DraftHead output,
                      DraftHead::Load(rule, scores, *file, *source, target, BlockBytes(heads[0])));
  return std::unique_ptr<MedusaNet>(new MedusaNet(std::move(file), std::move(source),
                                                  std::move(heads), std::move(output), target));
}

MedusaNet::MedusaNet(std::unique_ptr<DraftFile> file, std::unique_ptr<WeightSource> source,
                     std::vector<Blocks> heads, DraftHead output, Model& target)
    : file_(std::move(file)),
      source_(std::move(source)),
      heads_(std::move(heads)),
      output_(std::move(output)),
      target_(target),
      blocks_(target.backend(), target.config().hidden) {}

DraftPrior MedusaNet::Prior() const {
  return PriorOf(*file_, BlockBytes(heads_[0]) + output_.bytes(), output_.size());
}

Result<Tensor> MedusaNet::Logits(int head, Tensor features) {
  if (state_.tensor.rows < features.rows) {
    FT_ASSIGN_OR_RETURN(state_, backend().Allocate(DType::kF32, features.rows, features.cols));
  }
  const Tensor state = state_.tensor.Rows(0, features.rows);
  backend().StoreRows(features, state);
  for (const ResidualBlock& block : heads_[static_cast<size_t>(head)]) {
    FT_RETURN_IF_ERROR(blocks_.Apply(block, state));
  }
  return output_.Logits(state, head);
}

}  // namespace foretoken
