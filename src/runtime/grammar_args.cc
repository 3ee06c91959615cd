#include "runtime/grammar_args.h"

#include <utility>

#include "base/input_file.h"
#include "grammar/grammar.h"
#include "grammar/grammar_filter.h"

namespace foretoken {
namespace {

using Grammar = std::shared_ptr<const Automaton>;

Result<Grammar> OfSchemaFile(const std::string& path) {
  FT_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  return GrammarOfSchemaText(text, path);
}

}  // namespace

Result<std::shared_ptr<const Automaton>> ReadGrammar(const GrammarArgs& args) {
  const int asked = !args.grammar.empty() + !args.grammar_file.empty() + !args.json_schema.empty() +
                    !args.json_schema_file.empty();
  if (asked > 1) {
    return Error{"--grammar, --grammar-file, --json-schema and --json-schema-file: expected one"};
  }
  if (!args.grammar.empty()) return GrammarOfGbnf(args.grammar, "--grammar");
  if (!args.grammar_file.empty()) {
    FT_ASSIGN_OR_RETURN(const std::string text, ReadText(args.grammar_file));
    return GrammarOfGbnf(text, args.grammar_file);
  }
  if (args.json_schema.starts_with("@")) return OfSchemaFile(args.json_schema.substr(1));
  if (!args.json_schema.empty()) return GrammarOfSchemaText(args.json_schema, "--json-schema");
  if (!args.json_schema_file.empty()) return OfSchemaFile(args.json_schema_file);
  return Grammar();
}

Result<std::shared_ptr<const LogitFilter>> FilterBy(std::shared_ptr<const Automaton> grammar,
                                                    const Tokenizer& tokenizer,
                                                    std::span<const Token> ends) {
  if (grammar == nullptr) return std::shared_ptr<const LogitFilter>();
  FT_ASSIGN_OR_RETURN(auto filter,
                      NewGrammarFilter(std::move(grammar), TokenTrie::Build(tokenizer, ends)));
  return std::shared_ptr<const LogitFilter>(std::move(filter));
}

}  // namespace foretoken
