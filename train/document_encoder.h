// Encodes documents as tokens of a corpus.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "text/documents.h"
#include "text/tokenizer.h"

namespace foretoken::train {

struct EncodedDocument {
  std::vector<uint32_t> ids;
  std::vector<uint8_t> learn;  // [ids] 1: the loss covers this token
};

// Thread-safety: Encode may be called by several threads at once.
class DocumentEncoder {
 public:
  virtual ~DocumentEncoder() = default;
  // Errors: a conversation that the chat template rejects.
  virtual Result<EncodedDocument> Encode(const TextDocument& document) const = 0;
};

// Whether documents are rendered by RenderChatMl (dataset.h): true if the vocabulary has ChatML's
// control tokens, and the chat template is ours or missing.
bool RendersAsChatMl(const TokenizerData& tokenizer);

// Makes the encoder for a tokenizer. If RendersAsChatMl(tokenizer), the encoder renders documents
// by RenderChatMl; if not, by the model's own chat template, which the engine also uses
// (transcript_encoder.h). `mask_user`: the loss covers answers only. `tokenizer` must outlive the
// result. Errors: a syntax error in the template; messages begin with `origin`, a file name.
Result<std::unique_ptr<DocumentEncoder>> NewDocumentEncoder(const Tokenizer& tokenizer,
                                                            bool mask_user,
                                                            const std::string& origin);

}  // namespace foretoken::train
