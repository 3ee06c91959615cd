#include "io/safetensors_write.h"

#include <cstdint>

#include "base/json.h"
#include "base/output_file.h"

namespace foretoken {

std::string SafetensorsHeader(std::span<const SafetensorsTensor> tensors,
                              const std::string& metadata) {
  Json header = Json::object();
  header["__metadata__"] = Json::parse(metadata);
  size_t offset = 0;
  for (const SafetensorsTensor& t : tensors) {
    header[t.name] = {{"dtype", t.dtype},
                      {"shape", t.shape},
                      {"data_offsets", {offset, offset + t.bytes.size()}}};
    offset += t.bytes.size();
  }
  std::string text = JsonText(header);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t size = text.size();
  return std::string(reinterpret_cast<const char*>(&size), sizeof(size)) + text;
}

Status WriteSafetensorsFile(const std::string& path, std::span<const SafetensorsTensor> tensors) {
  FT_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Open(path));
  FT_RETURN_IF_ERROR(file.Write(SafetensorsHeader(tensors, R"({"format":"pt"})")));
  for (const SafetensorsTensor& tensor : tensors) FT_RETURN_IF_ERROR(file.Write(tensor.bytes));
  return file.Commit();
}

}  // namespace foretoken
