// The methods of `foretoken train`: one line in methods.def and one folder each.
#pragma once

#include <torch/types.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
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
  std::vector<std::string> changes;  // fields that may differ from what the run was begun with
  bool force = false;                // begin anew where `out` holds a run
  std::vector<std::string> command;  // that runs this again, as workers need
  int rank = 0;                      // among the workers of the run
  bool profile = false;              // measure the matrix peak and report the fraction reached
  bool quiet = false;
  std::function<double()> clock;  // seconds; null: the machine's own
  // Train decides:
  std::string begun;  // RecordRun's; "" in workers that do not lead
  KeptData kept;      // of the run that `out` holds
};

// What the loop needs to begin.
struct Prepared {
  Recipe recipe;  // with what data or target decided
  Corpus corpus;
  std::unique_ptr<Task> task;
};

struct Method {
  const char* name;
  const char* about;
  std::span<const Setting> settings;
  // Reads data and target. REQUIRES: options.recipe is complete and checked.
  Result<Prepared> (*prepare)(const TrainOptions& options, torch::Device device);
  Status (*export_to)(const ExportRequest& request, const CheckpointInfo& info);
  DraftDefaults defaults = {};  // of drafts
  // The name in a draft file of a weight, for `--init FILE.gguf`; null where none can be read.
  NameInDraft name_in_draft = nullptr;
};

std::span<const Method* const> AllMethods();
// Null when there is none.
const Method* FindMethod(const std::string& name);

torch::ScalarType ComputeType(const Recipe& recipe);
// Weights of that type, drawn with the recipe's seed.
WeightOptions WeightOptionsOf(const Recipe& recipe, torch::Device device);

}  // namespace foretoken::train
