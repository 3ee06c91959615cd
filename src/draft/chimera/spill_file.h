// A temporary file for rows evicted from memory. It is unlinked on creation, so it never outlives
// the process.
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
  // Creates a file for rows of `width` elements. The file is unlinked at once, and its space is
  // freed when the object is destroyed. Errors: `path` exists or cannot be created.
  static Result<std::unique_ptr<SpillFile>> Create(const std::string& path, int width);
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  // Stores a row; does nothing if the row is there already, or if the file is full or cannot grow.
  void Put(const Ngram& ngram, std::span<const float> row);
  // Returns false if the row is not in the file or cannot be read.
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
