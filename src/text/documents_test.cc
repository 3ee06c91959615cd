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

TEST_F(Documents, MistakesNameTheLine) {
  const auto message = [this](const std::string& text) {
    return ReadTextDocuments(Write("b.jsonl", text)).error().message;
  };
  EXPECT_THAT(message("{\"text\": \"a\"}\n{"), HasSubstr("b.jsonl:2"));
  EXPECT_THAT(message("{\"text\": 5}"), HasSubstr("b.jsonl:1: no list"));
  EXPECT_THAT(message("[1]"), HasSubstr("b.jsonl:1: no list"));
  EXPECT_THAT(message("{\"messages\": []}"), HasSubstr("without turns"));
  EXPECT_THAT(message("{\"messages\": [{\"role\": \"tool\"}]}"),
              HasSubstr("a turn is from 'tool'"));
}

TEST_F(Documents, FilesBehindAPattern) {
  const std::string a = Write("a.txt", "x"), b = Write("b.jsonl", ""), c = Write("c.bin", "x");
  EXPECT_EQ(*ListDataFiles(folder_, ""), (std::vector{a, b}));
  EXPECT_EQ(*ListDataFiles("c.*", folder_), std::vector{c});
  EXPECT_THAT(ListDataFiles("none*", folder_).error().message, HasSubstr("none*"));
}

}  // namespace
}  // namespace foretoken
