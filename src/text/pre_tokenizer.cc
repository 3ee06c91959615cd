#include "text/pre_tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "text/byte_map.h"

namespace foretoken {
namespace {

// Bounds the cost of a hostile pattern at one position of the text.
constexpr uint32_t kMatchLimit = 1u << 28;
constexpr size_t kJitStackStart = 32 * 1024, kJitStackMax = 4 * 1024 * 1024;

struct Deleter {
  void operator()(pcre2_code* p) const { pcre2_code_free(p); }
  void operator()(pcre2_match_data* p) const { pcre2_match_data_free(p); }
  void operator()(pcre2_match_context* p) const { pcre2_match_context_free(p); }
  void operator()(pcre2_jit_stack* p) const { pcre2_jit_stack_free(p); }
};
template <typename T>
using Owned = std::unique_ptr<T, Deleter>;

struct Span {
  size_t begin, end;
};

bool IsUtf8Continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

class PreTokenizer::Rule {
 public:
  static Result<std::unique_ptr<Rule>> Compile(std::string_view pattern) {
    int code = 0;
    PCRE2_SIZE offset = 0;
    constexpr uint32_t kOptions =
        PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C;
    Owned<pcre2_code> compiled(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()),
                                             pattern.size(), kOptions, &code, &offset, nullptr));
    if (compiled == nullptr) {
      PCRE2_UCHAR text[160];
      pcre2_get_error_message(code, text, sizeof(text));
      return Error{"pre-tokenizer pattern '" + std::string(pattern) + "': " +
                   reinterpret_cast<const char*>(text) + " at offset " + std::to_string(offset)};
    }
    auto rule = std::make_unique<Rule>();
    rule->jit_ = pcre2_jit_compile(compiled.get(), PCRE2_JIT_COMPLETE) == 0;
    rule->code_ = std::move(compiled);
    return rule;
  }

  const pcre2_code* code() const { return code_.get(); }
  bool jit() const { return jit_; }

 private:
  Owned<pcre2_code> code_;
  bool jit_ = false;
};

// The state of matching one rule, for one thread.
class PreTokenizer::Splitter::Matcher {
 public:
  explicit Matcher(const Rule& rule)
      : rule_(&rule),
        data_(pcre2_match_data_create(1, nullptr)),
        context_(pcre2_match_context_create(nullptr)) {
    pcre2_set_match_limit(context_.get(), kMatchLimit);
  }

  // Finds the first match in `text` that begins at or after `from`. Returns false if there is none
  // or if the rule exceeded its limits. REQUIRES: valid UTF-8.
  bool Find(std::string_view text, size_t from, Span& found) {
    int count = Match(text, from);
    if (count == PCRE2_ERROR_JIT_STACKLIMIT && stack_ == nullptr) {
      // Most rules fit into the machine stack that PCRE2's JIT uses by default.
      stack_.reset(pcre2_jit_stack_create(kJitStackStart, kJitStackMax, nullptr));
      pcre2_jit_stack_assign(context_.get(), nullptr, stack_.get());
      count = Match(text, from);
    }
    if (count < 0) return false;
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(data_.get());
    // \K in a lookahead can move the start past the end.
    if (ends[0] < from || ends[1] < ends[0]) return false;
    found = {ends[0], ends[1]};
    return true;
  }

 private:
  int Match(std::string_view text, size_t from) {
    const auto subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    if (rule_->jit()) {
      return pcre2_jit_match(rule_->code(), subject, text.size(), from, 0, data_.get(),
                             context_.get());
    }
    return pcre2_match(rule_->code(), subject, text.size(), from, PCRE2_NO_UTF_CHECK, data_.get(),
                       context_.get());
  }

  const Rule* rule_;
  Owned<pcre2_match_data> data_;
  Owned<pcre2_match_context> context_;
  Owned<pcre2_jit_stack> stack_;
};

// Splits `text` by matchers[0], each piece by matchers[1], and so on.
void PreTokenizer::Splitter::SplitBy(std::span<Matcher> matchers, std::string_view text,
                                     const Emit& emit) {
  if (text.empty()) return;
  if (matchers.empty()) return emit(text);
  size_t done = 0, from = 0;
  Span found;
  while (from <= text.size() && matchers[0].Find(text, from, found)) {
    SplitBy(matchers.subspan(1), text.substr(done, found.begin - done), emit);
    SplitBy(matchers.subspan(1), text.substr(found.begin, found.end - found.begin), emit);
    done = from = found.end;
    if (found.begin == found.end) {
      if (from == text.size()) break;
      from += Utf8SequenceLength(text.substr(from));
    }
  }
  SplitBy(matchers.subspan(1), text.substr(done), emit);
}

PreTokenizer::Splitter::Splitter(const PreTokenizer& pre_tokenizer) {
  matchers_.reserve(pre_tokenizer.rules_.size());
  for (const auto& rule : pre_tokenizer.rules_) matchers_.emplace_back(*rule);
  mapped_.reserve(pre_tokenizer.mapped_rules_.size());
  for (const auto& rule : pre_tokenizer.mapped_rules_) mapped_.emplace_back(*rule);
}

PreTokenizer::Splitter::~Splitter() = default;

// Splits by the rules for mapped text, where each byte of `piece` is one character.
void PreTokenizer::Splitter::SplitMapped(std::string_view piece, const Emit& emit) {
  SplitBy(mapped_, MapBytes(piece), [&](std::string_view mapped) {
    const auto bytes = static_cast<size_t>(
        std::ranges::count_if(mapped, [](char c) { return !IsUtf8Continuation(c); }));
    emit(piece.substr(0, bytes));
    piece.remove_prefix(bytes);
  });
}

void PreTokenizer::Splitter::Split(std::string_view text, const Emit& emit_piece) {
  const Emit map = [&](std::string_view piece) { SplitMapped(piece, emit_piece); };
  const Emit& emit = mapped_.empty() ? emit_piece : map;
  while (!text.empty()) {
    const size_t valid = ValidUtf8Prefix(text);
    SplitBy(matchers_, text.substr(0, valid), emit);
    size_t end = valid;
    while (end < text.size() && Utf8SequenceLength(text.substr(end)) == 0) ++end;
    if (end > valid) emit(text.substr(valid, end - valid));
    text.remove_prefix(end);
  }
}

PreTokenizer::PreTokenizer() = default;
PreTokenizer::PreTokenizer(PreTokenizer&&) noexcept = default;
PreTokenizer& PreTokenizer::operator=(PreTokenizer&&) noexcept = default;
PreTokenizer::~PreTokenizer() = default;

Result<PreTokenizer> PreTokenizer::Compile(std::span<const std::string_view> patterns) {
  PreTokenizer out;
  auto* rules = &out.rules_;
  for (const std::string_view pattern : patterns) {
    if (pattern == kMappedRules) {
      rules = &out.mapped_rules_;
      continue;
    }
    FT_ASSIGN_OR_RETURN(auto rule, Rule::Compile(pattern));
    rules->push_back(std::move(rule));
  }
  return out;
}

Result<PreTokenizer> PreTokenizer::ForName(std::string_view name) {
  const PreTokenizerRules* rules = FindPreTokenizerRules(name);
  if (rules == nullptr) {
    return Error{"pre-tokenizer '" + std::string(name) +
                 "' is not known; expected a name such as "
                 "default, gpt-2, llama-bpe, qwen2, starcoder, deepseek-llm or tekken"};
  }
  return Compile(rules->patterns);
}

Result<PreTokenizer> PreTokenizer::ForPatterns(std::string_view lines) {
  std::vector<std::string_view> patterns;
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    if (end > 0) patterns.push_back(lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return Compile(patterns);
}

}  // namespace foretoken
