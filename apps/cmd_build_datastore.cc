// foretoken build-datastore: a corpus, tokenised and sorted, for the drafter rest.
#include <cstdio>

#include "base/mapped_file.h"
#include "base/progress.h"
#include "base/thread_pool.h"
#include "chat_prompt.h"
#include "command_line.h"
#include "draft/rest/datastore.h"
#include "runtime.h"
#include "text/documents.h"

namespace foretoken {
namespace {

struct BuildArgs {
  std::string model, output;
  std::vector<std::string> data;
  int threads = 0;
  bool force = false, quiet = false;
};

Result<std::vector<TextDocument>> ReadAll(const std::vector<std::string>& patterns) {
  std::vector<TextDocument> all;
  for (const std::string& pattern : patterns) {
    FT_ASSIGN_OR_RETURN(const std::vector<std::string> files, ListDataFiles(pattern, ""));
    for (const std::string& file : files) {
      FT_ASSIGN_OR_RETURN(std::vector<TextDocument> part, ReadTextDocuments(file));
      all.insert(all.end(), std::make_move_iterator(part.begin()),
                 std::make_move_iterator(part.end()));
    }
  }
  return all;
}

// Conversations as the model's chat template writes them. Errors: what the template refuses.
Result<std::vector<Token>> Encode(const TextDocument& document, const Tokenizer& tokenizer,
                                  const ChatPrompter& prompter) {
  if (document.turns[0].role.empty()) {
    return tokenizer.Encode(document.turns[0].text, {.add_bos = false});
  }
  std::vector<ChatMessage> messages;
  messages.reserve(document.turns.size());
  for (const DocumentTurn& turn : document.turns) messages.push_back({turn.role, turn.text});
  return prompter.EncodeTranscript(messages);
}

struct Corpus {
  std::vector<std::vector<Token>> documents;
  int64_t tokens = 0;
  size_t refused = 0;  // conversations that the template does not take
};

// On all threads; the result is in document order whatever their number.
Corpus EncodeAll(const std::vector<TextDocument>& documents, const Tokenizer& tokenizer,
                 const ChatPrompter& prompter, const BuildArgs& args) {
  constexpr int64_t kBatch = 512;
  Corpus corpus;
  ThreadPool pool(args.threads);
  Progress progress("documents", std::ssize(documents), args.quiet);
  for (int64_t begin = 0; begin < std::ssize(documents); begin += kBatch) {
    const int64_t count = std::min(kBatch, std::ssize(documents) - begin);
    std::vector<std::optional<std::vector<Token>>> encoded(static_cast<size_t>(count));
    pool.ParallelFor(count, 8, [&](int64_t first, int64_t end) {
      for (int64_t i = first; i < end; ++i) {
        auto tokens = Encode(documents[static_cast<size_t>(begin + i)], tokenizer, prompter);
        if (tokens.ok()) encoded[static_cast<size_t>(i)] = *std::move(tokens);
      }
    });
    for (auto& tokens : encoded) {
      corpus.refused += tokens ? 0 : 1;
      if (!tokens) continue;
      corpus.tokens += std::ssize(*tokens);
      corpus.documents.push_back(*std::move(tokens));
    }
    progress.Update(begin + count);
  }
  progress.Finish();
  return corpus;
}

Status Build(const BuildArgs& args) {
  FT_RETURN_IF_ERROR(CheckOutput(args.output, args.force));
  FT_ASSIGN_OR_RETURN(const auto file, ModelFile::Open(args.model));
  if (file->tokenizer().tokens.empty()) return Error{args.model + ": the file has no tokenizer"};
  FT_ASSIGN_OR_RETURN(const auto tokenizer, Tokenizer::Create(file->tokenizer(), args.model));
  FT_ASSIGN_OR_RETURN(const ChatPrompter prompter, ChatPrompter::Create(*tokenizer, args.model));
  FT_ASSIGN_OR_RETURN(const std::vector<TextDocument> documents, ReadAll(args.data));
  const Corpus corpus = EncodeAll(documents, *tokenizer, prompter, args);
  if (!args.quiet) {
    std::fprintf(stderr, "sorting %lld tokens\n", static_cast<long long>(corpus.tokens));
  }
  FT_ASSIGN_OR_RETURN(const std::string bytes,
                      EncodeDatastore(corpus.documents, tokenizer->vocab_size(),
                                      VocabularyFingerprint(tokenizer->data())));
  FT_RETURN_IF_ERROR(WriteFileAtomically(args.output, bytes));
  if (args.quiet) return {};
  std::fprintf(stderr, "%s: %zu documents, %lld tokens, %.1f MiB\n", args.output.c_str(),
               corpus.documents.size(), static_cast<long long>(corpus.tokens),
               static_cast<double>(bytes.size()) / (1 << 20));
  if (corpus.refused > 0) {
    std::fprintf(stderr,
                 "%zu conversations were left out: the model's chat template refuses them\n",
                 corpus.refused);
  }
  return {};
}

}  // namespace

int Run_build_datastore(int argc, char** argv) {
  CLI::App app{
      "Makes the corpus that --drafter rest looks things up in, from text (*.txt, *.md) or JSONL "
      "(conversations, messages or text).",
      "foretoken build-datastore"};
  app.footer(
      "Conversations pass through the model's chat template. The file serves every model with the\n"
      "same vocabulary; docs/formats.md describes it. Sorting takes about 10 bytes of memory for "
      "a\n"
      "byte of the file's text.");
  BuildArgs args;
  app.add_option("-m,--model", args.model, "whose vocabulary: a .gguf file or a directory")
      ->required()
      ->type_name("MODEL");
  app.add_option("--data", args.data, "files, directories or globs; repeatable")
      ->required()
      ->type_name("FILES");
  app.add_option("-o,--out", args.output, "the datastore to write")->required()->type_name("FILE");
  app.add_option("-t,--threads", args.threads, "threads (default: one a core)")
      ->check(CLI::Range(1, 1024));
  app.add_flag("--force", args.force, "replace the file if it exists");
  app.add_flag("-q,--quiet", args.quiet, "no progress");
  if (const auto status = ParseCommandLine(app, argc, argv)) return *status;
  const Status status = Build(args);
  return status.ok() ? kExitDone : Failed(status.error());
}

}  // namespace foretoken
