// Rows of numbers that memory has no room for, in a file that goes with the process.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "draft/chimera/ngram.h"

namespace foretoken {

class SpillFile {
 public:
  // Rows of `width` numbers. The file must be new; its name is gone at once, its space when this
  // is destroyed. Errors: it exists, or cannot be made.
  static Result<std::unique_ptr<SpillFile>> Create(const std::string& path, int width);
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  // Nothing happens where the row is there already, the file is full or cannot grow.
  void Put(const Ngram& ngram, std::span<const float> row);
  // False where the row is not there.
  bool Get(const Ngram& ngram, std::span<float> row) const;
  bool Has(const Ngram& ngram) const { return places_.contains(ngram); }

 private:
  SpillFile(int file, int width) : file_(file), width_(width) {}
  int64_t Offset(int64_t place) const { return place * width_ * int64_t{sizeof(float)}; }

  int file_;
  int64_t width_;
  std::unordered_map<Ngram, int64_t, NgramHash> places_;
};

}  // namespace foretoken
