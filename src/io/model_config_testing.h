// Configurations of small models for tests.
#pragma once

#include <string>

#include "io/model_file.h"

namespace foretoken {

struct TestShape {
  int vocab = 41, layers = 2, hidden = 32, ffn = 48, heads = 4, kv_heads = 2, context = 64;
  float rope_base = 10000.0f;
  bool rope_interleaved = false;
};

// A Llama of that shape, with head_dim = hidden / heads.
inline ModelConfig TestConfig(const TestShape& shape = {}, std::string architecture = "llama") {
  ModelConfig config;
  config.architecture = std::move(architecture);
  config.vocab = shape.vocab;
  config.layers = shape.layers;
  config.hidden = shape.hidden;
  config.ffn = shape.ffn;
  config.heads = shape.heads;
  config.kv_heads = shape.kv_heads;
  config.head_dim = config.rope_dim = shape.hidden / shape.heads;
  config.context = shape.context;
  config.rope_base = shape.rope_base;
  config.rope_interleaved = shape.rope_interleaved;
  return config;
}

}  // namespace foretoken
