#include "text/sentence_piece_model.h"

#include <bit>
#include <cstring>
#include <optional>
#include <string>

#include "base/foreign_content.h"
#include "text/space_mark.h"

namespace foretoken {
namespace {

constexpr size_t kMostPieces = size_t{1} << 24;
constexpr uint64_t kModelTypeBpe = 2;

// One field of a message in wire format; numbers of every type are in `number`.
struct Field {
  uint64_t id = 0;
  enum Wire : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 } wire = kVarint;
  uint64_t number = 0;
  std::string_view bytes;
};

// Iterates over the fields of a message.
class Fields {
 public:
  explicit Fields(std::string_view message) : rest_(message) {}

  // The next field; nullopt at the end or if the bytes are malformed, which broken() tells apart.
  std::optional<Field> Next() {
    if (rest_.empty() || broken_) return std::nullopt;
    Field field;
    uint64_t tag = 0;
    if (!Varint(tag)) return Broken();
    field.id = tag >> 3;
    field.wire = static_cast<Field::Wire>(tag & 7);
    return Value(field) ? std::optional(field) : Broken();
  }
  bool broken() const { return broken_; }

 private:
  std::optional<Field> Broken() {
    broken_ = true;
    return std::nullopt;
  }

  bool Value(Field& field) {
    switch (field.wire) {
      case Field::kVarint:
        return Varint(field.number);
      case Field::kFixed64:
        return Fixed(8, field.number);
      case Field::kFixed32:
        return Fixed(4, field.number);
      case Field::kBytes: {
        uint64_t size = 0;
        if (!Varint(size) || size > rest_.size()) return false;
        field.bytes = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return true;
      }
    }
    return false;
  }

  bool Varint(uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) return false;
      const uint64_t byte = static_cast<uint8_t>(rest_[0]);
      rest_.remove_prefix(1);
      value |= (byte & 0x7F) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  bool Fixed(size_t size, uint64_t& value) {
    if (rest_.size() < size) return false;
    value = 0;
    std::memcpy(&value, rest_.data(), size);  // little-endian, like all supported machines
    rest_.remove_prefix(size);
    return true;
  }

  std::string_view rest_;
  bool broken_ = false;
};

struct Model {
  TokenizerData data;
  uint64_t model_type = 1;  // the format's default: unigram
  std::string_view origin;
};

Error BadFile(const Model& model, const std::string& what) {
  return Error{std::string(model.origin) + ": not a SentencePiece model: " + what};
}

Status ReadPiece(std::string_view message, Model& model) {
  const std::string where = "piece " + std::to_string(model.data.tokens.size());
  std::string piece;
  float score = 0.0f;
  uint64_t type = static_cast<uint64_t>(TokenType::kNormal);
  Fields fields(message);
  while (const auto field = fields.Next()) {
    if (field->id == 1 && field->wire == Field::kBytes) piece = field->bytes;
    if (field->id == 2 && field->wire == Field::kFixed32) {
      score = std::bit_cast<float>(static_cast<uint32_t>(field->number));
    }
    if (field->id == 3 && field->wire == Field::kVarint) type = field->number;
  }
  if (fields.broken()) return BadFile(model, where + " is cut short");
  if (type < 1 || type > 6) {
    return BadFile(model, where + " has type " + std::to_string(type) + ", expected 1 to 6");
  }
  const TokenType kind = static_cast<TokenType>(type);
  if (kind == TokenType::kUnknown) {
    model.data.unknown = static_cast<Token>(model.data.tokens.size());
  }
  // Tokens matched literally in text must be spelled with spaces, not marks.
  if (kind == TokenType::kUserDefined) piece = UnmarkSpaces(piece);
  model.data.tokens.push_back(std::move(piece));
  model.data.scores.push_back(score);
  model.data.types.push_back(kind);
  return {};
}

Status ReadTrainerSpec(std::string_view message, Model& model) {
  Fields fields(message);
  while (const auto field = fields.Next()) {
    if (field->wire != Field::kVarint) continue;
    const Token id = static_cast<Token>(static_cast<int64_t>(field->number));
    if (field->id == 3) model.model_type = field->number;
    if (field->id == 41) model.data.bos = id;
    if (field->id == 42) model.data.eos = id;
    if (field->id == 43) model.data.padding = id;
  }
  return fields.broken() ? Status(BadFile(model, "the trainer settings are cut short")) : Status();
}

Status ReadNormalizerSpec(std::string_view message, Model& model) {
  Fields fields(message);
  while (const auto field = fields.Next()) {
    if (field->id == 3 && field->wire == Field::kVarint) {
      model.data.add_space_prefix = field->number != 0;
    }
  }
  return fields.broken() ? Status(BadFile(model, "the normalizer settings are cut short"))
                         : Status();
}

Status ReadField(const Field& field, Model& model) {
  if (field.wire != Field::kBytes) return {};
  if (field.id == 1) {
    if (model.data.tokens.size() >= kMostPieces) return BadFile(model, "too many pieces");
    return ReadPiece(field.bytes, model);
  }
  if (field.id == 2) return ReadTrainerSpec(field.bytes, model);
  if (field.id == 3) return ReadNormalizerSpec(field.bytes, model);
  return {};
}

// Ids that are stated but not in the vocabulary (-1: none) become kNoToken.
void DropForeignIds(TokenizerData& data) {
  for (Token* id : {&data.bos, &data.eos, &data.padding}) {
    if (*id < 0 || *id >= static_cast<Token>(data.tokens.size())) *id = kNoToken;
  }
}

}  // namespace

Result<TokenizerData> ReadSentencePieceModel(std::span<const std::byte> bytes,
                                             std::string_view origin) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string foreign = ForeignContent(text);
  if (!foreign.empty()) return Error{std::string(origin) + ": " + foreign};
  Model model;
  model.origin = origin;
  model.data.kind = TokenizerKind::kSentencePiece;
  model.data.bos = 1;
  model.data.eos = 2;
  model.data.add_bos = true;
  Fields fields(text);
  while (const auto field = fields.Next()) FT_RETURN_IF_ERROR(ReadField(*field, model));
  if (fields.broken()) return BadFile(model, "the data are cut short or damaged");
  if (model.data.tokens.empty()) return BadFile(model, "it holds no pieces");
  if (model.model_type != kModelTypeBpe) {
    return Error{std::string(origin) + ": trainer_spec.model_type is " +
                 std::to_string(model.model_type) + "; expected 2 (BPE), the only type supported"};
  }
  DropForeignIds(model.data);
  return std::move(model.data);
}

}  // namespace foretoken
