// Options for drafters that require a file, for tests that run over the whole registry. Each
// drafter's FOLDER/*_testing.cc makes its file in <Stem>TestOptions, such as LlmaTestOptions (Stem:
// see drafters.def).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "model/weight_source.h"
#include "text/tokenizer.h"

namespace foretoken {

// The target for which the files are made.
struct TestTarget {
  const ModelConfig& config;
  const Tokenizer& tokenizer;
  WeightSource& weights;
  Backend& backend;
  std::function<std::vector<std::vector<Token>>()> texts;  // the target's texts, prompts included
  std::string stem;  // path of the files to make, without number and extension
};

// Makes the file or files that `drafter` requires and returns the options that name them; {} if it
// requires none.
Json TestOptions(std::string_view drafter, const TestTarget& target);

// A tokenizer with `size` (at most 97) tokens of one character each: token i is U+001E + i.
std::shared_ptr<const Tokenizer> ToyTokenizer(int size);

}  // namespace foretoken
