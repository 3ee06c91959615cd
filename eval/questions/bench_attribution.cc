// Attribution by the method of PLD+, appendix D. Decodes QuoteSum's questions with a verifier that
// forces the reference answers, and compares the passages that accepted guesses were copied from
// with the passages that the answers quote.
#include "eval/questions/bench_attribution.h"

#include <algorithm>
#include <cstdio>

#include "apps/command_line.h"
#include "apps/runtime_args.h"
#include "base/json.h"
#include "base/json_lines.h"
#include "base/mapped_file.h"
#include "base/output_file.h"
#include "base/progress.h"
#include "eval/questions/spec_questions.h"
#include "eval/report/write_json.h"
#include "insight/attribution.h"
#include "insight/quoted_answer.h"
#include "runtime/decoder.h"
#include "text/chat_prompt.h"
#include "verify/forced_verifier.h"

namespace foretoken {
namespace {

struct Question {
  std::string prompt;
  MarkedText answer;
};

Result<Question> ReadQuotingQuestion(const Json& json, const std::string& where) {
  // Returns the first element of a list field; "" if the field is not a list or does not begin with
  // a string.
  const auto first_text = [&json](const char* field) {
    const bool has_text = json.is_object() && json.contains(field) && json[field].is_array() &&
                          !json[field].empty() && json[field][0].is_string();
    return has_text ? json[field][0].get<std::string>() : std::string();
  };
  const std::string prompt = first_text("turns"), reference = first_text("reference");
  if (prompt.empty() || reference.empty()) {
    return Error{where + ": expected turns and reference to be non-empty lists of strings"};
  }
  return Question{prompt, ReadQuotes(reference)};
}

Result<std::vector<Question>> ReadQuestions(const std::string& path, int limit) {
  FT_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  FT_ASSIGN_OR_RETURN(std::vector<Question> all,
                      ReadJsonLines<Question>(file.text(), path, ReadQuotingQuestion));
  if (all.empty()) return Error{path + ": contains no questions"};
  return TakeEvenly(std::move(all), limit);
}

// A question as tokens: the prompt, then the answer.
struct EncodedQuestion {
  std::vector<Token> tokens;
  TokenText text;
  size_t prompt_tokens = 0;
  size_t answer_begin = 0;  // byte offset of the answer
};

// Returns false if no token ends within the prompt, or if decoding the tokens does not restore the
// text: byte offsets would then be wrong.
bool Encode(const Question& q, const Tokenizer& tokenizer, EncodedQuestion& encoded) {
  encoded.tokens = EncodePrompt(tokenizer, q.prompt + " " + q.answer.text, /*parse_special=*/false);
  encoded.text = TextOf(tokenizer, encoded.tokens);
  encoded.answer_begin = q.prompt.size() + 1;
  encoded.prompt_tokens = 0;
  while (encoded.prompt_tokens < encoded.tokens.size() &&
         encoded.text.end[encoded.prompt_tokens] <= q.prompt.size()) {
    ++encoded.prompt_tokens;
  }
  return encoded.text.text == q.prompt + " " + q.answer.text && encoded.prompt_tokens > 0;
}

class Scorer {
 public:
  explicit Scorer(const AttributionOptions& options)
      : options_(options),
        scores_{.by_min_tokens = std::vector<AttributionScore>(options.min_tokens.size())} {}

  Status Run(const LoadedModel& loaded, std::span<const Question> questions) {
    const int context = loaded.model->config().context;
    FT_ASSIGN_OR_RETURN(const Decoder decoder, NewDecoder(loaded, options_.draft, context));
    Progress progress("questions", static_cast<int64_t>(questions.size()));
    for (size_t i = 0; i < questions.size(); ++i) {
      EncodedQuestion encoded;
      if (!Encode(questions[i], *loaded.tokenizer, encoded) ||
          static_cast<int>(encoded.tokens.size()) > context) {
        ++scores_.skipped;
      } else {
        ++scores_.asked;
        FT_RETURN_IF_ERROR(DecodeAndScore(loaded, decoder, questions[i], encoded));
      }
      progress.Update(static_cast<int64_t>(i) + 1);
    }
    progress.Finish();
    return {};
  }

  const AttributionScores& scores() const { return scores_; }

  void Print() const {
    std::printf("%8s %10s %8s %8s\n", "min", "precision", "recall", "F1");
    for (size_t i = 0; i < scores_.by_min_tokens.size(); ++i) {
      const AttributionScore& s = scores_.by_min_tokens[i];
      std::printf("%8d %9.1f%% %7.1f%% %7.1f%%\n", options_.min_tokens[i], 100 * s.precision(),
                  100 * s.recall(), 100 * s.f1());
    }
    std::printf("%s\n", scores_.QuestionSummary().c_str());
  }

  Json ToJson() const {
    Json list = Json::array();
    for (size_t i = 0; i < scores_.by_min_tokens.size(); ++i) {
      const AttributionScore& s = scores_.by_min_tokens[i];
      list.push_back({{"min_tokens", options_.min_tokens[i]},
                      {"quoted", s.quoted},
                      {"attributed", s.attributed},
                      {"correct", s.correct},
                      {"precision", s.precision()},
                      {"recall", s.recall()},
                      {"f1", s.f1()}});
    }
    return {{"model", options_.model.path}, {"drafter", options_.draft.drafter},
            {"data", options_.data},        {"asked", scores_.asked},
            {"skipped", scores_.skipped},   {"scores", std::move(list)}};
  }

 private:
  // Decodes one question: the drafter proposes as usual, the verifier forces the reference answer.
  Status DecodeAndScore(const LoadedModel& loaded, const Decoder& decoder, const Question& question,
                        const EncodedQuestion& encoded) {
    ForcedVerifier reference(encoded.tokens);
    const TreeLimits limits = decoder.generator->options().limits;
    Generator generator(*loaded.model, decoder.drafter.get(), reference,
                        {.limits = limits, .policy = decoder.tree.get()});
    const int size = static_cast<int>(encoded.tokens.size());
    const auto session = generator.Start({.capacity = size});
    const auto prompt = std::span(encoded.tokens).first(encoded.prompt_tokens);
    FT_RETURN_IF_ERROR(generator.Prefill(*session, prompt, size));
    Session* batch[] = {session.get()};
    while (!session->done()) FT_RETURN_IF_ERROR(generator.Step(batch));
    Score(question, encoded, session->sources);
    return {};
  }

  void Score(const Question& question, const EncodedQuestion& encoded,
             std::span<const Pos> sources) {
    const MarkedText passages = ReadPassages(question.prompt);
    for (size_t i = 0; i < scores_.by_min_tokens.size(); ++i) {
      std::vector<int> attributed_passages(sources.size(), 0);
      for (const CopiedSpan& span :
           CopiedSpans(encoded.tokens, static_cast<int>(encoded.prompt_tokens), sources,
                       options_.min_tokens[i])) {
        for (int t = span.begin; t < span.end; ++t) {
          const auto source = static_cast<size_t>(span.source + t - span.begin);
          attributed_passages[static_cast<size_t>(t)] =
              passages.PassageOf(encoded.text.begin(source), encoded.text.end[source]);
        }
      }
      for (size_t t = 0; t < attributed_passages.size(); ++t) {
        // The first token may begin with the space before the answer.
        const size_t begin =
            std::max(encoded.text.begin(encoded.prompt_tokens + t), encoded.answer_begin);
        const size_t end = std::max(encoded.text.end[encoded.prompt_tokens + t], begin);
        scores_.by_min_tokens[i].Add(
            question.answer.PassageOf(begin - encoded.answer_begin, end - encoded.answer_begin),
            attributed_passages[t]);
      }
    }
  }

  const AttributionOptions& options_;
  AttributionScores scores_;
};

}  // namespace

void AddAttributionArgs(CLI::App& app, AttributionOptions* options) {
  AddModelArgs(app, &options->model);
  app.get_option("--model")->required();
  app.add_option("--data", options->data,
                 "QuoteSum in JSON Lines: one {\"turns\", \"reference\"} object per line")
      ->required()
      ->type_name("FILE");
  app.add_option("--min", options->min_tokens,
                 "minimum copy lengths in tokens; each is scored separately (2,5,8)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--limit", options->limit,
                 "maximum number of questions, evenly spaced in the file (all)")
      ->check(CLI::Range(1, 1 << 30));
  app.add_option("--json", options->json, "also write the figures to this file")
      ->check(WritableFile());
  AddDraftArgs(app, &options->draft);
}

std::string AttributionScores::QuestionSummary() const {
  return std::to_string(asked) + " questions asked, " + std::to_string(skipped) +
         " skipped: too long for the context, or changed by the tokenizer";
}

Result<AttributionScores> ScoreAttribution(const AttributionOptions& options,
                                           const LoadedModel& loaded) {
  FT_ASSIGN_OR_RETURN(const auto questions, ReadQuestions(options.data, options.limit));
  Scorer scorer(options);
  FT_RETURN_IF_ERROR(scorer.Run(loaded, questions));
  return scorer.scores();
}

Status BenchAttribution(AttributionOptions options) {
  FT_ASSIGN_OR_RETURN(OutputFile json, OutputFile::Open(options.json));
  FT_RETURN_IF_ERROR(CheckDraftNames(options.draft));
  DraftAsPaper(&options.draft);
  FT_ASSIGN_OR_RETURN(const auto questions, ReadQuestions(options.data, options.limit));
  FT_ASSIGN_OR_RETURN(const LoadedModel loaded, Load(options.model));
  Scorer scorer(options);
  FT_RETURN_IF_ERROR(scorer.Run(loaded, questions));
  scorer.Print();
  return WriteJson(json, scorer.ToJson());
}

}  // namespace foretoken
