#include "apps/runtime_args.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <functional>

#include "apps/option_values.h"
#include "backend/cpu/cpu_options.h"
#include "base/comma_list.h"
#include "tree/tree_policy.h"
#include "verify/verifier.h"

namespace foretoken {
namespace {

constexpr char kModelGroup[] = "Model and machine";
constexpr char kSpeculation[] = "Speculation (does not change the text unless --verifier does)";

// Adds an option whose text is parsed by `parse`, which returns a Status; an error becomes CLI11's.
template <typename Parse>
CLI::Option* AddParsed(CLI::App& app, const std::string& names, const std::string& help,
                       const Parse& parse) {
  return app
      .add_option_function<std::vector<std::string>>(
          names,
          [parse, names](const std::vector<std::string>& values) {
            for (const std::string& value : values) {
              if (const Status s = parse(value); !s.ok()) {
                throw CLI::ValidationError(names, s.error().message);
              }
            }
          },
          help)
      ->allow_extra_args(false);
}

// `first`, followed by the names of `items`.
template <typename Items, typename NameOf = std::identity>
std::vector<std::string> NamesAfter(std::vector<std::string> first, const Items& items,
                                    NameOf name_of = {}) {
  for (const auto& item : items) first.emplace_back(std::invoke(name_of, item));
  return first;
}

Result<CpuIsa> ParseIsa(std::string_view text) {
  if (text == CpuIsaName(CpuIsa::kAuto)) return CpuIsa::kAuto;
  const std::vector<CpuIsa> known = AvailableCpuIsas();
  for (CpuIsa isa : known) {
    if (CpuIsaName(isa) == text) return isa;
  }
  return Error{"found '" + std::string(text) + "', this machine supports auto, " +
               CommaList(known, CpuIsaName)};
}

// Parses "id:bias", or llama.cpp's "id+bias" and "id-bias".
Result<std::pair<Token, float>> ParseBias(std::string_view text) {
  Token token = 0;
  float bias = 0;
  const char* end = text.data() + text.size();
  const auto id = std::from_chars(text.data(), end, token);
  if (id.ec == std::errc() && id.ptr != end && std::strchr(":+-", *id.ptr) != nullptr) {
    const auto value = std::from_chars(id.ptr + (*id.ptr == '-' ? 0 : 1), end, bias);
    if (value.ec == std::errc() && value.ptr == end) return std::pair(token, bias);
  }
  return Error{"found '" + std::string(text) + "', expected ID:BIAS, a token's id and a number"};
}

Status TakeOption(std::string_view text, NamedValues* options) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return Error{"found '" + std::string(text) + "', expected KEY=VALUE"};
  }
  options->emplace_back(text.substr(0, equals), text.substr(equals + 1));
  return {};
}

Status TakeNoise(std::string_view text, DraftNoise* noise) {
  const auto name = std::ranges::find(kDraftNoiseNames, text);
  if (name == std::end(kDraftNoiseNames)) {
    return Error{"found '" + std::string(text) + "', expected auto, shared or none"};
  }
  *noise = static_cast<DraftNoise>(name - std::begin(kDraftNoiseNames));
  return {};
}

Status TakeCacheType(std::string_view text, DType* type) {
  FT_ASSIGN_OR_RETURN(*type, ParseDType(text));
  for (DType known : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0}) {
    if (*type == known) return {};
  }
  return Error{"found '" + std::string(text) + "', expected f32, f16, bf16 or q8_0"};
}

}  // namespace

void AddModelArgs(CLI::App& app, ModelArgs* model) {
  app.add_option("-m,--model", model->path, "a .gguf file or a Hugging Face directory")
      ->type_name("MODEL")
      ->group(kModelGroup);
  app.add_option("-t,--threads", model->threads,
                 "threads (default, also 0 and -1: one for each core that the process may use)")
      ->check(CLI::Range(-1, 1024).description(""))
      ->type_name("T")
      ->group(kModelGroup);
  AddIsaArg(app, &model->backend);
}

void AddIsaArg(CLI::App& app, std::string* backend) {
  CLI::Option* isa =
      AddParsed(app, "--isa",
                "instruction set: auto (default), " + CommaList(AllCpuIsas(), CpuIsaName),
                [backend](const std::string& text) -> Status {
                  FT_ASSIGN_OR_RETURN(const CpuIsa isa, ParseIsa(text));
                  *backend = CpuBackendName(isa);
                  return {};
                })
          ->type_name("NAME")
          ->group(kModelGroup);
  OfferValues(isa, NamesAfter({std::string(CpuIsaName(CpuIsa::kAuto))}, AllCpuIsas(), CpuIsaName));
}

CLI::Option* AddSeedArg(CLI::App& app, uint64_t* seed, const std::string& help) {
  return AddParsed(app, "--seed", help,
                   [seed](const std::string& text) -> Status {
                     FT_ASSIGN_OR_RETURN(*seed, ParseSeed(text));
                     if (text == "-1") {
                       std::fprintf(stderr, "seed -1: --seed %s repeats it\n",
                                    std::to_string(*seed).c_str());
                     }
                     return {};
                   })
      ->type_name("SEED");
}

void AddSamplingArgs(CLI::App& app, SamplingArgs* s) {
  SamplingParams* p = &s->params;
  const std::string group = "Sampling (greedy unless --temp says otherwise)";
  const auto add = [&](const char* name, auto& value, const char* help) {
    return app.add_option(name, value, help)->group(group);
  };
  const auto note = [](bool* typed) { return [typed](const std::string&) { *typed = true; }; };
  add("--temp", p->temperature, "temperature; 0 = greedy (default)")
      ->each(note(&s->has_temperature));
  add("--top-k", p->top_k, "keep the K likeliest tokens; 0 = off")->each(note(&s->has_top_k));
  add("--top-p", p->top_p, "keep the likeliest tokens with a total probability of P")
      ->each(note(&s->has_top_p));
  add("--min-p", p->min_p, "keep tokens at least P times as likely as the likeliest");
  add("--typical-p", p->typical_p, "keep the most typical tokens with a total probability of P");
  add("--repeat-penalty", p->repetition_penalty, "divide the logits of recent tokens; 1 = off");
  add("--frequency-penalty", p->frequency_penalty, "subtract F for each recent occurrence");
  add("--presence-penalty", p->presence_penalty, "subtract F from every recent token");
  add("--penalty-last-n", p->penalty_last_n,
      "recent tokens that the penalties count (64); -1 = all");
  AddSeedArg(app, &p->seed,
             "random seed (0): a seed gives the same text with any drafter and number of threads; "
             "-1 = a random one, which is printed")
      ->group(group);
  AddParsed(app, "--logit-bias",
            "ID:BIAS added to a token's logit; inf or -inf replaces it; repeatable",
            [p](const std::string& text) -> Status {
              FT_ASSIGN_OR_RETURN(const auto bias, ParseBias(text));
              p->logit_bias.push_back(bias);
              return {};
            })
      ->group(group);
  AddParsed(app, "--sampling-order",
            "sampling steps in order; a step that is left out is skipped (default: "
            "bias,temperature,repetition,frequency,top-p,min-p,typical-p,top-k)",
            [p](const std::string& text) -> Status {
              FT_ASSIGN_OR_RETURN(p->order, ParseLogitsOrder(text));
              return {};
            })
      ->group(group);
  app.add_flag(
         "--model-defaults", s->model_defaults,
         "use the temperature, top-k and top-p that the model file suggests (ignored by default)")
      ->group(group);
}

void AddGrammarArgs(CLI::App& app, GrammarArgs* grammar) {
  const char* group = "Constrained output";
  app.add_option("--grammar", grammar->grammar,
                 "a grammar that answers must match, in llama.cpp's GBNF")
      ->type_name("TEXT")
      ->group(group);
  app.add_option("--grammar-file", grammar->grammar_file, "the same, from a file")
      ->type_name("FILE")
      ->group(group);
  app.add_option("-j,--json-schema", grammar->json_schema,
                 "a JSON schema that answers must meet, as text or '@FILE'; '{}' = any JSON")
      ->type_name("TEXT")
      ->group(group);
  app.add_option("--json-schema-file", grammar->json_schema_file, "the same, from a file")
      ->type_name("FILE")
      ->group(group);
}

Status CheckNewTokens(const std::string& name, int count) {
  if (count == -1 || count >= 1) return {};
  return Error{name + ": found " + std::to_string(count) + ", expected -1 or at least 1"};
}

namespace {

// Adds an option that is short for --draft-opt KEY=FILE.
CLI::Option* AddFileOption(CLI::App& app, const std::string& name, const std::string& help,
                           const std::string& key, DraftArgs* draft) {
  return AddParsed(app, name, help,
                   [draft, key](const std::string& file) -> Status {
                     draft->options.emplace_back(key, file);
                     return {};
                   })
      ->type_name("FILE");
}

void AddVerifierArgs(CLI::App& app, DraftArgs* draft) {
  std::string names = "how drafted tokens are verified (default " + draft->verifier +
                      "). Greedy decoding gives the model's own text with every verifier; sampling "
                      "keeps its distribution with all but the lossy one";
  for (const VerifierEntry& e : AllVerifiers()) {
    names.append("\n").append(e.name).append(": ").append(e.summary);
  }
  CLI::Option* verifier = app.add_option("--verifier", draft->verifier, names);
  verifier->group(kSpeculation)->type_name("NAME");
  OfferValues(verifier, NamesAfter({}, AllVerifiers(), &VerifierEntry::name));
  AddParsed(app, "--verifier-opt", "KEY=VALUE, an option of the verifier; repeatable",
            [draft](const std::string& text) { return TakeOption(text, &draft->verifier_options); })
      ->group(kSpeculation);
}

}  // namespace

std::vector<std::string> DrafterNames() {
  return NamesAfter({"none"}, AllDrafters(), &DrafterEntry::name);
}

void AddDraftArgs(CLI::App& app, DraftArgs* draft) {
  std::string names =
      "the drafter (default " + draft->drafter +
      "); join several with commas. Drafts are looked for in the folder drafts/ beside the model\n"
      "none: autoregressive decoding";
  for (const DrafterEntry& e : AllDrafters()) {
    names.append("\n").append(e.name).append(": ").append(e.summary);
  }
  CLI::Option* drafter = app.add_option("--drafter", draft->drafter, names);
  drafter->group(kSpeculation)->type_name("NAME");
  OfferValueList(drafter, DrafterNames());
  AddTreeArgs(app, draft);
  AddVerifierArgs(app, draft);
  AddDraftOptions(app, draft);
}

void AddDraftOptions(CLI::App& app, DraftArgs* draft) {
  AddParsed(
      app, "--draft-opt",
      "KEY=VALUE, an option of the drafter (NAME.KEY=VALUE if several are joined); repeatable\n" +
          OptionHelp(DrafterOptions()),
      [draft](const std::string& text) { return TakeOption(text, &draft->options); })
      ->group(kSpeculation);
  CLI::Option* noise =
      AddParsed(app, "--draft-noise",
                "how trained drafters and draft models rank their guesses above temperature 0: "
                "shared (by the noise of the target's own draw), none (by probability alone) or "
                "auto (default: shared with the verifiers exact and nucleus, which accept that "
                "draw); not with chain and tree, which need the drafter's own draws",
                [draft](const std::string& text) { return TakeNoise(text, &draft->noise); });
  noise->group(kSpeculation)->type_name("NAME");
  OfferValues(noise, NamesAfter({}, kDraftNoiseNames));
  AddFileOption(app, "--reference", "a document that llma copies from; repeatable", "reference",
                draft)
      ->group(kSpeculation);
  AddFileOption(app, "--datastore", "the corpus that rest retrieves from, made by build-datastore",
                "datastore", draft)
      ->group(kSpeculation);
  AddFileOption(app, "--draft",
                "the draft of a trained drafter (eagle, medusa, ...): a .gguf file, or a directory "
                "as its authors publish it (default: the one for this model in drafts/ beside it); "
                "with several methods, give each its own by --draft-opt NAME.draft=FILE",
                "draft", draft)
      ->group(kSpeculation);
  AddFileOption(app, "--draft-model",
                "the model that draft-model drafts with (default: one with the same vocabulary in "
                "drafts/ beside the model)",
                "draft_model", draft)
      ->group(kSpeculation);
}

void AddTreeArgs(CLI::App& app, DraftArgs* draft) {
  std::string trees =
      "which drafted tokens one pass verifies, NAME:key=value,... (default: auto; paper with "
      "verifiers that let a tree change the text)\n"
      "paper: the tree of the drafter's paper";
  const std::vector<OptionOwner> options = TreeOptions();
  for (size_t i = 0; i < options.size(); ++i) {
    const TreeEntry& e = AllTrees()[i];
    trees.append("\n").append(e.name).append(": ").append(e.summary);
    trees.append(" (").append(OptionSummary(options[i].options)).append(")");
  }
  CLI::Option* tree = app.add_option("--tree", draft->tree, trees);
  tree->group(kSpeculation)->type_name("TREE");
  OfferValues(tree, NamesAfter({"paper"}, AllTrees(), &TreeEntry::name));
  app.add_option("--pct-cost", draft->pct_cost,
                 "for the pct tree, the cost of drafting a level relative to a target pass: auto "
                 "(default: measured) or a ratio")
      ->group(kSpeculation)
      ->type_name("auto|RATIO");
  app.add_option(
         "--draft-max", draft->draft_max,
         "maximum tokens drafted per cycle (default: the tree's own; 15 for a chain, 63 for auto)")
      ->check(CLI::Range(0, 4096).description(""))
      ->type_name("N")
      ->group(kSpeculation);
}

void AddCacheArgs(CLI::App& app, DType* type) {
  CLI::Option* option =
      AddParsed(app, "--cache-type", "keys and values as f32, f16 (default), bf16 or q8_0",
                [type](const std::string& text) { return TakeCacheType(text, type); });
  option->type_name("TYPE")->group(kModelGroup);
  OfferValues(option, {"f32", "f16", "bf16", "q8_0"});
}

}  // namespace foretoken
