// Every tensor type decodes and encodes as in the `gguf` package, bit for bit (make_goldens.py).
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "base/mapped_file.h"
#include "io/dtype.h"

namespace foretoken {
namespace {

struct Record {
  char kind = 0;
  DType type = DType::kF32;
  std::vector<std::byte> blocks;
  std::vector<float> values;
};

class GoldenReader {
 public:
  explicit GoldenReader(std::string_view text) : rest_(text) { Take(rest_.find('\n') + 1); }

  bool AtEnd() const { return rest_.empty(); }

  Record Next() {
    Record record;
    record.kind = Take(1)[0];
    record.type = *ParseDType(Take(static_cast<uint8_t>(Take(1)[0])));
    const uint32_t values = Number(), bytes = Number();
    record.blocks.resize(bytes);
    std::memcpy(record.blocks.data(), Take(bytes).data(), bytes);
    record.values.resize(values);
    std::memcpy(record.values.data(), Take(values * sizeof(float)).data(), values * sizeof(float));
    return record;
  }

 private:
  std::string_view Take(size_t count) {
    EXPECT_LE(count, rest_.size());
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(taken.size());
    return taken;
  }

  uint32_t Number() {
    uint32_t value;
    std::memcpy(&value, Take(sizeof(value)).data(), sizeof(value));
    return value;
  }

  std::string_view rest_;
};

class FormatParity : public testing::Test {
 protected:
  // Calls `check` with every record of the kind. Expects `expected` of them.
  template <typename Check>
  void EachRecord(char kind, int expected, Check check) {
    const auto file = MappedFile::Open(FT_SOURCE_DIR "/tests/parity/io/formats.golden");
    ASSERT_TRUE(file.ok()) << file.error().message;
    int seen = 0;
    for (GoldenReader reader(file->text()); !reader.AtEnd() && !HasFailure();) {
      const Record record = reader.Next();
      if (record.kind != kind) continue;
      ++seen;
      check(record);
    }
    EXPECT_EQ(seen, expected);
  }
};

TEST_F(FormatParity, DequantisedValuesAreTheSameBits) {
  EachRecord('d', 10, [](const Record& record) {
    std::vector<float> ours(record.values.size());
    Dequantize(record.type, record.blocks.data(), ours);
    for (size_t i = 0; i < ours.size(); ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(ours[i]), std::bit_cast<uint32_t>(record.values[i]))
          << DTypeName(record.type) << " value " << i << ": " << ours[i] << " instead of "
          << record.values[i];
    }
  });
}

TEST_F(FormatParity, QuantisedBlocksAreTheSameBytes) {
  EachRecord('q', 7, [](const Record& record) {
    std::vector<std::byte> ours(record.blocks.size());
    Quantize(record.type, record.values, ours.data());
    for (size_t i = 0; i < ours.size(); ++i) {
      ASSERT_EQ(ours[i], record.blocks[i]) << DTypeName(record.type) << " byte " << i
                                           << " (of block " << i / BlockBytes(record.type) << ")";
    }
  });
}

}  // namespace
}  // namespace foretoken
