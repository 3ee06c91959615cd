#include "dataset.h"

#include "text/documents.h"

namespace foretoken::train {
namespace {

Document Rendered(const TextDocument& document) {
  Document rendered;
  for (const DocumentTurn& turn : document.turns) {
    if (turn.role.empty()) return {{{turn.text + "\n", kEndOfText, false}}};
    const bool from_user = turn.role != "assistant";
    const std::string gap = rendered.segments.empty() ? "" : "\n";
    rendered.segments.push_back({gap, kTurnStart, from_user});
    std::string text = turn.role;
    text += '\n';
    text += turn.text;
    rendered.segments.push_back({std::move(text), kTurnEnd, from_user});
  }
  rendered.segments.push_back({"\n", kEndOfText, false});
  return rendered;
}

}  // namespace

const char* const kChatTemplate =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] "
    "+ '<|im_end|>' + '\\n' }}{% endfor %}{% if add_generation_prompt %}{{ "
    "'<|im_start|>assistant\\n' }}{% endif %}";

Result<std::vector<Document>> ReadDocuments(const std::string& path) {
  FT_ASSIGN_OR_RETURN(const std::vector<TextDocument> documents, ReadTextDocuments(path));
  std::vector<Document> rendered;
  rendered.reserve(documents.size());
  for (const TextDocument& document : documents) rendered.push_back(Rendered(document));
  return rendered;
}

}  // namespace foretoken::train
