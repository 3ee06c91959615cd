// Drafts with weights of any value: the text is the target's, drafts are just worse.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string_view>
#include <vector>

#include "draft/weights_testing.h"
#include "rig.h"

namespace foretoken {

// Drafts from files of `drafter` made by `make`, described by `describe`, with NaN, infinity, huge
// numbers or zeros in one of `places` (names of tensors), in two number formats.
inline void ExpectTextDespiteAnyWeight(Target& target, std::string_view drafter,
                                       const std::vector<std::string>& places,
                                       const std::function<DraftInfo(const TestTarget&)>& describe,
                                       const std::function<DraftBuilder(const TestTarget&)>& make) {
  Rig plain(target, "none");
  const TemporaryDirectory folder;
  const std::string path = folder / "draft.gguf";
  const auto weights = NewRandomWeights(DType::kF32, target.seed, *target.backend);
  const TestTarget made_for{target.model->config(),
                            *target.tokenizer,
                            *weights,
                            *target.backend,
                            [] { return std::vector<std::vector<Token>>(); },
                            ""};
  const float kWrong[] = {std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::infinity(), 3e38f, 0.0f};
  const std::vector<Token> prompt = RepetitivePrompt(1, 40, 97);
  const SamplingParams sampling{.temperature = 0.5f, .seed = 1};
  for (const FileType type : {FileType::kF32, FileType::kQ8_0}) {
    for (const std::string& place : places) {
      for (const float wrong : kWrong) {
        DraftBuilder draft = make(made_for);
        draft.values(place)[5] = wrong;
        if (wrong == 0) std::ranges::fill(draft.values(place), 0.0f);
        draft.Write(describe(made_for), path, type);
        const Json options = {{"draft", path}};
        auto built = NewDrafter(drafter, {*target.model, 256, options, "", nullptr});
        ASSERT_TRUE(built.ok()) << built.error().message;
        Rig rig(target, *std::move(built), {.max_nodes = 16, .max_depth = 5}, "eagle2");
        ASSERT_EQ(rig.Decode(prompt, 12, sampling)->tokens,
                  plain.Decode(prompt, 12, sampling)->tokens)
            << place << " " << wrong;
      }
    }
  }
}

}  // namespace foretoken
