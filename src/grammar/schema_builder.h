// Turns the schemas of one document into rules.
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
  // Notes that schemas are copied. Errors: too much was.
  Status Copy(const Json& schema, const std::string& at);
  Result<const Json*> Find(const Json& reference, const std::string& at) const;

  // The number of the rule of a schema that stands at `pointer`, or was made of several (its own
  // text is its name then). Its body is built later, so that schemas may hold themselves.
  Result<Expr> RuleOf(const std::string& name, const Json& schema, const std::string& at);
  // The rule of pieces that many schemas share.
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
  int depth_ = 0;   // of Value
  int joined_ = 0;  // calls of Flat
  size_t copied_ = 0;
};

}  // namespace foretoken
