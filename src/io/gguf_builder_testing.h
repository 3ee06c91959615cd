// Builds GGUF files byte by byte, valid or with any field wrong.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

namespace foretoken {

class Bytes {
 public:
  template <typename T>
  Bytes& Add(T value) {
    data_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  Bytes& Raw(std::string_view text) {
    data_ += text;
    return *this;
  }
  Bytes& Text(std::string_view text) { return Add<uint64_t>(text.size()).Raw(text); }
  Bytes& Pad(size_t alignment) {
    data_.append((alignment - data_.size() % alignment) % alignment, '\0');
    return *this;
  }
  const std::string& str() const { return data_; }

 private:
  std::string data_;
};

// A header, metadata and tensors; every field can be set to a wrong value.
struct GgufRecipe {
  std::string magic = "GGUF";
  uint32_t version = 3;
  uint64_t tensor_count = 2, entry_count = 2;
  std::string entries = Bytes()
                            .Text("general.architecture")
                            .Add<uint32_t>(8)
                            .Text("llama")
                            .Text("answers")
                            .Add<uint32_t>(9)
                            .Add<uint32_t>(5)
                            .Add<uint64_t>(3)
                            .Add<int32_t>(41)
                            .Add<int32_t>(42)
                            .Add<int32_t>(43)
                            .str();
  std::string first_name = "a.weight", second_name = "b.weight";
  uint32_t first_dims = 2;
  uint64_t first_cols = 32, first_rows = 2;
  uint32_t first_type = 0;
  uint64_t first_offset = 0, second_offset = 256;
  size_t data_bytes = 256 + 16;

  std::string Build() const {
    Bytes file;
    file.Raw(magic).Add(version).Add(tensor_count).Add(entry_count).Raw(entries);
    file.Text(first_name).Add(first_dims).Add(first_cols).Add(first_rows);
    file.Add(first_type).Add(first_offset);
    file.Text(second_name).Add<uint32_t>(1).Add<uint64_t>(4).Add<uint32_t>(0).Add(second_offset);
    file.Pad(32).Raw(std::string(data_bytes, '\0'));
    return file.str();
  }
};

}  // namespace foretoken
