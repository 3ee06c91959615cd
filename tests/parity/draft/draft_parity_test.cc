// Drafts in their authors' file layouts give the outputs that PyTorch computes from them
// (make_goldens.py; A-8).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "../golden_reader.h"
#include "../max_difference.h"
#include "draft/chimera/chimera_testing.h"
#include "draft/eagle/eagle_testing.h"
#include "draft/eagle3/eagle3_testing.h"
#include "draft/edd/edd_testing.h"
#include "draft/glide/glide_testing.h"
#include "draft/hydra/hydra_testing.h"
#include "draft/medusa/medusa_testing.h"
#include "draft/open_draft.h"
#include "io/model_files_testing.h"
#include "model/scoring_for_test.h"

namespace foretoken {
namespace {

constexpr float kTolerance = 1e-4f;
const std::string kFolder = FT_SOURCE_DIR "/tests/parity/draft/";

// The golden values of a draft in a folder of its own.
GoldenReader Golden(const std::string& folder) {
  return GoldenReader(kFolder + folder + "/golden.bin");
}

class DraftParity : public ::testing::Test {
 protected:
  // Hidden states of the target, concatenated: [tokens, indices * hidden].
  std::vector<float> Tapped(std::span<const Token> tokens, const std::vector<int>& indices) {
    const int count = static_cast<int>(tokens.size());
    const auto cache = target_->NewCache(count, DType::kF32);
    const SequenceRows rows{cache.get(), {tokens.begin(), tokens.end()}, ChainParents(count)};
    Taps taps;
    Score(*target_, std::span(&rows, 1), {.hidden = indices}, std::span(&taps, 1));
    const auto width = static_cast<int64_t>(hidden_);
    const Buffer all = *backend_->Allocate(DType::kF32, count, std::ssize(indices) * width);
    for (size_t i = 0; i < indices.size(); ++i) {
      backend_->StoreRows(taps.Hidden(indices[i]),
                          all.tensor.Cols(static_cast<int64_t>(i) * width, width));
    }
    std::vector<float> values(tokens.size() * indices.size() * hidden_);
    backend_->Download(all.tensor, values.data());
    return values;
  }

  std::unique_ptr<Backend> backend_ = *NewBackend("cpu", {.threads = 1});
  std::unique_ptr<ModelFile> file_ = *ModelFile::Open(FT_SOURCE_DIR "/tests/parity/model/llama");
  std::unique_ptr<Model> target_ = *LoadModel(*file_, *backend_);
  size_t hidden_ = static_cast<size_t>(target_->config().hidden);
  size_t vocab_ = static_cast<size_t>(target_->config().vocab);
};

TEST_F(DraftParity, EagleMatchesPyTorch) {
  for (const char* folder : {"eagle", "eagle-bin"}) {
    GoldenReader golden = Golden(folder);
    const auto pairs = static_cast<size_t>(golden.Count());
    const auto tokens = golden.Values<Token>(pairs + 1);
    const auto features = golden.Values<float>(pairs * hidden_);
    const auto drafted = golden.Values<Token>(static_cast<size_t>(golden.Count()));
    const auto trace = TraceEagle(kFolder + folder, *target_, tokens, features, drafted);
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    const size_t rows = pairs + drafted.size();
    EXPECT_LE(MaxDifference(trace->hidden, golden.Values<float>(rows * hidden_)), kTolerance);
    EXPECT_LE(MaxDifference(trace->logits, golden.Values<float>(rows * vocab_)), kTolerance);
    EXPECT_TRUE(golden.AtEnd());
  }
}

// This draft has a target of its own, with enough layers for three hidden states, which are
// compared, too.
TEST_F(DraftParity, Eagle3MatchesPyTorch) {
  target_.reset();  // before file_, which it reads
  file_ = *ModelFile::Open(kFolder + "eagle3/target");
  target_ = *LoadModel(*file_, *backend_);
  GoldenReader golden = Golden("eagle3");
  const auto pairs = static_cast<size_t>(golden.Count());
  const auto tokens = golden.Values<Token>(pairs + 1);
  const auto tapped = golden.Values<float>(pairs * 3 * hidden_);
  const auto drafted = golden.Values<Token>(static_cast<size_t>(golden.Count()));
  const auto known = golden.Values<Token>(40);
  auto file = OpenDraft(kFolder + "eagle3");
  ASSERT_TRUE(file.ok()) << file.error().message;
  const auto net = Eagle3Net::Load(*std::move(file), *target_);
  ASSERT_TRUE(net.ok()) << net.error().message;
  EXPECT_THAT((*net)->vocabulary().tokens, ::testing::ElementsAreArray(known));
  EXPECT_LE(MaxDifference(Tapped(std::span(tokens).first(pairs), (*net)->taps()), tapped),
            kTolerance);
  const EagleTrace trace = TraceEagle3(**net, tokens, tapped, drafted);
  const size_t rows = pairs + drafted.size();
  EXPECT_LE(MaxDifference(trace.hidden, golden.Values<float>(rows * hidden_)), kTolerance);
  EXPECT_LE(MaxDifference(trace.logits, golden.Values<float>(rows * known.size())), kTolerance);
  EXPECT_TRUE(golden.AtEnd());
}

TEST_F(DraftParity, EddMatchesPyTorch) {
  GoldenReader golden = Golden("edd");
  const auto text = golden.Values<Token>(static_cast<size_t>(golden.Count()));
  const auto states = golden.Values<float>(text.size() * hidden_);
  const auto path = golden.Values<Token>(static_cast<size_t>(golden.Count()));
  auto file = OpenDraft(kFolder + "edd/draft_model.pt");
  ASSERT_TRUE(file.ok()) << file.error().message;
  const auto net = EddNet::Load(*std::move(file), *target_);
  ASSERT_TRUE(net.ok()) << net.error().message;
  EXPECT_EQ((*net)->tap(), target_->config().layers - 3);
  const std::vector<float> logits = TraceEdd(**net, text, states, path);
  EXPECT_LE(MaxDifference(logits, golden.Values<float>(path.size() * vocab_)), kTolerance);
  EXPECT_TRUE(golden.AtEnd());
}

TEST_F(DraftParity, ChimeraMatchesPyTorch) {
  GoldenReader golden = Golden("chimera");
  const auto pairs = static_cast<size_t>(golden.Count());
  const auto tokens = golden.Values<Token>(pairs + 1);
  const auto features = golden.Values<float>(pairs * hidden_);
  const auto drafted = golden.Values<Token>(static_cast<size_t>(golden.Count()));
  const auto heads = TraceChimera(kFolder + "chimera", *target_, tokens, features, drafted);
  ASSERT_TRUE(heads.ok()) << heads.error().message;
  ASSERT_EQ(heads->size(), drafted.size() + 1);
  for (const std::vector<float>& logits : *heads) {
    EXPECT_LE(MaxDifference(logits, golden.Values<float>(vocab_)), kTolerance);
  }
  EXPECT_TRUE(golden.AtEnd());
}

TEST_F(DraftParity, ChimeraNeedsItsThreeFiles) {
  TemporaryDirectory folder;
  const auto copy = [&](const std::string& from, const std::string& to) {
    std::filesystem::copy_file(kFolder + from, folder.path() + "/" + to);
  };
  const auto complaint = [&] {
    const auto file = OpenDraft(folder.path());
    return file.ok() ? "opened" : file.error().message;
  };
  copy("chimera/chimera_head.pt", "chimera_head.pt");
  EXPECT_THAT(complaint(), ::testing::HasSubstr("trimlp.pt: "));
  copy("chimera/trimlp.pt", "trimlp.pt");
  EXPECT_THAT(complaint(), ::testing::HasSubstr("fast_layer1.pt: "));
  copy("chimera/trimlp.pt", "fast_layer1.pt");
  EXPECT_THAT(complaint(), ::testing::HasSubstr("'0.linear.weight' has no place in a draft of "));
  std::filesystem::remove(folder.path() + "/fast_layer1.pt");
  copy("chimera/fast_layer1.pt", "fast_layer1.pt");
  EXPECT_EQ(complaint(), "opened");
}

TEST_F(DraftParity, GlideMatchesPyTorch) {
  GoldenReader golden = Golden("glide");
  const auto tokens = golden.Values<Token>(static_cast<size_t>(golden.Count()) + 1);
  const auto drafted = golden.Values<Token>(static_cast<size_t>(golden.Count()));
  const auto logits = TraceGlide(kFolder + "glide", *target_, tokens, drafted);
  ASSERT_TRUE(logits.ok()) << logits.error().message;
  const auto expected = golden.Values<float>((drafted.size() + 1) * vocab_);
  EXPECT_LE(MaxDifference(*logits, expected), kTolerance);
  EXPECT_TRUE(golden.AtEnd());
}

TEST_F(DraftParity, HydraMatchesPyTorch) {
  GoldenReader golden = Golden("hydra");
  const auto rows = static_cast<size_t>(golden.Count());
  const auto features = golden.Values<float>(rows * hidden_);
  const auto path = golden.Values<Token>(static_cast<size_t>(golden.Count()));
  const auto trace = TraceHydra(kFolder + "hydra", *target_, features, path);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_LE(MaxDifference(trace->state, golden.Values<float>(hidden_)), kTolerance);
  ASSERT_EQ(trace->logits.size(), 3u);
  for (const std::vector<float>& logits : trace->logits) {
    EXPECT_LE(MaxDifference(logits, golden.Values<float>(vocab_)), kTolerance);
  }
  EXPECT_TRUE(golden.AtEnd());
}

TEST_F(DraftParity, MedusaMatchesPyTorch) {
  GoldenReader golden = Golden("medusa");
  const auto rows = static_cast<size_t>(golden.Count());
  const auto features = golden.Values<float>(rows * hidden_);
  const auto heads = TraceMedusa(kFolder + "medusa/medusa_lm_head.pt", *target_, features);
  ASSERT_TRUE(heads.ok()) << heads.error().message;
  ASSERT_EQ(heads->size(), 3u);
  for (const std::vector<float>& logits : *heads) {
    EXPECT_LE(MaxDifference(logits, golden.Values<float>(rows * vocab_)), kTolerance);
  }
  EXPECT_TRUE(golden.AtEnd());
}

}  // namespace
}  // namespace foretoken
