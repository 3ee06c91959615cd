#include "apps/models/distill_record.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <span>

#include "base/hash.h"
#include "base/input_file.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "base/number_text.h"
#include "base/output_file.h"
#include "base/run_differences.h"
#include "base/writable.h"
#include "io/weights_hash.h"
#include "text/documents.h"
#include "verify/verifier.h"

namespace foretoken {
namespace {

std::string RecordPath(const std::string& output) { return output + ".run.json"; }

// The decimal value as typed: 0.7 for the float nearest to it.
double AsTyped(float value) { return std::strtod(NumberText("%g", value).c_str(), nullptr); }

std::vector<RunDifference> DifferencesOf(const Json& was, const Json& now) {
  std::vector<RunDifference> differences;
  for (const auto& [name, value] : now.items()) {
    const auto before = was.find(name);
    if (before == was.end() || *before == value) continue;
    if (name == "data") {
      for (RunDifference& d : CompareData(*before, value)) differences.push_back(std::move(d));
    } else if (name == "model") {
      differences.push_back({name, "the answers are of another model"});
    } else {
      differences.push_back(ChangedValue(name, *before, value));
    }
  }
  return differences;
}

Status CheckChanges(const Json& record, const std::vector<std::string>& changes) {
  for (const std::string& name : changes) {
    if (record.contains(name)) continue;
    std::string known;
    for (const auto& [field, value] : record.items()) known += (known.empty() ? "" : ", ") + field;
    return Error{"--change is '" + name + "', expected some of " + known};
  }
  return {};
}

}  // namespace

Json RecordModel(const ModelFile& file) {
  const TokenizerData& t = file.tokenizer();
  const uint64_t chat = HashBytes(std::as_bytes(std::span(t.chat_template)));
  return {{"model",
           {{"name", file.config().name},
            {"weights", HexDigits(HashWeights(file))},
            {"vocabulary", HexDigits(VocabularyFingerprint(t))},
            {"chat_template", HexDigits(chat)}}}};
}

Result<Json> RecordDataFiles(const std::vector<std::string>& data) {
  std::vector<std::string> all;
  for (const std::string& pattern : data) {
    FT_ASSIGN_OR_RETURN(const std::vector<std::string> files, ListDataFiles(pattern, ""));
    all.insert(all.end(), files.begin(), files.end());
  }
  return RecordFiles(all);
}

void AddSampling(const SamplingParams& p, Json& record) {
  record["temp"] = AsTyped(p.temperature);
  if (p.pure_argmax()) return;  // other settings have no effect
  Json bias = Json::array(), order = Json::array();
  for (const auto& [token, value] : p.logit_bias)
    bias.push_back(Json::array({token, AsTyped(value)}));
  for (const LogitsStep step : p.order) order.push_back(static_cast<int>(step));
  record["seed"] = p.seed;
  record["top_k"] = p.top_k;
  record["top_p"] = AsTyped(p.top_p);
  record["min_p"] = AsTyped(p.min_p);
  record["typical_p"] = AsTyped(p.typical_p);
  record["repetition_penalty"] = AsTyped(p.repetition_penalty);
  record["frequency_penalty"] = AsTyped(p.frequency_penalty);
  record["presence_penalty"] = AsTyped(p.presence_penalty);
  record["penalty_last_n"] = p.penalty_last_n;
  record["logit_bias"] = std::move(bias);
  record["order"] = std::move(order);
}

Status AddVerifier(const DraftArgs& draft, Json& record) {
  FT_ASSIGN_OR_RETURN(const VerifierEntry* verifier, FindVerifier(draft.verifier));
  const bool same_text = verifier->guarantee == Guarantee::kSameText;
  record["verifier"] = same_text ? std::string(AllVerifiers().front().name) : draft.verifier;
  if (same_text) return {};
  record["verifier_options"] = draft.verifier_options;
  record["drafter"] = draft.drafter;
  record["drafter_options"] = draft.options;
  record["tree"] = TreeOf(draft);
  return {};
}

Status CompareRecords(const std::string& output, const Json& was, const Json& record,
                      const std::vector<std::string>& changes, bool others_work) {
  FT_RETURN_IF_ERROR(CheckChanges(record, changes));
  std::vector<RunDifference> differences = DifferencesOf(was, record);
  std::erase_if(differences, [&](const RunDifference& d) {
    return !others_work && std::ranges::find(changes, d.field) != changes.end();
  });
  if (differences.empty()) return {};
  const std::string message =
      output +
      " holds answers that were started with other settings or data: " + InSentences(differences);
  if (others_work) {
    return Error{message +
                 ". Other processes are working on them; stop those before --change or "
                 "--force"};
  }
  for (const std::string& agreed : changes) differences.push_back({agreed, ""});
  return Error{message + ". --change " + FieldList(differences) +
               " continues with the new values; --force starts over and replaces the file"};
}

Status CheckRecord(const std::string& output, bool has_answers, const Json& record,
                   const std::vector<std::string>& changes) {
  FT_RETURN_IF_ERROR(CheckChanges(record, changes));
  if (!has_answers || IsDevice(output)) return {};  // a device keeps nothing to continue
  const std::string path = RecordPath(output);
  if (!FileExists(path)) {
    std::fprintf(stderr, "%s: has no record (%s), so model and options are not compared\n",
                 output.c_str(), path.c_str());
    return {};
  }
  FT_ASSIGN_OR_RETURN(const Json was, ReadJsonFile(path));
  if (!was.is_object()) return Error{path + ": is not a record of distill; --force starts over"};
  return CompareRecords(output, was, record, changes);
}

Status WriteRecord(const std::string& output, const Json& record) {
  if (IsDevice(output)) return {};
  return WriteFileAtomically(RecordPath(output), JsonText(record, 2) + "\n");
}

}  // namespace foretoken
