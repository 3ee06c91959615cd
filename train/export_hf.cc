// Exports to Hugging Face's format (export.h).
#include <cstring>
#include <filesystem>

#include "base/json.h"
#include "base/output_file.h"
#include "base/writable.h"
#include "checkpoint_file.h"
#include "corpus_file.h"
#include "export.h"
#include "io/hf_names.h"
#include "io/safetensors.h"
#include "text/pre_tokenizer.h"

namespace foretoken::train {
namespace {

constexpr const char* kHuggingFaceFiles[] = {"config.json", "generation_config.json",
                                             "tokenizer.json", "tokenizer_config.json",
                                             "model.safetensors"};

Json ConfigJson(const Recipe& r, const TokenizerData& t, FileType type) {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"model_type", "llama"},
          {"vocab_size", r.vocab},
          {"hidden_size", r.hidden},
          {"intermediate_size", r.ffn},
          {"num_hidden_layers", r.layers},
          {"num_attention_heads", r.heads},
          {"num_key_value_heads", r.kv_heads},
          {"head_dim", r.head_dim},
          {"hidden_act", "silu"},
          {"max_position_embeddings", r.context},
          {"rms_norm_eps", r.norm_eps},
          {"rope_theta", r.rope_base},
          {"rope_scaling", nullptr},
          {"tie_word_embeddings", r.tied_embeddings},
          {"attention_bias", false},
          {"mlp_bias", false},
          {"attention_dropout", 0.0},
          {"initializer_range", 0.02},
          {"bos_token_id", t.bos},
          {"eos_token_id", t.eos},
          {"pad_token_id", t.padding},
          {"use_cache", true},
          {"torch_dtype", type == FileType::kBF16 ? "bfloat16" : "float32"}};
}

Json GenerationJson(const TokenizerData& t) {
  return {{"bos_token_id", t.bos}, {"eos_token_id", t.eog}, {"pad_token_id", t.padding}};
}

Json AddedToken(const TokenizerData& t, size_t id) {
  return {{"id", id},        {"content", t.tokens[id]}, {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false},     {"special", true}};
}

Json ByteLevel() {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", false},
          {"use_regex", false}};
}

Json PreTokenizerJson(const std::string& name) {
  Json steps = Json::array();
  if (const PreTokenizerRules* rules = FindPreTokenizerRules(name)) {
    for (const std::string_view pattern : rules->patterns) {
      steps.push_back({{"type", "Split"},
                       {"pattern", {{"Regex", pattern}}},
                       {"behavior", "Isolated"},
                       {"invert", false}});
    }
  }
  steps.push_back(ByteLevel());
  return {{"type", "Sequence"}, {"pretokenizers", steps}};
}

Json TokenizerJson(const TokenizerData& t) {
  Json vocab = Json::object(), added = Json::array();
  for (size_t id = 0; id < t.tokens.size(); ++id) {
    vocab[t.tokens[id]] = id;  // special tokens too, or `tokenizers` would number them last
    if (t.types[id] == TokenType::kControl) added.push_back(AddedToken(t, id));
  }
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", added},
          {"normalizer", nullptr},
          {"pre_tokenizer", PreTokenizerJson(t.pre)},
          {"post_processor", nullptr},
          {"decoder", ByteLevel()},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", nullptr},
            {"continuing_subword_prefix", ""},
            {"end_of_word_suffix", ""},
            {"fuse_unk", false},
            {"byte_fallback", false},
            {"ignore_merges", false},
            {"vocab", vocab},
            {"merges", t.merges}}}};
}

Json TokenizerConfigJson(const Recipe& r, const TokenizerData& t) {
  Json added = Json::object();
  for (size_t id = 0; id < t.tokens.size(); ++id) {
    if (t.types[id] != TokenType::kControl) continue;
    added[std::to_string(id)] = AddedToken(t, id);
    added[std::to_string(id)].erase("id");
  }
  return {{"tokenizer_class", "PreTrainedTokenizerFast"},
          {"added_tokens_decoder", added},
          {"add_bos_token", false},
          {"add_eos_token", false},
          {"bos_token", t.tokens[t.bos]},
          {"eos_token", t.tokens[t.eos]},
          {"pad_token", t.tokens[t.padding]},
          {"clean_up_tokenization_spaces", false},
          {"model_max_length", r.context},
          {"chat_template", t.chat_template}};
}

std::string ToBf16(std::span<const std::byte> bytes) {
  const size_t count = bytes.size() / sizeof(float);
  std::string out(count * sizeof(uint16_t), '\0');
  for (size_t i = 0; i < count; ++i) {
    float value;
    std::memcpy(&value, bytes.data() + i * sizeof(float), sizeof(value));
    const uint16_t bits = FloatToBf16(value);
    std::memcpy(out.data() + i * sizeof(bits), &bits, sizeof(bits));
  }
  return out;
}

Status WriteWeights(const std::string& checkpoint, const std::string& path, FileType type) {
  FT_ASSIGN_OR_RETURN(const SafetensorsFile file,
                      SafetensorsFile::Open(CheckpointPath(checkpoint)));
  std::vector<TensorRecord> tensors;
  for (const SafetensorsEntry& entry : file.entries()) {
    if (GgufTensorName(entry.name).empty() || entry.dtype != "F32") continue;
    if (type == FileType::kBF16) {
      tensors.push_back({entry.name, "BF16", entry.shape, ToBf16(entry.bytes)});
    } else {
      const auto* data = reinterpret_cast<const char*>(entry.bytes.data());
      tensors.push_back({entry.name, "F32", entry.shape, std::string(data, entry.bytes.size())});
    }
  }
  return WriteSafetensors(path, tensors);
}

Status WriteJson(const std::string& path, const Json& json) {
  return WriteFileAtomically(path, JsonText(json, 2) + "\n");
}

}  // namespace

Status CheckExportPath(const ExportRequest& request) {
  if (request.path.ends_with(".gguf")) return CheckReplaces(request.path, request.force);
  for (const char* name : kHuggingFaceFiles) {
    FT_RETURN_IF_ERROR(CheckReplaces(request.path + "/" + name, request.force));
  }
  return {};
}

Status ExportHuggingFace(const std::string& checkpoint, const std::string& directory,
                         FileType type) {
  if (type != FileType::kF32 && type != FileType::kBF16) {
    return Error{directory + ": a Hugging Face directory holds F32 or BF16, not " +
                 std::string(FileTypeName(type)) + "; name a .gguf file for other types"};
  }
  FT_ASSIGN_OR_RETURN(const CheckpointInfo info, ReadCheckpointInfo(checkpoint));
  FT_ASSIGN_OR_RETURN(const TokenizerData tokenizer, LoadTokenizer(checkpoint));
  std::error_code fault;
  std::filesystem::create_directories(directory, fault);
  if (fault) return Error{directory + ": cannot create: " + fault.message()};
  const std::string prefix = directory + "/";
  // Fails if one of the files is an input, for example if `directory` is the checkpoint's.
  for (const char* name : kHuggingFaceFiles) {
    FT_RETURN_IF_ERROR(OutputFile::Open(prefix + name));
  }
  const Recipe& r = info.recipe;
  FT_RETURN_IF_ERROR(WriteJson(prefix + "config.json", ConfigJson(r, tokenizer, type)));
  FT_RETURN_IF_ERROR(WriteJson(prefix + "generation_config.json", GenerationJson(tokenizer)));
  FT_RETURN_IF_ERROR(WriteJson(prefix + "tokenizer.json", TokenizerJson(tokenizer)));
  FT_RETURN_IF_ERROR(
      WriteJson(prefix + "tokenizer_config.json", TokenizerConfigJson(r, tokenizer)));
  return WriteWeights(checkpoint, prefix + "model.safetensors", type);
}

}  // namespace foretoken::train
