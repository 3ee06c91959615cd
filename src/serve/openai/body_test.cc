#include "serve/openai/body.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/json.h"

namespace foretoken::openai {
namespace {

std::string Nested(int depth) {
  std::string text = "{\"a\":";
  text.append(static_cast<size_t>(depth - 1), '[');
  text.append(static_cast<size_t>(depth - 1), ']');
  return text + "}";
}

std::string CodeOf(std::string_view body, const BodyLimits& limits = {}) {
  const ApiResult<Json> parsed = ParseBody(body, limits);
  return parsed.ok() ? "" : parsed.error().code;
}

std::string MessageOf(std::string_view body, const BodyLimits& limits = {}) {
  const ApiResult<Json> parsed = ParseBody(body, limits);
  return parsed.ok() ? "" : parsed.error().message;
}

TEST(Body, IsReadAsTheLibraryReadsIt) {
  for (const std::string text :
       {R"({})", R"({"a": [1, -2, 2.5, true, null, "x\u0000\ud83d\ude00"], "b": {"c": {}}})",
        R"({"u": 18446744073709551615, "i": -9223372036854775808, "d": 1e308, "big": 1e19})"}) {
    const ApiResult<Json> parsed = ParseBody(text);
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    EXPECT_EQ(parsed.value(), Json::parse(text));
    EXPECT_EQ(JsonText(parsed.value()), JsonText(Json::parse(text)));
  }
}

TEST(Body, ThatIsNoJsonObjectIsRefused) {
  for (const std::string text :
       {"", " ", "[]", "7", "null", "\"x\"", "{", "{\"a\":}", "{\"a\":1}}", "{\"a\":NaN}",
        "{\"a\":Infinity}", "{\"a\":01}", "{'a':1}", "{\"a\":\"\x01\"}", "{\"a\":\"\\ud800\"}"}) {
    EXPECT_EQ(CodeOf(text), "invalid_json") << text;
  }
}

TEST(Body, OfInvalidUtf8IsRefused) {
  for (const std::string bytes :
       {"\xff", "\xc0\x80", "\xed\xa0\x80", "\xe2\x82", "\xf5\x80\x80\x80"})
    EXPECT_EQ(CodeOf("{\"a\":\"" + bytes + "\"}"), "invalid_json");
}

TEST(Body, NumbersBeyondADoubleAreRefusedByName) {
  EXPECT_EQ(MessageOf(R"({"a": 1e999})"), "The body is not valid JSON: a number is out of range.");
}

TEST(Body, ANulByteEndsNothing) {
  using namespace std::string_literals;
  EXPECT_EQ(MessageOf("{\"a\": 1}\0, garbage"s), "The body has a NUL byte at position 8.");
  EXPECT_EQ(CodeOf("{\"a\": 1}\0"s), "invalid_json");
}

TEST(Body, AKeyMayOccurOnce) {
  const ApiResult<Json> twice = ParseBody(R"({"n": 1, "n": 2})");
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(ErrorBody(twice.error()), Json::parse(R"({"error": {
      "message": "The body has the field 'n' twice.", "type": "invalid_request_error",
      "param": "n", "code": "duplicate_key"}})"));
  EXPECT_EQ(CodeOf(R"({"a": {"b": 1, "b": 1}})"), "duplicate_key");
  EXPECT_EQ(CodeOf(R"({"a": {"b": 1}, "b": {"b": 1}})"), "");
}

TEST(Body, LimitsHoldExactly) {
  EXPECT_EQ(CodeOf(Nested(64)), "");
  EXPECT_EQ(CodeOf(Nested(65)), "body_too_complex");
  EXPECT_EQ(CodeOf(std::string(1'000'000, '[')), "body_too_complex");
  EXPECT_EQ(CodeOf(R"({"a":1,"b":2})", {.keys = 2}), "");
  EXPECT_EQ(CodeOf(R"({"a":1,"b":2,"c":3})", {.keys = 2}), "body_too_complex");
  EXPECT_EQ(CodeOf(R"({"a":[1,2]})", {.values = 4}), "");
  EXPECT_EQ(CodeOf(R"({"a":[1,2,3]})", {.values = 4}), "body_too_complex");
  EXPECT_EQ(CodeOf(R"({"a":1})", {.bytes = 7}), "");
  const ApiResult<Json> large = ParseBody(R"({"a":10})", {.bytes = 7});
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(HttpStatus(large.error().kind), 413);
}

std::string InnerCode(std::string_view text, const BodyLimits& limits = {}, size_t values = 0) {
  const auto parsed = ParseInnerObject(text, "x", limits, values);
  return parsed.ok() ? "" : parsed.error().code;
}

TEST(InnerObjects, AreObjectsOrNothing) {
  size_t values = 0;
  const auto object = ParseInnerObject(R"( {"a": [1, {"b": null}]} )", "x", {}, values);
  ASSERT_TRUE(object.ok());
  ASSERT_NE(object.value(), nullptr);
  EXPECT_EQ(*object.value(), Json::parse(R"({"a": [1, {"b": null}]})"));
  EXPECT_EQ(values, 5u);
  for (const char* text : {"", " ", "[1]", "7", "{", "{\"a\":}", "{}{}", "{\"a\":1,\"a\":2}"}) {
    const auto none = ParseInnerObject(text, "x", {}, values);
    ASSERT_TRUE(none.ok()) << text;
    EXPECT_EQ(none.value(), nullptr) << text;
  }
  const auto nul = ParseInnerObject(std::string_view("{}\0{", 4), "x", {}, values);
  ASSERT_TRUE(nul.ok());
  EXPECT_EQ(nul.value(), nullptr);
  EXPECT_EQ(values, 5u) << "what is not kept does not count";
}

TEST(InnerObjects, ShareTheLimitsOfTheBody) {
  EXPECT_EQ(InnerCode(R"({"a":1,"b":2})", {.keys = 2}), "");
  EXPECT_EQ(InnerCode(R"({"a":1,"b":2,"c":3})", {.keys = 2}), "body_too_complex");
  EXPECT_EQ(InnerCode(R"({"a":1})", {.values = 4}, 2), "");
  EXPECT_EQ(InnerCode(R"({"a":1})", {.values = 4}, 3), "body_too_complex");
  EXPECT_EQ(InnerCode(Nested(64)), "");
  EXPECT_EQ(InnerCode(Nested(65)), "body_too_complex");
  EXPECT_EQ(InnerCode(std::string(1'000'000, '[')), "") << "no object, and so not looked into";
}

// Any text in a body may be part of a prompt.
TEST(Body, ErrorsNeverQuoteIt) {
  for (const std::string text : {"SECRET", "{\"a\":\"SECRET\xff\"}", "{\"a\":SECRET}",
                                 "{\"SECRET SECRET SECRET SECRET SECRET\":1,"
                                 "\"SECRET SECRET SECRET SECRET SECRET\":1}",
                                 "{\"a\":\"SECRET\" \"b\"}", "{\"a\":\"SECRET"}) {
    const std::string message = MessageOf(text);
    EXPECT_NE(message, "");
    EXPECT_EQ(message.find("SECRET"), std::string::npos) << message;
  }
}

TEST(ApiErrors, HaveTheirTypesAndStatus) {
  const auto check = [](const ApiError& error, int status, const char* type, const char* code) {
    EXPECT_EQ(HttpStatus(error.kind), status);
    EXPECT_EQ(ErrorBody(error)["error"]["type"], type);
    EXPECT_EQ(ErrorBody(error)["error"]["code"], code);
  };
  check(ContextLengthError(9, 8, "messages"), 400, "invalid_request_error",
        "context_length_exceeded");
  check(ApiKeyError(), 401, "authentication_error", "invalid_api_key");
  check(NotFoundError("/x"), 404, "not_found_error", "not_found");
  EXPECT_THAT(NotFoundError("/api/chat").message, testing::HasSubstr("use /v1/chat/completions"));
  EXPECT_THAT(NotFoundError("/v1/v1/models").message, testing::HasSubstr("/v1 is in the base URL"));
  check(QueueFullError(), 429, "rate_limit_error", "queue_full");
  check(NotSupportedError("/v1/embeddings"), 501, "not_supported_error", "unsupported_endpoint");
  check(UnavailableError("The model is loading."), 503, "unavailable_error", "unavailable");
  EXPECT_EQ(
      ErrorBody({.kind = ErrorKind::kServer, .message = "x"}),
      Json::parse(R"({"error":{"message":"x","type":"server_error","param":null,"code":null}})"));
}

}  // namespace
}  // namespace foretoken::openai
