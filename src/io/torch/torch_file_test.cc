// Files as torch.save writes them, built byte by byte, valid or with wrong fields.
#include "io/torch/torch_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/gguf_builder_testing.h"
#include "io/torch/tensor_pickle.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Unicode(std::string_view text) {
  return Bytes().Raw("X").Add(static_cast<uint32_t>(text.size())).Raw(text).str();
}

// A tensor of a torch.save pickle.
struct PickledTensor {
  std::string name = "w", type = "FloatStorage", key = "0";
  std::string offset = "K" + std::string(1, '\0');
  std::string shape = "K\x02K\x03\x86", strides = "K\x03K\x01\x86";
  std::string rebuild = "ctorch._utils\n_rebuild_tensor_v2\n";

  std::string str() const {
    return Unicode(name) + rebuild + "((" + Unicode("storage") + "ctorch\n" + type + "\n" +
           Unicode(key) + Unicode("cpu") + "K\x06tQ" + offset + shape + strides +
           "\x89"
           "ccollections\nOrderedDict\n)RtR";
  }
};

std::string Pickle(const std::vector<PickledTensor>& tensors) {
  std::string items;
  for (const PickledTensor& t : tensors) items += t.str();
  return "\x80\x02"
         "ccollections\nOrderedDict\n)Rq" +
         std::string(1, '\0') + "(" + items + "u}b.";
}

struct Member {
  std::string name, content;
  uint16_t method = 0, flags = 0;
  int64_t lie = 0;  // added to the size that the directory states
};

std::string Zip(const std::vector<Member>& members, std::string_view comment = "") {
  Bytes file, directory;
  for (const Member& m : members) {
    const auto at = static_cast<uint32_t>(file.str().size());
    const auto size = static_cast<uint32_t>(m.content.size() + static_cast<size_t>(m.lie));
    const auto name = static_cast<uint16_t>(m.name.size());
    file.Raw("PK\x03\x04").Raw(std::string(22, '\0')).Add(name).Add(uint16_t{0});
    file.Raw(m.name).Raw(m.content);
    directory.Raw("PK\x01\x02").Add(uint32_t{0}).Add(m.flags).Add(m.method).Add(uint64_t{0});
    directory.Add(size).Add(size).Add(name);
    directory.Raw(std::string(12, '\0')).Add(at).Raw(m.name);  // no extra field, no comment
  }
  const auto begin = static_cast<uint32_t>(file.str().size());
  const auto count = static_cast<uint16_t>(members.size());
  file.Raw(directory.str()).Raw("PK\x05\x06").Add(uint32_t{0}).Add(count).Add(count);
  file.Add(static_cast<uint32_t>(directory.str().size())).Add(begin);
  return file.Add(static_cast<uint16_t>(comment.size())).Raw(comment).str();
}

const std::string kData(24, '\1');

std::string Archive(const std::vector<PickledTensor>& tensors, const std::string& data = kData) {
  return Zip({{"x/data.pkl", Pickle(tensors)}, {"x/byteorder", "little"}, {"x/data/0", data}});
}

std::string ComplaintAboutZip(const std::string& bytes) {
  const auto file = TorchFile::Parse(std::as_bytes(std::span(bytes)), "f.bin");
  return file.ok() ? "read" : file.error().message;
}

TEST(TorchFile, ReadsTheTensorsOfADictionary) {
  PickledTensor half{.name = "b",
                     .type = "HalfStorage",
                     .offset = "K\x02",
                     .shape = "K\x04\x85",
                     .strides = "K\x01\x85"};
  const std::string bytes = Archive({PickledTensor{.name = "a"}, half});
  const auto file = TorchFile::Parse(std::as_bytes(std::span(bytes)), "f.bin");
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_EQ(file->entries().size(), 2u);
  EXPECT_EQ(file->entries()[0].name, "a");
  EXPECT_EQ(file->entries()[0].dtype, "F32");
  EXPECT_THAT(file->entries()[0].shape, ElementsAre(2, 3));
  EXPECT_EQ(file->entries()[0].bytes.size(), 24u);
  EXPECT_EQ(file->entries()[1].dtype, "F16");
  EXPECT_EQ(file->entries()[1].bytes.data(), file->entries()[0].bytes.data() + 4);
  EXPECT_EQ(file->entries()[1].bytes.size(), 8u);
  EXPECT_EQ(ComplaintAboutZip(
                Zip({{"x/data.pkl", Pickle({PickledTensor{}})}, {"x/data/0", kData}}, "comment")),
            "read");
}

TEST(TorchFile, NothingIsExecuted) {
  const auto complaint = [](const std::string& program) {
    return ComplaintAboutZip(Zip({{"x/data.pkl", program}}));
  };
  EXPECT_THAT(complaint("cos\nsystem\n."),
              HasSubstr("names os.system, expected nothing but tensors"));
  EXPECT_THAT(complaint("\x80\x04\x8c\x02os\x8c\x06system\x93."), HasSubstr("names os.system"));
  EXPECT_THAT(complaint("ctorch\nload\n."), HasSubstr("torch.load"));
  EXPECT_THAT(complaint("(ios\nsystem\n."), HasSubstr("uses instruction 105"));
  EXPECT_THAT(complaint("}R."), HasSubstr("arguments"));
  EXPECT_THAT(complaint("ccollections\nOrderedDict\n)R"), HasSubstr("truncated"));
  EXPECT_THAT(complaint("h\x05."), HasSubstr("recalls what it never kept"));
  EXPECT_THAT(complaint("u."), HasSubstr("mark"));
  EXPECT_THAT(complaint("K\x01."), HasSubstr("no dictionary"));
  EXPECT_THAT(complaint(std::string(99999, ')') + "."), HasSubstr("no dictionary"));
  EXPECT_THAT(complaint(")" + std::string(99999, '\x85') + "."), HasSubstr("too deeply"));
}

TEST(TorchFile, TensorsLieInTheirStorage) {
  EXPECT_THAT(ComplaintAboutZip(Archive({PickledTensor{.offset = "K\x01"}})),
              HasSubstr("beyond its storage"));
  EXPECT_THAT(ComplaintAboutZip(Archive({PickledTensor{.offset = "J\xff\xff\xff\xff"}})),
              HasSubstr("beyond"));
  EXPECT_THAT(ComplaintAboutZip(Archive({PickledTensor{.key = "1"}})),
              HasSubstr("'data/1', which is missing"));
  EXPECT_THAT(ComplaintAboutZip(Archive({PickledTensor{.strides = "K\x01K\x02\x86"}})),
              HasSubstr("not contiguous"));
  EXPECT_THAT(ComplaintAboutZip(Archive({PickledTensor{.shape = "J\xff\xff\xff\xffK\x03\x86"}})),
              HasSubstr("impossible shape, [-1, 3]"));
  EXPECT_THAT(ComplaintAboutZip(Archive({PickledTensor{}, PickledTensor{}})),
              HasSubstr("occurs twice"));
  EXPECT_THAT(ComplaintAboutZip(Archive({PickledTensor{.type = "OddStorage"}})),
              HasSubstr("torch.OddStorage"));
}

TEST(TorchFile, InvalidZipFilesAreErrors) {
  const std::string pickle = Pickle({PickledTensor{}});
  EXPECT_THAT(ComplaintAboutZip("no zip"), HasSubstr("is no zip file"));
  EXPECT_THAT(ComplaintAboutZip(Zip({{"x/data.pkl", pickle, 8}})), HasSubstr("is compressed"));
  EXPECT_THAT(ComplaintAboutZip(Zip({{"x/data.pkl", pickle, 0, 1}})), HasSubstr("is encrypted"));
  EXPECT_THAT(ComplaintAboutZip(Zip({{"x/data.pkl", pickle, 0, 0, 1 << 20}})),
              HasSubstr("beyond the end"));
  EXPECT_THAT(ComplaintAboutZip(Zip({{"x/other", ""}})), HasSubstr("'data.pkl' is missing"));
  EXPECT_THAT(ComplaintAboutZip(Zip({{"x/data.pkl", pickle}, {"x/byteorder", "big"}})),
              HasSubstr("is 'big', expected little"));
  std::string cut = Zip({{"x/data.pkl", pickle}});
  const size_t directory = cut.find("PK\x01\x02");
  cut.erase(directory, 4);
  EXPECT_THAT(ComplaintAboutZip(cut), HasSubstr("central directory"));
}

}  // namespace
}  // namespace foretoken
