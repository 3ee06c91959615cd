// Checks the engine's GLIDE against G-15 to G-18 computed in plain loops over the target's cache.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "draft/glide/glide_testing.h"
#include "draft/plain_layer_testing.h"
#include "draft/trained_fixture_testing.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The first `rows` rows of a cache of any type, as values.
std::vector<Row> RowsOf(Backend& backend, const PagedRows& t, int rows) {
  std::vector<float> flat(static_cast<size_t>(rows * t.cols));
  backend.Download(t, 0, rows, flat.data());
  std::vector<Row> all;
  all.reserve(static_cast<size_t>(rows));
  for (int r = 0; r < rows; ++r) all.push_back(RowOf(flat, r, static_cast<int>(t.cols)));
  return all;
}

// The network in plain loops, fed token by token in order.
class PlainGlide {
 public:
  PlainGlide(const ModelConfig& target, const DraftInfo& info, DraftBuilder& draft,
             Backend& backend, const KvCache& target_cache)
      : target_(target), config_(info.blocks), draft_(draft) {
    for (int i = 0; i < config_.layers; ++i) layers_.emplace_back(config_, draft, i);
    for (const int layer : info.kv_layers) {
      target_caches_.push_back(
          {RowsOf(backend, target_cache.Keys(layer), target_cache.length()),
           RowsOf(backend, target_cache.Values(layer), target_cache.length())});
    }
  }

  // The logits after `token`, which attends to the first `visible` rows of the target's cache.
  Row Step(Token token, size_t visible) {
    Row x = RowOf(draft_.values("token_embd.weight"), token, config_.hidden);
    for (size_t i = 0; i < layers_.size(); ++i) {
      PlainLayer& layer = layers_[i];
      const int position = layer.position();
      x = Plus(x, layer.Attention(layer.NormedBy("attn_norm", x)));
      if (!target_caches_.empty()) {
        x = Plus(x, CrossAttention(layer, target_caches_[i], x, position, visible));
      }
      x = layer.FeedForward(x);
    }
    return Times(draft_.values("output.weight"),
                 Normed(x, draft_.values("output_norm.weight"), config_.norm_eps));
  }

 private:
  struct Cache {
    std::vector<Row> keys, values;
  };

  Row CrossAttention(PlainLayer& layer, const Cache& cache, const Row& x, int position,
                     size_t visible) {
    const auto head_dim = static_cast<size_t>(target_.head_dim);
    const Row q =
        Rotated(layer.Weighted("cross_q", x), position, target_.head_dim, target_.rope_base);
    return layer.Weighted("cross_output", Attended(q, cache.keys, cache.values, visible, head_dim));
  }

  const ModelConfig& target_;
  const ModelConfig& config_;
  DraftBuilder& draft_;
  std::vector<PlainLayer> layers_;
  std::vector<Cache> target_caches_;  // [draft layers]
};

class GlideTest : public TrainedDrafterTest {
 protected:
  // As many key/value heads as query heads make cached rows long enough for whole blocks of q8_0.
  GlideTest()
      : TrainedDrafterTest("glide", TestConfig({.layers = 3, .kv_heads = 4, .rope_base = 100})) {}

  // Writes a draft and compares its steps with plain loops.
  void ExpectPlainSteps(int layers, bool has_cross_attention, const GlideTraceOptions& options,
                        double tolerance = 1e-4) {
    DraftInfo info = GlideInfo(Target(), layers, has_cross_attention);
    DraftBuilder draft = RandomGlide(Target(), info, 3);
    draft.Write(info, path_);
    if (options.kv_layer > 0) {
      for (int m = 0; m < layers; ++m) info.kv_layers[m] = options.kv_layer - layers + m;
    }
    const auto trace = TraceGlide(path_, *model_, kTokens, kDrafted, options);
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    const auto text = std::span(kTokens).first(kTokens.size() - 1);
    const auto target_cache = CacheOf(*model_, text, options.target_cache);
    PlainGlide plain(config_, info, draft, *backend_, *target_cache);
    // A row before the root reads the target's rows before its position, but at least one row.
    for (size_t p = 0; p < text.size(); ++p) plain.Step(text[p], std::max<size_t>(1, p));
    std::vector<Token> fed{kTokens.back()};
    fed.insert(fed.end(), kDrafted.begin(), kDrafted.end());
    const auto vocab = static_cast<size_t>(config_.vocab);
    ASSERT_EQ(trace->size(), fed.size() * vocab);
    for (size_t step = 0; step < fed.size(); ++step) {
      const Row logits = plain.Step(fed[step], text.size());
      for (size_t v = 0; v < vocab; ++v) {
        ASSERT_NEAR((*trace)[step * vocab + v], logits[v], tolerance) << "step " << step;
      }
    }
  }

  static inline const std::vector<Token> kTokens = {4, 17, 2, 40, 9, 33}, kDrafted = {8, 8, 0, 21};
};

TEST_F(GlideTest, StepsAreThoseOfThePaper) {
  ExpectPlainSteps(1, /*has_cross_attention=*/true, {});
  ExpectPlainSteps(2, /*has_cross_attention=*/true, {});
  ExpectPlainSteps(3, /*has_cross_attention=*/true, {});
}

// The Vanilla Drafter has no cross-attention.
TEST_F(GlideTest, StepsOfTheVanillaDrafterAreThoseOfThePaper) {
  ExpectPlainSteps(2, /*has_cross_attention=*/false, {});
}

TEST_F(GlideTest, ReadsAnyLayerOfTheTarget) {
  for (int layer = 1; layer <= 3; ++layer) {
    ExpectPlainSteps(1, /*has_cross_attention=*/true, {.kv_layer = layer});
  }
  ExpectPlainSteps(2, /*has_cross_attention=*/true, {.kv_layer = 2});
}

// Several query heads share one of the target's key/value heads.
TEST_F(GlideTest, ReadsGroupedHeads) {
  config_.kv_heads = 2;
  model_ = *NewRandomModel(config_, DType::kF32, 5, *backend_);
  ExpectPlainSteps(2, /*has_cross_attention=*/true, {});
}

// The draft reads the target's cache in every cache type.
TEST_F(GlideTest, ReadsEveryCacheType) {
  ExpectPlainSteps(1, /*has_cross_attention=*/true, {.target_cache = DType::kF16}, 2e-3);
  // CPUs that multiply in bf16 also round the query and the cached values (docs/numerics.md).
  ExpectPlainSteps(1, /*has_cross_attention=*/true, {.target_cache = DType::kQ8_0}, 1e-2);
  ExpectPlainSteps(1, /*has_cross_attention=*/true, {.target_cache = DType::kBF16}, 5e-2);
}

// A target that rotates adjacent elements stores its keys in another order than a target that
// rotates halves. The logits are the same.
TEST_F(GlideTest, InterleavedTargetsGiveTheSameLogits) {
  const DraftInfo info = GlideInfo(Target(), 2, /*has_cross_attention=*/true);
  const DraftBuilder draft = RandomGlide(Target(), info, 3);
  const Json twin = TestOptions("draft-model", Target());
  const auto file = *ModelFile::Open(twin["draft_model"].get<std::string>());
  ASSERT_TRUE(file->config().rope_interleaved);
  const auto interleaved = *LoadModel(*file, *backend_);
  for (const FileType type : {FileType::kF32, FileType::kQ8_0}) {
    draft.Write(info, path_, type);
    const auto halves = TraceGlide(path_, *model_, kTokens, kDrafted);
    const auto adjacent = TraceGlide(path_, *interleaved, kTokens, kDrafted);
    ASSERT_TRUE(adjacent.ok()) << adjacent.error().message;
    for (size_t i = 0; i < halves->size(); ++i) {
      ASSERT_NEAR((*adjacent)[i], (*halves)[i], type == FileType::kF32 ? 1e-4 : 2e-2);
    }
  }
}

// Drafts whose layers or options do not fit the target are errors.
TEST_F(GlideTest, RefusesDraftsAndOptionsThatDoNotFit) {
  DraftInfo info = GlideInfo(Target(), 2, /*has_cross_attention=*/true);
  const DraftBuilder draft = RandomGlide(Target(), info, 3);
  const auto write = [&] { draft.Write(info, path_); };
  write();
  EXPECT_EQ(Complaint(Open()), "built");
  EXPECT_EQ(Complaint(Open({{"kv_layer", 2}})), "built");
  EXPECT_THAT(Complaint(Open({{"kv_layer", 1}})), HasSubstr("would read layer 1 of the target"));
  EXPECT_THAT(Complaint(Open({{"kv_layer", 4}})), HasSubstr("expected 2 to 3"));
  EXPECT_THAT(Complaint(Open({{"tree", 3}})), HasSubstr("tree"));
  info.kv_layers = {2};
  write();
  EXPECT_THAT(Complaint(Open()), HasSubstr("kv_layers lists 1 layers up to 2"));
  EXPECT_EQ(Complaint(Open({{"kv_layer", 3}})), "built");
  info.kv_layers = {};  // none, as in the authors' files: the top layers
  write();
  EXPECT_EQ(Complaint(Open()), "built");
  DraftInfo deep = GlideInfo(Target(), 4, /*has_cross_attention=*/true);
  const DraftBuilder deep_draft = RandomGlide(Target(), deep, 3);
  deep.kv_layers = {};
  deep_draft.Write(deep, path_);
  EXPECT_THAT(Complaint(Open()), HasSubstr("4 layers with cross-attention, expected at most"));
  info.method = "eagle";
  write();
  EXPECT_THAT(Complaint(Open()), HasSubstr("foretoken.draft.method is 'eagle', expected glide"));
  info.method = "glide";
  info.blocks.vocab = 40;
  write();
  EXPECT_THAT(Complaint(Open()), HasSubstr("vocab_size is 40, expected the target's 41"));
  info.blocks.vocab = 41;
  info.target.kv_heads = 1;
  write();
  EXPECT_THAT(Complaint(Open()), HasSubstr("number of key/value heads is 1, this model's 4"));
  info = GlideInfo(Target(), 2, /*has_cross_attention=*/false);
  RandomGlide(Target(), info, 3).Write(info, path_);
  EXPECT_THAT(Complaint(Open({{"kv_layer", 3}})), HasSubstr("has no cross-attention"));
  info.kv_layers = {1, 2};
  RandomGlide(Target(), GlideInfo(Target(), 2, false), 3).Write(info, path_);
  EXPECT_THAT(Complaint(Open()), HasSubstr("blk.0.cross_q.weight' is missing"));
}

// The taps are the cached keys and values of the target layers that the draft reads.
TEST_F(GlideTest, NeedsTheLayersItReads) {
  const DraftInfo info = GlideInfo(Target(), 2, /*has_cross_attention=*/true);
  RandomGlide(Target(), info, 3).Write(info, path_);
  const auto needs = [&](const Json& options) { return (*Open(options))->Needs(); };
  EXPECT_THAT(needs(Json::object()).kv_layers, ElementsAre(1, 2));
  EXPECT_THAT(needs({{"kv_layer", 2}}).kv_layers, ElementsAre(0, 1));
  EXPECT_TRUE(needs({}).hidden.empty());
}

}  // namespace
}  // namespace foretoken
