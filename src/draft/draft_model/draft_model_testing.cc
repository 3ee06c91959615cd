// A draft model for tests: a twin of the target.
#include <vector>

#include "base/json.h"
#include "draft/test_options.h"
#include "draft/weights_testing.h"
#include "io/convert.h"
#include "io/gguf.h"

namespace foretoken {
namespace {

// Writes the target's weights as a model file with interleaved instead of half-split RoPE. Sums are
// then taken in another order, so the model's results equal the target's up to the last bits.
class TwinWriter {
 public:
  explicit TwinWriter(const TestTarget& target) : target_(target) {}

  Status Write(const std::string& path) {
    const ModelConfig& c = target_.config;
    WriteModelMetadata(c, target_.tokenizer.data(), writer_);
    Matrix("token_embd.weight", c.vocab, c.hidden);
    Matrix("output.weight", c.vocab, c.hidden);
    Vector("output_norm.weight", c.hidden);
    for (int l = 0; l < c.layers; ++l) Layer("blk." + std::to_string(l) + ".");
    return writer_.Write(path);
  }

 private:
  void Layer(const std::string& block) {
    const ModelConfig& c = target_.config;
    const int64_t q = int64_t{c.heads} * c.head_dim, kv = int64_t{c.kv_heads} * c.head_dim;
    Vector(block + "attn_norm.weight", c.hidden);
    Vector(block + "ffn_norm.weight", c.hidden);
    Matrix(block + "attn_q.weight", q, c.hidden, /*has_rope=*/true);
    Matrix(block + "attn_k.weight", kv, c.hidden, /*has_rope=*/true);
    Matrix(block + "attn_v.weight", kv, c.hidden);
    Matrix(block + "attn_output.weight", c.hidden, q);
    Matrix(block + "ffn_gate.weight", c.ffn, c.hidden);
    Matrix(block + "ffn_up.weight", c.ffn, c.hidden);
    Matrix(block + "ffn_down.weight", c.hidden, c.ffn);
  }

  void Add(const std::string& name, std::vector<int64_t> shape, std::vector<float> values) {
    writer_.AddTensor(name, DType::kF32, std::move(shape),
                      [values = std::move(values)](std::span<std::byte> out) {
                        const auto bytes = std::as_bytes(std::span(values));
                        std::copy(bytes.begin(), bytes.end(), out.begin());
                      });
  }

  void Vector(const std::string& name, int64_t n) {
    Add(name, {n}, VectorValues(target_.weights, target_.backend, name, n));
  }

  void Matrix(const std::string& name, int64_t rows, int64_t cols, bool has_rope = false) {
    std::vector<float> values = MatrixValues(target_.weights, target_.backend, name, rows, cols);
    if (has_rope) {
      std::vector<float> permuted(values.size());
      PermuteForInterleavedRope(std::as_bytes(std::span(values)),
                                static_cast<size_t>(cols) * sizeof(float), target_.config.head_dim,
                                target_.config.rope_dim,
                                std::as_writable_bytes(std::span(permuted)));
      values = std::move(permuted);
    }
    Add(name, {rows, cols}, std::move(values));
  }

  const TestTarget& target_;
  GgufWriter writer_;
};

}  // namespace

Json DraftModelTestOptions(const TestTarget& target) {
  const std::string path = target.stem + ".gguf";
  FT_CHECK(TwinWriter(target).Write(path).ok());
  return {{"draft_model", path}, {"cache_type", "f32"}};
}

}  // namespace foretoken
