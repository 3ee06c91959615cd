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
  const std::string gate = std::string(ChimeraSpec::kLayer) + std::string(kPublishedGate);
  const TensorSpec output = spec.Output(0), ngram = spec.NgramOutput();
  FT_ASSIGN_OR_RETURN(const auto found, RequireTensors(directory, tensors,
                                                       {{kGateName, gate},
                                                        {output.name, output.published},
                                                        {ngram.name, ngram.published}}));
  DescribeLayer(*found[0], *found[1], info);
  info.ngram = static_cast<int>(found[2]->cols() / std::max<int64_t>(1, found[2]->rows()));
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
