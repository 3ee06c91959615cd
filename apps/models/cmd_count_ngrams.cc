// foretoken count-ngrams: counts the n-grams that initialise the cache of the drafter chimera.
#include <cstdio>

#include "apps/models/token_corpus.h"
#include "draft/chimera/ngram_counts.h"

namespace foretoken {
namespace {

struct CountArgs {
  CorpusArgs corpus;
  int n = 3, most = 65536;
};

Status Count(const CountArgs& args) {
  FT_ASSIGN_OR_RETURN(OutputFile output, OpenOutput(args.corpus.output, args.corpus.force));
  FT_ASSIGN_OR_RETURN(const Corpus corpus, ReadCorpus(args.corpus));
  const std::string text = CountNgrams(corpus.documents, args.n, static_cast<size_t>(args.most));
  FT_RETURN_IF_ERROR(output.Finish(text));
  if (args.corpus.quiet) return {};
  std::fprintf(stderr, "%s: n-grams of %lld tokens\n", args.corpus.output.c_str(),
               static_cast<long long>(corpus.tokens));
  return {};
}

}  // namespace

int Run_count_ngrams(int argc, char** argv) {
  CLI::App app{
      "Counts the n-grams of text (*.txt, *.md) or JSONL (conversations, messages or text). With "
      "--draft-opt warm=FILE, --drafter chimera starts with their states.",
      "foretoken count-ngrams"};
  app.footer("Conversations are rendered with the model's chat template.");
  CountArgs args;
  AddCorpusArgs(app, &args.corpus, "the file to write");
  app.add_option("-n,--ngram", args.n, "tokens per n-gram; must be the draft's (default 3)")
      ->check(CLI::Range(1, kMostNgram));
  app.add_option("--most", args.most, "n-grams to keep (default 65536)")
      ->check(CLI::Range(1, 1 << 24));
  if (const auto status = ParseCommandLine(app, argc, argv)) return *status;
  const Status status = Count(args);
  return status.ok() ? kExitDone : Failed(status.error());
}

}  // namespace foretoken
