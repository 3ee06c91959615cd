// A tiny model on disk in both formats, for tests.
#pragma once

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "io/gguf.h"

namespace foretoken {

// A temporary directory that is removed with the object.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "foretoken_XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }
  const std::string& path() const { return path_; }

  void Write(std::string_view name, std::string_view content) const {
    std::ofstream(*this / name, std::ios::binary) << content;
  }

 private:
  std::string path_;
};

struct NamedShape {
  std::string name;
  std::vector<int64_t> shape;
};

// Tensors of a Hugging Face model with 2 layers, hidden 64, 4 heads of 16, 2 key/value heads, ffn
// 96 and 8 tokens.
inline std::vector<NamedShape> TinyTensors(bool qkv_bias = false) {
  std::vector<NamedShape> tensors = {{"model.embed_tokens.weight", {8, 64}},
                                     {"model.norm.weight", {64}},
                                     {"lm_head.weight", {8, 64}}};
  for (int layer = 0; layer < 2; ++layer) {
    const std::string p = "model.layers." + std::to_string(layer) + ".";
    for (const NamedShape& t : std::vector<NamedShape>{{"input_layernorm.weight", {64}},
                                                       {"post_attention_layernorm.weight", {64}},
                                                       {"self_attn.q_proj.weight", {64, 64}},
                                                       {"self_attn.k_proj.weight", {32, 64}},
                                                       {"self_attn.v_proj.weight", {32, 64}},
                                                       {"self_attn.o_proj.weight", {64, 64}},
                                                       {"mlp.gate_proj.weight", {96, 64}},
                                                       {"mlp.up_proj.weight", {96, 64}},
                                                       {"mlp.down_proj.weight", {64, 96}}}) {
      tensors.push_back({p + t.name, t.shape});
    }
    if (!qkv_bias) continue;
    tensors.push_back({p + "self_attn.q_proj.bias", {64}});
    tensors.push_back({p + "self_attn.k_proj.bias", {32}});
    tensors.push_back({p + "self_attn.v_proj.bias", {32}});
  }
  return tensors;
}

// Value `i` of tensor `index`: all values differ and are exact in F32.
inline float TinyValue(size_t index, size_t i) {
  return static_cast<float>(index) + static_cast<float>(i) / 8192.0f;
}

inline Json TinyConfig(std::string_view architecture) {
  return {{"architectures", {architecture}},
          {"vocab_size", 8},
          {"hidden_size", 64},
          {"intermediate_size", 96},
          {"num_hidden_layers", 2},
          {"num_attention_heads", 4},
          {"num_key_value_heads", 2},
          {"head_dim", 16},
          {"max_position_embeddings", 128},
          {"rms_norm_eps", 1e-5},
          {"rope_theta", 10000.0}};
}

// A safetensors file with `header` and `data`.
inline std::string SafetensorsBytes(std::string_view header, std::string_view data) {
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + std::string(header) +
         std::string(data);
}

// A safetensors file of F32 tensors. The values of tensors[k] are those of TinyValue(first + k,
// ...).
inline std::string TinySafetensors(const std::vector<NamedShape>& tensors, size_t first = 0) {
  Json header = Json::object();
  std::string data;
  for (size_t k = 0; k < tensors.size(); ++k) {
    size_t count = 1;
    for (const int64_t size : tensors[k].shape) count *= static_cast<size_t>(size);
    const size_t begin = data.size();
    for (size_t i = 0; i < count; ++i) {
      const float value = TinyValue(first + k, i);
      data.append(reinterpret_cast<const char*>(&value), sizeof(value));
    }
    header[tensors[k].name] = {
        {"dtype", "F32"}, {"shape", tensors[k].shape}, {"data_offsets", {begin, data.size()}}};
  }
  return SafetensorsBytes(header.dump(), data);
}

}  // namespace foretoken
