// What a run leaves for people to look at: a JSON line a step, and TensorBoard's event file.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace foretoken::train {

// The checksum of TensorBoard's records (Castagnoli polynomial), and its masked form.
uint32_t Crc32c(std::string_view bytes);
uint32_t MaskedCrc32c(std::string_view bytes);
// One record of a TFRecord file: length, checksum, payload, checksum.
std::string TensorBoardRecord(std::string_view payload);
// The payload of a record of scalars (an Event message of TensorBoard's protocol).
std::string ScalarEvent(double wall_time, int64_t step,
                        const std::vector<std::pair<std::string, double>>& scalars);

// Appends to DIR/log.jsonl and DIR/events.out.tfevents.<start>.foretoken.
class EventLog {
 public:
  EventLog() = default;
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;
  ~EventLog();

  // Drops the lines of steps after `last_step` (of a run that was killed past its checkpoint), and
  // one that a kill cut off. Lines that are no steps are kept and told on standard error.
  Status Open(const std::string& directory, int64_t last_step);
  // `values` must be finite to appear; others are written as null and left out of TensorBoard.
  void Write(int64_t step, const std::vector<std::pair<std::string, double>>& values);

 private:
  std::FILE* json_ = nullptr;
  std::FILE* board_ = nullptr;
};

}  // namespace foretoken::train
