#include "serve/openai/body.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/json_depth.h"

namespace foretoken::openai {
namespace {

// What nlohmann's parser complains of, without the part that quotes the text.
std::string ReasonWithoutText(const nlohmann::detail::exception& e) {
  if (e.id == 406) return "a number is out of range";
  const std::string_view reason = JsonReason(e.what());
  return std::string(reason.substr(0, reason.find("; last read: '")));
}

// Builds the value as the parser reads it. The library's own builder would search an object for
// every key that it adds, and would let the last of equal keys win.
class BodyBuilder : public nlohmann::json_sax<Json> {
 public:
  explicit BodyBuilder(const BodyLimits& limits) : limits_(limits) {}

  bool null() override { return Add(Json()); }
  bool boolean(bool value) override { return Add(Json(value)); }
  bool number_integer(number_integer_t value) override { return Add(Json(value)); }
  bool number_unsigned(number_unsigned_t value) override { return Add(Json(value)); }
  bool number_float(number_float_t value, const string_t&) override { return Add(Json(value)); }
  bool string(string_t& value) override { return Add(Json(std::move(value))); }
  bool binary(binary_t&) override { return Fail("holds binary values", "invalid_json"); }

  bool start_object(size_t) override { return Open(Json::object()); }
  bool start_array(size_t) override { return Open(Json::array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }

  bool key(string_t& key) override {
    Level& level = levels_.back();
    if (level.keys.size() >= limits_.keys) {
      return Fail("has an object of more than " + std::to_string(limits_.keys) + " fields",
                  "body_too_complex");
    }
    if (!level.keys.insert(key).second) return FailTwice(key);
    level.key = std::move(key);
    return true;
  }

  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& e) override {
    return Fail("is not valid JSON: " + ReasonWithoutText(e), "invalid_json");
  }

  Json root;
  ApiError error;

 private:
  struct Level {
    Json* container = nullptr;
    std::set<std::string> keys;  // a tree: no choice of keys makes it slow
    std::string key;             // of the value to come
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
    return Fail("has more than " + std::to_string(limits_.values) + " values", "body_too_complex");
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
                  "body_too_complex");
    }
    Json* placed = Place(std::move(container));
    levels_.emplace_back().container = placed;
    return true;
  }

  bool Close() {
    levels_.pop_back();
    return true;
  }

  // Fields of the API have short names; longer keys may be a client's text.
  bool FailTwice(const std::string& key) {
    const bool nameable = levels_.size() == 1 && key.size() <= 32;
    error.param = nameable ? key : "";
    return Fail(nameable ? "has the field '" + key + "' twice" : "has a field twice in one object",
                "duplicate_key");
  }

  bool Fail(const std::string& what, const char* code) {
    error.message = "The body " + what + ".";
    error.code = code;
    return false;
  }

  const BodyLimits& limits_;
  std::vector<Level> levels_;
  size_t values_ = 0;
};

}  // namespace

ApiResult<Json> ParseBody(std::string_view body, const BodyLimits& limits) {
  if (body.size() > limits.bytes) {
    return ApiError{.kind = ErrorKind::kTooLarge,
                    .message = "The body has " + std::to_string(body.size()) +
                               " bytes; expected at most " + std::to_string(limits.bytes) + ".",
                    .code = "body_too_large"};
  }
  BodyBuilder builder(limits);
  if (!Json::sax_parse(body.begin(), body.end(), &builder)) return std::move(builder.error);
  if (!builder.root.is_object()) {
    return ApiError{.message = "The body is not a JSON object.", .code = "invalid_json"};
  }
  return std::move(builder.root);
}

}  // namespace foretoken::openai
