// Measured costs, kept between runs in the user's cache folder.
#pragma once

#include <memory>
#include <string>

#include "engine/cost_model.h"

namespace foretoken {

// Model name of the processor, such as "AMD EPYC ..."; empty if the system does not report it.
std::string ProcessorName();

// Identifies what costs depend on: the model's geometry and number formats, the processor, the
// backend with its instruction set, the number of threads and the version of the file format.
std::string CostKey(const Model& model);

// Path of the cost file for `key`, in $XDG_CACHE_HOME/foretoken or else $HOME/.cache/foretoken;
// empty if neither variable is set.
std::string CostPath(const std::string& key);

// Reads the costs of passes of `model` and of its drafters from `path`. Errors: the file does not
// exist, has another key, or holds no table of costs.
Result<CostModel> ReadCosts(const std::string& path, const Model& model);
// Writes `costs` to `path`, after creating its folder if needed. Errors: the folder cannot be
// created, the file cannot be written, or `path` is not a regular file.
Status WriteCosts(const std::string& path, const Model& model, const CostModel& costs);

// The costs of one model, which must outlive this: read from the cache folder if present there,
// else guessed. The destructor writes them back once the time of a one-row pass is known, and
// ignores errors.
class CostStore {
 public:
  explicit CostStore(Model& model) : model_(model) {}
  ~CostStore();
  CostStore(const CostStore&) = delete;
  CostStore& operator=(const CostStore&) = delete;

  // Returns the costs, which this object owns; the first call loads them.
  CostModel* Get();
  // Replaces the costs with `costs`, which are not written back. REQUIRES: pointers from earlier
  // calls of Get are no longer in use.
  void Replace(CostModel costs);

 private:
  Model& model_;
  std::string path_;
  std::unique_ptr<CostModel> costs_;  // null before the first call of Get
};

}  // namespace foretoken
