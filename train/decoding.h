// Greedy decoding of many prompts at once with a Llama model, on any device.
//
// A batch is padded on the left, so that all sequences write the same column of their key-value
// cache in a step and a step takes few operations. Columns serve as rotary positions: attention
// depends on differences of positions only. By default, the host waits for a GPU once in 16 steps.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/types.h"
#include "llama.h"
#include "ops_plain.h"

namespace foretoken::train {

struct DecodingOptions {
  int64_t new_tokens = 256;  // maximum length of an answer, including the token that ends it
  std::vector<Token> stop;   // tokens that end an answer
  // Steps between two checks for finished sequences. The host waits for the device at each check.
  // 0: by device.
  int64_t check_interval = 0;
  // Finished sequences leave the batch when the share of unfinished ones falls below this.
  double compact_below = 0.5;
  int64_t prefill_rows = 0;  // maximum rows of a pass over prompts, padding included; 0: by device
};

struct GreedyAnswer {
  enum class End : uint8_t {
    kStop,   // a token of DecodingOptions::stop was emitted
    kLimit,  // the answer reached new_tokens tokens
    kCut,    // the caller stopped the batch
  };
  std::vector<Token> tokens;  // without the token that ended the answer
  End end = End::kLimit;
};

// Thread-safety: one thread.
class GreedyDecoder {
 public:
  // Called at every check with the number of finished sequences; returns false to stop the batch.
  using Watch = std::function<bool(int64_t ended)>;

  // `model` must outlive this.
  GreedyDecoder(const Llama& model, DecodingOptions options);

  // Continues each of `prompts`; the answers are in their order. The cache holds prompts.size()
  // sequences of longest prompt + new_tokens columns, rounded up; a column takes 2 * layers *
  // kv_heads * head_dim values of the compute type. Throws c10::Error if memory is short. REQUIRES:
  // no prompt is empty.
  std::vector<GreedyAnswer> Decode(std::span<const std::vector<Token>> prompts, const Watch& watch);

 private:
  // The B sequences of a batch that are still being decoded.
  struct Live {
    int64_t columns = 0;  // number of cache columns in use
    torch::Tensor mask;   // [B * kv_heads, 1, capacity]: 0, or -inf if not attended to
    // [layers] of [B * kv_heads, capacity, head_dim]; keys are rotated.
    std::vector<torch::Tensor> keys, values;
    torch::Tensor last;      // [B] int64: the token emitted last
    torch::Tensor ended;     // [B] bool: finished
    torch::Tensor index;     // [B] int64: the row in `written`
    RotaryFactors rotation;  // factors for every column
    torch::Tensor written;   // [prompts, new_tokens] int64, filled with a stop token
    int64_t steps = 0;       // columns of `written` in use

    int64_t count() const { return last.size(0); }
    int64_t capacity() const { return mask.size(2); }
  };

  Live Prefill(std::span<const std::vector<Token>> prompts);
  // Runs the prompts `ids` [b, columns], whose texts begin at columns `first` [b], and fills the
  // cache of sequences from `at` on. Returns the token that follows each prompt, [b].
  torch::Tensor PrefillSlice(const torch::Tensor& ids, const torch::Tensor& first, int64_t at,
                             Live& live) const;
  // Appends the last tokens to the cache and emits the next ones.
  void Step(Live& live) const;
  // Attention of one layer in a step, over the columns that `mask` covers. Returns [B, heads *
  // head_dim].
  torch::Tensor StepAttention(const torch::Tensor& qkv, size_t layer, const torch::Tensor& mask,
                              Live& live) const;
  void Emit(const torch::Tensor& next, Live& live) const;
  // The greedy tokens after `stream`, [rows].
  torch::Tensor Choose(const Stream& stream) const;
  // Drops the finished sequences, given `ended` on the CPU.
  void Compact(const torch::Tensor& ended, Live& live) const;
  std::vector<GreedyAnswer> Collect(const Live& live) const;

  const Llama& model_;
  const LlamaShape& shape_;
  DecodingOptions options_;
  torch::ScalarType compute_;
  torch::Device device_;
  RopeTables ropes_;
  torch::Tensor stop_;  // int64
};

}  // namespace foretoken::train
