// foretoken rank-tokens: ranks a vocabulary by how often a model generates its tokens, to choose
// the vocabulary of drafts.
#include <algorithm>
#include <cstdio>
#include <optional>

#include "apps/models/token_corpus.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "draft/rank_tokens.h"
#include "io/model_file.h"
#include "runtime/loaded_model.h"
#include "text/chat_prompt.h"
#include "text/documents.h"

namespace foretoken {
namespace {

struct RankArgs {
  CorpusArgs corpus;  // its data are the answers
  std::vector<std::string> behind;
  int most = 0;
};

// Tokenizes texts with one model's tokenizer.
class Reader {
 public:
  // Both must outlive the reader.
  Reader(const Tokenizer& tokenizer, const ChatPrompter& prompter, bool quiet)
      : tokenizer_(tokenizer), prompter_(prompter), quiet_(quiet) {
    const std::vector<Token> stops = prompter.StopTokens();
    if (!stops.empty()) end_ = TemplateEnd(stops).value_or(stops.front());
  }

  // The answers of each document as one list of tokens: for a conversation, the assistant's turns,
  // each with its end token; for any other document, the whole text.
  Result<std::vector<std::vector<Token>>> Answers(const std::vector<TextDocument>& documents) {
    std::vector<std::vector<Token>> answers;
    FT_RETURN_IF_ERROR(Each(documents, "answers", [&](const TextDocument& document) {
      std::vector<Token> tokens;
      for (const DocumentTurn& turn : document.turns) {
        if (turn.role.empty() || turn.role == "assistant") Append(turn.text, tokens);
      }
      if (!tokens.empty()) answers.push_back(std::move(tokens));
    }));
    return answers;
  }

  // Counts the occurrences of each token in the documents, in turns of all speakers.
  Status Count(const std::vector<TextDocument>& documents, std::vector<int64_t>& counts) {
    return Each(documents, "other text", [&](const TextDocument& document) {
      std::vector<Token> tokens;
      for (const DocumentTurn& turn : document.turns) Append(turn.text, tokens);
      for (const Token token : tokens) ++counts[static_cast<size_t>(token)];
    });
  }

 private:
  // The token that the chat template writes after the text of an answer.
  std::optional<Token> TemplateEnd(const std::vector<Token>& stops) const {
    const std::string answer = "answer";
    const auto text = prompter_.Render(
        MessagesOf(std::vector<DocumentTurn>{{"user", "question"}, {"assistant", answer}}),
        /*open_answer=*/false);
    const size_t at = text.ok() ? text->rfind(answer) : std::string::npos;
    if (at == std::string::npos) return {};
    const auto behind = std::string_view(*text).substr(at + answer.size());
    for (const Token token : tokenizer_.Encode(behind, {.add_bos = false, .parse_special = true})) {
      if (std::ranges::find(stops, token) != stops.end()) return token;
    }
    return {};
  }

  void Append(const std::string& text, std::vector<Token>& tokens) const {
    const std::vector<Token> own = tokenizer_.Encode(text, {.add_bos = false});
    tokens.insert(tokens.end(), own.begin(), own.end());
    if (end_) tokens.push_back(*end_);
  }

  template <typename Work>
  Status Each(const std::vector<TextDocument>& documents, const char* label, const Work& work) {
    Progress progress(label, std::ssize(documents), quiet_);
    for (size_t i = 0; i < documents.size(); ++i) {
      if (InterruptGuard::Requested()) return Error{"interrupted; nothing was written"};
      work(documents[i]);
      progress.Update(static_cast<int64_t>(i) + 1);
    }
    progress.Finish();
    return {};
  }

  const Tokenizer& tokenizer_;
  const ChatPrompter& prompter_;
  std::optional<Token> end_;
  bool quiet_;
};

Result<RankingFile> Rank(const RankArgs& args) {
  const std::string& path = args.corpus.model;
  FT_ASSIGN_OR_RETURN(const auto file, ModelFile::Open(path));
  FT_ASSIGN_OR_RETURN(const auto tokenizer, TokenizerOf(*file));
  FT_ASSIGN_OR_RETURN(const ChatPrompter prompter, ChatPrompter::Create(*tokenizer, path));
  FT_ASSIGN_OR_RETURN(const auto documents, ReadDocuments(args.corpus.data));
  FT_ASSIGN_OR_RETURN(const auto others, ReadDocuments(args.behind));
  const InterruptGuard guard;
  Reader reader(*tokenizer, prompter, args.corpus.quiet);
  FT_ASSIGN_OR_RETURN(const auto answers, reader.Answers(documents));
  if (answers.empty()) return Error{args.corpus.data[0] + ": expected answers, found none"};
  const int vocab = std::max(file->config().vocab, tokenizer->vocab_size());
  std::vector<int64_t> counts(static_cast<size_t>(vocab));
  FT_RETURN_IF_ERROR(reader.Count(others, counts));
  return RankingFile{RankTokens(answers, counts, vocab), vocab,
                     VocabularyFingerprint(tokenizer->data())};
}

void Report(const RankArgs& args, const TokenRanking& ranking) {
  std::printf("%s: %zu tokens\n", args.corpus.output.c_str(), ranking.tokens.size());
  for (int64_t count = 2048; count <= std::ssize(ranking.tokens); count *= 2) {
    std::printf("the first %6lld cover %6.2f %%\n", static_cast<long long>(count),
                100 * ranking.Coverage(count));
  }
}

Status RankAndWrite(const RankArgs& args) {
  FT_ASSIGN_OR_RETURN(OutputFile output, OpenOutput(args.corpus.output, args.corpus.force));
  FT_ASSIGN_OR_RETURN(RankingFile file, Rank(args));
  if (args.most > 0) file.ranking = file.ranking.First(static_cast<size_t>(args.most));
  FT_RETURN_IF_ERROR(output.Finish(RankingText(file)));
  if (!args.corpus.quiet && args.corpus.output != "-") Report(args, file.ranking);
  return {};
}

}  // namespace

int Run_rank_tokens(int argc, char** argv) {
  CLI::App app{
      "Ranks a vocabulary by how often a model writes each token, so that drafts need to score "
      "only the first ones (--draft-opt ranks=FILE, or MODEL.ranks.json beside the model).",
      "foretoken rank-tokens"};
  app.footer(
      "The data are answers as JSONL (conversations, messages or text), such as foretoken\n"
      "distill writes; of a conversation only the assistant's turns count. The coverage printed\n"
      "is held out: nine tenths of the answers are ranked, and the share of the other tenth\n"
      "that the first N tokens cover is counted. docs/formats.md describes the file.\n"
      "\n"
      "Examples:\n"
      "  foretoken rank-tokens -m model.gguf --data answers.jsonl --behind texts/ \\\n"
      "      -o model.gguf.ranks.json\n"
      "  foretoken annotate-draft draft.gguf -o ranked.gguf --ranks model.gguf.ranks.json");
  RankArgs args;
  AddCorpusArgs(app, &args.corpus, "the ranking to write");
  app.remove_option(app.get_option("--threads"));
  app.add_option("--behind", args.behind,
                 "other text, which ranks tokens that are rare in the answers; repeatable")
      ->type_name("FILES");
  app.add_option("--most", args.most, "tokens to keep (default: all of them)")
      ->check(CLI::Range(1, 1 << 24));
  if (const auto status = ParseCommandLine(app, argc, argv)) return *status;
  const Status status = RankAndWrite(args);
  return status.ok() ? kExitDone : Failed(status.error());
}

}  // namespace foretoken
