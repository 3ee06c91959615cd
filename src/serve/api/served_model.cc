#include "serve/api/served_model.h"

#include <algorithm>
#include <ctime>
#include <span>
#include <string_view>
#include <utility>

#include "base/hash.h"

namespace foretoken::openai {
namespace {

constexpr char kNoDrafter[] = "none";

// "model" for "/a/b/model.gguf": clients must not learn paths of the server.
std::string NameOfPath(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  path.erase(0, path.rfind('/') + 1);
  for (const std::string_view ending : {".gguf", ".safetensors"}) {
    if (path.ends_with(ending)) path.resize(path.size() - ending.size());
  }
  return path.empty() ? "model" : path;
}

ServerInfo InfoOf(const LoadedModel& loaded, const ServiceOptions& options, int context) {
  const ModelConfig& config = loaded.model->config();
  ServerInfo info{
      .model = options.model_name.empty() ? NameOfPath(loaded.file->path()) : options.model_name,
      .created = std::time(nullptr),
      .build = "foretoken " FT_VERSION,
      .context = context,
      .train_context = config.context,
      .vocab = config.vocab,
      .width = config.hidden,
      .slots = options.scheduler.slots,
      .chat_template = loaded.tokenizer->data().chat_template,
      .sampling = options.sampling};
  for (const TensorSource& tensor : loaded.file->tensors()) {
    info.parameters += tensor.rows() * tensor.cols();
    info.bytes += static_cast<int64_t>(tensor.bytes.size());
  }
  return info;
}

std::string FingerprintOf(const ServerInfo& info, const TokenizerData& tokenizer) {
  const std::string text = info.build + '\n' + info.model + '\n' + std::to_string(info.bytes) +
                           '\n' + std::to_string(VocabularyFingerprint(tokenizer));
  return "fp_" + HexDigits(HashBytes(std::as_bytes(std::span(text))));
}

// The control tokens whose text is a mark of the style. They must be shown, or the calls would not
// be found in the text.
std::vector<Token> MarkTokens(const Tokenizer& tokenizer, ToolStyle style) {
  std::vector<std::string_view> marks = {OpeningMark(style)};
  if (style == ToolStyle::kTagged) marks.push_back("</tool_call>");
  std::vector<Token> tokens;
  for (const std::string_view mark : marks) {
    if (mark.empty()) continue;
    const std::vector<Token> ids =
        tokenizer.Encode(mark, {.add_bos = false, .parse_special = true});
    if (ids.size() == 1 && tokenizer.Piece(ids[0]).empty()) tokens.push_back(ids[0]);
  }
  return tokens;
}

size_t LongestPiece(const Tokenizer& tokenizer) {
  size_t longest = 1;
  for (Token token = 0; token < tokenizer.vocab_size(); ++token)
    longest = std::max(longest, tokenizer.Piece(token, /*show_control=*/true).size());
  return longest;
}

// Creates the default drafter, "none", and the other drafters that requests may name.
Status MakeDrafters(const LoadedModel& loaded, const DraftArgs& draft,
                    const std::vector<std::string>& also, int capacity, ServedModel* served) {
  FT_ASSIGN_OR_RETURN(served->decoder, NewDecoder(loaded, draft, capacity));
  served->drafters = {draft.drafter};
  std::vector<std::string> others = {kNoDrafter};
  others.insert(others.end(), also.begin(), also.end());
  for (const std::string& name : others) {
    if (std::ranges::find(served->drafters, name) != served->drafters.end()) continue;
    // The tree options of the command line apply only to the default drafter.
    DraftArgs args{.drafter = name, .verifier = draft.verifier};
    FT_RETURN_IF_ERROR(CheckDraftNames(args));
    FT_RETURN_IF_ERROR(AddDrafter(loaded, args, capacity, &served->decoder));
    served->drafters.push_back(name);
  }
  return {};
}

}  // namespace

int ServedModel::DrafterNumber(const std::string& name) const {
  if (name.empty()) return 0;
  const auto found = std::ranges::find(drafters, name);
  return found == drafters.end() ? 0 : static_cast<int>(found - drafters.begin());
}

Result<std::unique_ptr<ServedModel>> NewServedModel(const LoadedModel& loaded,
                                                    const std::string& origin,
                                                    const DraftArgs& draft,
                                                    const ServiceOptions& options) {
  auto served = std::make_unique<ServedModel>();
  const Tokenizer& tokenizer = *loaded.tokenizer;
  SchedulerOptions scheduler = options.scheduler;
  if (scheduler.context == 0) scheduler.context = loaded.model->config().context;
  served->loaded = &loaded;
  // Later errors of the template go to clients, who must not see the model's path.
  Result<ChatPrompter> prompter = ChatPrompter::Create(tokenizer, "model");
  if (!prompter.ok()) return Error{origin + ": " + prompter.error().message};
  served->prompter = std::make_unique<const ChatPrompter>(*std::move(prompter));
  served->longest_piece = LongestPiece(tokenizer);
  FT_RETURN_IF_ERROR(MakeDrafters(loaded, draft, options.also, scheduler.context, served.get()));
  scheduler.end_tokens = served->prompter->StopTokens();
  scheduler.drafters = static_cast<int>(served->drafters.size());
  FT_ASSIGN_OR_RETURN(served->scheduler, Scheduler::Create(*served->decoder.generator,
                                                           *loaded.model, tokenizer, scheduler));
  served->trie = TokenTrie::Build(tokenizer, scheduler.end_tokens);
  served->tools = StyleOfTemplate(tokenizer.data().chat_template);
  served->call_marks = MarkTokens(tokenizer, served->tools);
  served->info = InfoOf(loaded, options, scheduler.context);
  served->info.drafter = draft.drafter;
  served->fingerprint = FingerprintOf(served->info, tokenizer.data());
  RequestRules& rules = served->rules;
  rules.sampling = options.sampling;
  rules.vocab = loaded.model->config().vocab;
  rules.most_choices = std::min(rules.most_choices, scheduler.queue);
  rules.detail = options.detail;
  rules.body = options.body;
  for (const std::string& name : served->drafters) {
    if (name != kNoDrafter) rules.drafters.push_back(name);
  }
  served->info.drafters = rules.drafters;
  return served;
}

}  // namespace foretoken::openai
