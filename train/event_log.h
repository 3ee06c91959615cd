// The logs of a run: log.jsonl, with a JSON line for each step, and a TensorBoard event file.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace foretoken::train {

// CRC-32C, the checksum of TensorBoard's records, and its masked form.
uint32_t Crc32c(std::string_view bytes);
uint32_t MaskedCrc32c(std::string_view bytes);
// Encodes one record of a TFRecord file: length, checksum, payload, checksum.
std::string TensorBoardRecord(std::string_view payload);
// Encodes scalars as an Event message of TensorBoard's protocol, the payload of a record.
std::string ScalarEvent(double wall_time, int64_t step,
                        const std::vector<std::pair<std::string, double>>& scalars);

// Appends to DIR/log.jsonl and DIR/events.out.tfevents.<start>.foretoken.
class EventLog {
 public:
  EventLog() = default;
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;
  ~EventLog();

  // Opens or creates both files. Drops log lines of steps after `last_step` (left by a run that was
  // killed after its checkpoint) and an incomplete last line. Lines that are not steps are kept and
  // reported on standard error. Errors: file-system errors; an existing log.jsonl that cannot be
  // read is left as it is.
  Status Open(const std::string& directory, int64_t last_step);
  // Writes the values of a step. Values that are not finite become null in log.jsonl and are
  // omitted from TensorBoard.
  void Write(int64_t step, const std::vector<std::pair<std::string, double>>& values);

 private:
  std::FILE* json_ = nullptr;
  std::FILE* board_ = nullptr;
};

}  // namespace foretoken::train
