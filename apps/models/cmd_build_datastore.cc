// foretoken build-datastore: tokenizes and sorts a corpus for the drafter rest.
#include <cstdio>

#include "apps/models/token_corpus.h"
#include "draft/rest/datastore.h"

namespace foretoken {
namespace {

Status Build(const CorpusArgs& args) {
  FT_ASSIGN_OR_RETURN(OutputFile output, OpenOutput(args.output, args.force));
  FT_ASSIGN_OR_RETURN(const Corpus corpus, ReadCorpus(args));
  if (!args.quiet) {
    std::fprintf(stderr, "sorting %lld tokens\n", static_cast<long long>(corpus.tokens));
  }
  FT_ASSIGN_OR_RETURN(const std::string bytes,
                      EncodeDatastore(corpus.documents, corpus.tokenizer->vocab_size(),
                                      VocabularyFingerprint(corpus.tokenizer->data())));
  FT_RETURN_IF_ERROR(output.Finish(bytes));
  if (args.quiet) return {};
  std::fprintf(stderr, "%s: %zu documents, %lld tokens, %.1f MiB\n", args.output.c_str(),
               corpus.documents.size(), static_cast<long long>(corpus.tokens),
               static_cast<double>(bytes.size()) / (1 << 20));
  return {};
}

}  // namespace

int Run_build_datastore(int argc, char** argv) {
  CLI::App app{
      "Builds the corpus that --drafter rest retrieves from, from text (*.txt, *.md) or JSONL "
      "(conversations, messages or text).",
      "foretoken build-datastore"};
  app.footer(
      "Conversations are rendered with the model's chat template. The file works with every\n"
      "model of the same vocabulary; docs/formats.md describes it. Sorting takes about 10 bytes\n"
      "of memory per byte of text.");
  CorpusArgs args;
  AddCorpusArgs(app, &args, "the datastore to write");
  if (const auto status = ParseCommandLine(app, argc, argv)) return *status;
  const Status status = Build(args);
  return status.ok() ? kExitDone : Failed(status.error());
}

}  // namespace foretoken
