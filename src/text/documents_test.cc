#include "text/documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace foretoken {
namespace {

using ::testing::HasSubstr;

class Documents : public ::testing::Test {
 protected:
  Documents() {
    std::string name = ::testing::TempDir() + "documents_XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~Documents() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }

  std::string folder_;
};

std::string Shown(const std::vector<TextDocument>& documents) {
  std::string text;
  for (const TextDocument& d : documents) {
    for (const DocumentTurn& t : d.turns)
      text.append(t.role).append(":").append(t.text).append("|");
    text += '\n';
  }
  return text;
}

TEST_F(Documents, LinesAreConversationsOrTexts) {
  const auto documents = ReadTextDocuments(
      Write("a.jsonl",
            R"({"conversations": [{"from": "human", "value": "Q"}, {"from": "gpt", "value": "A"}]})"
            "\n\n"
            R"({"messages": [{"role": "system", "content": "S"}]})"
            "\n"
            R"({"text": "plain\ntext"})"));
  ASSERT_TRUE(documents.ok()) << documents.error().message;
  EXPECT_EQ(Shown(*documents), "user:Q|assistant:A|\nsystem:S|\n:plain\ntext|\n");
}

TEST_F(Documents, TextsAreSplitAtSeparatorLines) {
  const auto documents = ReadTextDocuments(
      Write("a.txt", "\none\ntwo\n\n<|endoftext|>\n\n<|endoftext|>\nno <|endoftext|> here\n"));
  ASSERT_TRUE(documents.ok());
  EXPECT_EQ(Shown(*documents), ":one\ntwo|\n:no <|endoftext|> here|\n");
}

TEST_F(Documents, TextPartsAreJoined) {
  const auto documents = ReadTextDocuments(Write(
      "parts.jsonl", R"({"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, )"
                     R"({"text": "b"}, "c"]}, {"role": "assistant", "content": []}]})"));
  ASSERT_TRUE(documents.ok()) << documents.error().message;
  EXPECT_EQ(Shown(*documents), "user:abc|assistant:|\n");
}

TEST_F(Documents, RolesHaveManyNames) {
  const auto documents = ReadTextDocuments(
      Write("roles.jsonl",
            R"({"conversations": [{"from": "Human", "value": "a"}, {"from": "bot", "value": "b"}, )"
            R"({"from": "USER", "value": "c"}, {"from": "model", "value": "d"}]})"
            "\n"
            R"({"messages": [{"role": "developer", "content": "a"}, {"role": "tool", "content": )"
            R"("b"}, {"role": "function", "content": "c"}, {"from": "gpt", "content": "d"}]})"));
  ASSERT_TRUE(documents.ok()) << documents.error().message;
  EXPECT_EQ(Shown(*documents),
            "user:a|assistant:b|user:c|assistant:d|\nsystem:a|tool:b|tool:c|assistant:d|\n");
}

TEST_F(Documents, QuestionsKeepTheirAnswers) {
  const auto documents =
      ReadTextDocuments(Write("asked.jsonl", R"({"turns": ["a", "b"]})"
                                             "\n"
                                             R"({"prompt": "a"})"
                                             "\n"
                                             R"({"question": "a", "answer": "b"})"
                                             "\n"
                                             R"({"prompt": "a", "completion": )"
                                             R"([{"type": "text", "text": "b"}]})"));
  ASSERT_TRUE(documents.ok()) << documents.error().message;
  EXPECT_EQ(Shown(*documents),
            "user:a|user:b|\nuser:a|\nuser:a|assistant:b|\nuser:a|assistant:b|\n");
}

TEST_F(Documents, FieldsThatAreNullLeaveRoomForOthers) {
  const auto documents = ReadTextDocuments(
      Write("null.jsonl",
            R"({"messages": [{"from": null, "value": null, "role": "user", "content": "a"}]})"
            "\n"
            R"({"conversations": null, "messages": "", "text": "b"})"));
  ASSERT_TRUE(documents.ok()) << documents.error().message;
  EXPECT_EQ(Shown(*documents), "user:a|\n:b|\n");
}

TEST_F(Documents, MistakesNameLineAndField) {
  const auto message = [this](const std::string& text) {
    const auto read = ReadTextDocuments(Write("b.jsonl", text));
    return read.ok() ? "read" : read.error().message;
  };
  const auto content = [&](const std::string& value) {
    return message(R"({"messages": [{"role": "system", "content": "S"}, {"role": "user", )" +
                   value + "}]}");
  };
  EXPECT_THAT(message("{"), HasSubstr("b.jsonl:1"));
  EXPECT_THAT(message("{\"text\": 5}"), HasSubstr("b.jsonl:1: text is 5, expected text"));
  EXPECT_THAT(message("[1]"), HasSubstr("b.jsonl:1: no list"));
  EXPECT_THAT(message("{\"messages\": []}"), HasSubstr("messages is [], expected a list of turns"));
  EXPECT_THAT(message("{\"messages\": [5]}"), HasSubstr("messages[0] is 5, expected an object"));
  EXPECT_THAT(message("{\"messages\": [{\"role\": \"narrator\"}]}"),
              HasSubstr("b.jsonl:1: messages[0].role is \"narrator\", expected user, assistant"));
  EXPECT_THAT(message("{\"conversations\": [{\"value\": \"x\"}]}"),
              HasSubstr("conversations[0].role is missing"));
  for (const std::string value : {"5", "true", "null", "{\"text\":\"x\"}", "1.5"}) {
    EXPECT_THAT(content("\"content\": " + value),
                HasSubstr("b.jsonl:1: messages[1].content is " + value + ", expected text or"));
  }
  EXPECT_THAT(message("{\"prompt\": \"a\", \"response\": 4}"),
              HasSubstr("b.jsonl:1: response is 4, expected text or a list of text parts"));
  EXPECT_THAT(
      message(
          "{\"text\": "
          "{\"\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4"
          "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\": "
          "1}}"),
      HasSubstr("\u00e4..., expected text"));
  EXPECT_THAT(content("\"value\": 7"), HasSubstr("messages[1].value is 7, expected text or"));
  EXPECT_THAT(content("\"name\": \"x\""), HasSubstr("messages[1].content is missing"));
  EXPECT_THAT(content(R"("content": ["a", {"type": "image_url", "text": "u"}])"),
              HasSubstr(R"(messages[1].content[1] is {"type":"image_url","text":"u"}, expected a )"
                        "text part"));
  EXPECT_THAT(content(R"("content": [{"type": "text", "text": null}])"),
              HasSubstr("messages[1].content[0] is"));
}

TEST_F(Documents, OddLinesAreLeftOutAndCounted) {
  const std::string good = R"({"text": "a"})";
  const std::string path = Write("odd.jsonl", good + "\n{\n" + good + "\n{\"text\": 5}\n");
  testing::internal::CaptureStderr();
  const auto documents = ReadTextDocuments(path);
  const std::string warning = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(documents.ok()) << documents.error().message;
  EXPECT_EQ(Shown(*documents), ":a|\n:a|\n");
  EXPECT_THAT(warning, HasSubstr("2 of 4 lines cannot be read and are left out; the first: "));
  EXPECT_THAT(warning, HasSubstr("odd.jsonl:2: not valid JSON"));
}

TEST_F(Documents, LfsPointersAreNoText) {
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\n";
  EXPECT_THAT(ReadTextDocuments(Write("p.txt", pointer)).error().message,
              HasSubstr("p.txt: is a Git LFS pointer"));
  EXPECT_THAT(ReadTextDocuments(Write("p.jsonl", pointer)).error().message,
              HasSubstr("p.jsonl:1: is a Git LFS pointer"));
}

TEST_F(Documents, FilesOfAPatternAreListedInOrder) {
  const std::string a = Write("a.txt", "x"), b = Write("b.jsonl", ""), c = Write("c.bin", "x");
  EXPECT_EQ(*ListDataFiles(folder_, ""), (std::vector{a, b}));
  EXPECT_EQ(*ListDataFiles("c.*", folder_), std::vector{c});
  EXPECT_THAT(ListDataFiles("none*", folder_).error().message, HasSubstr("none*"));
}

}  // namespace
}  // namespace foretoken
