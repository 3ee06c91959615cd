// A file for rows evicted from memory, which is deleted with the process.
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
  // Creates a file for rows of `width` elements. It must not exist yet; its name is unlinked at
  // once, its space freed when this is destroyed. Errors: it exists or cannot be created.
  static Result<std::unique_ptr<SpillFile>> Create(const std::string& path, int width);
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  // Stores a row; does nothing if the row is there already, or if the file is full or cannot grow.
  void Put(const Ngram& ngram, std::span<const float> row);
  // False if the row is not in the file.
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
