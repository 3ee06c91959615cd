// The options that several commands share.
#include <charconv>

#include "runtime.h"

namespace foretoken {
namespace {

Result<CpuIsa> ParseIsa(std::string_view text) {
  std::string known = "auto";
  if (text == known) return CpuIsa::kAuto;
  for (CpuIsa isa : AvailableCpuIsas()) {
    if (CpuIsaName(isa) == text) return isa;
    known += ", " + std::string(CpuIsaName(isa));
  }
  return Error{"found '" + std::string(text) + "', this machine has " + known};
}

// "id:bias" or "id=bias".
Result<std::pair<Token, float>> ParseBias(std::string_view text) {
  Token token = 0;
  float bias = 0;
  const char* end = text.data() + text.size();
  const auto id = std::from_chars(text.data(), end, token);
  if (id.ec == std::errc() && id.ptr != end && (*id.ptr == ':' || *id.ptr == '=')) {
    const auto value = std::from_chars(id.ptr + 1, end, bias);
    if (value.ec == std::errc() && value.ptr == end) return std::pair(token, bias);
  }
  return Error{"found '" + std::string(text) + "', expected ID:BIAS"};
}

// A number that remembers that it was given.
void AddRemembered(Args& args, std::string names, std::string help, float* value, bool* given) {
  args.Each(std::move(names), std::move(help), [=](std::string_view text) -> Status {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
    *given = true;
    if (error == std::errc() && end == text.data() + text.size()) return {};
    return Error{"found '" + std::string(text) + "', expected a number"};
  });
}

}  // namespace

void AddModelArgs(Args& args, ModelArgs* model) {
  args.Text("-m, --model MODEL", "a .gguf file or a Hugging Face directory", &model->path);
  args.Int("-t, --threads T", "threads (default: one a core)", &model->threads, 1, 1024);
  args.Each("--isa NAME", "instruction set: auto, portable, avx2, avx512", [model](auto text) {
    FT_ASSIGN_OR_RETURN(model->isa, ParseIsa(text));
    return Status();
  });
}

void AddSamplingArgs(Args& args, SamplingArgs* s) {
  SamplingParams* p = &s->params;
  args.Group("sampling (greedy unless a temperature is given)");
  AddRemembered(args, "--temp T", "temperature; 0 = greedy (default)", &p->temperature,
                &s->temperature_set);
  args.Each("--top-k K", "keep the K likeliest tokens; 0 = off", [s](std::string_view text) {
    s->top_k_set = true;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), s->params.top_k);
    if (error == std::errc() && end == text.data() + text.size()) return Status();
    return Status(Error{"found '" + std::string(text) + "', expected a whole number"});
  });
  AddRemembered(args, "--top-p P", "keep the likeliest tokens that make up P", &p->top_p,
                &s->top_p_set);
  args.Float("--min-p P", "keep tokens at least P times as likely as the likeliest", &p->min_p);
  args.Float("--typical-p P", "keep the most typical tokens that make up P", &p->typical_p);
  args.Float("--repeat-penalty R", "divide the logits of recent tokens; 1 = off",
             &p->repetition_penalty);
  args.Float("--frequency-penalty F", "subtract F for each recent occurrence",
             &p->frequency_penalty);
  args.Float("--presence-penalty F", "subtract F from every recent token", &p->presence_penalty);
  args.Int("--penalty-last-n N", "tokens the penalties look back on (64); -1 = all",
           &p->penalty_last_n, -1, 1 << 30);
  args.Each("--logit-bias ID:BIAS", "add BIAS to a token's logit; repeatable", [p](auto text) {
    FT_ASSIGN_OR_RETURN(const auto bias, ParseBias(text));
    p->logit_bias.push_back(bias);
    return Status();
  });
  args.Each("--seed S", "noise seed (0): the same seed writes the same text with any\n"
                        "drafter and any number of threads",
            [p](std::string_view text) {
              const auto [end, error] =
                  std::from_chars(text.data(), text.data() + text.size(), p->seed);
              if (error == std::errc() && end == text.data() + text.size()) return Status();
              return Status(Error{"found '" + std::string(text) + "', expected a number"});
            });
  args.Each("--sampling-order LIST",
            "steps in order, those left out do nothing (bias,temperature,\n"
            "repetition,frequency,top-p,min-p,typical-p,top-k)",
            [p](auto text) {
              FT_ASSIGN_OR_RETURN(p->order, ParseLogitsOrder(text));
              return Status();
            });
  args.Flag("--model-defaults",
            "take temperature, top-k and top-p from the model file where it\n"
            "suggests them (they are ignored otherwise)",
            &s->model_defaults);
}

void AddDraftArgs(Args& args, DraftArgs* draft) {
  std::string names = "none (default)";
  for (const DrafterEntry& e : AllDrafters()) {
    names += "\n" + std::string(e.name) + ": " + std::string(e.summary);
  }
  args.Group("speculation (never changes the text)");
  args.Text("--drafter NAME", names, &draft->drafter);
  args.Int("--draft-max N",
           "tokens drafted a cycle at most (15: with the last token 16 rows;\n"
           "on a CPU the cost of a pass grows with its rows)",
           &draft->draft_max, 0, 4096);
  args.Each("--draft-opt KEY=VALUE",
            "an option of the drafter; repeatable. pld: k, max_ngram, min_ngram.\n"
            "pld+h: k, layer, window, threshold, range (whole or prompt).\n"
            "pld+a: k, heads (file, 'all' or list), top, reduce (max or sum),\n"
            "threshold, range. The paper's PLD+ is k=70 with --draft-max 70.\n"
            "Default layer of pld+h: 9 of 32, the same share of fewer layers",
            [draft](auto text) { return AddDraftOption(text, draft); });
}

Status AddDraftOption(std::string_view text, DraftArgs* draft) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return Error{"found '" + std::string(text) + "', expected KEY=VALUE"};
  }
  draft->options.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  return {};
}

void AddCacheArgs(Args& args, DType* type) {
  args.Each("--cache-type TYPE", "keys and values as f32, f16 (default), bf16 or q8_0",
            [type](auto text) -> Status {
              FT_ASSIGN_OR_RETURN(*type, ParseDType(text));
              for (DType known : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0}) {
                if (*type == known) return {};
              }
              return Error{"found '" + std::string(text) + "', expected f32, f16, bf16 or q8_0"};
            });
}

}  // namespace foretoken
