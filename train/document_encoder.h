// Documents as the tokens of a corpus.
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
  std::vector<uint8_t> learn;  // 1 where the token is a target of training
};

// Thread-safety: Encode may run on any number of threads.
class DocumentEncoder {
 public:
  virtual ~DocumentEncoder() = default;
  // Errors: a conversation that the chat template does not take.
  virtual Result<EncodedDocument> Encode(const TextDocument& document) const = 0;
};

// Whether documents are rendered as dataset.h does: the vocabulary has ChatML's control tokens, and
// its chat template is ours or missing.
bool RendersAsOurs(const TokenizerData& tokenizer);

// Documents as dataset.h renders them or, where that is not how the model is served, as its own
// chat template does (transcript_encoder.h). With `mask_user` only answers are learnt. `tokenizer`
// must outlive the result; `origin` (a file name) opens messages. Errors: the template's syntax.
Result<std::unique_ptr<DocumentEncoder>> NewDocumentEncoder(const Tokenizer& tokenizer,
                                                            bool mask_user,
                                                            const std::string& origin);

}  // namespace foretoken::train
