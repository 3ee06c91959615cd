// foretoken convert: writes a Hugging Face directory as one GGUF file.
#include <filesystem>
#include <memory>

#include "apps/models/rewrite_args.h"
#include "io/convert.h"
#include "io/model_file.h"

namespace foretoken {
namespace {

Status Convert(const RewriteArgs& args, std::optional<FileType> type) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(args.input, ignored) &&
      !args.input.ends_with(".safetensors")) {
    return Error{args.input +
                 ": expected a Hugging Face directory; 'foretoken quantize' rewrites GGUF files"};
  }
  FT_ASSIGN_OR_RETURN(const std::unique_ptr<ModelFile> model, ModelFile::Open(args.input));
  FT_ASSIGN_OR_RETURN(const std::vector<TensorPlan> plans, PlanConversion(*model, type));
  const FileType written = type.value_or(StoredFileType(model->tensors()));
  return WriteWithBar(args, "convert", [&](ThreadPool& pool, const WriteProgress& progress) {
    return ConvertModel(*model, plans, written, pool, args.output, progress);
  });
}

}  // namespace

int Run_convert(int argc, char** argv) {
  RewriteArgs args;
  CLI::App app("Writes a Hugging Face model as GGUF.", "foretoken convert");
  app.footer(
      "Reads config.json, model.safetensors (or its shards), tokenizer.json or tokenizer.model,\n"
      "tokenizer_config.json, chat_template.jinja and generation_config.json.\n" +
      std::string(kFileTypes) +
      "; by default the stored type.\n"
      "\n"
      "Examples:\n"
      "  foretoken convert TinyLlama-1.1B-Chat -o tinyllama.gguf\n"
      "  foretoken convert Qwen3-0.6B -o qwen3-0.6b-q8_0.gguf --type q8_0");
  AddRewriteArgs(app, "the Hugging Face directory", "no progress", &args);
  if (const auto status = ParseCommandLine(app, argc, argv)) return *status;
  return RunRewrite(args, [&](std::optional<FileType> type) { return Convert(args, type); });
}

}  // namespace foretoken
