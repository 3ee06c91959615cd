#include "serve/openai/speculation_log.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/json.h"

namespace foretoken::openai {
namespace {

void CountAt(std::vector<int64_t>& counts, int index) {
  if (std::ssize(counts) <= index) counts.resize(static_cast<size_t>(index) + 1);
  ++counts[static_cast<size_t>(index)];
}

}  // namespace

void SpeculationLog::Add(int nodes, int depth, int accepted) {
  FT_CHECK(0 <= accepted && accepted <= depth && depth <= nodes);
  if (nodes == 0) return;
  ++steps_;
  drafted_ += nodes;
  accepted_ += accepted;
  most_depth_ = std::max(most_depth_, depth);
  CountAt(histogram_, accepted);
  std::vector<int64_t>& of_depth = by_depth_[depth];
  of_depth.resize(static_cast<size_t>(depth) + 1);
  ++of_depth[static_cast<size_t>(accepted)];
  if (keeps_steps_) kept_.push_back({.drafted = nodes, .accepted = accepted});
}

std::vector<int64_t> SpeculationLog::AcceptedByDepth() const {
  std::vector<int64_t> counts(histogram_.empty() ? 0 : histogram_.size() - 1);
  int64_t beyond = 0;
  for (size_t depth = counts.size(); depth > 0; --depth) {
    beyond += histogram_[depth];
    counts[depth - 1] = beyond;
  }
  return counts;
}

Json SpeculationLog::Block(SpeculationDetail detail) const {
  if (steps_ == 0 || detail == SpeculationDetail::kNone) return {};
  std::vector<int64_t> histogram = histogram_;
  histogram.resize(static_cast<size_t>(most_depth_) + 1);
  Json by_depth = Json::object();
  for (const auto& [depth, counts] : by_depth_) by_depth[std::to_string(depth)] = counts;
  const auto accepted = static_cast<double>(accepted_);
  Json block = {
      {"mean_acceptance_length", 1 + accepted / static_cast<double>(steps_)},
      {"draft_acceptance_rate", accepted / static_cast<double>(drafted_)},
      {"acceptance_histogram", std::move(histogram)},
      {"acceptance_histogram_by_draft_length", std::move(by_depth)},
      {"num_spec_steps", steps_},
      {"num_accepted_draft_tokens", accepted_},
      {"num_draft_tokens", drafted_},
      {"num_spec_tokens", most_depth_},
  };
  if (detail != SpeculationDetail::kDetailed) return block;
  Json accepted_steps = Json::array();
  Json drafted_steps = Json::array();
  for (const Step& step : kept_) {
    accepted_steps.push_back(step.accepted);
    drafted_steps.push_back(step.drafted);
  }
  block["per_step_accepted"] = std::move(accepted_steps);
  block["per_step_drafted"] = std::move(drafted_steps);
  return block;
}

}  // namespace foretoken::openai
