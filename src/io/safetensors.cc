#include "io/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <unordered_set>

#include "base/foreign_content.h"
#include "base/json.h"
#include "base/legible.h"
#include "io/tensor_layout.h"

namespace foretoken {
namespace {

constexpr uint64_t kLongestHeader = 100 << 20;  // the reference implementation's limit

struct ElementSize {
  std::string_view dtype;
  uint64_t bytes;
};
constexpr std::array<ElementSize, 15> kElementSizes = {{{"F64", 8},
                                                        {"F32", 4},
                                                        {"F16", 2},
                                                        {"BF16", 2},
                                                        {"I64", 8},
                                                        {"I32", 4},
                                                        {"I16", 2},
                                                        {"I8", 1},
                                                        {"U64", 8},
                                                        {"U32", 4},
                                                        {"U16", 2},
                                                        {"U8", 1},
                                                        {"BOOL", 1},
                                                        {"F8_E4M3", 1},
                                                        {"F8_E5M2", 1}}};

// A non-negative integer below 2^63.
bool AsSize(const Json& value, int64_t& size) {
  if (!value.is_number_unsigned()) return false;
  const uint64_t number = value.get<uint64_t>();
  size = static_cast<int64_t>(number);
  return number <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
}

// Detects duplicate keys in a second pass, because the JSON parser keeps only one of them.
bool HasDuplicateNames(std::string_view header) {
  std::unordered_set<std::string> names;
  bool duplicate = false;
  const auto visit = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth == 1 && event == Json::parse_event_t::key) {
      duplicate |= !names.insert(parsed.get<std::string>()).second;
    }
    return depth < 1 || event == Json::parse_event_t::key;
  };
  const Json ignored = Json::parse(header.begin(), header.end(), visit, /*allow_exceptions=*/false);
  return duplicate;
}

class EntryReader {
 public:
  EntryReader(const std::string& path, const std::string& name)
      : label_(path + ": tensor '" + Printable(name) + "'") {}

  // Reads an entry. `data`: everything after the header.
  Result<SafetensorsEntry> Read(const std::string& name, const Json& json,
                                std::span<const std::byte> data) const {
    if (!json.is_object()) return Error{label_ + " is not described by a JSON object"};
    SafetensorsEntry entry;
    entry.name = name;
    FT_ASSIGN_OR_RETURN(entry.shape, Sizes(json, "shape"));
    FT_ASSIGN_OR_RETURN(const uint64_t expected, ExpectedBytes(json, entry));
    FT_ASSIGN_OR_RETURN(const std::vector<int64_t> offsets, Sizes(json, "data_offsets"));
    if (offsets.size() != 2 || offsets[0] > offsets[1] ||
        static_cast<uint64_t>(offsets[1]) > data.size()) {
      return Error{label_ + " has data_offsets " + ShapeText(offsets) +
                   ", expected a begin and an end within the " + std::to_string(data.size()) +
                   " bytes of data (a truncated file?)"};
    }
    const auto size = static_cast<uint64_t>(offsets[1] - offsets[0]);
    if (size != expected) {
      return Error{label_ + " of type " + entry.dtype + " and shape " + ShapeText(entry.shape) +
                   " has " + std::to_string(size) + " bytes, expected " + std::to_string(expected)};
    }
    entry.bytes = data.subspan(static_cast<size_t>(offsets[0]), size);
    return entry;
  }

 private:
  Result<std::vector<int64_t>> Sizes(const Json& json, const char* key) const {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_array()) {
      return Error{label_ + " has no array '" + key + "'"};
    }
    std::vector<int64_t> sizes;
    for (const Json& item : *found) {
      if (!AsSize(item, sizes.emplace_back())) {
        return Error{label_ + " has an item in '" + key + "' that is not an integer below 2^63"};
      }
    }
    return sizes;
  }

  // Reads type and shape into `entry`. Returns the bytes they imply.
  Result<uint64_t> ExpectedBytes(const Json& json, SafetensorsEntry& entry) const {
    const auto dtype = json.find("dtype");
    if (dtype == json.end() || !dtype->is_string()) return Error{label_ + " has no string 'dtype'"};
    entry.dtype = dtype->get<std::string>();
    const auto known = std::find_if(kElementSizes.begin(), kElementSizes.end(),
                                    [&](const auto& e) { return e.dtype == entry.dtype; });
    if (known == kElementSizes.end()) {
      return Error{label_ + " has the unknown dtype '" + Printable(entry.dtype) + "'"};
    }
    uint64_t bytes = known->bytes;
    for (const int64_t size : entry.shape) {
      if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes)) {
        return Error{label_ + " has shape " + ShapeText(entry.shape) +
                     ", more than any file holds"};
      }
    }
    return bytes;
  }

  std::string label_;
};

// Checks that extents, which lie inside the data, are disjoint.
Status CheckOverlap(const std::string& path, std::span<const SafetensorsEntry> entries) {
  std::vector<const SafetensorsEntry*> order;
  for (const SafetensorsEntry& entry : entries) {
    if (!entry.bytes.empty()) order.push_back(&entry);
  }
  std::sort(order.begin(), order.end(),
            [](const auto* a, const auto* b) { return a->bytes.data() < b->bytes.data(); });
  for (size_t i = 1; i < order.size(); ++i) {
    if (order[i]->bytes.data() < order[i - 1]->bytes.data() + order[i - 1]->bytes.size()) {
      return Error{path + ": tensor '" + Printable(order[i]->name) + "' overlaps tensor '" +
                   Printable(order[i - 1]->name) + "'"};
    }
  }
  return {};
}

// The JSON text before the data.
Result<std::string_view> HeaderText(std::span<const std::byte> bytes, const std::string& path) {
  const std::string foreign =
      ForeignContent({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!foreign.empty()) return Error{path + ": " + foreign};
  uint64_t length = 0;
  if (bytes.size() < sizeof(length)) {
    return Error{path + ": is " + std::to_string(bytes.size()) +
                 " bytes long, too short for a safetensors file"};
  }
  std::memcpy(&length, bytes.data(), sizeof(length));
  const uint64_t left = bytes.size() - sizeof(length);
  if (length > left || length > kLongestHeader) {
    return Error{path + ": the header is said to be " + std::to_string(length) +
                 " bytes long, expected at most " + std::to_string(std::min(left, kLongestHeader))};
  }
  return std::string_view(reinterpret_cast<const char*>(bytes.data()) + sizeof(length), length);
}

}  // namespace

Result<SafetensorsFile> SafetensorsFile::Parse(std::span<const std::byte> bytes,
                                               std::string origin) {
  FT_ASSIGN_OR_RETURN(const std::string_view header, HeaderText(bytes, origin));
  FT_ASSIGN_OR_RETURN(const Json json, ParseJson(header, origin + " (header)"));
  if (!json.is_object()) return Error{origin + ": the header is not a JSON object"};
  if (HasDuplicateNames(header)) return Error{origin + ": the header names a tensor twice"};
  SafetensorsFile file;
  file.bytes_ = bytes;
  const auto data = bytes.subspan(sizeof(uint64_t) + header.size());
  for (const auto& [name, value] : json.items()) {
    if (name == "__metadata__") continue;
    FT_ASSIGN_OR_RETURN(SafetensorsEntry entry, EntryReader(origin, name).Read(name, value, data));
    file.entries_.push_back(std::move(entry));
  }
  FT_RETURN_IF_ERROR(CheckOverlap(origin, file.entries_));
  file.path_ = std::move(origin);
  return file;
}

Result<SafetensorsFile> SafetensorsFile::Open(const std::string& path) {
  FT_ASSIGN_OR_RETURN(MappedFile mapped, MappedFile::Open(path));
  FT_ASSIGN_OR_RETURN(SafetensorsFile file, Parse(mapped.bytes(), path));
  file.file_ = std::move(mapped);
  return file;
}

const SafetensorsEntry* FindEntry(std::span<const SafetensorsEntry> entries,
                                  std::string_view name) {
  const auto found = std::ranges::find(entries, name, &SafetensorsEntry::name);
  return found == entries.end() ? nullptr : &*found;
}

const SafetensorsEntry* SafetensorsFile::Find(std::string_view name) const {
  return FindEntry(entries_, name);
}

}  // namespace foretoken
