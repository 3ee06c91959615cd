#include "io/torch/zip_archive.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/foreign_content.h"
#include "base/legible.h"

namespace foretoken {
namespace {

constexpr uint32_t kEnd = 0x06054b50, kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr uint32_t kCentral = 0x02014b50, kLocal = 0x04034b50;
constexpr size_t kEndSize = 22, kEnd64Size = 56, kLocatorSize = 20;
constexpr size_t kCentralSize = 46, kLocalSize = 30;
constexpr uint16_t kEncrypted = 1;
constexpr uint16_t kExtra64 = 1;
constexpr uint32_t kIn64 = 0xffffffff;  // marks a value that is in the zip64 field

class ZipReader {
 public:
  ZipReader(std::span<const std::byte> bytes, const std::string& origin)
      : bytes_(bytes), origin_(origin) {}

  Result<std::vector<ZipMember>> Read() {
    FT_ASSIGN_OR_RETURN(const size_t end, FindEnd());
    uint64_t count = Get<uint16_t>(end + 10), at = Get<uint32_t>(end + 16);
    if (count == 0xffff || at == kIn64) FT_RETURN_IF_ERROR(ReadEnd64(end, count, at));
    std::vector<ZipMember> members;
    for (uint64_t i = 0; i < count; ++i) {
      FT_ASSIGN_OR_RETURN(ZipMember member, ReadMember(at));
      members.push_back(std::move(member));
    }
    return members;
  }

 private:
  template <typename T>
  T Get(uint64_t at) const {
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  }

  bool Holds(uint64_t at, uint64_t size) const {
    return at <= bytes_.size() && size <= bytes_.size() - at;
  }

  Error Broken(const std::string& what) const { return Error{origin_ + ": " + what}; }

  // Finds the end record, which only a comment may follow.
  Result<size_t> FindEnd() const {
    constexpr size_t kMostComment = 0xffff;
    for (size_t back = kEndSize; back <= std::min(bytes_.size(), kEndSize + kMostComment); ++back) {
      if (Get<uint32_t>(bytes_.size() - back) == kEnd) return bytes_.size() - back;
    }
    const std::string foreign = ForeignContent(Text(0, bytes_.size()));
    if (!foreign.empty()) return Broken(foreign);
    return Broken("is no zip file, expected one as PyTorch 1.6 and later writes it");
  }

  Status ReadEnd64(size_t end, uint64_t& count, uint64_t& at) const {
    const uint64_t locator = end - kLocatorSize;
    if (end < kLocatorSize || Get<uint32_t>(locator) != kLocator64) {
      return Broken("the zip64 end record is missing");
    }
    const auto record = Get<uint64_t>(locator + 8);
    if (!Holds(record, kEnd64Size) || Get<uint32_t>(record) != kEnd64) {
      return Broken("the zip64 end record lies outside the file");
    }
    count = Get<uint64_t>(record + 32);
    at = Get<uint64_t>(record + 48);
    return {};
  }

  // Reads the central header at `at` and moves `at` past it.
  Result<ZipMember> ReadMember(uint64_t& at) const {
    if (!Holds(at, kCentralSize) || Get<uint32_t>(at) != kCentral) {
      return Broken("the central directory is truncated");
    }
    const uint64_t name_size = Get<uint16_t>(at + 28), extra_size = Get<uint16_t>(at + 30);
    const uint64_t size = kCentralSize + name_size + extra_size + Get<uint16_t>(at + 32);
    if (!Holds(at, size)) return Broken("the central directory is truncated");
    ZipMember member{Text(at + kCentralSize, name_size), {}};
    const std::string named = "member '" + Printable(member.name) + "' ";
    if (Get<uint16_t>(at + 10) != 0) return Broken(named + "is compressed, expected it stored");
    if ((Get<uint16_t>(at + 8) & kEncrypted) != 0) return Broken(named + "is encrypted");
    uint64_t stored = Get<uint32_t>(at + 20), plain = Get<uint32_t>(at + 24);
    uint64_t local = Get<uint32_t>(at + 42);
    Widen(at + kCentralSize + name_size, extra_size, {&plain, &stored, &local});
    at += size;
    if (stored != plain) return Broken(named + "has two sizes");
    if (!Holds(local, kLocalSize) || Get<uint32_t>(local) != kLocal) {
      return Broken(named + "has its header outside the file");
    }
    const uint64_t data =
        local + kLocalSize + Get<uint16_t>(local + 26) + Get<uint16_t>(local + 28);
    if (!Holds(data, stored)) return Broken(named + "reaches beyond the end of the file");
    member.bytes = bytes_.subspan(data, stored);
    return member;
  }

  // Replaces values marked kIn64 by those of the zip64 extra field, in order.
  void Widen(uint64_t at, uint64_t size, std::initializer_list<uint64_t*> values) const {
    for (const uint64_t end = at + size; at + 4 <= end;) {
      const auto id = Get<uint16_t>(at), length = Get<uint16_t>(at + 2);
      at += 4;
      const uint64_t stop = std::min<uint64_t>(at + length, end);
      if (id == kExtra64) {
        for (uint64_t* value : values) {
          if (*value != kIn64 || at + 8 > stop) continue;
          *value = Get<uint64_t>(at);
          at += 8;
        }
        return;
      }
      at = stop;
    }
  }

  std::string Text(uint64_t at, uint64_t size) const {
    return {reinterpret_cast<const char*>(bytes_.data()) + at, size};
  }

  std::span<const std::byte> bytes_;
  const std::string& origin_;
};

}  // namespace

Result<std::vector<ZipMember>> ReadStoredZip(std::span<const std::byte> bytes,
                                             const std::string& origin) {
  return ZipReader(bytes, origin).Read();
}

}  // namespace foretoken
