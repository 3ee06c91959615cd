// Reads the values of a golden file in the order in which its make_goldens.py wrote them.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/mapped_file.h"

namespace foretoken {

class GoldenReader {
 public:
  explicit GoldenReader(const std::string& path)
      : file_(*MappedFile::Open(path)), left_(file_.bytes()) {}

  int Count() { return Values<int32_t>(1)[0]; }
  template <typename T>
  std::vector<T> Values(size_t count) {
    FT_CHECK(count * sizeof(T) <= left_.size());
    std::vector<T> values(count);
    std::memcpy(values.data(), left_.data(), count * sizeof(T));
    left_ = left_.subspan(count * sizeof(T));
    return values;
  }
  bool AtEnd() const { return left_.empty(); }

 private:
  MappedFile file_;
  std::span<const std::byte> left_;
};

}  // namespace foretoken
