#include "draft/medusa/medusa_net.h"

#include <array>

namespace foretoken {

Result<std::unique_ptr<MedusaNet>> MedusaNet::Load(std::unique_ptr<DraftFile> file, Model& target) {
  const DraftInfo& info = file->info();
  const int64_t hidden = target.config().hidden;
  if (info.output_heads < 1) {
    return Error{file->path() + ": foretoken.draft.output_heads is 0, expected 1 to 64"};
  }
  auto source = NewFileWeights(*file, target.backend());
  WeightLoader loader(*source);
  std::vector<Head> heads(static_cast<size_t>(info.output_heads));
  for (size_t k = 0; k < heads.size(); ++k) {
    const std::string prefix = "head." + std::to_string(k) + ".";
    for (int layer = 0; layer < info.head_layers; ++layer) {
      heads[k].blocks.push_back(LoadBlock(loader, prefix + "res." + std::to_string(layer), hidden));
    }
    if (!info.Shares(kSharedHead)) {
      heads[k].output = loader.Matrix(prefix + "output.weight", target.config().vocab, hidden);
    }
  }
  FT_RETURN_IF_ERROR(loader.status());
  return std::unique_ptr<MedusaNet>(
      new MedusaNet(std::move(file), std::move(source), std::move(heads), target));
}

MedusaNet::MedusaNet(std::unique_ptr<DraftFile> file, std::unique_ptr<WeightSource> source,
                     std::vector<Head> heads, Model& target)
    : file_(std::move(file)),
      source_(std::move(source)),
      heads_(std::move(heads)),
      target_(target),
      blocks_(target.backend(), target.config().hidden) {}

Result<Tensor> MedusaNet::Logits(int head, Tensor features) {
  if (state_.tensor.rows < features.rows) {
    FT_ASSIGN_OR_RETURN(logits_, backend().Allocate(DType::kF32, features.rows, vocab()));
    FT_ASSIGN_OR_RETURN(state_, backend().Allocate(DType::kF32, features.rows, features.cols));
  }
  const Tensor state = state_.tensor.Rows(0, features.rows);
  const Tensor logits = logits_.tensor.Rows(0, features.rows);
  backend().StoreRows(features, state);
  const Head& own = heads_[static_cast<size_t>(head)];
  for (const ResidualBlock& block : own.blocks) FT_RETURN_IF_ERROR(blocks_.Apply(block, state));
  const Weight& output = own.output ? *own.output : target_.OutputHead();
  backend().Linear(state, std::array{LinearOut{.weight = &output, .out = logits}});
  return logits;
}

}  // namespace foretoken
