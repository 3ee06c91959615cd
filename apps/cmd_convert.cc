// foretoken convert: a Hugging Face directory as one GGUF file.
#include <filesystem>
#include <memory>

#include "base/progress.h"
#include "command_line.h"
#include "io/convert.h"
#include "io/model_file.h"

namespace foretoken {
namespace {

struct Options {
  std::string input, output, type;
  int threads = 0;
  bool force = false, quiet = false;
};

constexpr const char* kFooter =
    "Reads config.json, model.safetensors (or its shards), tokenizer.json or tokenizer.model,\n"
    "tokenizer_config.json, chat_template.jinja and generation_config.json.\n"
    "Types: F32 F16 BF16 Q8_0 Q6_K Q5_K_M Q5_1 Q5_0 Q4_K_M Q4_1 Q4_0; as stored by default.\n"
    "\n"
    "Examples:\n"
    "  foretoken convert TinyLlama-1.1B-Chat -o tinyllama.gguf\n"
    "  foretoken convert Qwen3-0.6B -o qwen3-0.6b-q8_0.gguf --type q8_0";

Status Convert(const Options& options, std::optional<FileType> type) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(options.input, ignored) &&
      !options.input.ends_with(".safetensors")) {
    return Error{options.input +
                 ": expected a Hugging Face directory; 'foretoken quantize' rewrites GGUF files"};
  }
  FT_ASSIGN_OR_RETURN(const std::unique_ptr<ModelFile> model, ModelFile::Open(options.input));
  FT_ASSIGN_OR_RETURN(const std::vector<TensorPlan> plans, PlanConversion(*model, type));
  ThreadPool pool(options.threads);
  Progress progress("convert", 1000, options.quiet);
  const auto show = [&](size_t done, size_t total) {
    progress.Update(static_cast<int64_t>(done * 1000 / total));
  };
  FT_RETURN_IF_ERROR(ConvertModel(*model, plans, type.value_or(StoredFileType(model->tensors())),
                                  pool, options.output, show));
  progress.Finish();
  return {};
}

}  // namespace

int Run_convert(int argc, char** argv) {
  Options options;
  CLI::App app("Writes a Hugging Face model as GGUF.", "foretoken convert");
  app.footer(kFooter);
  app.add_option("model", options.input, "the Hugging Face directory")->required();
  app.add_option("-o,--output", options.output, "the GGUF file to write")->required();
  app.add_option("--type", options.type, "the number format");
  app.add_option("-t,--threads", options.threads, "threads (0: one a core)")
      ->check(CLI::Range(0, 1024));
  app.add_flag("--force", options.force, "replace the output where it exists");
  app.add_flag("-q,--quiet", options.quiet, "no progress");
  if (const auto status = ParseCommandLine(app, argc, argv)) return *status;
  std::optional<FileType> type;
  if (!options.type.empty()) {
    const Result<FileType> parsed = ParseFileType(options.type);
    if (!parsed.ok()) return BadUsage(parsed.error());
    type = *parsed;
  }
  if (const Status free = CheckOutput(options.output, options.force); !free.ok()) {
    return Failed(free.error());
  }
  const Status status = Convert(options, type);
  return status.ok() ? kExitDone : Failed(status.error());
}

}  // namespace foretoken
