// Converts the schemas of one document to grammar rules.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "grammar/rules.h"

namespace foretoken {

class SchemaBuilder {
 public:
  explicit SchemaBuilder(const Json& document) : document_(document) {}

  Result<GrammarRules> Build();

 private:
  // `at`: the JSON pointer of the schema, for errors.
  Result<Expr> Value(const Json& schema, const std::string& at);
  Result<Expr> Joined(const Json& schema, const std::string& at);
  Result<Expr> AnyOf(const Json& schema, const std::string& keyword, const std::string& at);
  Result<Expr> OneOfValues(const Json& schema, const std::string& at);
  Result<Expr> OfType(const std::string& type, const Json& schema, const std::string& at);
  Result<Expr> String(const Json& schema, const std::string& at);
  Result<Expr> Number(const Json& schema, bool is_integer, const std::string& at);
  Result<Expr> Array(const Json& schema, const std::string& at);
  Result<Expr> Object(const Json& schema, const std::string& at);
  Result<Expr> Extra(const Json& schema, const std::vector<std::string>& names,
                     const std::string& at);
  Status CheckKeywords(const Json& schema, const std::string& at) const;

  // `schema` without "$ref" and "allOf" at its top. Errors: see MergeSchemas.
  Result<Json> Flat(const Json& schema, const std::string& at, int depth);
  // Adds the size of a copied schema to the total. Errors: the total exceeds its limit.
  Status Copy(const Json& schema, const std::string& at);
  Result<const Json*> Find(const Json& reference, const std::string& at) const;

  // A call of the rule for a schema that is at the JSON pointer `name`, or was merged from several
  // (then `name` is its text). The rule's body is built later, so that schemas may be recursive.
  Result<Expr> RuleOf(const std::string& name, const Json& schema, const std::string& at);
  // A call of a rule shared by many schemas.
  Expr Shared(const std::string& name, const std::function<Expr()>& body);
  Expr Space();
  Expr AnyValue();
  Expr AnyObject();
  Expr AnyString();
  Expr Literal(const Json& value);
  int NewRule(std::string name);
  Expr AddRule(std::string name, Expr body);

  struct Waiting {
    int rule;
    Json schema;
    std::string at;
  };
  const Json& document_;
  GrammarRules grammar_;
  std::map<std::string, int> named_;
  std::deque<Waiting> waiting_;
  int depth_ = 0;   // recursion depth of Value
  int joined_ = 0;  // number of calls of Flat
  size_t copied_ = 0;
};

}  // namespace foretoken
