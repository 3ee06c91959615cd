// A model on disk in any supported format: configuration, tokenizer and named tensors.
//
// Names and layouts are GGUF's ("blk.0.attn_q.weight"; shapes are [rows, cols] = [out, in]), also
// for Hugging Face directories. One difference remains visible, `rope_interleaved`:
// llama-architecture GGUF files store q and k rows permuted for interleaved RoPE.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/dtype.h"
#include "text/tokenizer_data.h"

namespace foretoken {

// Geometry and constants of a Llama-family model.
struct ModelConfig {
  std::string architecture;  // "llama", "qwen2", "qwen3", "mistral"
  std::string name;
  int vocab = 0, layers = 0, hidden = 0, ffn = 0;
  int heads = 0, kv_heads = 0, head_dim = 0;
  int context = 0;  // the longest context that the model was trained for
  float norm_eps = 1e-5f;
  float rope_base = 10000.0f;
  int rope_dim = 0;  // rotated dimensions of a head; head_dim unless given
  bool rope_interleaved = false;
  enum class RopeScaling { kNone, kLinear, kYarn, kLlama3 } rope_scaling = RopeScaling::kNone;
  float rope_factor = 1.0f;
  int rope_original_context = 0;
  float rope_low_freq = 1.0f, rope_high_freq = 4.0f;    // llama3
  float yarn_beta_fast = 32.0f, yarn_beta_slow = 1.0f;  // yarn
  float yarn_attention_factor = 0.0f;                   // yarn; 0 = derived
  std::vector<float> rope_freq_factors;  // [rope_dim / 2] divides each frequency; empty = ones
  int sliding_window = 0;                // 0 = full attention
  bool attention_bias = false;           // q/k/v bias (qwen2)
  bool qk_norm = false;                  // per-head RMS norm of q and k (qwen3)
  bool tied_embeddings = false;          // no output tensor: the embedding is the LM head
};

// A tensor's location. Valid while its ModelFile lives.
struct TensorSource {
  std::string name;
  DType type = DType::kF32;
  std::vector<int64_t> shape;        // outermost first: [rows, cols], or [n]
  std::span<const std::byte> bytes;  // rows * RowBytes(type, cols)
  int64_t rows() const { return shape.size() < 2 ? 1 : shape[0]; }
  int64_t cols() const { return shape.empty() ? 0 : shape.back(); }
};

// A model's recommended sampling (generation_config.json, general.sampling.*).
struct GenerationDefaults {
  std::optional<float> temperature, top_p;
  std::optional<int> top_k;
};

// Thread-safety: const methods on any thread.
class ModelFile {
 public:
  // Opens a .gguf file, a Hugging Face directory, or a .safetensors file in such a directory. Warns
  // if an old or faulty tokenizer is interpreted otherwise than it states. Errors name the file and
  // the key: unreadable files, an incomplete model (CheckTensors).
  static Result<std::unique_ptr<ModelFile>> Open(const std::string& path);
  // Also opens GGUF files that Open rejects, for commands that display files: config() and
  // tokenizer() hold what can be read.
  static Result<std::unique_ptr<ModelFile>> OpenPartly(const std::string& path);
  virtual ~ModelFile() = default;

  virtual const std::string& path() const = 0;
  virtual uint64_t file_bytes() const = 0;  // sum over all files
  virtual const ModelConfig& config() const = 0;
  virtual const TokenizerData& tokenizer() const = 0;  // tokens may be empty
  virtual const GenerationDefaults& generation() const = 0;
  virtual std::span<const TensorSource> tensors() const = 0;

  // Errors: no such tensor, or another shape; -1 in `shape` accepts any size.
  Result<TensorSource> Find(std::string_view name, std::span<const int64_t> shape) const;
  bool Has(std::string_view name) const;
  // The file's own name for tensor `name`, for messages.
  virtual std::string NameInFile(std::string_view name) const { return std::string(name); }
  // The type of tensor `name`; F32 if there is none.
  DType TypeOf(std::string_view name) const;
  // MappedFile::Release for a tensor whose bytes were copied elsewhere.
  virtual void Release(const TensorSource& tensor) const = 0;
};

}  // namespace foretoken
