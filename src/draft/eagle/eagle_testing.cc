#include "draft/eagle/eagle_testing.h"

#include <numeric>

#include "base/json.h"
#include "draft/eagle/eagle_spec.h"
#include "draft/open_draft.h"

namespace foretoken {
DraftBuilder RandomEagle(const TestTarget& target, uint64_t seed) {
  const int64_t hidden = target.config.hidden;
  const EagleSpec spec{hidden, target.config.vocab};
  DraftBuilder draft(seed);
  draft.AddRandom(spec.ProjectionWeight(), 0.02f);
  const std::vector<float> follower = FollowerMatrix(target);
  std::vector<float>& fc = draft.values(spec.ProjectionWeight().name);
  const auto width = static_cast<size_t>(hidden);
  for (size_t r = 0; r < width; ++r) {
    for (size_t i = 0; i < width; ++i) fc[r * 2 * width + i] += follower[r * width + i];
  }
  draft.AddRandom(spec.ProjectionBias(), 0.05f);
  draft.AddLayer(target.config, 0, /*strength=*/0.3f, EagleSpec::HasAttentionNorm(0));
  return draft;
}

namespace {

Json EagleFile(const TestTarget& target, std::string_view method) {
  const std::string path = target.stem + ".gguf";
  RandomEagle(target, 7).Write(
      InfoFor(target.config, target.tokenizer.data(), std::string(method), /*layers=*/1), path);
  return {{"draft", path}, {"cache_type", "f32"}};
}

}  // namespace

Json EagleTestOptions(const TestTarget& target) { return EagleFile(target, EagleSpec::kMethod); }
Json HassTestOptions(const TestTarget& target) { return EagleFile(target, EagleSpec::kHassMethod); }

namespace {

// Runs passes over one sequence and records their outputs.
class EagleTracer {
 public:
  explicit EagleTracer(EagleModule& net) : net_(net) {}

  // Row r of the pass is tokens[r]; its parent is row first_parent + r. `features`: [rows, hidden].
  void Run(std::span<const Token> tokens, Node first_parent, std::span<const float> features,
           KvCache& cache) {
    const int rows = static_cast<int>(tokens.size());
    RowBatch batch;
    batch.token.assign(tokens.begin(), tokens.end());
    for (int r = 0; r < rows; ++r) {
      batch.position.push_back(trace_.rows + r);
      batch.parent.push_back(first_parent + r);
    }
    batch.begin.push_back(rows);
    const Buffer given = *net_.backend().Allocate(DType::kF32, rows, net_.hidden());
    net_.backend().Upload(features.data(), given.tensor);
    net_.backend().StoreRows(given.tensor, *net_.Features(rows));
    KvCache* const caches[] = {&cache};
    const Tensor outputs = *net_.Forward(batch, caches);
    Keep(outputs, trace_.hidden);
    Keep(*net_.Logits(outputs), trace_.logits);
    trace_.rows += rows;
  }

  std::vector<float> LastOutput() const {
    return {trace_.hidden.end() - net_.hidden(), trace_.hidden.end()};
  }
  EagleTrace Take() { return std::move(trace_); }

 private:
  void Keep(Tensor t, std::vector<float>& to) {
    std::vector<float> values(static_cast<size_t>(t.rows * t.cols));
    net_.backend().Download(t, values.data());
    to.insert(to.end(), values.begin(), values.end());
  }

  EagleModule& net_;
  EagleTrace trace_;
};

}  // namespace

EagleTrace TraceEagle(EagleModule& net, std::span<const Token> tokens,
                      std::span<const float> features, std::span<const Token> drafted) {
  const int pairs = static_cast<int>(tokens.size()) - 1;
  const auto cache = net.NewCache(pairs + static_cast<int>(drafted.size()), DType::kF32);
  EagleTracer tracer(net);
  tracer.Run(tokens.subspan(1), kNoNode, features, *cache);
  std::vector<Node> path(static_cast<size_t>(pairs));
  std::iota(path.begin(), path.end(), 0);
  cache->Commit(path);
  for (const Token& token : drafted) {
    const std::vector<float> feature = tracer.LastOutput();
    tracer.Run(std::span(&token, 1), cache->provisional() - 1, feature, *cache);
  }
  return tracer.Take();
}

Result<EagleTrace> TraceEagle(const std::string& draft, Model& target,
                              std::span<const Token> tokens, std::span<const float> features,
                              std::span<const Token> drafted) {
  FT_ASSIGN_OR_RETURN(auto file, OpenDraft(draft));
  FT_ASSIGN_OR_RETURN(const auto net, EagleNet::Load(std::move(file), target));
  return TraceEagle(*net, tokens, features, drafted);
}

}  // namespace foretoken
