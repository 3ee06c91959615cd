// Trained drafts on disk: GGUF files of architecture "foretoken-draft" (docs/formats.md, "Draft
// checkpoints"). The drafter of each method defines what its tensors mean.
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

// Properties that distinguish targets. Zeros and empty strings are unknown and match everything.
struct TargetFingerprint {
  std::string architecture;  // "llama" (also for "mistral"), "qwen2", "qwen3"
  std::string name;          // general.name
  int vocab = 0, hidden = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0;
  uint64_t vocabulary = 0;  // VocabularyFingerprint

  static TargetFingerprint Of(const ModelConfig& config, const TokenizerData& tokenizer);
};

// Parts of the target that a draft may use instead of tensors of its own.
inline constexpr std::string_view kSharedEmbedding = "token_embd";
inline constexpr std::string_view kSharedHead = "output";
inline constexpr std::string_view kSharedNorm = "output_norm";

struct DraftInfo {
  std::string method;  // "eagle", "hass", "medusa", ...: the drafter's name
  std::string name;    // general.name of the draft; may be empty
  TargetFingerprint target;
  // Geometry of the draft's decoder layers. `hidden` is always set; the rest only if `layers` is
  // above 0. `vocab` is the number of tokens that its logits cover. q and k rows are never
  // interleaved. heads = 0: not published; heads and positions are those of the target.
  ModelConfig blocks;
  // Hidden states that the draft reads, by Hugging Face index (TapSpec::hidden), ascending.
  // Negative if the target's number of layers was not published: -1 is the last.
  std::vector<int> taps;
  std::vector<int> kv_layers;       // target layers (0-based) whose cached keys and values it reads
  std::vector<std::string> shared;  // of kSharedEmbedding, kSharedHead, kSharedNorm
  int output_heads = 0;             // Medusa, Hydra, Chimera: number of tokens guessed ahead
  int head_layers = 0;              // Medusa, Hydra: residual blocks of a head
  int block_size = 0;               // GLIDE, EDD: L of the training mask
  int ngram = 0;                    // Chimera: tokens of an n-gram
  std::string recipe;               // how it was trained, as JSON; may be empty
  TokenRanking ranking;             // of the target's tokens; may be empty
  // acceptance[d]: fraction of the draft's guesses at depth d + 1 that were the target's tokens, of
  // cycles whose first d guesses were. Measured on held-out text at training time, or on the
  // target's own answers. May be empty.
  std::vector<float> acceptance;

  bool Shares(std::string_view part) const;
};

// Reads the metadata of a draft file. Errors: another architecture or version, a key missing or out
// of range.
Result<DraftInfo> ReadDraftInfo(const GgufFile& file);

// An open draft with tensors under the names of docs/formats.md. config() is info().blocks; there
// is no tokenizer.
class DraftFile : public ModelFile {
 public:
  // Opens a GGUF file (draft/open_draft.h also opens drafts as their authors publish them). Errors
  // name the file and the key: another architecture or version, a key missing or out of range, a
  // part that is both shared and in the file.
  static Result<std::unique_ptr<DraftFile>> Open(const std::string& path);
  virtual const DraftInfo& info() const = 0;
};

// The target that a draft's metadata name; nullopt if the file is not a draft, or if a property of
// the target is missing or out of range. Checks nothing else of the file.
std::optional<TargetFingerprint> NamedTarget(const GgufFile& metadata);

// Checks whether a draft made for `info.target` may serve `target`. With `any_name`, a model with
// another name that is otherwise the same (a fine-tuned sibling) is accepted. Errors: the first
// difference; error messages begin with `path`, the draft's file.
Status CheckTarget(const DraftInfo& info, const TargetFingerprint& target, bool any_name,
                   const std::string& path);

// A row-major F32 tensor to be written.
struct DraftTensor {
  std::string name;
  std::vector<int64_t> shape;  // outermost first
  std::span<const float> values;
};

// Writes a draft atomically. `type`: the format of matrices whose rows fit its blocks; vectors stay
// F32. Errors: the system's. REQUIRES: tensor names differ; shapes fit values.
Status WriteDraft(const DraftInfo& info, std::span<const DraftTensor> tensors, FileType type,
                  ThreadPool& pool, const std::string& path);

// Errors: shares outside [0, 1], more depths than a draft can have. Error messages begin with
// `label` (file and field).
Status CheckAcceptance(std::span<const float> acceptance, const std::string& label);

// The tokens per cycle of chains whose guesses at depth d + 1 are accepted with probability
// acceptance[d], the target's own token included.
double AcceptanceLength(std::span<const double> acceptance);

// Information about a draft that becomes known after its export.
struct DraftNotes {
  std::string name;  // DraftInfo::name
  TokenRanking ranking;
  std::vector<float> acceptance;
};
// Copies the draft file `from` (GGUF) with its tensors, and replaces its notes by those in `notes`
// that are not empty. `to` is replaced atomically. Errors: those of Open; a ranking that
// CheckRanking rejects for the draft's target; an acceptance that CheckAcceptance rejects; the
// system's.
Status AnnotateDraft(const std::string& from, const DraftNotes& notes, const std::string& to);

}  // namespace foretoken
