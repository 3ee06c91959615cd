// The entry point of the trainer's module: `foretoken train ...` ends up here.
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/bus_error.h"
#include "base/file_claims.h"
#include "base/json.h"
#include "base/legible.h"
#include "export.h"
#include "method.h"
#include "run_record.h"
#include "trainer.h"

namespace foretoken::train {
namespace {

constexpr int kDone = 0, kFailed = 1, kUsage = 2;

constexpr char kUsageText[] =
    "usage: foretoken train METHOD --out DIR [--recipe FILE] [--data PATH]... [OPTIONS]\n"
    "       foretoken train export --checkpoint DIR --out PATH [--type TYPE] [--target MODEL]\n"
    "                             [--ranks FILE] [--layout eagle|vllm|sglang] [--force]\n"
    "       foretoken train plot RUN... [--out FILE.svg]\n"
    "\n"
    "Running the same command again continues from the checkpoint in DIR; Ctrl-C stops after the\n"
    "current step.\n"
    "\n"
    "  --recipe FILE         JSON with any of the fields below, 'settings' of the method, and\n"
    "                        'data': [{files, weight}]\n"
    "  --data PATH           training data: ShareGPT *.jsonl, or text with <|endoftext|> lines; a\n"
    "                        file, directory or glob. Where the recipe names data, the directory\n"
    "                        that holds it\n"
    "  --out DIR             checkpoint, tokenizer and logs (log.jsonl, TensorBoard events)\n"
    "  --change FIELDS       go on although these fields (lr,steps), data or target are not those\n"
    "                        that the run in DIR was begun with\n"
    "  --force               begin anew where DIR holds a run, and replace it\n"
    "  --profile             measure the matrix peak and show the fraction reached\n"
    "  --quiet               no progress\n"
    "\n"
    "export writes a checkpoint, at any time of a run. A language model becomes a GGUF file where\n"
    "PATH ends in .gguf, otherwise a Hugging Face directory; a drafter becomes a draft file\n"
    "(--target: the model it was trained for, if that was moved; --ranks: a ranking of its tokens\n"
    "by foretoken rank-tokens, to be kept in the draft). TYPE is f32, bf16 (the "
    "default),\n"
    "and for GGUF also q8_0, q4_k_m, ... --force replaces what is at PATH. With --layout a draft\n"
    "of eagle or hass becomes the directory PATH that vLLM, SGLang or EAGLE's own code loads\n"
    "(docs/serve_elsewhere.md; f16, bf16 or f32).\n"
    "\n"
    "plot draws the logs of runs (the directories given as --out): losses, acceptance, learning\n"
    "rate.\n"
    "\n"
    "examples:\n"
    "  foretoken train chimera --target demo.gguf --recipe recipes/chimera.json \\\n"
    "      --data ../shared/data/train --out runs/chimera\n"
    "  foretoken train export --checkpoint runs/chimera --out demo-chimera.gguf --type q8_0\n"
    "  foretoken train medusa --target model.gguf --data chats.jsonl --out runs/medusa\n"
    "  foretoken train plot runs/medusa runs/chimera --out both.svg\n"
    "\n"
    "methods:\n";

void PrintHelp(std::FILE* out) {
  std::fputs(kUsageText, out);
  for (const Method* m : AllMethods()) std::fprintf(out, "  %-22s%s\n", m->name, m->about);
  std::fprintf(out,
               "\nfields of every method, with their defaults (a drafter's shape is its "
               "target's):\n%s",
               FieldHelp().c_str());
  for (const Method* m : AllMethods()) {
    if (m->settings.empty()) continue;
    std::fprintf(out, "\nfields of %s:\n%s", m->name, SettingHelp(m->settings).c_str());
  }
}

// The steps of training allocate the same large buffers again and again: keep them, so that the
// system need not clear fresh pages every time.
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

// The fields in "lr,warmup-share".
void AppendNames(const std::string& list, std::vector<std::string>& names) {
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    names.push_back(FieldName("--" + list.substr(begin, end - begin)));
    begin = end + 1;
  }
}

// Reads the recipe first, whatever its place, so that other flags override it.
Status ReadRecipeFlag(const std::vector<std::string>& args, const Method& method, Recipe& recipe) {
  for (size_t i = 0; i + 1 < args.size(); ++i) {
    if (args[i] != "--recipe") continue;
    const std::string& path = args[i + 1];
    FT_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(path));
    FT_RETURN_IF_ERROR(ReadRecipe(json, path, recipe));
    if (recipe.method != method.name) {
      return Error{path + ": is a recipe of train " + recipe.method + ", expected train " +
                   method.name};
    }
    FT_RETURN_IF_ERROR(CheckSettings(method.settings, path, recipe));
  }
  return {};
}

Status ParseRun(const Method& method, const std::vector<std::string>& args, TrainOptions& options) {
  options.recipe.method = method.name;
  FT_RETURN_IF_ERROR(ReadRecipeFlag(args, method, options.recipe));
  std::vector<std::string> data;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& flag = args[i];
    if (flag.rfind("--", 0) != 0) return Error{"unexpected argument '" + flag + "'"};
    if (flag == "--profile") {
      options.profile = true;
    } else if (flag == "--quiet") {
      options.quiet = true;
    } else if (flag == "--force") {
      options.force = true;
    } else if (IsFlag(FieldName(flag))) {
      FT_RETURN_IF_ERROR(SetField(FieldName(flag), "true", options.recipe));
    } else if (i + 1 == args.size()) {
      return Error{flag + " needs a value"};
    } else if (flag == "--data") {
      data.push_back(args[++i]);
    } else if (flag == "--out") {
      options.out = args[++i];
    } else if (flag == "--change") {
      AppendNames(args[++i], options.changes);
    } else if (flag == "--recipe") {
      ++i;
    } else {
      FT_RETURN_IF_ERROR(SetField(FieldName(flag), args[++i], options.recipe));
    }
  }
  if (options.out.empty()) return Error{"--out is missing"};
  FT_RETURN_IF_ERROR(CompleteSettings(method.settings, options.recipe));
  FT_RETURN_IF_ERROR(CheckRecipe(options.recipe));
  FT_RETURN_IF_ERROR(CheckChangeNames(method.settings, options.changes));
  if (!options.recipe.data.empty()) {
    if (data.size() > 1) return Error{"the recipe names its data: give one --data directory"};
    if (!data.empty()) options.data_base = data[0];
    return {};
  }
  for (const std::string& path : data) options.recipe.data.push_back({path, 1.0});
  return {};
}

int Fail(const Error& error, int status) {
  std::fprintf(stderr, "foretoken train: %s\n", Legible(error.message).c_str());
  return status;
}

int RunMethod(const Method& method, const std::vector<std::string>& args) {
  TrainOptions options;
  options.command = {"foretoken", "train", method.name};
  options.command.insert(options.command.end(), args.begin(), args.end());
  if (const Status s = ParseRun(method, args, options); !s.ok()) return Fail(s.error(), kUsage);
  const Status s = Train(options);
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

// What a failure says, without the trace of calls that libtorch adds.
std::string ReasonOf(const std::exception& fault) {
  const std::string_view what = fault.what();
  const std::string reason(
      what.substr(0, std::min(what.find("\nException raised from"), what.find("\nframe #"))));
  const bool is_memory = dynamic_cast<const std::bad_alloc*>(&fault) != nullptr ||
                         reason.find("allocate memory") != std::string::npos;
  if (!is_memory) return reason;
  return "out of memory: a smaller --batch, --length, --layers or --hidden takes less (" + reason +
         ")";
}

int Main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  bool help = args.empty();
  for (const std::string& a : args) help = help || a == "--help" || a == "-h";
  if (help) {
    PrintHelp(args.empty() ? stderr : stdout);
    return args.empty() ? kUsage : kDone;
  }
  KeepMemory();
  const std::vector<std::string> rest(args.begin() + 1, args.end());
  if (args[0] == "export") return RunExport(rest);
  if (const Method* method = FindMethod(args[0])) return RunMethod(*method, rest);
  std::string names;
  for (const Method* m : AllMethods()) names += std::string(m->name) + ", ";
  return Fail(Error{"no method '" + args[0] + "', expected " + names + "export or plot"}, kUsage);
}

}  // namespace
}  // namespace foretoken::train

// argv[0] is "train". The caller has set the environment that BLAS and OpenMP read when loaded.
extern "C" __attribute__((visibility("default"))) int ForetokenTrainMain(int argc, char** argv) {
  // The module has a copy of the library of its own.
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
