#include "engine/stats_json.h"

#include "base/json.h"

namespace foretoken {
namespace {

template <typename Field>
Json PerCycle(std::span<const Cycle> cycles, Field Cycle::*field) {
  Json list = Json::array();
  for (const Cycle& c : cycles) list.push_back(c.*field);
  return list;
}

Json StepsToJson(std::span<const StepAcceptance> steps) {
  Json list = Json::array();
  for (const StepAcceptance& s : steps) {
    list.push_back(s.reached > 0 ? static_cast<double>(s.accepted) / s.reached : 0.0);
  }
  return list;
}

Json TimesReached(std::span<const StepAcceptance> steps) {
  Json list = Json::array();
  for (const StepAcceptance& s : steps) list.push_back(s.reached);
  return list;
}

}  // namespace

double RunReport::TokensPerSecond() const {
  const double time = seconds.prefill + seconds.draft + seconds.verify + seconds.other;
  return time > 0 ? static_cast<double>(tokens.size()) / time : 0;
}

double RunReport::GenerationTokensPerSecond() const {
  const double time = seconds.draft + seconds.verify + seconds.other;
  // The first token comes from the prompt's pass.
  return time > 0 && tokens.size() > 1 ? static_cast<double>(tokens.size() - 1) / time : 0;
}

Json ToJson(const RunReport& report) {
  const std::vector<Cycle> cycles(report.cycles.begin(), report.cycles.end());
  const Metrics m = Summarise(std::span(&cycles, 1));
  Json json;
  json["verifier"] = report.verifier;
  json["lossless"] = report.lossless;
  json["prompt_tokens"] = report.prompt_tokens;
  json["new_tokens"] = report.tokens.size();
  json["tokens"] = std::vector<Token>(report.tokens.begin(), report.tokens.end());
  json["seconds"] = {{"load", report.seconds.load},
                     {"prefill", report.seconds.prefill},
                     {"draft", report.seconds.draft},
                     {"verify", report.seconds.verify},
                     {"other", report.seconds.other}};
  json["tokens_per_second"] = report.TokensPerSecond();
  json["gen_only_tokens_per_second"] = report.GenerationTokensPerSecond();
  json["cycles"] = m.cycles;
  json["n_acc"] = PerCycle(report.cycles, &Cycle::n_acc);
  json["written"] = PerCycle(report.cycles, &Cycle::written);
  json["nodes"] = PerCycle(report.cycles, &Cycle::nodes);
  json["max_depth"] = PerCycle(report.cycles, &Cycle::max_depth);
  json["drafted_depth"] = PerCycle(report.cycles, &Cycle::drafted_depth);
  AddMetrics(m, json);
  if (report.outcome.speedup) json["outcome"] = ToJson(report.outcome);
  for (const Tally& tally : report.tallies) {
    json["tallies"][tally.name] = {{"count", tally.count}, {"of", tally.of}};
  }
  return json;
}

void AddMetrics(const Metrics& m, Json& json) {
  json["tau_micro"] = m.tau_micro;
  json["tau_macro"] = m.tau_macro;
  json["acc_only"] = m.acc_only;
  json["alpha_edd"] = m.alpha_edd;
  json["alpha_lev"] = m.alpha_lev;
  json["alpha_tok"] = m.alpha_tok;
  json["alpha_n"] = StepsToJson(m.alpha_n);
  json["alpha_n_reached"] = TimesReached(m.alpha_n);
  json["ECE"] = m.ECE;
  json["E_spd"] = m.E_spd;
  json["VTP"] = m.verify_share;
  json["GSTP"] = m.draft_share;
}

}  // namespace foretoken
