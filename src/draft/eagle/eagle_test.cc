// The engine's EAGLE module against the formulas of methods.md 5.1, written out in plain loops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "draft/drafter.h"
#include "draft/eagle/eagle_testing.h"
#include "io/model_files_testing.h"

namespace foretoken {
namespace {

using testing::HasSubstr;
using Row = std::vector<double>;

ModelConfig TinyConfig() {
  ModelConfig config = TinyTarget();
  config.rope_base = 100.0f;
  return config;
}

Row Times(const std::vector<float>& matrix, const Row& x) {
  Row y(matrix.size() / x.size(), 0.0);
  for (size_t r = 0; r < y.size(); ++r) {
    for (size_t i = 0; i < x.size(); ++i) y[r] += matrix[r * x.size() + i] * x[i];
  }
  return y;
}

// Rotates halves of every head.
Row Rotated(Row x, int position, int head_dim, double base) {
  const int half = head_dim / 2;
  for (size_t head = 0; head < x.size(); head += static_cast<size_t>(head_dim)) {
    for (int i = 0; i < half; ++i) {
      const double angle = position * std::pow(base, -2.0 * i / head_dim);
      double& u = x[head + static_cast<size_t>(i)];
      double& v = x[head + static_cast<size_t>(i + half)];
      const double rotated = u * std::cos(angle) - v * std::sin(angle);
      v = v * std::cos(angle) + u * std::sin(angle);
      u = rotated;
    }
  }
  return x;
}

// The module fed pair by pair, in order.
class PlainEagle {
 public:
  PlainEagle(const ModelConfig& config, DraftBuilder& draft, std::vector<float> embedding)
      : c_(config), draft_(draft), embedding_(std::move(embedding)) {}

  Row Step(Token token, const Row& feature) {
    const auto d = static_cast<size_t>(c_.hidden);
    const auto at = embedding_.begin() + static_cast<std::ptrdiff_t>(token * d);
    Row input(at, at + static_cast<std::ptrdiff_t>(d));
    input.insert(input.end(), feature.begin(), feature.end());
    Row x = Plus(Times(draft_.values("fc.weight"), input), Bias());
    x = Plus(x, Attention(x));
    Row normed = x;
    double squares = 0;
    for (const double v : x) squares += v * v;
    const std::vector<float>& gain = draft_.values("blk.0.ffn_norm.weight");
    for (size_t i = 0; i < d; ++i) {
      normed[i] *= gain[i] / std::sqrt(squares / static_cast<double>(d) + c_.norm_eps);
    }
    Row gate = Weighted("ffn_gate", normed);
    const Row up = Weighted("ffn_up", normed);
    for (size_t i = 0; i < gate.size(); ++i) gate[i] *= up[i] / (1 + std::exp(-gate[i]));
    return Plus(x, Weighted("ffn_down", gate));
  }

 private:
  static Row Plus(Row a, const Row& b) {
    for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  }
  Row Weighted(const std::string& name, const Row& x) {
    return Times(draft_.values("blk.0." + name + ".weight"), x);
  }
  Row Bias() {
    const std::vector<float>& bias = draft_.values("fc.bias");
    return {bias.begin(), bias.end()};
  }

  Row Attention(const Row& x) {
    const int position = static_cast<int>(keys_.size());
    const Row q = Rotated(Weighted("attn_q", x), position, c_.head_dim, c_.rope_base);
    keys_.push_back(Rotated(Weighted("attn_k", x), position, c_.head_dim, c_.rope_base));
    values_.push_back(Weighted("attn_v", x));
    Row out(q.size(), 0.0);
    for (int head = 0; head < c_.heads; ++head) {
      const size_t from = static_cast<size_t>(head * c_.head_dim);
      const size_t kv = static_cast<size_t>(head * c_.kv_heads / c_.heads * c_.head_dim);
      Row weight;
      double sum = 0;
      for (const Row& key : keys_) {
        double dot = 0;
        for (int i = 0; i < c_.head_dim; ++i) dot += q[from + i] * key[kv + i];
        weight.push_back(std::exp(dot / std::sqrt(c_.head_dim)));
        sum += weight.back();
      }
      for (size_t p = 0; p < keys_.size(); ++p) {
        for (int i = 0; i < c_.head_dim; ++i) {
          out[from + i] += weight[p] / sum * values_[p][kv + i];
        }
      }
    }
    return Weighted("attn_output", out);
  }

  const ModelConfig& c_;
  DraftBuilder& draft_;
  std::vector<float> embedding_;
  std::vector<Row> keys_, values_;
};

class EagleTest : public testing::Test {
 protected:
  EagleTest() {
    RandomEagle(Target(), 3).Write(InfoFor(config_, tokenizer_->data(), "eagle", 1), path_);
  }

  TestTarget Target() {
    return {config_,
            *tokenizer_,
            *weights_,
            *backend_,
            [] {
              return std::vector<std::vector<Token>>{{1, 2, 3, 4, 5}};
            },
            folder_ / "draft"};
  }

  std::string Complaint(const std::string& name, Json options) {
    const auto drafter = NewDrafter(name, {*model_, 64, options, "", tokenizer_.get()});
    return drafter.ok() ? "built" : drafter.error().message;
  }

  ModelConfig config_ = TinyConfig();
  std::shared_ptr<const Tokenizer> tokenizer_ = ToyTokenizer(config_.vocab);
  std::unique_ptr<Backend> backend_ = *NewCpuBackend({.threads = 1});
  std::unique_ptr<WeightSource> weights_ = NewRandomWeights(DType::kF32, 5, *backend_);
  std::unique_ptr<Model> model_ = *NewRandomModel(config_, DType::kF32, 5, *backend_);
  TemporaryDirectory folder_;
  std::string path_ = folder_ / "eagle.gguf";
};

TEST_F(EagleTest, StepsAreThoseOfThePaper) {
  DraftBuilder draft = RandomEagle(Target(), 3);
  PlainEagle plain(
      config_, draft,
      MatrixValues(*weights_, *backend_, "token_embd.weight", config_.vocab, config_.hidden));
  const std::vector<float> head =
      MatrixValues(*weights_, *backend_, "output.weight", config_.vocab, config_.hidden);
  const std::vector<Token> tokens = {4, 17, 2, 40, 9, 33}, drafted = {8, 8, 0};
  std::vector<float> features;
  for (size_t i = 0; i < 5 * static_cast<size_t>(config_.hidden); ++i) {
    features.push_back(std::sin(static_cast<float>(i) * 0.7f));
  }
  const auto trace = TraceEagle(path_, *model_, tokens, features, drafted);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  ASSERT_EQ(trace->rows, 8);
  Row last;
  for (int r = 0; r < 8; ++r) {
    const bool pair = r < 5;
    const auto d = static_cast<size_t>(config_.hidden);
    Row feature = last;
    if (pair)
      feature.assign(features.begin() + r * config_.hidden,
                     features.begin() + (r + 1) * config_.hidden);
    last = plain.Step(
        pair ? tokens[static_cast<size_t>(r) + 1] : drafted[static_cast<size_t>(r) - 5], feature);
    const Row logits = Times(head, last);
    for (size_t i = 0; i < d; ++i) {
      ASSERT_NEAR(trace->hidden[static_cast<size_t>(r) * d + i], last[i], 1e-4) << "row " << r;
    }
    for (size_t v = 0; v < logits.size(); ++v) {
      ASSERT_NEAR(trace->logits[static_cast<size_t>(r) * logits.size() + v], logits[v], 1e-4);
    }
  }
}

TEST_F(EagleTest, RefusesWhatIsNotItsOwn) {
  EXPECT_EQ(Complaint("eagle", {{"draft", path_}}), "built");
  EXPECT_EQ(Complaint("hass", {{"draft", path_}}), "built");
  EXPECT_THAT(Complaint("eagle", Json::object()), HasSubstr("option draft is missing"));
  EXPECT_THAT(Complaint("eagle", {{"draft", path_}, {"gamma", 3}}), HasSubstr("gamma"));
  const DraftBuilder draft = RandomEagle(Target(), 3);
  DraftInfo info = InfoFor(config_, tokenizer_->data(), "medusa", 1);
  draft.Write(info, path_);
  EXPECT_THAT(Complaint("eagle", {{"draft", path_}}),
              HasSubstr("foretoken.draft.method is 'medusa', expected eagle"));
  info.method = "eagle";
  info.target.name = "another";
  config_.name = "this";
  model_ = *NewRandomModel(config_, DType::kF32, 5, *backend_);
  draft.Write(info, path_);
  EXPECT_THAT(Complaint("eagle", {{"draft", path_}}), HasSubstr("its name is 'another'"));
  EXPECT_EQ(Complaint("eagle", {{"draft", path_}, {"target", "any"}}), "built");
  info.blocks.layers = 2;
  draft.Write(info, path_);
  EXPECT_THAT(Complaint("eagle", {{"draft", path_}, {"target", "any"}}),
              HasSubstr("blk.1.attn_norm.weight' is missing"));
}

}  // namespace
}  // namespace foretoken
