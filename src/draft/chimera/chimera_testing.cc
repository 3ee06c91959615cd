#include "draft/chimera/chimera_testing.h"

#include <algorithm>

#include "base/json.h"
#include "draft/chimera/chimera_spec.h"
#include "draft/open_draft.h"

namespace foretoken {
namespace {

// Adds `block` [rows, cols] to the last columns of `matrix` [rows, matrix_cols].
void AddToLastColumns(const std::vector<float>& block, size_t cols, size_t matrix_cols,
                      std::vector<float>& matrix) {
  for (size_t i = 0; i < block.size(); ++i) {
    matrix[i / cols * matrix_cols + (matrix_cols - cols) + i % cols] += block[i];
  }
}

std::vector<float> Identity(size_t width) {
  std::vector<float> values(width * width, 0.0f);
  for (size_t i = 0; i < width; ++i) values[i * width + i] = 1.0f;
  return values;
}

}  // namespace

DraftBuilder RandomChimera(const TestTarget& target, const ChimeraShape& shape, uint64_t seed) {
  const ModelConfig& c = target.config;
  const int64_t hidden = c.hidden;
  const ChimeraSpec spec{hidden, c.vocab, shape.ngram};
  DraftBuilder draft(seed);
  draft.AddRandom(spec.NgramBlockWeight(), 0.05f);
  draft.AddRandom(spec.NgramBlockBias(), 0.1f);
  draft.AddRandom(spec.NgramOutput(), 0.02f);
  AddToLastColumns(FollowerMatrix(target), static_cast<size_t>(hidden),
                   static_cast<size_t>(spec.NgramWidth()), draft.values(spec.NgramOutput().name));
  draft.AddLayer(c, 0, /*strength=*/0.3f, /*attention_norm=*/true);
  const std::vector<float> output =
      shape.shared_head
          ? Identity(static_cast<size_t>(hidden))
          : MatrixValues(target.weights, target.backend, "output.weight", c.vocab, hidden);
  for (int k = 0; k < shape.heads; ++k) {
    const TensorSpec matrix = spec.HeadWeight(k, shape.shared_head);
    draft.AddRandom(matrix, 0.02f);
    AddToLastColumns(output, static_cast<size_t>(hidden), static_cast<size_t>(matrix.cols()),
                     draft.values(matrix.name));
  }
  return draft;
}

DraftInfo ChimeraInfo(const TestTarget& target, const ChimeraShape& shape) {
  DraftInfo info = InfoFor(target.config, target.tokenizer.data(),
                           std::string(ChimeraSpec::kMethod), /*layers=*/1);
  info.shared = {std::string(kSharedEmbedding)};
  if (shape.shared_head) info.shared.emplace_back(kSharedHead);
  info.output_heads = shape.heads;
  info.ngram = shape.ngram;
  return info;
}

Json ChimeraTestOptions(const TestTarget& target) {
  const std::string path = target.stem + ".gguf";
  RandomChimera(target, {}, 7).Write(ChimeraInfo(target, {}), path);
  return {{"draft", path}, {"cache_type", "f32"}, {"cache_entries", 20}};
}

namespace {

// Runs the network's passes over one text and a chain of drafted tokens.
class ChimeraTracer {
 public:
  ChimeraTracer(ChimeraNet& net, std::span<const Token> tokens, std::span<const Token> drafted)
      : net_(net), root_(static_cast<Pos>(tokens.size()) - 1), text_(tokens.begin(), tokens.end()) {
    text_.insert(text_.end(), drafted.begin(), drafted.end());
    cache_ = net.NewCache(static_cast<int>(text_.size()), DType::kF32);
  }

  // Feeds feature 0, state 1, feature 1, ..., and the state of the root, whose output is returned.
  Tensor FeedText(Tensor features) {
    const Tensor rows = *net_.Features(2 * root_);
    RowBatch batch;
    for (Pos p = 0; p < root_; ++p) {
      net_.backend().StoreRows(features.Rows(p, 1), rows.Rows(2 * p, 1));
      AddRow(batch, 0, p, 2 * p - 1);
      EncodeState(p + 1, rows.Rows(2 * p + 1, 1));
      AddRow(batch, 0, p + 1, 2 * p);
    }
    return LastOutput(batch);
  }

  Tensor FeedDrafted(int depth) {
    RowBatch batch;
    EncodeState(root_ + depth, *net_.Features(1));
    AddRow(batch, 0, root_ + depth, cache_->provisional() - 1);
    return LastOutput(batch);
  }

 private:
  void EncodeState(Pos position, Tensor out) {
    const Ngram ngram =
        NgramAt(net_.ngrams().n(), position, [&](Pos p) { return text_[static_cast<size_t>(p)]; });
    FT_CHECK(net_.ngrams().Encode(std::span(&ngram, 1), out).ok());
  }
  Tensor LastOutput(RowBatch& batch) {
    batch.begin.push_back(batch.rows());
    KvCache* const caches[] = {cache_.get()};
    return net_.Forward(batch, caches)->Rows(batch.rows() - 1, 1);
  }

  ChimeraNet& net_;
  Pos root_;
  std::vector<Token> text_;
  std::unique_ptr<KvCache> cache_;
};

}  // namespace

Result<std::vector<std::vector<float>>> TraceChimera(const std::string& draft, Model& target,
                                                     std::span<const Token> tokens,
                                                     std::span<const float> features,
                                                     std::span<const Token> drafted) {
  FT_ASSIGN_OR_RETURN(auto file, OpenDraft(draft));
  FT_ASSIGN_OR_RETURN(const auto net, ChimeraNet::Load(std::move(file), target, {.entries = 0}));
  Backend& backend = net->backend();
  const int hidden = net->hidden(), rows = static_cast<int>(tokens.size()) - 1;
  const Buffer given = *backend.Allocate(DType::kF32, rows, hidden);
  backend.Upload(features.data(), given.tensor);
  ChimeraTracer tracer(*net, tokens, drafted);
  std::vector<std::vector<float>> logits;
  for (int k = 0; k < net->heads() && k <= std::ssize(drafted); ++k) {
    const Tensor output = k == 0 ? tracer.FeedText(given.tensor) : tracer.FeedDrafted(k);
    const Tensor input = *net->HeadInput(1);
    backend.StoreRows(given.tensor.Rows(rows - 1, 1), input.Cols(0, hidden));
    backend.StoreRows(output, input.Cols(hidden, hidden));
    std::vector<float>& row = logits.emplace_back(static_cast<size_t>(target.config().vocab));
    backend.Download(*net->Logits(k, 1), row.data());
  }
  return logits;
}

}  // namespace foretoken
