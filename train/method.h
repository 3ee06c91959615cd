// The methods of `foretoken train`. Each has a line in methods.def; a folder holds one or two of
// them.
#pragma once

#include <torch/types.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/run_differences.h"
#include "budget.h"
#include "checkpoint.h"
#include "checkpoint_file.h"
#include "corpus.h"
#include "draft_defaults.h"
#include "export.h"
#include "recipe.h"
#include "task.h"
#include "weights.h"

namespace foretoken::train {

struct TrainOptions {
  Recipe recipe;
  std::string data_base;  // where relative data patterns are looked up; "" = the current directory
  std::string out;        // directory of checkpoint, tokenizer, corpus and logs
  std::vector<std::string> changes;  // fields that may differ from the resumed run's record
  bool min_lr_follows_lr = false;    // a change of lr includes min_lr
  bool force = false;                // start over if `out` holds a run
  std::vector<std::string> command;  // the command line with which workers are started
  int rank = 0;                      // this process's rank among the workers of the run
  bool profile = false;              // report the share of peak matrix throughput reached
  bool quiet = false;
  std::function<double()> clock;  // seconds; null: the system's clock
  // Set by Train:
  std::string begun;  // RecordRun's result; "" in workers other than the leader
  KeptData kept;      // files that the checkpoint in `out` depends on
  // CheckContinues' result for the run in `out`; empty in workers other than the leader.
  std::vector<RunDifference> differences;
};

// The inputs of the training loop.
struct Prepared {
  Recipe recipe;  // with the fields that data or target determine
  Corpus corpus;
  std::unique_ptr<Task> task;
  std::function<TargetReading()> reading;  // null: the method has no target
};

struct Method {
  const char* name;
  const char* about;
  std::span<const Setting> settings;
  // Reads data and target. REQUIRES: options.recipe is complete and checked.
  Result<Prepared> (*prepare)(const TrainOptions& options, torch::Device device);
  Status (*export_to)(const ExportRequest& request, const CheckpointInfo& info);
  DraftDefaults defaults = {};  // for methods that train drafts
  // Maps a weight to its name in a draft file, for `--init FILE.gguf`; null: not supported.
  NameInDraft name_in_draft = nullptr;
};

std::span<const Method* const> AllMethods();
// Returns null if there is no such method.
const Method* FindMethod(const std::string& name);

torch::ScalarType ComputeType(const Recipe& recipe);
// Options for weights of the recipe's compute type, initialised with its seed.
WeightOptions WeightOptionsOf(const Recipe& recipe, torch::Device device);

}  // namespace foretoken::train
