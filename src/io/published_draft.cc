#include "io/published_draft.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <filesystem>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/json.h"
#include "base/legible.h"
#include "io/draft_modules.h"
#include "io/hf_model.h"
#include "io/hf_names.h"
#include "io/model_limits.h"
#include "io/tensor_layout.h"
#include "io/torch/torch_file.h"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

bool HasField(const std::string& directory, std::string_view field) {
  const auto json = ReadJsonFile(directory + "/config.json");
  return json.ok() && json->is_object() && json->contains(field);
}

// Whether the directory matches `layout`. Of layouts with the same file names, those with a field
// are recognised by it; the one without a field is the default.
bool Fits(const std::string& directory, const PublishedLayout& layout,
          std::span<const PublishedLayout* const> layouts) {
  if (!layout.field.empty()) return HasField(directory, layout.field);
  return std::ranges::none_of(layouts, [&](const PublishedLayout* other) {
    return other->files == layout.files && !other->field.empty() &&
           HasField(directory, other->field);
  });
}

class PublishedDraft final : public DraftFile {
 public:
  static Result<std::unique_ptr<DraftFile>> Open(const std::string& directory,
                                                 const PublishedLayout& layout) {
    auto draft = std::make_unique<PublishedDraft>();
    draft->path_ = directory;
    draft->rename_ = layout.rename;
    FT_RETURN_IF_ERROR(draft->OpenWeights(layout));
    DraftInfo& info = draft->info_;
    info.method = layout.method;
    FT_RETURN_IF_ERROR(layout.describe(directory, draft->tensors_, info));
    info.name = info.blocks.name;
    if (info.target.hidden == 0) info.target.hidden = info.blocks.hidden;
    if (info.target.vocab == 0) info.target.vocab = info.blocks.vocab;
    return std::unique_ptr<DraftFile>(std::move(draft));
  }

  const std::string& path() const override { return path_; }
  uint64_t file_bytes() const override {
    uint64_t bytes = safetensors_ ? safetensors_->size() : 0;
    for (const TorchFile& file : torch_) bytes += file.size();
    return bytes;
  }
  const ModelConfig& config() const override { return info_.blocks; }
  const TokenizerData& tokenizer() const override { return tokenizer_; }
  const GenerationDefaults& generation() const override { return generation_; }
  std::span<const TensorSource> tensors() const override { return tensors_; }
  void Release(const TensorSource& tensor) const override {
    if (tensor.type == DType::kI32) return;  // its bytes are in integers_, not in a file
    if (safetensors_) return safetensors_->Release(tensor.bytes);
    for (const TorchFile& file : torch_) {
      if (file.Holds(tensor.bytes)) file.Release(tensor.bytes);
    }
  }
  const DraftInfo& info() const override { return info_; }
  // A published name that the layout maps to `name`: Hugging Face's name with or without "model.",
  // or the name that it has in drafts whose only layer is called "midlayer".
  std::string NameInFile(std::string_view name) const override {
    const std::string full = HuggingFaceTensorName(name);
    const size_t prefix = full.find('.') + 1, layer = full.find("layers.0.");
    std::vector<std::string> candidates = {full.substr(prefix)};
    if (layer != std::string::npos) candidates.push_back("midlayer." + full.substr(layer + 9));
    candidates.insert(has_prefix_ ? candidates.begin() : candidates.end(), full);
    for (const std::string& candidate : candidates) {
      if (rename_(candidate) == name) return candidate;
    }
    return std::string(name);
  }

 private:
  Status OpenWeights(const PublishedLayout& layout) {
    const std::string safe = path_ + "/" + std::string(layout.files[0]);
    std::error_code error;
    if (!layout.files[0].empty() && fs::exists(safe, error)) {
      FT_ASSIGN_OR_RETURN(safetensors_, SafetensorsFile::Open(safe));
      return NameTensors(safe, safetensors_->entries(), layout);
    }
    for (const std::string_view name : {layout.files[1], layout.more[0], layout.more[1]}) {
      if (name.empty()) continue;
      const std::string path = path_ + "/" + std::string(name);
      FT_ASSIGN_OR_RETURN(TorchFile file, TorchFile::Open(path));
      FT_RETURN_IF_ERROR(NameTensors(path, file.entries(), layout));
      torch_.push_back(std::move(file));
    }
    return {};
  }

  Status NameTensors(const std::string& path, std::span<const SafetensorsEntry> entries,
                     const PublishedLayout& layout) {
    for (const SafetensorsEntry& entry : entries) {
      if (IsRedundantTensor(entry.name) || entry.name == layout.unused) continue;
      std::string name = layout.rename(entry.name);
      has_prefix_ = has_prefix_ || entry.name.starts_with(kModelPrefix);
      if (name.empty() || !names_.insert(name).second) {
        return Error{path + ": tensor '" + Printable(entry.name) + "' has no place in a draft of " +
                     std::string(layout.method)};
      }
      if (entry.name == layout.integers) {
        FT_RETURN_IF_ERROR(AddIntegers(path, entry, std::move(name)));
        continue;
      }
      FT_ASSIGN_OR_RETURN(TensorSource tensor, TensorOfEntry(path, entry, std::move(name)));
      tensors_.push_back(std::move(tensor));
    }
    return {};
  }

  // Stores I64 as I32, because DType has no 64-bit integers.
  Status AddIntegers(const std::string& path, const SafetensorsEntry& entry, std::string name) {
    const std::string label = path + ": tensor '" + Printable(entry.name) + "' ";
    if (entry.dtype != "I64" || entry.shape.size() != 1) {
      return Error{label + "has type " + entry.dtype + " and shape " + ShapeText(entry.shape) +
                   ", expected a list of I64"};
    }
    std::vector<int64_t> given(entry.bytes.size() / sizeof(int64_t));
    if (!given.empty()) std::memcpy(given.data(), entry.bytes.data(), entry.bytes.size());
    std::vector<int32_t>& numbers = integers_.emplace_back();
    numbers.reserve(given.size());
    for (const int64_t number : given) {
      if (number < -kMostVocab || number > kMostVocab) {
        return Error{label + "holds " + std::to_string(number) + ", expected at most " +
                     std::to_string(kMostVocab) + " either way"};
      }
      numbers.push_back(static_cast<int32_t>(number));
    }
    tensors_.push_back(
        {std::move(name), DType::kI32, entry.shape, std::as_bytes(std::span(numbers))});
    return {};
  }

  std::string path_;
  bool has_prefix_ = false;                            // names begin with "model."
  std::string (*rename_)(std::string_view) = nullptr;  // PublishedLayout::rename
  std::deque<std::vector<int32_t>> integers_;          // converted I64 tensors
  std::optional<SafetensorsFile> safetensors_;         // used if torch_ is empty
  std::vector<TorchFile> torch_;
  std::unordered_set<std::string> names_;  // tensors' names
  DraftInfo info_;
  TokenizerData tokenizer_;
  GenerationDefaults generation_;
  std::vector<TensorSource> tensors_;
};

}  // namespace

bool IsPublishedDraft(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return true;
  const std::string extension = fs::path(path).extension().string();
  return extension == ".safetensors" || extension == ".bin" || extension == ".pt";
}

Result<std::unique_ptr<DraftFile>> OpenPublishedDraft(
    const std::string& path, std::span<const PublishedLayout* const> layouts) {
  std::error_code error;
  const fs::path given =
      fs::is_directory(path, error) ? fs::path(path) : fs::path(path).parent_path();
  const std::string directory = (given.empty() ? fs::path(".") : given).string();
  std::string known;
  for (const PublishedLayout* layout : layouts) {
    for (const std::string_view file : layout->files) {
      if (file.empty()) continue;
      if (fs::exists(fs::path(directory) / file, error) && Fits(directory, *layout, layouts)) {
        return PublishedDraft::Open(directory, *layout);
      }
      if (known.find(file) != std::string::npos) continue;
      known.append(known.empty() ? "" : ", ").append(file);
    }
  }
  return Error{directory + ": has none of " + known};
}

}  // namespace foretoken
