// The entry point of the trainer's module, called by `foretoken train ...`.
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "answers.h"
#include "base/bus_error.h"
#include "base/file_claims.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/legible.h"
#include "base/progress.h"
#include "device.h"
#include "draft_defaults.h"
#include "draft_result.h"
#include "export.h"
#include "method.h"
#include "recipe_fields.h"
#include "run_record.h"
#include "trainer.h"
#include "workers.h"

namespace foretoken::train {
namespace {

constexpr int kDone = 0, kFailed = 1, kUsage = 2;
constexpr int kInterrupted = 130;  // a shell's status of a program that Ctrl-C ended

constexpr char kStatusHelp[] =
    "Exit status: 0 done, 1 failed, 2 bad usage, 130 training was interrupted and can be "
    "continued.";

constexpr char kUsageText[] =
    "usage: foretoken train METHOD --out DIR [--recipe FILE] [--data PATH]... [OPTIONS]\n"
    "       foretoken train export --checkpoint DIR --out PATH [--type TYPE] [--target MODEL]\n"
    "                             [--ranks FILE] [--layout eagle|vllm|sglang] [--force]\n"
    "       foretoken train answers --target MODEL --data PATH... --out FILE.jsonl [OPTIONS]\n"
    "       foretoken train plot RUN... [--out FILE.svg]\n"
    "\n"
    "To train a draft for your model in 20 minutes:\n"
    "  foretoken train hass --target my.gguf --data my.jsonl --out runs/x --budget 20m\n"
    "writes runs/x/draft.gguf and prints its tau: the mean number of tokens per cycle when the\n"
    "target answers held-out questions, greedily, with chains of five. --target may be a GGUF\n"
    "file of any type or a Hugging Face directory.\n"
    "\n"
    "Running the same command again continues from the checkpoint in DIR; Ctrl-C stops after the\n"
    "current step, with exit status 130.\n"
    "\n"
    "  --target MODEL        the model to draft for\n"
    "  --data PATH           training data: *.jsonl with conversations (ShareGPT, or messages as\n"
    "                        OpenAI's), or text with <|endoftext|> lines; a file, directory\n"
    "                        or glob. If the recipe names data: the directory that holds them,\n"
    "                        or files to use instead\n"
    "  --out DIR             checkpoint, tokenizer and logs (log.jsonl, TensorBoard events)\n"
    "  --budget TIME         time of the whole run, e.g. 80m, for which its steps are planned\n"
    "  --recipe FILE         JSON with any of a method's fields, its 'settings', and 'data':\n"
    "                        [{files, weight}]\n"
    "  --FIELD VALUE         any field of the method (foretoken train METHOD --help)\n"
    "  --no-FIELD            turns off a switch that is on by default, as in --no-mask-user\n"
    "  --change FIELDS       continue although these fields (lr,steps), data or target differ\n"
    "                        from those that the run in DIR was started with\n"
    "  --force               start over and replace the run in DIR\n"
    "  --profile             measure the matrix peak and show the fraction reached\n"
    "  --quiet               no progress\n"
    "\n"
    "export writes a checkpoint, at any time during a run. A language model becomes a GGUF file\n"
    "if PATH ends in .gguf, otherwise a Hugging Face directory; a drafter becomes a draft file\n"
    "(--target: the model it was trained for, if that was moved; --ranks: a ranking of its\n"
    "tokens from foretoken rank-tokens, to store instead of that of the data). TYPE is f32, bf16\n"
    "(the default), and for GGUF also q8_0, q4_k_m, ... --force replaces what is at PATH. With\n"
    "--layout, a draft of eagle or hass becomes the directory PATH that vLLM, SGLang or EAGLE's\n"
    "own code loads (docs/serve_elsewhere.md; f16, bf16 or f32).\n"
    "\n"
    "answers has the target answer the first question of each conversation, with the system\n"
    "message before it if there is one, as training data for drafts: foretoken distill for\n"
    "GPUs. Decoding is greedy. Questions of similar length are answered together, so the lines\n"
    "are not in the order of the data; 'source' is the number of the conversation. Ctrl-C keeps\n"
    "the finished answers. Repeated questions, and answers that repeat themselves, are left\n"
    "out.\n"
    "  --new-tokens N        maximum tokens per answer (256)\n"
    "  --context N           longest prompt and answer together, in tokens (1024)\n"
    "  --batch N             questions at a time (1024)\n"
    "  --limit N             maximum number of conversations (all)\n"
    "  --time-limit TIME     stop answering after this long, e.g. 90 or 10m (no limit)\n"
    "  --device, --dtype, --threads, --force, --quiet\n"
    "                        as for a method; --force replaces FILE.jsonl\n"
    "\n"
    "plot draws the logs of runs (the directories given as --out): losses, acceptance, learning\n"
    "rate.\n"
    "\n"
    "examples:\n"
    "  foretoken train hass --target my.gguf --data my.jsonl --out runs/x --budget 20m\n"
    "  foretoken generate -m my.gguf --drafter hass --draft runs/x/draft.gguf -p 'Once upon'\n"
    "  foretoken train chimera --target demo.gguf --recipe recipes/chimera.json \\\n"
    "      --data ../shared/data/train --out runs/chimera\n"
    "  foretoken train export --checkpoint runs/chimera --out demo-chimera.gguf --type q8_0\n"
    "  foretoken train medusa --target model.gguf --data chats.jsonl --out runs/medusa\n"
    "  foretoken train answers --target model.gguf --data chats.jsonl --out answers.jsonl\n"
    "  foretoken train plot runs/medusa runs/chimera --out both.svg\n"
    "\n"
    "methods:\n";

bool IsDraft(const Method& method) { return method.defaults.rate != 0.0; }

void PrintHelp(std::FILE* out) {
  std::fputs(kUsageText, out);
  for (const Method* m : AllMethods()) std::fprintf(out, "  %-22s%s\n", m->name, m->about);
  std::fprintf(
      out,
      "\nforetoken train METHOD --help lists the fields of a method and their defaults\n\n%s\n",
      kStatusHelp);
}

// Prints what concerns one method: its defaults and settings first.
void PrintMethodHelp(const Method& method) {
  const char* name = method.name;
  std::printf(
      "usage: foretoken train %s --out DIR [--recipe FILE] [--data PATH]... [OPTIONS]\n%s\n", name,
      method.about);
  if (IsDraft(method)) {
    std::printf(
        "\nexample:\n  foretoken train %s --target my.gguf --data my.jsonl --out runs/x "
        "--budget 20m\n\ndefaults:\n%s  %-22s%s\n",
        name, DraftDefaultsHelp().c_str(), name, DescribeDefaults(method.defaults).c_str());
  }
  if (!method.settings.empty()) {
    std::printf("\nfields of %s:\n%s", name, SettingHelp(method.settings).c_str());
  }
  std::printf(
      "\nfields of %s:\n%s\nforetoken train --help describes --data, --change, export and the "
      "other methods\n\n%s\n",
      IsDraft(method) ? "every draft; 'defaults' above come before those in brackets"
                      : "every method",
      FieldHelp(IsDraft(method)).c_str(), kStatusHelp);
}

// Makes malloc keep freed memory: every step allocates buffers of equal sizes, and the operating
// system would have to clear fresh pages each time.
void KeepMemory() {
#if defined(__GLIBC__)
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 2000 << 20);
  mallopt(M_TOP_PAD, 64 << 20);
#endif
}

std::string FieldName(const std::string& flag) {
  std::string name = flag.substr(2);
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}

// Appends the fields of a list such as "lr,warmup-share" to `names`.
void AppendNames(const std::string& list, std::vector<std::string>& names) {
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    names.push_back(FieldName("--" + list.substr(begin, end - begin)));
    begin = end + 1;
  }
}

// Returns the field that a flag such as "--no-mask-user" turns off; "" for other flags.
std::string FieldTurnedOff(const std::string& flag) {
  const std::string name = flag.starts_with("--no-") ? FieldName("--" + flag.substr(5)) : "";
  return IsFlag(name) ? name : "";
}

// Reads the file of --recipe and returns its path, or "" without the flag. The caller applies all
// other flags later, so that they override it wherever --recipe stands. Adds the names of the
// file's fields and settings to `named`.
Result<std::string> ReadRecipeFlag(const std::vector<std::string>& args, const Method& method,
                                   Recipe& recipe, std::set<std::string>& named) {
  std::string path;
  for (size_t i = 0; i + 1 < args.size(); ++i) {
    if (args[i] != "--recipe") continue;
    path = args[i + 1];
    FT_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(path));
    FT_RETURN_IF_ERROR(ReadRecipe(json, path, recipe));
    if (recipe.method != method.name) {
      return Error{path + ": is a recipe of train " + recipe.method + ", expected train " +
                   method.name};
    }
    FT_RETURN_IF_ERROR(CheckSettings(method.settings, path, recipe));
    for (const auto& [name, value] : json.items()) named.insert(name);
    for (const auto& [name, value] : recipe.settings) named.insert(name);
  }
  return path;
}

// Applies --data. If the recipe has data and --data is one folder, the recipe's data are looked up
// there. Other values replace the recipe's data.
void PlaceData(const std::vector<std::string>& data, TrainOptions& options) {
  Recipe& r = options.recipe;
  std::error_code fault;
  const bool is_folder = data.size() == 1 && std::filesystem::is_directory(data[0], fault);
  if (!r.data.empty() && (data.empty() || is_folder)) {
    if (is_folder) options.data_base = data[0];
    return;
  }
  if (!data.empty()) r.datasets.clear();  // they describe the data that are replaced
  r.data.clear();
  for (const std::string& path : data) r.data.push_back({path, 1.0});
}

// Checks that the command or its recipe names data and, for a draft, a target.
// REQUIRES: CompleteSettings has succeeded on `recipe`.
Status CheckInputs(const Method& method, const Recipe& recipe) {
  if (IsDraft(method) && recipe.Text("target").empty()) return Error{"--target is missing"};
  if (recipe.data.empty()) return Error{"--data is missing, and no recipe names data"};
  return {};
}

// A budget without a unit is in seconds. Says so if it is too short to be meant.
void TellShortBudget(const TrainOptions& options) {
  const double budget = options.recipe.budget;
  if (budget <= 0.0 || budget >= 60.0 || options.quiet || IsWorker()) return;
  std::fprintf(stderr, "the budget is %s; for minutes, write --budget %gm\n",
               FormatDuration(budget).c_str(), budget);
}

// Checks that no field sets the length of a run with a budget, which plans the length itself. Such
// a field in the recipe file is reported and ignored. `flags`: the fields of the command line;
// `named`: these and the recipe file's. Errors: such a field in `flags`.
Status CheckLengths(const std::set<std::string>& flags, const std::set<std::string>& named,
                    const TrainOptions& options) {
  if (options.recipe.budget <= 0.0) return {};
  std::string unused;
  for (const char* name : {"steps", "epochs", "warmup", "decay_steps"}) {
    if (flags.contains(name)) {
      return Error{Flag(name) +
                   " and --budget are both set, expected one of them: a budget plans " +
                   "steps, warm-up and decay"};
    }
    if (named.contains(name)) unused += (unused.empty() ? "" : ", ") + std::string(name);
  }
  if (!unused.empty() && !options.quiet && !IsWorker()) {
    std::fprintf(stderr, "ignoring the recipe's %s: the budget plans steps, warm-up and decay\n",
                 unused.c_str());
  }
  return {};
}

// If bf16 is slow on this machine, chooses f32 or, if the user requested bf16, warns.
void ChooseType(const std::set<std::string>& named, TrainOptions& options) {
  Recipe& r = options.recipe;
  if (r.dtype != "bf16" || HasBf16Products(r)) return;
  if (!named.contains("dtype")) {
    r.dtype = "f32";
  } else if (!options.quiet && !IsWorker()) {
    std::fputs(
        "dtype is bf16, which this CPU multiplies slowly: --dtype f32 is many times as fast\n",
        stderr);
  }
}

Status ParseRun(const Method& method, const std::vector<std::string>& args, TrainOptions& options) {
  options.recipe.method = method.name;
  std::set<std::string> named, flags;
  FT_ASSIGN_OR_RETURN(const std::string recipe_path,
                      ReadRecipeFlag(args, method, options.recipe, named));
  std::vector<std::string> data;
  const auto set_field = [&](const std::string& name, const std::string& value) {
    flags.insert(name);
    return SetField(name, value, options.recipe);
  };
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& flag = args[i];
    if (flag == "-m" || flag == "--model") {
      return Error{flag + ": here the model is named by --target"};
    }
    if (flag.rfind("--", 0) != 0) return Error{"unexpected argument '" + flag + "'"};
    if (flag == "--profile") {
      options.profile = true;
    } else if (flag == "--quiet") {
      options.quiet = true;
    } else if (flag == "--force") {
      options.force = true;
    } else if (IsFlag(FieldName(flag))) {
      FT_RETURN_IF_ERROR(set_field(FieldName(flag), "true"));
    } else if (const std::string turned_off = FieldTurnedOff(flag); !turned_off.empty()) {
      FT_RETURN_IF_ERROR(set_field(turned_off, "false"));
    } else if (i + 1 == args.size()) {
      return Error{flag + " needs a value"};
    } else if (flag == "--data") {
      data.push_back(args[++i]);
    } else if (flag == "--out") {
      options.out = args[++i];
    } else if (flag == "--change") {
      AppendNames(args[++i], options.changes);
    } else if (flag == "--recipe") {
      ++i;  // ReadRecipeFlag has read it
    } else {
      FT_RETURN_IF_ERROR(set_field(FieldName(flag), args[++i]));
    }
  }
  if (options.out.empty()) return Error{"--out is missing"};
  named.insert(flags.begin(), flags.end());
  FT_RETURN_IF_ERROR(CheckLengths(flags, named, options));
  TellShortBudget(options);
  PlaceData(data, options);
  FillDraftDefaults(method.defaults, named, options.data_base, UsesGpu(options.recipe),
                    options.recipe);
  ChooseType(named, options);
  named.insert(options.changes.begin(), options.changes.end());
  if (!options.force) KeepMachineDefaults(method.defaults, named, options.out, options.recipe);
  options.min_lr_follows_lr = !named.contains("min_lr");
  FT_RETURN_IF_ERROR(CompleteSettings(method.settings, options.recipe));
  FT_RETURN_IF_ERROR(CheckInputs(method, options.recipe));
  if (const Status s = CheckRecipe(options.recipe); !s.ok()) {
    if (recipe_path.empty()) return s;
    return Error{recipe_path + ", with the command's flags: " + s.error().message};
  }
  return CheckChangeNames(method.settings, options.changes);
}

int Fail(const Error& error, int status) {
  std::fprintf(stderr, "foretoken train: %s\n", Legible(error.message).c_str());
  return status;
}

// Whether Train ended because of a signal, before the end of the run's schedule.
bool WasInterrupted(const TrainOptions& options) {
  if (!InterruptGuard::Requested()) return false;
  const Result<CheckpointInfo> info = ReadCheckpointInfo(options.out);
  return info.ok() && ProgressOf(info->recipe, info->state) < 1.0;
}

int RunMethod(const Method& method, const std::vector<std::string>& args) {
  TrainOptions options;
  options.command = {"foretoken", "train", method.name};
  options.command.insert(options.command.end(), args.begin(), args.end());
  if (const Status s = ParseRun(method, args, options); !s.ok()) return Fail(s.error(), kUsage);
  const bool finishes_draft = IsDraft(method) && !IsWorker();
  const int64_t steps_before = finishes_draft ? StepsBefore(options) : -1;
  if (const Status s = Train(options); !s.ok()) return Fail(s.error(), kFailed);
  if (!IsWorker() && WasInterrupted(options)) return kInterrupted;
  if (!finishes_draft) return kDone;
  const Status s = FinishDraft(method, options, steps_before);
  return s.ok() ? kDone : Fail(s.error(), kFailed);
}

Result<ExportRequest> ParseExport(const std::vector<std::string>& args) {
  ExportRequest options;
  std::string type = "bf16";
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--force") {
      options.force = true;
      continue;
    }
    if (i + 1 == args.size()) return Error{args[i] + " needs a value"};
    std::string* target = args[i] == "--checkpoint" ? &options.checkpoint
                          : args[i] == "--out"      ? &options.path
                          : args[i] == "--target"   ? &options.target
                          : args[i] == "--ranks"    ? &options.ranks
                          : args[i] == "--layout"   ? &options.layout
                          : args[i] == "--type"     ? &type
                                                    : nullptr;
    if (target == nullptr) return Error{"unknown option '" + args[i] + "'"};
    *target = args[++i];
  }
  if (options.checkpoint.empty() || options.path.empty()) {
    return Error{"export needs --checkpoint and --out"};
  }
  FT_ASSIGN_OR_RETURN(options.type, ParseFileType(type));
  return options;
}

Status Export(const ExportRequest& request) {
  FT_ASSIGN_OR_RETURN(CheckpointInfo info, ReadCheckpointInfo(request.checkpoint));
  const Method* method = FindMethod(info.recipe.method);
  const std::string path = CheckpointPath(request.checkpoint);
  if (method == nullptr) return Error{path + ": unknown method '" + info.recipe.method + "'"};
  if (const Status s = CompleteSettings(method->settings, info.recipe); !s.ok()) {
    return Error{path + ": " + s.error().message};
  }
  if (!request.layout.empty()) {
    FT_RETURN_IF_ERROR(CheckServedPath(request));
    return ExportServed(request, info, *method);
  }
  FT_RETURN_IF_ERROR(CheckExportPath(request));
  return method->export_to(request, info);
}

int RunExport(const std::vector<std::string>& args) {
  const Result<ExportRequest> request = ParseExport(args);
  if (!request.ok()) return Fail(request.error(), kUsage);
  const Status s = Export(*request);
  return s.ok() ? kDone : Fail(s.error(), kFailed);
}

int RunAnswers(const std::vector<std::string>& args) {
  const Result<AnswerOptions> options = ParseAnswerOptions(args);
  if (!options.ok()) return Fail(options.error(), kUsage);
  const Status s = WriteAnswers(*options);
  return s.ok() ? kDone : Fail(s.error(), kFailed);
}

// Returns an exception's message without libtorch's stack trace. If memory ran out, adds advice.
std::string ReasonOf(const std::exception& fault) {
  const std::string_view what = fault.what();
  const std::string reason(
      what.substr(0, std::min(what.find("\nException raised from"), what.find("\nframe #"))));
  const bool is_out_of_memory = dynamic_cast<const std::bad_alloc*>(&fault) != nullptr ||
                                reason.find("allocate memory") != std::string::npos;
  if (!is_out_of_memory) return reason;
  return "out of memory: a smaller --batch, --length, --layers or --hidden takes less (" + reason +
         ")";
}

int Main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  bool help = args.empty();
  for (const std::string& a : args) help = help || a == "--help" || a == "-h";
  const Method* method = args.empty() ? nullptr : FindMethod(args[0]);
  if (help) {
    if (method != nullptr) {
      PrintMethodHelp(*method);
    } else {
      PrintHelp(args.empty() ? stderr : stdout);
    }
    return args.empty() ? kUsage : kDone;
  }
  KeepMemory();
  const std::vector<std::string> rest(args.begin() + 1, args.end());
  if (args[0] == "export") return RunExport(rest);
  if (args[0] == "answers") return RunAnswers(rest);
  if (method != nullptr) return RunMethod(*method, rest);
  std::string names;
  for (const Method* m : AllMethods()) names += std::string(m->name) + ", ";
  const std::string given =
      args[0].starts_with("-") ? "the method is missing before '" : "no method '";
  return Fail(Error{given + args[0] + "', expected " + names + "answers, export or plot"}, kUsage);
}

}  // namespace
}  // namespace foretoken::train

// argv[0] is "train". The caller has set the environment that BLAS and OpenMP read when loaded.
extern "C" __attribute__((visibility("default"))) int ForetokenTrainMain(int argc, char** argv) {
  // The module links its own copy of the library, so its process-wide state is set up again.
  foretoken::ExplainBusErrors();
  foretoken::RememberInputs(true);
  try {
    return foretoken::train::Main(argc, argv);
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "foretoken train: %s\n",
                 foretoken::Legible(foretoken::train::ReasonOf(fault)).c_str());
    return 1;
  }
}
