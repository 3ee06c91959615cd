#include "event_log.h"

#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/json.h"
#include "base/mapped_file.h"
#include "base/output_file.h"

namespace foretoken::train {
namespace {

constexpr std::array<uint32_t, 256> MakeCrc32cTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0);
    table[i] = crc;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kCrc32cTable = MakeCrc32cTable();

template <typename T>
void AppendRaw(T value, std::string& out) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Protocol-buffer wire format: a key is field << 3 | wire type.
void AppendVarint(uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void AppendBytes(int field, std::string_view bytes, std::string& out) {
  AppendVarint(static_cast<uint64_t>(field) << 3 | 2, out);
  AppendVarint(bytes.size(), out);
  out += bytes;
}

std::string EventHeader(double wall_time) {
  std::string event(1, '\x09');  // wall_time, field 1, 64 bits
  AppendRaw(wall_time, event);
  return event;
}

double WallTime() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

// Returns the step number of a log line, or nullopt if the line does not record a step.
std::optional<int64_t> StepOf(std::string_view line) {
  const auto json = ParseJson(line, "");
  if (!json.ok() || !json->is_object() || !json->contains("step")) return std::nullopt;
  const Json& step = (*json)["step"];
  if (!step.is_number_integer()) return std::nullopt;
  return step.get<int64_t>();
}

// Returns the lines of the log at `path`, without those of steps after `last_step` and without an
// incomplete last line. Complete lines that are not steps are kept and reported. Returns "" if
// there is no such file. Errors: an existing file that cannot be read, and must not be replaced.
Result<std::string> KeptLines(const std::string& path, int64_t last_step) {
  std::string kept;
  std::error_code fault;
  if (!std::filesystem::exists(path, fault) && !fault) return kept;
  FT_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  std::string_view rest = file.text();
  for (int64_t number = 1; !rest.empty(); ++number) {
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) break;  // incomplete: killed while writing it
    const std::optional<int64_t> step = StepOf(rest.substr(0, end));
    if (!step) {
      std::fprintf(stderr, "%s:%ld: does not record a training step; the line is kept\n",
                   path.c_str(), static_cast<long>(number));
    }
    if (step.value_or(0) <= last_step) kept.append(rest.substr(0, end + 1));
    rest.remove_prefix(end + 1);
  }
  return kept;
}

}  // namespace

uint32_t Crc32c(std::string_view bytes) {
  uint32_t crc = ~0u;
  for (char c : bytes) crc = (crc >> 8) ^ kCrc32cTable[(crc ^ static_cast<uint8_t>(c)) & 0xff];
  return ~crc;
}

uint32_t MaskedCrc32c(std::string_view bytes) {
  const uint32_t crc = Crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

std::string TensorBoardRecord(std::string_view payload) {
  std::string record;
  AppendRaw(static_cast<uint64_t>(payload.size()), record);
  AppendRaw(MaskedCrc32c(record), record);
  record += payload;
  AppendRaw(MaskedCrc32c(payload), record);
  return record;
}

std::string ScalarEvent(double wall_time, int64_t step,
                        const std::vector<std::pair<std::string, double>>& scalars) {
  std::string summary;
  for (const auto& [tag, value] : scalars) {
    std::string item;
    AppendBytes(1, tag, item);  // Summary.Value.tag
    item += '\x15';             // Summary.Value.simple_value, field 2, 32 bits
    AppendRaw(static_cast<float>(value), item);
    AppendBytes(1, item, summary);  // Summary.value
  }
  std::string event = EventHeader(wall_time);
  event += '\x10';  // step, field 2, varint
  AppendVarint(static_cast<uint64_t>(step), event);
  AppendBytes(5, summary, event);  // Event.summary
  return event;
}

EventLog::~EventLog() {
  if (json_ != nullptr) std::fclose(json_);
  if (board_ != nullptr) std::fclose(board_);
}

Status EventLog::Open(const std::string& directory, int64_t last_step) {
  const std::string path = directory + "/log.jsonl";
  FT_ASSIGN_OR_RETURN(const std::string kept, KeptLines(path, last_step));
  FT_RETURN_IF_ERROR(WriteFileAtomically(path, kept));
  const double now = WallTime();
  const std::string board = directory + "/events.out.tfevents." +
                            std::to_string(static_cast<int64_t>(now)) + ".foretoken";
  json_ = std::fopen(path.c_str(), "ab");
  board_ = std::fopen(board.c_str(), "ab");
  if (json_ == nullptr || board_ == nullptr) {
    return Error{directory + ": cannot write logs: " + std::strerror(errno)};
  }
  std::string version = EventHeader(now);
  AppendBytes(3, "brain.Event:2", version);  // Event.file_version
  const std::string record = TensorBoardRecord(version);
  std::fwrite(record.data(), 1, record.size(), board_);
  return {};
}

void EventLog::Write(int64_t step, const std::vector<std::pair<std::string, double>>& values) {
  Json line = Json::object();
  line["step"] = step;
  std::vector<std::pair<std::string, double>> finite;
  for (const auto& [name, value] : values) {
    line[name] = std::isfinite(value) ? Json(value) : Json();
    if (std::isfinite(value)) finite.emplace_back(name, value);
  }
  std::fprintf(json_, "%s\n", JsonText(line).c_str());
  std::fflush(json_);
  const std::string record = TensorBoardRecord(ScalarEvent(WallTime(), step, finite));
  std::fwrite(record.data(), 1, record.size(), board_);
  std::fflush(board_);
}

}  // namespace foretoken::train
