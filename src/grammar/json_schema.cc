#include "grammar/json_schema.h"

#include "base/brief.h"
#include "grammar/gbnf.h"
#include "grammar/grammar.h"
#include "grammar/schema_builder.h"

namespace foretoken {

namespace {

// Builds an error; since pointers of deep schemas are long, only the beginning and the end of the
// message are shown.
Error Shown(std::string_view origin, const std::string& message) {
  constexpr size_t kHalf = 250;  // bytes
  std::string shown = message;
  if (message.size() > 2 * kHalf + 3) {
    size_t tail = message.size() - kHalf;
    while ((static_cast<unsigned char>(message[tail]) & 0xC0) == 0x80) ++tail;
    shown = Brief(message, kHalf) + message.substr(tail);
  }
  return Error{std::string(origin) + ": " + shown};
}

}  // namespace

Result<GrammarRules> RulesOfSchema(const Json& schema, std::string_view origin) {
  Result<GrammarRules> rules = SchemaBuilder(schema).Build();
  if (rules.ok()) return rules;
  return Shown(origin, rules.error().message);
}

namespace {

Result<std::shared_ptr<const Automaton>> Compiled(const GrammarRules& rules,
                                                  std::string_view origin) {
  auto automaton = Automaton::Compile(rules);
  if (automaton.ok()) return automaton;
  return Shown(origin, automaton.error().message);
}

}  // namespace

Result<std::shared_ptr<const Automaton>> GrammarOfGbnf(std::string_view text,
                                                       std::string_view origin) {
  FT_ASSIGN_OR_RETURN(const GrammarRules rules, ParseGbnf(text, origin));
  return Compiled(rules, origin);
}

Result<std::shared_ptr<const Automaton>> GrammarOfSchema(const Json& schema,
                                                         std::string_view origin) {
  FT_ASSIGN_OR_RETURN(const GrammarRules rules, RulesOfSchema(schema, origin));
  return Compiled(rules, origin);
}

Result<std::shared_ptr<const Automaton>> GrammarOfSchemaText(std::string_view text,
                                                             std::string_view origin) {
  if (text.size() > kMostGrammarBytes) {
    return Error{std::string(origin) + ": a schema of " + std::to_string(text.size()) +
                 " bytes, at most " + std::to_string(kMostGrammarBytes) + " are read"};
  }
  FT_ASSIGN_OR_RETURN(const Json schema, ParseJson(text, origin));
  return GrammarOfSchema(schema, origin);
}

std::shared_ptr<const Automaton> GrammarOfJsonObject() {
  return *GrammarOfSchema(Json{{"type", "object"}}, "JSON");
}

}  // namespace foretoken
