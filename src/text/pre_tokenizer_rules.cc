// The table of pre-tokenizer rules by name, with llama.cpp's names and the expressions of Hugging
// Face files. Where the usual expression would scan a run of spaces again from each space in it,
// the table has an equivalent expression that does not.
#include <algorithm>

#include "text/pre_tokenizer.h"

namespace foretoken {
namespace {

#define FT_CONTRACTIONS "'s|'t|'re|'ve|'m|'ll|'d"

constexpr std::string_view kGpt2 =
    FT_CONTRACTIONS R"(| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

constexpr std::string_view kLlama3 =
    "(?i:" FT_CONTRACTIONS
    ")"
    R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view kQwen2 =
    "(?i:" FT_CONTRACTIONS
    ")"
    R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view kQwen35 =
    "(?i:" FT_CONTRACTIONS
    ")"
    R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view kSeedCoder =
    "(?i:" FT_CONTRACTIONS
    ")"
    R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)";

#define FT_UPPER R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define FT_LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"
#define FT_BEFORE_WORD R"([^\r\n\p{L}\p{N}]?)"

constexpr std::string_view kTekken =
    FT_BEFORE_WORD FT_UPPER "*" FT_LOWER "+|" FT_BEFORE_WORD FT_UPPER "+" FT_LOWER
                            "*"
                            R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view kGpt4o =
    FT_BEFORE_WORD FT_UPPER "*" FT_LOWER "+(?i:" FT_CONTRACTIONS ")?|" FT_BEFORE_WORD FT_UPPER
                            "+" FT_LOWER "*(?i:" FT_CONTRACTIONS
                            ")?"
                            R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

#undef FT_BEFORE_WORD
#undef FT_LOWER
#undef FT_UPPER
#undef FT_CONTRACTIONS

constexpr std::string_view kNewline = R"([\r\n])";
constexpr std::string_view kCjk = "[一-龥ࠀ-一가-퟿]+";
constexpr std::string_view kDeepseekWord =
    "\\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-"
    "ՖႠ-"
    "ჅᎠ-"
    "Ᏽᏸ-"
    "ᏽᲐ-"
    "ᲺᲽ-"
    "Ჿᴀ-"
    "ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅ"
    "Ὀ-Ὅὐ-ὗὙὛὝὟ-\u1f7dᾀ-ᾴᾶ-ᾼ\u1fbeῂ-ῄῆ-ῌῐ-\u1fd3ῖ-\u1fdbῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\u2126"
    "ℨ\u212a-"
    "ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄ"
    "Ⰰ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-"
    "ｚ𐐀-"
    "𐑏𐒰-"
    "𐓓𐓘-"
    "𐓻𐲀-"
    "𐲲𐳀-"
    "𐳲𑢠-𑣟𞤀-𞥃]+";
constexpr std::string_view kDeepseekPunctuation = "\\s?[!-/:-~！-／：-～‘-‟　-。]+";
constexpr std::string_view kTrailingSpace = R"((?<!\s)\s++$)";
constexpr std::string_view kDeepseek3Cjk = "[一-龥぀-ゟ゠-ヿ]+";
constexpr std::string_view kDeepseek3 =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
    R"(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kBloom = " ?[^(\\s|.,!?…。，、।۔،)]+";
constexpr std::string_view kFalconPunctuation = R"([\p{P}\$\+<=>\^~\|`]+)";
constexpr std::string_view kDefaultPunctuation = R"([\p{P}\$\+<=>\^~\|]+)";
constexpr std::string_view kThreeDigits = "[0-9][0-9][0-9]";
constexpr std::string_view kDigit = R"(\p{N})", kDigits = R"(\p{N}+)";

using Patterns = std::vector<std::string_view>;

void AddAll(std::vector<PreTokenizerRules>& table, std::initializer_list<std::string_view> names,
            const Patterns& patterns, bool ignore_merges = false, bool add_bos = false) {
  for (const std::string_view name : names) {
    table.push_back({name, patterns, ignore_merges, add_bos});
  }
}

// FindPreTokenizerName returns the first name of a row.
std::vector<PreTokenizerRules> MakeTable() {
  std::vector<PreTokenizerRules> table;
  AddAll(table,
         {"gpt-2", "mpt", "olmo", "phi-2", "jais", "gigachat", "trillion", "exaone4", "jina-es",
          "jina-de", "jina-v1-en", "jina-v2-es", "jina-v2-de", "jina-v2-code", "roberta-bpe",
          "a.x-4.0", "mellum", "granite-docling"},
         {kGpt2});
  AddAll(table, {"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "lfm2"},
         {kLlama3}, /*ignore_merges=*/true, /*add_bos=*/true);
  AddAll(table, {"dbrx", "smaug-bpe", "chatglm-bpe", "glm4"}, {kLlama3});
  AddAll(table,
         {"qwen2", "stablelm2", "deepseek-r1-qwen", "megrez", "hunyuan", "solar-open", "grok-2"},
         {kQwen2});
  AddAll(table, {"starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b"},
         {kDigit, kGpt2});
  AddAll(table, {"deepseek-llm"},
         {kNewline, kDeepseekWord, kDeepseekPunctuation, kTrailingSpace, kCjk, kDigits});
  AddAll(table, {"deepseek-coder"}, {kNewline, R"(\s?\p{L}+)", R"(\s?\p{P}+)", kCjk, kDigit});
  AddAll(table, {"deepseek-v3", "hunyuan-dense", "joyai-llm"},
         {R"(\p{N}{1,3})", kDeepseek3Cjk, kDeepseek3});
  // Falcon's rules for digits see mapped text, whose digits are 0 to 9 and six characters that
  // represent bytes.
  AddAll(table, {"falcon"}, {kFalconPunctuation, kGpt2, kMappedRules, kDigits, kThreeDigits});
  AddAll(table, {"tekken"}, {kTekken}, /*ignore_merges=*/true, /*add_bos=*/true);
  AddAll(table, {"gpt-4o", "llama4", "minimax-m2"}, {kGpt4o});
  AddAll(table, {"qwen35"}, {kQwen35});
  AddAll(table, {"seed-coder"}, {kSeedCoder});
  AddAll(table, {"bloom", "poro-chat", "gpt3-finnish"}, {kBloom});
  AddAll(table, {"viking"}, {kBloom, kDigit});
  AddAll(table, {"default"}, {kDefaultPunctuation, kGpt2, kDigits, kThreeDigits});
  return table;
}

const std::vector<PreTokenizerRules>& Table() {
  static const std::vector<PreTokenizerRules> table = MakeTable();
  return table;
}

}  // namespace

const PreTokenizerRules* FindPreTokenizerRules(std::string_view name) {
  if (name.empty()) name = "default";
  const auto found = std::ranges::find(Table(), name, &PreTokenizerRules::name);
  return found == Table().end() ? nullptr : &*found;
}

std::string_view FindPreTokenizerName(std::span<const std::string> patterns, bool ignore_merges) {
  std::string_view name;
  for (const PreTokenizerRules& rules : Table()) {
    if (!std::ranges::equal(rules.patterns, patterns)) continue;
    if (rules.ignore_merges == ignore_merges) return rules.name;
    if (!rules.ignore_merges && name.empty()) name = rules.name;
  }
  return name;
}

std::string_view ByteLevelPattern() { return kGpt2; }

std::string_view DigitsPattern(bool individual) { return individual ? kDigit : kDigits; }

std::string_view PunctuationPattern(bool contiguous) {
  return contiguous ? kFalconPunctuation
                    : kFalconPunctuation.substr(0, kFalconPunctuation.size() - 1);
}

}  // namespace foretoken
