// foretoken quantize: writes a GGUF model in a smaller number format.
#include <filesystem>

#include "apps/models/rewrite_args.h"
#include "io/gguf.h"

namespace foretoken {
namespace {

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

Status Quantize(const RewriteArgs& args, FileType type) {
  FT_ASSIGN_OR_RETURN(const GgufFile file, GgufFile::Open(args.input));
  FT_ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(file));
  if (file.tensors().empty()) return Error{file.path() + ": has no tensors to quantise"};
  const std::vector<TensorPlan> plans = PlanTensors(file.tensors(), config, type);
  if (!args.quiet) {
    WarnOfLoss(file);
    PrintFallbacks(plans);
  }
  return WriteWithBar(args, "quantize", [&](ThreadPool& pool, const WriteProgress& progress) {
    return QuantizeModel(file, plans, type, pool, args.output, progress);
  });
}

}  // namespace

int Run_quantize(int argc, char** argv) {
  RewriteArgs args;
  CLI::App app("Writes a GGUF model in another number format.", "foretoken quantize");
  app.footer(std::string(kFileTypes) +
             ". Norms and biases stay F32.\n"
             "\n"
             "Examples:\n"
             "  foretoken quantize model.gguf -o model-q8_0.gguf --type Q8_0\n"
             "  foretoken quantize model.gguf -o model-q4_k_m.gguf --type Q4_K_M -t 4");
  AddRewriteArgs(app, "the GGUF file to read", "no progress, no notes", &args)->required();
  if (const auto status = ParseCommandLine(app, argc, argv)) return *status;
  return RunRewrite(args, [&](std::optional<FileType> type) { return Quantize(args, *type); });
}

}  // namespace foretoken
