// Trained drafts with weights that are NaN, infinite, huge or zero, in any tensor, do not change
// the target's text; only the drafts get worse.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "draft/weights_testing.h"
#include "io/draft_file.h"
#include "rig.h"

namespace foretoken {
namespace {

// The drafters that need a trained draft file.
std::vector<std::string> TrainedDrafters() {
  std::vector<std::string> names;
  for (const DrafterEntry& entry : AllDrafters()) {
    if (entry.needs == "draft") names.emplace_back(entry.name);
  }
  return names;
}

// A builder with all tensors of `file`, to be altered and written again.
DraftBuilder ReadDraft(const DraftFile& file) {
  DraftBuilder draft(0);
  for (const TensorSource& tensor : file.tensors()) {
    std::vector<float> values(static_cast<size_t>(tensor.rows() * tensor.cols()));
    Dequantize(tensor.type, tensor.bytes.data(), values);
    draft.Add(tensor.name, tensor.shape, std::move(values));
  }
  return draft;
}

class WrongWeights : public ::testing::TestWithParam<std::string> {
 protected:
  // The text that is written with a draft of these weights.
  std::vector<Token> Text(const DraftBuilder& draft, const DraftInfo& info, FileType type) {
    draft.Write(info, path_, type);
    const Json options = {{"draft", path_}};
    auto drafter = NewDrafter(GetParam(), {*target_.model, 256, options, "", nullptr});
    EXPECT_TRUE(drafter.ok()) << drafter.error().message;
    if (!drafter.ok()) return {};
    Rig rig(target_, *std::move(drafter), {.max_nodes = 16, .max_depth = 5}, "eagle2");
    return rig.Decode(prompt_, 8, kSampling)->tokens;
  }

  static constexpr SamplingParams kSampling{.temperature = 0.5f, .seed = 1};
  Target target_{TinyConfig(2)};
  std::vector<Token> prompt_ = RepetitivePrompt(1, 40, 97);
  TemporaryDirectory folder_;
  std::string path_ = folder_ / "draft.gguf";
};

TEST_P(WrongWeights, KeepTheTargetsText) {
  Rig plain(target_, "none");
  const std::vector<Token> expected = plain.Decode(prompt_, 8, kSampling)->tokens;
  const auto file = DraftFile::Open(target_.OptionsFor(GetParam())["draft"].get<std::string>());
  ASSERT_TRUE(file.ok()) << file.error().message;
  constexpr std::pair<float, FileType> kWrong[] = {
      {std::numeric_limits<float>::quiet_NaN(), FileType::kF32},
      {std::numeric_limits<float>::quiet_NaN(), FileType::kQ8_0},
      {std::numeric_limits<float>::infinity(), FileType::kF32},
      {3e38f, FileType::kQ8_0},
      {0.0f, FileType::kF32}};
  for (const TensorSource& tensor : (*file)->tensors()) {
    // EAGLE-3's table of tokens is not a weight; a wrong one is refused when it is loaded.
    if (!tensor.name.ends_with(".weight") && !tensor.name.ends_with(".bias")) continue;
    for (const auto& [wrong, type] : kWrong) {
      DraftBuilder draft = ReadDraft(**file);
      std::vector<float>& values = draft.values(tensor.name);
      values[5] = wrong;
      if (wrong == 0) std::ranges::fill(values, 0.0f);
      ASSERT_EQ(Text(draft, (*file)->info(), type), expected) << tensor.name << " " << wrong;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Drafters, WrongWeights, ::testing::ValuesIn(TrainedDrafters()),
                         [](const auto& info) { return ParameterName(info.param); });

}  // namespace
}  // namespace foretoken
