// A causal language model that scores rows; a row is a token with a position and a parent. Prompts,
// single tokens and trees are all rows, and one forward pass serves them all.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "io/model_file.h"
#include "model/kv_cache.h"
#include "model/taps.h"

namespace foretoken {

// The rows that one pass scores, sequence after sequence.
struct RowBatch {
  std::vector<Token> token;     // [rows]
  std::vector<Pos> position;    // [rows]
  std::vector<Node> parent;     // [rows] a provisional row of the same sequence, or kNoNode
  std::vector<int> begin{0};    // [sequences + 1] where each sequence's rows start
  std::vector<int> logit_rows;  // rows whose logits are wanted, ascending

  int rows() const { return static_cast<int>(token.size()); }
  int sequences() const { return static_cast<int>(begin.size()) - 1; }
};

struct ModelOptions {
  int max_rows = 512;  // maximum number of rows of one pass
  // The distinct tokens that Forward scores: column i of its logits is that of head_tokens[i], and
  // OutputHead() has only these rows. Empty: every token, in the order of ids. Unless all tokens
  // are scored, no pass may request TapSpec::answers.
  std::vector<Token> head_tokens;
  std::optional<DType> head_type;  // of the rows of head_tokens; nullopt: as in the file
};

// Thread-safety: Forward, NewCache, pages and PickHeadRows may be called by one thread at a time,
// the one that uses the caches; the rest may be called concurrently.
class Model {
 public:
  virtual ~Model() = default;
  virtual const ModelConfig& config() const = 0;
  virtual const std::string& origin() const = 0;  // the file's path, or "random model"
  virtual Backend& backend() const = 0;
  virtual int max_rows() const = 0;
  virtual size_t weight_bytes() const = 0;  // read by a pass of one row
  // The pool that all caches of `type` take their pages from, and a new empty cache (`usual`: see
  // KvCache). REQUIRES: CheckCacheType(config(), type).
  virtual PagePool& pages(DType type) const = 0;
  virtual std::unique_ptr<KvCache> NewCache(int usual, DType type) const = 0;

  // Scores every row. Each sequence's rows are appended to its cache as provisional rows; the
  // caller commits them. Fills taps[s] for each sequence s with what `spec` requests; `taps` may be
  // empty if `spec` requests nothing. Returns logits [logit_rows.size(), rows of OutputHead()] f32,
  // valid until the next pass. REQUIRES: 1 <= rows <= max_rows(); tokens < vocab. Errors: out of
  // memory, with the requested size; the caller must then drop the provisional rows.
  virtual Result<Tensor> Forward(const RowBatch& batch, std::span<KvCache* const> caches,
                                 const TapSpec& spec, std::span<Taps> taps) = 0;

  virtual const Weight& Embedding() const = 0;  // [vocab, hidden]
  // [vocab, hidden], or only the rows of ModelOptions::head_tokens. Where head and embedding are
  // tied, this is the embedding.
  virtual const Weight& OutputHead() const = 0;
  // Returns the LM head's rows of these tokens, [tokens.size(), hidden], in the head's own type or
  // requantised to `type`. The model must outlive the result. Errors: out of memory, a type whose
  // blocks do not divide a row. REQUIRES: tokens are distinct and in the vocabulary; not empty.
  virtual Result<std::unique_ptr<Weight>> PickHeadRows(std::span<const Token> tokens,
                                                       std::optional<DType> type) = 0;
};

// The tensor name of the LM head in a model file.
std::string_view HeadName(const ModelConfig& config);

// Loads a Llama-family model. `file` must outlive the model. Error messages name the file and the
// tensor.
Result<std::unique_ptr<Model>> LoadModel(const ModelFile& file, Backend& backend,
                                         const ModelOptions& options = {});

// Makes a model of random weights of the given geometry and weight type, for tests and benchmarks.
// The same seed gives the same model. Values are scaled so that logits spread like a real model's.
Result<std::unique_ptr<Model>> NewRandomModel(const ModelConfig& config, DType type, uint64_t seed,
                                              Backend& backend, const ModelOptions& options = {});

// Whether a cache of `type` can hold this model's keys and values. Errors: `type` is not a cache
// type, or kv_heads * head_dim is not a multiple of its block.
Status CheckCacheType(const ModelConfig& config, DType type);

// Geometries by name: "llama2-13b", "llama3-8b", "llama2-7b", "1.1b" (TinyLlama's), "160m" and
// "34m" for benchmarks, "tiny" for tests. Errors: an unknown name; the message lists the known
// ones.
Result<ModelConfig> ShapeByName(std::string_view name);

}  // namespace foretoken
