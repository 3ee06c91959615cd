// foretoken quantize: a GGUF model in a smaller number format.
#include <filesystem>

#include "base/progress.h"
#include "command_line.h"
#include "io/gguf.h"
#include "io/quantize_model.h"

namespace foretoken {
namespace {

struct Options {
  std::string input, output, type;
  int threads = 0;
  bool force = false, quiet = false;
};

constexpr const char* kFooter =
    "Types: F32 F16 BF16 Q8_0 Q6_K Q5_K_M Q5_1 Q5_0 Q4_K_M Q4_1 Q4_0. Norms and biases stay F32.\n"
    "\n"
    "Examples:\n"
    "  foretoken quantize model.gguf -o model-q8_0.gguf --type Q8_0\n"
    "  foretoken quantize model.gguf -o model-q4_k_m.gguf --type Q4_K_M -t 4";

void PrintFallbacks(std::span<const TensorPlan> plans) {
  for (const TensorPlan& plan : plans) {
    if (plan.type == plan.wanted) continue;
    const std::string_view wanted = DTypeName(plan.wanted), used = DTypeName(plan.type);
    std::fprintf(stderr, "%s: rows of %lld do not fit blocks of %.*s, using %.*s\n",
                 plan.source.name.c_str(), static_cast<long long>(plan.source.cols()),
                 static_cast<int>(wanted.size()), wanted.data(), static_cast<int>(used.size()),
                 used.data());
  }
}

void WarnOfLoss(const GgufFile& file) {
  for (const TensorSource& tensor : file.tensors()) {
    if (BlockElements(tensor.type) == 1) continue;
    std::fprintf(stderr, "note: %s is quantised already; quantising again adds error\n",
                 file.path().c_str());
    return;
  }
}

Status Quantize(const Options& options, FileType type) {
  FT_ASSIGN_OR_RETURN(const GgufFile file, GgufFile::Open(options.input));
  if (file.tensors().empty()) return Error{file.path() + ": has no tensors to quantise"};
  FT_ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(file));
  const std::vector<TensorPlan> plans = PlanTensors(file.tensors(), config, type);
  if (!options.quiet) {
    WarnOfLoss(file);
    PrintFallbacks(plans);
  }
  ThreadPool pool(options.threads);
  Progress progress("quantize", 1000, options.quiet);
  FT_RETURN_IF_ERROR(
      QuantizeModel(file, plans, type, pool, options.output, [&](size_t done, size_t total) {
        progress.Update(static_cast<int64_t>(done * 1000 / total));
      }));
  progress.Finish();
  return {};
}

}  // namespace

int Run_quantize(int argc, char** argv) {
  Options options;
  CLI::App app("Writes a GGUF model in another number format.", "foretoken quantize");
  app.footer(kFooter);
  app.add_option("model", options.input, "the GGUF file to read")->required();
  app.add_option("-o,--output", options.output, "the GGUF file to write")->required();
  app.add_option("--type", options.type, "the number format")->required();
  app.add_option("-t,--threads", options.threads, "threads (0: one a core)")
      ->check(CLI::Range(0, 1024));
  app.add_flag("--force", options.force, "replace the output where it exists");
  app.add_flag("-q,--quiet", options.quiet, "no progress, no notes");
  if (const auto status = ParseCommandLine(app, argc, argv)) return *status;
  const Result<FileType> type = ParseFileType(options.type);
  if (!type.ok()) return BadUsage(type.error());
  if (const Status free = CheckOutput(options.output, options.force); !free.ok()) {
    return Failed(free.error());
  }
  const Status status = Quantize(options, *type);
  return status.ok() ? kExitDone : Failed(status.error());
}

}  // namespace foretoken
