#include "model/model_config.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "model/model.h"

namespace foretoken {
namespace {

using Scaling = ModelConfig::RopeScaling;

// Keeps the first error of a configuration.
class Checker {
 public:
  explicit Checker(std::string_view where) : where_(where) {}
  void Expect(bool holds, const std::string& found, std::string_view expected) {
    if (holds || !status_.ok()) return;
    status_ = Error{where_ + ": " + found + "; expected " + std::string(expected)};
  }
  void Positive(const char* field, int64_t value) {
    Expect(value > 0, std::string(field) + " is " + std::to_string(value), "a positive number");
  }
  const Status& status() const { return status_; }

 private:
  std::string where_;
  Status status_;
};

std::string Two(const char* a, int64_t x, const char* b, int64_t y) {
  return std::string(a) + " is " + std::to_string(x) + " and " + b + " is " + std::to_string(y);
}

bool Finite(float x) { return std::isfinite(x) && x > 0; }

void CheckSizes(const ModelConfig& c, Checker& check) {
  check.Positive("vocab", c.vocab);
  check.Positive("layers", c.layers);
  check.Positive("hidden", c.hidden);
  check.Positive("ffn", c.ffn);
  check.Positive("heads", c.heads);
  check.Positive("kv_heads", c.kv_heads);
  check.Positive("head_dim", c.head_dim);
  check.Positive("context", c.context);
  if (!check.status().ok()) return;
  check.Expect(c.heads % c.kv_heads == 0, Two("heads", c.heads, "kv_heads", c.kv_heads),
               "heads to be a multiple of kv_heads");
  check.Expect(c.sliding_window >= 0, "sliding_window is " + std::to_string(c.sliding_window),
               "0 (full attention) or more");
  check.Expect(Finite(c.norm_eps), "norm_eps is " + std::to_string(c.norm_eps),
               "a positive number");
}

void CheckRope(const ModelConfig& c, Checker& check) {
  check.Expect(c.rope_dim > 0 && c.rope_dim % 2 == 0 && c.rope_dim <= c.head_dim,
               Two("rope_dim", c.rope_dim, "head_dim", c.head_dim),
               "an even rope_dim from 2 to head_dim");
  check.Expect(Finite(c.rope_base) && c.rope_base > 1,
               "rope_base is " + std::to_string(c.rope_base), "a number above 1");
  const int64_t factors = static_cast<int64_t>(c.rope_freq_factors.size());
  check.Expect(factors == 0 || factors == c.rope_dim / 2,
               Two("the number of rope_freq_factors", factors, "rope_dim", c.rope_dim),
               "one factor per pair of dimensions");
  check.Expect(std::ranges::all_of(c.rope_freq_factors, Finite),
               "a rope_freq_factor is not positive", "positive factors");
  if (c.rope_scaling == Scaling::kNone) return;
  check.Expect(Finite(c.rope_factor), "rope_factor is " + std::to_string(c.rope_factor),
               "a positive number");
  if (c.rope_scaling == Scaling::kLinear) return;
  check.Positive("rope_original_context", c.rope_original_context);
  if (c.rope_scaling == Scaling::kLlama3) {
    check.Expect(0 < c.rope_low_freq && c.rope_low_freq < c.rope_high_freq,
                 "rope_low_freq is " + std::to_string(c.rope_low_freq) + " and rope_high_freq is " +
                     std::to_string(c.rope_high_freq),
                 "0 < rope_low_freq < rope_high_freq");
  } else {
    check.Expect(Finite(c.yarn_beta_fast) && Finite(c.yarn_beta_slow),
                 "a yarn beta is not positive", "positive yarn_beta_fast and yarn_beta_slow");
  }
}

// Long wavelengths are stretched by the factor, short ones kept, those between interpolated.
double Llama3Frequency(const ModelConfig& c, double frequency) {
  const double turns = c.rope_original_context * frequency / (2 * std::numbers::pi);
  const double keep =
      std::clamp((turns - c.rope_low_freq) / (c.rope_high_freq - c.rope_low_freq), 0.0, 1.0);
  return keep * frequency + (1 - keep) * frequency / c.rope_factor;
}

// The index, fractional, of the pair that rotates `turns` times over the original context.
double YarnPair(const ModelConfig& c, double turns) {
  return c.rope_dim * std::log(c.rope_original_context / (turns * 2 * std::numbers::pi)) /
         (2 * std::log(static_cast<double>(c.rope_base)));
}

// Pairs below YarnPair(beta_fast) are kept, those above YarnPair(beta_slow) stretched.
double YarnFrequency(const ModelConfig& c, int pair, double frequency) {
  const double low = std::max(std::floor(YarnPair(c, c.yarn_beta_fast)), 0.0);
  const double high = std::min(std::ceil(YarnPair(c, c.yarn_beta_slow)), c.rope_dim - 1.0);
  const double width = high == low ? 0.001 : high - low;
  const double stretch = std::clamp((pair - low) / width, 0.0, 1.0);
  return stretch * frequency / c.rope_factor + (1 - stretch) * frequency;
}

double ScaledFrequency(const ModelConfig& c, int pair) {
  const double frequency = std::pow(static_cast<double>(c.rope_base), -2.0 * pair / c.rope_dim);
  switch (c.rope_scaling) {
    case Scaling::kNone:
      return frequency;
    case Scaling::kLinear:
      return frequency / c.rope_factor;
    case Scaling::kLlama3:
      return Llama3Frequency(c, frequency);
    case Scaling::kYarn:
      return YarnFrequency(c, pair, frequency);
  }
  return frequency;
}

float Magnitude(const ModelConfig& c) {
  if (c.rope_scaling != Scaling::kYarn) return 1.0f;
  if (c.yarn_attention_factor > 0) return c.yarn_attention_factor;
  return c.rope_factor <= 1 ? 1.0f : 0.1f * std::log(c.rope_factor) + 1.0f;
}

ModelConfig Shape(const char* name, int layers, int hidden, int heads, int kv_heads, int ffn,
                  int vocab) {
  ModelConfig c;
  c.architecture = "llama";
  c.name = std::string("random ") + name;
  c.vocab = vocab;
  c.layers = layers;
  c.hidden = hidden;
  c.ffn = ffn;
  c.heads = heads;
  c.kv_heads = kv_heads;
  c.head_dim = c.rope_dim = hidden / heads;
  c.context = 2048;
  return c;
}

}  // namespace

Status CheckConfig(const ModelConfig& config, std::string_view where) {
  Checker check(where);
  CheckSizes(config, check);
  if (check.status().ok()) CheckRope(config, check);
  return check.status();
}

RopeTable MakeRopeTable(const ModelConfig& config) {
  RopeTable table;
  for (int pair = 0; pair < config.rope_dim / 2; ++pair) {
    double frequency = ScaledFrequency(config, pair);
    if (!config.rope_freq_factors.empty()) frequency /= config.rope_freq_factors[pair];
    table.inv_freq.push_back(static_cast<float>(frequency));
  }
  table.magnitude = Magnitude(config);
  table.interleaved = config.rope_interleaved;
  return table;
}

Status CheckCacheType(const ModelConfig& config, DType type) {
  const std::string name(DTypeName(type));
  if (type != DType::kF32 && type != DType::kF16 && type != DType::kBF16 && type != DType::kQ8_0) {
    return Error{"cache type is " + name + "; expected F32, F16, BF16 or Q8_0"};
  }
  const int kv_cols = config.kv_heads * config.head_dim;
  if (kv_cols % BlockElements(type) != 0) {
    return Error{"a " + name + " cache needs keys of a multiple of " +
                 std::to_string(BlockElements(type)) + " values; this model's have " +
                 std::to_string(kv_cols)};
  }
  return {};
}

Result<ModelConfig> ShapeByName(std::string_view name) {
  if (name == "llama2-13b") return Shape("llama2-13b", 40, 5120, 40, 40, 13824, 32000);
  if (name == "llama3-8b") return Shape("llama3-8b", 32, 4096, 32, 8, 14336, 128256);
  if (name == "llama2-7b") return Shape("llama2-7b", 32, 4096, 32, 32, 11008, 32000);
  if (name == "1.1b") return Shape("1.1b", 22, 2048, 32, 4, 5632, 32000);
  if (name == "160m") return Shape("160m", 12, 768, 12, 12, 3072, 32000);
  if (name == "34m") return Shape("34m", 8, 512, 8, 4, 1408, 8192);
  if (name == "tiny") return Shape("tiny", 4, 64, 4, 2, 128, 97);
  return Error{"unknown model shape \"" + std::string(name) +
               "\"; expected llama2-13b, llama3-8b, llama2-7b, 1.1b, 160m, 34m or tiny"};
}

}  // namespace foretoken
