// What was learned of costs, kept between runs in the user's cache folder.
#pragma once

#include <memory>
#include <string>

#include "engine/cost_model.h"

namespace foretoken {

// "AMD EPYC ...", or nothing where the system does not say.
std::string ProcessorName();

// What costs depend on: the model's geometry and number formats, the processor, the instruction set
// and the threads.
std::string CostKey(const Model& model);

// The file for `key` below $XDG_CACHE_HOME/foretoken or $HOME/.cache/foretoken; empty where there
// is neither.
std::string CostPath(const std::string& key);

// What `path` holds of passes of `model` and of its drafters. Errors: no such file, another key, a
// file that is no table of costs.
Result<CostModel> ReadCosts(const std::string& path, const Model& model);
// Errors: a folder that cannot be made, a file that cannot be written.
Status WriteCosts(const std::string& path, const Model& model, const CostModel& costs);

// The costs of one model, which must outlive this: what the cache knows of them, a guess where it
// knows nothing; written back in the end. A cache that cannot be written is no error.
class CostStore {
 public:
  explicit CostStore(Model& model) : model_(model) {}
  ~CostStore();
  CostStore(const CostStore&) = delete;
  CostStore& operator=(const CostStore&) = delete;

  // This object's.
  CostModel* Get();
  // Takes `costs` instead, which are not written back. REQUIRES: whoever got others is gone.
  void Replace(CostModel costs);

 private:
  Model& model_;
  std::string path_;
  std::unique_ptr<CostModel> costs_;  // null until somebody asks
};

}  // namespace foretoken
