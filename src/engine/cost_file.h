// Measured costs, kept between runs in the user's cache folder.
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

// What `path` holds for `key`. Errors: no such file, another key, a file that is no table of costs.
Result<CostModel> ReadCosts(const std::string& path, const std::string& key);
// Errors: a folder that cannot be made, a file that cannot be written.
Status WriteCosts(const std::string& path, const std::string& key, const CostModel& costs);

// The costs of one model, which must outlive this: read from the cache where it has them, measured
// otherwise (at most a second), written back in the end, or, where they proved wrong, deleted, so
// that the next run measures again. A cache that cannot be written is no error.
class CostStore {
 public:
  explicit CostStore(Model& model) : model_(model) {}
  ~CostStore();
  CostStore(const CostStore&) = delete;
  CostStore& operator=(const CostStore&) = delete;

  // Errors: no memory to measure them. The costs are this object's.
  Result<CostModel*> Get();
  // Takes `costs` instead, which are not written back. REQUIRES: whoever got others is gone.
  void Replace(CostModel costs);

 private:
  Model& model_;
  std::string key_, path_;
  std::unique_ptr<CostModel> costs_;  // null until somebody asks
};

}  // namespace foretoken
