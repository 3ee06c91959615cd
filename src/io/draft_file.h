// Trained drafters on disk: GGUF files of architecture "foretoken-draft" (docs/formats.md, "Draft
// checkpoints"). What the tensors are for is known to the drafter of each method.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "io/model_file.h"
#include "io/quantize_model.h"
#include "io/token_ranking.h"

namespace foretoken {

class GgufFile;

// What tells targets apart. Zeros and empty strings are unknown and fit everything.
struct TargetFingerprint {
  std::string architecture;  // "llama" (what "mistral" counts as), "qwen2", "qwen3"
  std::string name;          // general.name
  int vocab = 0, hidden = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0;
  uint64_t vocabulary = 0;  // VocabularyFingerprint

  static TargetFingerprint Of(const ModelConfig& config, const TokenizerData& tokenizer);
};

// Parts of the target that a draft may use in place of tensors of its own.
inline constexpr std::string_view kSharedEmbedding = "token_embd";
inline constexpr std::string_view kSharedHead = "output";
inline constexpr std::string_view kSharedNorm = "output_norm";

struct DraftInfo {
  std::string method;  // "eagle", "hass", "medusa", ...: the drafter's name
  std::string name;    // general.name of the draft; may be empty
  TargetFingerprint target;
  // Geometry of the draft's decoder layers. `hidden` is always set; the rest only where `layers` is
  // above 0. `vocab` is the number of tokens its logits have. q and k rows are never interleaved.
  // heads = 0: published without them, heads and positions are those of the target.
  ModelConfig blocks;
  // Hidden states it reads, by Hugging Face index; ascending. Where the number of the target's
  // layers was not published, negative: -1 is the last.
  std::vector<int> taps;
  std::vector<int> kv_layers;       // target layers (0-based) whose cached keys and values it reads
  std::vector<std::string> shared;  // of kSharedEmbedding, kSharedHead, kSharedNorm
  int output_heads = 0;             // Medusa, Hydra, Chimera: tokens guessed ahead
  int head_layers = 0;              // Medusa, Hydra: residual blocks of a head
  int block_size = 0;               // GLIDE, EDD: L of the training mask
  int ngram = 0;                    // Chimera: tokens of an n-gram
  std::string recipe;               // how it was trained, as JSON; may be empty
  TokenRanking ranking;             // of the target's tokens; may be empty
  // acceptance[d]: share of its guesses at depth d + 1, of drafts that got there, that were the
  // target's tokens: in held-out text when it was trained, or in the target's own answers. May be
  // empty.
  std::vector<float> acceptance;

  bool Shares(std::string_view part) const;
};

// What the metadata of a draft file say. Errors: another architecture or version, a key missing or
// out of range.
Result<DraftInfo> ReadDraftInfo(const GgufFile& file);

// A draft under the names of docs/formats.md. config() is info().blocks; there is no tokenizer.
class DraftFile : public ModelFile {
 public:
  // Opens a GGUF file (draft/open_draft.h opens drafts as their authors publish them, too). Errors
  // name the file and the key: another architecture or version, a key missing or out of range, a
  // part that is both shared and in the file.
  static Result<std::unique_ptr<DraftFile>> Open(const std::string& path);
  virtual const DraftInfo& info() const = 0;
};

// The target that a draft's metadata names, read without any other check of the file; nothing where
// it is no draft, or where a part of the target is missing or out of range.
std::optional<TargetFingerprint> NamedTarget(const GgufFile& metadata);

// Whether a draft made for `info.target` may serve `target`. With `any_name`, a model of another
// name that is otherwise the same may be one (a fine-tuned sibling). Errors: the first difference,
// opened by `path`, the draft's file.
Status CheckTarget(const DraftInfo& info, const TargetFingerprint& target, bool any_name,
                   const std::string& path);

// A tensor to be written: row-major F32.
struct DraftTensor {
  std::string name;
  std::vector<int64_t> shape;  // outermost first
  std::span<const float> values;
};

// Writes a draft atomically. `type` is what matrices become where their rows fit its blocks;
// vectors stay F32. Errors: the system's. REQUIRES: tensor names differ; shapes fit values.
Status WriteDraft(const DraftInfo& info, std::span<const DraftTensor> tensors, FileType type,
                  ThreadPool& pool, const std::string& path);

// Errors: shares that are not from 0 to 1, more depths than a draft has. They open with `label`
// (file and field).
Status CheckAcceptance(std::span<const float> acceptance, const std::string& label);

// What becomes known of a draft after it was exported.
struct DraftNotes {
  std::string name;  // DraftInfo::name
  TokenRanking ranking;
  std::vector<float> acceptance;
};
// Copies the draft file `from` (GGUF), its tensors as they are, with `notes` in place of its own;
// what is empty there stays as it is in the file. `to` is replaced atomically. Errors: those of
// Open; notes that CheckRanking, for the draft's target, or CheckAcceptance refuses; the system's.
Status AnnotateDraft(const std::string& from, const DraftNotes& notes, const std::string& to);

}  // namespace foretoken
