#include "jinja/value.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

namespace foretoken::jinja {
namespace {

constexpr size_t kMaxTupleKey = 65536;

std::string Tagged(char tag, std::string_view text) { return std::string(1, tag).append(text); }

// A text that is equal for equal keys (1, 1.0 and True are one key in Python); nullopt if the key
// is not hashable.
std::optional<std::string> HashKey(const Value& key) {
  switch (key.kind()) {
    case Kind::kString:
      return Tagged('s', key.str());
    case Kind::kNone:
      return "n";
    case Kind::kBool:
    case Kind::kInt:
      return Tagged('i', std::to_string(key.AsInt()));
    case Kind::kFloat: {
      const double d = key.AsDouble();
      if (std::abs(d) < 9e15 && d == std::floor(d)) {
        return Tagged('i', std::to_string(static_cast<int64_t>(d)));
      }
      char exact[32];
      std::snprintf(exact, sizeof exact, "%a", d);
      return Tagged('f', exact);
    }
    case Kind::kSequence: {
      if (!key.IsTuple()) return std::nullopt;
      std::string text = "t";
      for (const Value& item : key.items()) {
        const std::optional<std::string> part = HashKey(item);
        if (!part) return std::nullopt;
        text += std::to_string(part->size()) + ":" + *part;
        if (text.size() > kMaxTupleKey) return std::nullopt;  // shared parts can grow exponentially
      }
      return text;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

bool Value::IsList() const {
  return Is(Kind::kSequence) && !std::get<SequencePtr>(data_)->is_tuple;
}

bool Value::IsTuple() const {
  return Is(Kind::kSequence) && std::get<SequencePtr>(data_)->is_tuple;
}

const std::vector<Value>& Value::items() const { return std::get<SequencePtr>(data_)->items; }

bool Value::Truthy() const {
  switch (kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
    case Kind::kInt:
      return AsInt() != 0;
    case Kind::kFloat:
      return AsDouble() != 0;
    case Kind::kString:
      return !str().empty();
    case Kind::kSequence:
      return !items().empty();
    case Kind::kDict:
      return !dict().entries().empty();
    default:
      return true;
  }
}

int Value::Depth() const {
  switch (kind()) {
    case Kind::kSequence:
      return std::get<SequencePtr>(data_)->depth;
    case Kind::kDict:
      return dict().depth();
    case Kind::kLoop:
      return loop().items->depth + 1;
    case Kind::kCallable:
      return callable().receiver.Depth() + 1;
    default:
      return 0;
  }
}

bool Value::SameObject(const Value& other) const {
  if (kind() != other.kind()) return false;
  return std::visit(
      [&](const auto& mine) {
        using T = std::decay_t<decltype(mine)>;
        const T& theirs = std::get<T>(other.data_);
        if constexpr (std::is_same_v<T, Undefined> || std::is_same_v<T, None>) {
          return true;
        } else if constexpr (std::is_same_v<T, StringPtr>) {
          return *mine == *theirs;
        } else {
          return mine == theirs;
        }
      },
      data_);
}

std::string_view Value::TypeName() const {
  switch (kind()) {
    case Kind::kUndefined:
      return "undefined";
    case Kind::kNone:
      return "None";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kString:
      return "str";
    case Kind::kSequence:
      return IsTuple() ? "tuple" : "list";
    case Kind::kDict:
      return "dict";
    case Kind::kNamespace:
      return "namespace";
    case Kind::kLoop:
      return "loop";
    case Kind::kCallable:
      return "callable";
  }
  return "value";
}

bool Dict::Set(Value key, Value value) {
  std::optional<std::string> hash = HashKey(key);
  if (!hash) return false;
  depth_ = std::max({depth_, key.Depth() + 1, value.Depth() + 1});
  const auto [where, is_new] = index_.try_emplace(*std::move(hash), entries_.size());
  if (is_new) {
    entries_.emplace_back(std::move(key), std::move(value));
  } else {
    entries_[where->second].second = std::move(value);
  }
  return true;
}

const Value* Dict::Find(const Value& key) const {
  const std::optional<std::string> hash = HashKey(key);
  if (!hash) return nullptr;
  const auto where = index_.find(*hash);
  return where == index_.end() ? nullptr : &entries_[where->second].second;
}

const Value* Dict::Find(std::string_view key) const {
  const auto where = index_.find(Tagged('s', key));
  return where == index_.end() ? nullptr : &entries_[where->second].second;
}

}  // namespace foretoken::jinja
