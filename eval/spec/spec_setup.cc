#include "eval/spec/spec_setup.h"

#include "apps/command_line.h"
#include "apps/runtime_args.h"
#include "base/json.h"
#include "verify/verifier.h"

namespace foretoken {
namespace {

// Version of the answers in a journal. Since version 2, cycles have `written` and `drafted_depth`,
// and drafts are ranked without the target's noise if the verifier does not compare them with the
// target's own draw.
constexpr int kJournalFormat = 2;

}  // namespace

void DeclareSpecOptions(CLI::App& app, SpecOptions* options) {
  app.add_option("-n,--new-tokens", options->new_tokens, "maximum tokens per turn")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("-c,--context", options->context, "longest sequence (default: the model's)")
      ->check(CLI::Range(1, 1 << 30));
  app.add_option("--warm-up", options->warm_up, "questions answered without timing at the start")
      ->capture_default_str()
      ->check(CLI::Range(0, 1000));
  app.add_option_function<double>(
         "--time", [options](double minutes) { options->seconds = 60 * minutes; },
         "minutes after which no further question is started, over all passes")
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--repeats", options->repeats,
                 "passes over all questions; times are medians over them")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option(
         "--costs", options->costs,
         "file of the costs that trees use, so that trees are the same in every run; written after "
         "a warm-up of 24 questions if absent (default: costs that earlier runs kept in "
         "~/.cache/foretoken, corrected by those measured during the run)")
      ->type_name("FILE")
      ->check(WritableFile());
  AddSeedArg(app, &options->sampling.seed, "random seed (0); -1 = a random one, which is printed");
  app.add_flag("-q,--quiet", options->quiet, "no progress");
}

void DeclareRecords(CLI::App& app, std::string* json, std::string* resume) {
  app.add_option("--json", *json, "write the results as JSON")
      ->type_name("FILE")
      ->check(WritableFile());
  app.add_option("--resume", *resume,
                 "record the answers in FILE; the same command, run again, continues from them")
      ->type_name("FILE")
      ->check(WritableFile());
}

size_t FindOrAddBaseline(float temperature, const std::string& verifier, int batch,
                         std::vector<SpecMethod>* methods) {
  SpecMethod baseline{
      .name = "none", .temperature = temperature, .batch = batch, .baseline = methods->size()};
  const auto entry = FindVerifier(verifier);
  const bool promises_text = entry.ok() && (*entry)->guarantee == Guarantee::kSameText;
  const bool greedy = SamplingParams{.temperature = temperature}.greedy();
  if (promises_text && !greedy) baseline.draft.verifier = verifier;
  for (size_t i = 0; i < methods->size(); ++i) {
    const SpecMethod& m = (*methods)[i];
    const bool is_baseline = m.name == baseline.name && m.draft.verifier == baseline.draft.verifier;
    if (is_baseline && m.temperature == temperature && m.batch == batch) return i;
  }
  methods->push_back(std::move(baseline));
  return methods->size() - 1;
}

Json SpecIdentity(const LoadedModel& loaded, const std::string& model, const SpecOptions& options,
                  const std::vector<SpecMethod>& methods) {
  Json list = Json::array();
  for (const SpecMethod& m : methods) {
    Json draft_options = Json::array();
    for (const auto& [key, value] : m.draft.options) draft_options.push_back({key, value});
    list.push_back({m.name, m.draft.tree, m.draft.verifier, m.temperature, m.draft.draft_max,
                    std::move(draft_options)});
    if (m.batch > 1) list.back().push_back(m.batch);
    if (m.draft.noise != DraftNoise::kAuto) list.back().push_back(NoiseName(m.draft.noise));
  }
  Json identity = {{"format", kJournalFormat},
                   {"model", model},
                   {"weight_bytes", loaded.model->weight_bytes()},
                   {"backend", loaded.backend->Name()},
                   {"threads", loaded.backend->threads()},
                   {"new_tokens", options.new_tokens},
                   {"context", options.context},
                   {"repeats", options.repeats},
                   {"chat", options.chat},
                   {"seed", options.sampling.seed},
                   {"methods", std::move(list)}};
  if (!options.costs.empty()) identity["costs"] = options.costs;
  return identity;
}

}  // namespace foretoken
