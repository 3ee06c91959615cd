// Chimera as published: separate files for the n-gram encoder, the layer and the heads. The tensor
// names tell the files apart.
#include <algorithm>

#include "draft/chimera/chimera_spec.h"
#include "draft/published_parts.h"

namespace foretoken {
namespace {

Status DescribeChimera(const std::string& directory, std::span<const TensorSource> tensors,
                       DraftInfo& info) {
  const ChimeraSpec spec;
  const TensorSource* ngram = FindTensor(tensors, spec.NgramOutput().name);
  const TensorSource* gate = FindTensor(tensors, kGateName);
  const TensorSource* output = FindTensor(tensors, spec.Output(0).name);
  if (ngram == nullptr || gate == nullptr || output == nullptr) {
    return Error{directory + ": tensors '" + spec.NgramOutput().published + "', '" +
                 std::string(ChimeraSpec::kLayer) + std::string(kPublishedGate) + "' and '" +
                 spec.Output(0).published + "' are missing"};
  }
  DescribeLayer(*gate, *output, info);
  info.ngram = static_cast<int>(ngram->cols() / std::max<int64_t>(1, ngram->rows()));
  while (FindTensor(tensors, spec.Output(info.output_heads).name) != nullptr) ++info.output_heads;
  info.shared = {std::string(kSharedEmbedding)};
  return {};
}

}  // namespace

extern const PublishedLayout kPublished_chimera;
const PublishedLayout kPublished_chimera = {ChimeraSpec::kMethod,
                                            {"", ChimeraSpec::kHeadFile},
                                            "",
                                            ChimeraSpec::OwnName,
                                            DescribeChimera,
                                            {ChimeraSpec::kNgramFile, ChimeraSpec::kLayerFile}};

}  // namespace foretoken
