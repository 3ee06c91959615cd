// GGUF v2/v3 files: metadata and tensors, read by mmap and written in one pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/mapped_file.h"
#include "base/result.h"
#include "io/dtype.h"
#include "io/model_file.h"

namespace foretoken {

// A metadata value. Integers of all widths are held as int64_t or uint64_t; of the original type
// only signedness is kept.
struct GgufArray;
using GgufValue =
    std::variant<bool, int64_t, uint64_t, double, std::string, std::shared_ptr<GgufArray>>;
struct GgufArray {
  // Arrays of numbers and bools are widened; strings view the mapped file.
  std::variant<std::vector<int64_t>, std::vector<double>, std::vector<std::string_view>> items;
};

// A parsed GGUF file. Every size, count and offset is checked before use; tensor names are unique;
// tensor data lies inside the file at the stated alignment.
class GgufFile {
 public:
  static Result<GgufFile> Open(const std::string& path);
  // Reads only the metadata: tensors() is empty, and the file's tensor entries are not checked.
  static Result<GgufFile> OpenMetadata(const std::string& path);
  // Parses `bytes`, which must outlive the object (for fuzzing and tests).
  static Result<GgufFile> Parse(std::span<const std::byte> bytes, std::string origin);

  const std::string& path() const { return path_; }
  size_t size() const { return bytes_.size(); }
  int version() const { return version_; }
  const std::vector<std::pair<std::string, GgufValue>>& metadata() const { return metadata_; }
  const GgufValue* FindValue(std::string_view key) const;
  std::span<const TensorSource> tensors() const { return tensors_; }
  void Release(const TensorSource& tensor) const;

  // The value as the file encodes it (type, then payload), for copying; empty if there is none.
  std::span<const std::byte> FindEncoded(std::string_view key) const;

  // Typed reads. Errors name the file, the key and the expected type: the key is missing or has
  // another type.
  Result<int64_t> Int(std::string_view key) const;
  Result<double> Number(std::string_view key) const;  // integers are accepted
  Result<std::string> String(std::string_view key) const;
  // Returns `fallback` if the key is missing; a value of another type is still an error.
  Result<int64_t> IntOr(std::string_view key, int64_t fallback) const;
  Result<bool> BoolOr(std::string_view key, bool fallback) const;  // the integers 0 and 1 as well
  Result<std::string> StringOr(std::string_view key, std::string_view fallback) const;
  // Arrays are valid as long as the file. Integer arrays are not accepted as numbers.
  Result<std::span<const std::string_view>> Strings(std::string_view key) const;
  Result<std::span<const int64_t>> Ints(std::string_view key) const;
  Result<std::span<const double>> Numbers(std::string_view key) const;

 private:
  friend class GgufParser;
  Error Unexpected(std::string_view key, std::string_view expected) const;

  std::string path_;
  MappedFile file_;
  std::span<const std::byte> bytes_;
  int version_ = 0;
  std::vector<std::pair<std::string, GgufValue>> metadata_;
  std::vector<std::span<const std::byte>> encoded_;  // parallel to metadata_
  std::vector<TensorSource> tensors_;
};

// The configuration that metadata and tensors of `file` describe. A file without tensors (a
// vocabulary) needs only general.architecture. Errors: a key is missing or out of range, an
// architecture or feature that the model layer does not support, a shard of a model, and those of
// CheckTensors (model_tensors.h).
Result<ModelConfig> ReadModelConfig(const GgufFile& file);
// ReadModelConfig without the check that all tensors are there.
Result<ModelConfig> DescribeModel(const GgufFile& file);

// Sets geometry and rotary constants from the keys `prefix`.* and the tensor "rope_freqs.weight".
// Errors: a key is missing or out of range, sizes that do not agree.
Status ReadGeometry(const GgufFile& file, const std::string& prefix, ModelConfig& config);

// The tokenizer of `file`; without tokens if the file has none. Errors: unknown
// tokenizer.ggml.model, arrays of different lengths, ids out of range.
Result<TokenizerData> ReadTokenizer(const GgufFile& file);

// Collects metadata and tensors, then writes a GGUF v3 file (32-byte alignment) atomically. Setting
// a key again replaces its value.
class GgufWriter {
 public:
  void SetBool(std::string key, bool value);
  void SetU32(std::string key, uint32_t value);
  void SetI32(std::string key, int32_t value);
  void SetU64(std::string key, uint64_t value);
  void SetF32(std::string key, float value);
  void SetString(std::string key, const std::string& value);
  void SetStrings(std::string key, const std::vector<std::string>& values);
  void SetU16s(std::string key, const std::vector<uint16_t>& values);
  void SetI32s(std::string key, const std::vector<int32_t>& values);
  void SetF32s(std::string key, const std::vector<float>& values);
  // `encoded`: as returned by GgufFile::FindEncoded.
  void SetEncoded(std::string key, std::span<const std::byte> encoded);

  // `fill` is called during Write with room for RowBytes(type, cols) * rows bytes, so that a whole
  // model is never in memory. `shape` is outermost first.
  using Fill = std::function<void(std::span<std::byte>)>;
  void AddTensor(std::string name, DType type, std::vector<int64_t> shape, Fill fill);
  // `written`, if not null, is called with the bytes of tensor data written so far. Errors: the
  // system's. REQUIRES: tensor names differ.
  Status Write(const std::string& path, const std::function<void(size_t)>& written = nullptr);
  // Bytes of tensor data that Write will write.
  size_t data_bytes() const;

 private:
  std::string Head() const;  // everything before the tensor data

  std::vector<std::pair<std::string, std::string>> metadata_;  // key -> encoded type and value
  struct Pending {
    std::string name;
    DType type;
    std::vector<int64_t> shape;
    Fill fill;
  };
  std::vector<Pending> pending_;
};

// Writes the metadata of `config` and `tokenizer` under llama.cpp's keys. "mistral" becomes
// "llama", whose q and k rows (and biases) must be stored in the order of PermuteForInterleavedRope
// (convert.h). rope_freq_factors have no key; they are written as the tensor "rope_freqs.weight".
void WriteModelMetadata(const ModelConfig& config, const TokenizerData& tokenizer,
                        GgufWriter& writer);
// The two halves of WriteModelMetadata.
void WriteModelConfig(const ModelConfig& config, GgufWriter& writer);
void WriteTokenizer(const TokenizerData& tokenizer, GgufWriter& writer);
// Writes what ReadGeometry reads.
void WriteGeometry(const ModelConfig& config, const std::string& prefix, GgufWriter& writer);

}  // namespace foretoken
