// foretoken count-ngrams: the n-grams that the drafter chimera's cache may begin with.
#include <cstdio>

#include "base/mapped_file.h"
#include "command_line.h"
#include "corpus.h"
#include "draft/chimera/ngram_counts.h"

namespace foretoken {
namespace {

struct CountArgs {
  std::string model, output;
  std::vector<std::string> data;
  int n = 3, most = 65536, threads = 0;
  bool force = false, quiet = false;
};

Status Count(const CountArgs& args) {
  FT_RETURN_IF_ERROR(CheckOutput(args.output, args.force));
  FT_ASSIGN_OR_RETURN(const Corpus corpus,
                      ReadCorpus(args.model, args.data, args.threads, args.quiet));
  const std::string text = CountNgrams(corpus.documents, args.n, static_cast<size_t>(args.most));
  FT_RETURN_IF_ERROR(WriteFileAtomically(args.output, text));
  if (args.quiet) return {};
  std::fprintf(stderr, "%s: of %lld tokens\n", args.output.c_str(),
               static_cast<long long>(corpus.tokens));
  ReportRefused(corpus);
  return {};
}

}  // namespace

int Run_count_ngrams(int argc, char** argv) {
  CLI::App app{
      "Counts the n-grams of text (*.txt, *.md) or JSONL (conversations, messages or text): "
      "--drafter chimera --draft-opt warm=FILE begins with their states.",
      "foretoken count-ngrams"};
  app.footer("Conversations pass through the model's chat template.");
  CountArgs args;
  app.add_option("-m,--model", args.model, "whose vocabulary: a .gguf file or a directory")
      ->required()
      ->type_name("MODEL");
  app.add_option("--data", args.data, "files, directories or globs; repeatable")
      ->required()
      ->type_name("FILES");
  app.add_option("-o,--out", args.output, "the file to write")->required()->type_name("FILE");
  app.add_option("-n,--ngram", args.n, "tokens of an n-gram: the draft's (default 3)")
      ->check(CLI::Range(1, kMostNgram));
  app.add_option("--most", args.most, "how many to keep (default 65536)")
      ->check(CLI::Range(1, 1 << 24));
  app.add_option("-t,--threads", args.threads, "threads (default: one a core)")
      ->check(CLI::Range(1, 1024));
  app.add_flag("--force", args.force, "replace the file if it exists");
  app.add_flag("-q,--quiet", args.quiet, "no progress");
  if (const auto status = ParseCommandLine(app, argc, argv)) return *status;
  const Status status = Count(args);
  return status.ok() ? kExitDone : Failed(status.error());
}

}  // namespace foretoken
