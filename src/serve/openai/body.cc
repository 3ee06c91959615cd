#include "serve/openai/body.h"

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/json_depth.h"

namespace foretoken::openai {
namespace {

constexpr std::string_view kTooComplex = "body_too_complex";

// The reason in an error of nlohmann's parser, without the part that quotes the text.
std::string ReasonWithoutText(const nlohmann::detail::exception& e) {
  if (e.id == 406) return "a number is out of range";
  const std::string_view reason = JsonReason(e.what());
  return std::string(reason.substr(0, reason.find("; last read: '")));
}

// Builds the value from parser events. The library's own builder would search the object for every
// key it adds, and would let the last of duplicate keys win.
class BodyBuilder : public nlohmann::json_sax<Json> {
 public:
  // `values`: values already counted towards the limit.
  explicit BodyBuilder(const BodyLimits& limits, size_t values = 0)
      : limits_(limits), values_(values) {}

  bool null() override { return Add(Json()); }
  bool boolean(bool value) override { return Add(Json(value)); }
  bool number_integer(number_integer_t value) override { return Add(Json(value)); }
  bool number_unsigned(number_unsigned_t value) override { return Add(Json(value)); }
  bool number_float(number_float_t value, const string_t&) override { return Add(Json(value)); }
  bool string(string_t& value) override { return Add(Json(std::move(value))); }
  bool binary(binary_t&) override { return Fail("holds binary values", kInvalid); }

  bool start_object(size_t) override { return Open(Json::object()); }
  bool start_array(size_t) override { return Open(Json::array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }

  bool key(string_t& key) override {
    Level& level = levels_.back();
    if (level.keys.size() >= limits_.keys) {
      return Fail("has an object of more than " + std::to_string(limits_.keys) + " fields",
                  kTooComplex);
    }
    if (!level.keys.insert(key).second) return FailTwice(key);
    level.key = std::move(key);
    return true;
  }

  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& e) override {
    return Fail("is not valid JSON: " + ReasonWithoutText(e), kInvalid);
  }

  size_t values() const { return values_; }

  Json root;
  // Why parsing stopped early: "has ...", "is ...".
  std::string reason, code;
  std::string field;  // the top-level field at fault, if there is one

 private:
  static constexpr std::string_view kInvalid = "invalid_json";

  struct Level {
    Json* container = nullptr;
    std::set<std::string> keys;  // a tree: no choice of keys makes lookups slow
    std::string key;             // key of the next value
  };

  Json* Place(Json value) {
    if (levels_.empty()) {
      root = std::move(value);
      return &root;
    }
    Level& level = levels_.back();
    if (level.container->is_array()) {
      level.container->push_back(std::move(value));
      return &level.container->back();
    }
    Json::object_t::Container& fields = level.container->get_ref<Json::object_t&>();
    fields.emplace_back(std::move(level.key), std::move(value));
    return &fields.back().second;
  }

  bool Count() {
    if (++values_ <= limits_.values) return true;
    return Fail("has more than " + std::to_string(limits_.values) + " values", kTooComplex);
  }

  bool Add(Json value) {
    if (!Count()) return false;
    Place(std::move(value));
    return true;
  }

  bool Open(Json container) {
    if (!Count()) return false;
    if (std::ssize(levels_) >= limits_.depth) {
      return Fail("is nested more than " + std::to_string(limits_.depth) + " levels deep",
                  kTooComplex);
    }
    Json* placed = Place(std::move(container));
    levels_.emplace_back().container = placed;
    return true;
  }

  bool Close() {
    levels_.pop_back();
    return true;
  }

  // Only short keys are quoted: API fields have short names, longer keys may be client text.
  bool FailTwice(const std::string& key) {
    const bool nameable = levels_.size() == 1 && key.size() <= 32;
    field = nameable ? key : "";
    return Fail(nameable ? "has the field '" + key + "' twice" : "has a field twice in one object",
                "duplicate_key");
  }

  bool Fail(std::string why, std::string_view error_code) {
    reason = std::move(why);
    code = error_code;
    return false;
  }

  const BodyLimits& limits_;
  std::vector<Level> levels_;
  size_t values_;
};

}  // namespace

ApiResult<Json> ParseBody(std::string_view body, const BodyLimits& limits) {
  if (body.size() > limits.bytes) {
    return ApiError{.kind = ErrorKind::kTooLarge,
                    .message = "The body has " + std::to_string(body.size()) +
                               " bytes; expected at most " + std::to_string(limits.bytes) + ".",
                    .code = "body_too_large"};
  }
  // The library would take a NUL byte for the end of the text.
  if (const size_t nul = body.find('\0'); nul != body.npos) {
    return ApiError{.message = "The body has a NUL byte at position " + std::to_string(nul) + ".",
                    .code = "invalid_json"};
  }
  BodyBuilder builder(limits);
  if (!Json::sax_parse(body.begin(), body.end(), &builder)) {
    return ApiError{.message = "The body " + builder.reason + ".",
                    .param = std::move(builder.field),
                    .code = std::move(builder.code)};
  }
  if (!builder.root.is_object()) {
    return ApiError{.message = "The body is not a JSON object.", .code = "invalid_json"};
  }
  return std::move(builder.root);
}

ApiResult<std::shared_ptr<const Json>> ParseInnerObject(std::string_view text,
                                                        const std::string& param,
                                                        const BodyLimits& limits, size_t& values) {
  const size_t start = text.find_first_not_of(" \t\r\n");
  const bool is_object = start != text.npos && text[start] == '{' && text.find('\0') == text.npos;
  if (!is_object) return std::shared_ptr<const Json>();
  BodyBuilder builder(limits, values);
  if (Json::sax_parse(text.begin(), text.end(), &builder)) {
    values = builder.values();
    return std::make_shared<const Json>(std::move(builder.root));
  }
  if (builder.code != kTooComplex) return std::shared_ptr<const Json>();
  return ApiError{.message = "Invalid value for '" + param + "': the JSON of calls up to here " +
                             builder.reason + ".",
                  .param = param,
                  .code = std::move(builder.code)};
}

}  // namespace foretoken::openai
