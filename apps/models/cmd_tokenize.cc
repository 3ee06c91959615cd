// foretoken tokenize: converts text on stdin to token ids, or ids back to text.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/command_line.h"
#include "base/input_file.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "base/utf8.h"
#include "io/model_file.h"
#include "text/chat_prompt.h"
#include "text/sentence_piece_model.h"
#include "text/tokenizer.h"
#include "text/tokenizer_json.h"

namespace foretoken {
namespace {

struct TokenizeArgs {
  std::string model;
  bool ids = false, no_bos = false, decode = false, special = false, json = false;
};

// Reads a tokenizer file, or the tokenizer of a model.
Result<TokenizerData> ReadTokenizerData(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension == ".json" || extension == ".model") {
    FT_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
    return extension == ".json" ? ReadTokenizerJson(file.text(), path)
                                : ReadSentencePieceModel(file.bytes(), path);
  }
  FT_ASSIGN_OR_RETURN(const std::unique_ptr<ModelFile> model, ModelFile::Open(path));
  if (model->tokenizer().tokens.empty()) return Error{path + ": contains no tokenizer"};
  return model->tokenizer();
}

// Parses ids separated by white space, commas or brackets, so JSON lists are accepted.
Result<std::vector<Token>> ParseIds(const std::string& text, int vocab_size) {
  constexpr const char* kSeparators = " \t\r\n,[]";
  std::vector<Token> ids;
  for (size_t at = 0; (at = text.find_first_not_of(kSeparators, at)) != std::string::npos;) {
    const size_t end = std::min(text.find_first_of(kSeparators, at), text.size());
    const std::string word = text.substr(at, end - at);
    const bool digits =
        word.size() < 10 && word.find_first_not_of("0123456789") == std::string::npos;
    const int id = digits ? std::stoi(word) : -1;
    if (id < 0 || id >= vocab_size) {
      return Error{"standard input: '" + word.substr(0, 40) +
                   "' is not a token id; expected 0 to " + std::to_string(vocab_size - 1)};
    }
    ids.push_back(id);
    at = end;
  }
  return ids;
}

// A piece on one line, with invisible and ambiguous characters escaped.
std::string Readable(std::string_view piece) {
  std::string out;
  while (!piece.empty()) {
    const size_t n = Utf8SequenceLength(piece);
    const unsigned char c = static_cast<unsigned char>(piece[0]);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\\') {
      out += "\\\\";
    } else if (n == 0 || c < ' ' || c == 0x7F) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\x%02X", c);
      out += escape;
    } else {
      out += piece.substr(0, n);
    }
    piece.remove_prefix(n == 0 ? 1 : n);
  }
  return out;
}

std::string ShowIds(const std::vector<Token>& tokens) {
  std::string out;
  for (const Token token : tokens) out += (out.empty() ? "" : " ") + std::to_string(token);
  return out + "\n";
}

std::string ShowPieces(const Tokenizer& tokenizer, const std::vector<Token>& tokens) {
  std::string out;
  for (const Token token : tokens) {
    char id[16];
    std::snprintf(id, sizeof(id), "%8d  ", token);
    out += id + ("'" + Readable(tokenizer.Piece(token, /*show_control=*/true))) + "'\n";
  }
  return out;
}

std::string ShowJson(const Tokenizer& tokenizer, const std::vector<Token>& tokens) {
  Json list = Json::array();
  for (const Token token : tokens) {
    const std::string piece = tokenizer.Piece(token, /*show_control=*/true);
    list.push_back({{"id", token}, {"piece", ReplaceInvalidUtf8(piece)}});
  }
  return JsonText(list) + "\n";
}

Result<std::string> TokenizeOrDecode(const TokenizeArgs& options) {
  FT_ASSIGN_OR_RETURN(TokenizerData data, ReadTokenizerData(options.model));
  FT_ASSIGN_OR_RETURN(const auto tokenizer, Tokenizer::Create(std::move(data), options.model));
  FT_ASSIGN_OR_RETURN(const std::string text, ReadText("-"));
  if (options.decode) {
    FT_ASSIGN_OR_RETURN(const auto tokens, ParseIds(text, tokenizer->vocab_size()));
    return tokenizer->Decode(tokens, options.special);
  }
  std::vector<Token> tokens =
      tokenizer->Encode(text, {.add_bos = !options.no_bos, .parse_special = options.special});
  if (!options.no_bos) RemoveDoubledBos(tokenizer->data(), tokens);
  if (options.json) return ShowJson(*tokenizer, tokens);
  return options.ids ? ShowIds(tokens) : ShowPieces(*tokenizer, tokens);
}

}  // namespace

int Run_tokenize(int argc, char** argv) {
  TokenizeArgs options;
  CLI::App app("Turns the text on standard input into token ids, or ids back into text.",
               "foretoken tokenize");
  app.add_option("-m,--model", options.model,
                 "GGUF file, Hugging Face directory, tokenizer.json or tokenizer.model")
      ->type_name("MODEL")
      ->required();
  CLI::Option* ids = app.add_flag("--ids", options.ids, "print only the ids, on one line");
  app.add_flag("--no-bos", options.no_bos, "do not add the tokens that begin and end a text");
  CLI::Option* decode = app.add_flag("--decode", options.decode, "read ids, print their text");
  app.add_flag("--special", options.special,
               "recognise control tokens written in the text; with --decode, show them");
  app.add_flag("--json", options.json, "print a JSON list of ids and pieces")
      ->excludes(ids)
      ->excludes(decode);
  ids->excludes(decode);
  if (const auto status = ParseCommandLine(app, argc, argv)) return *status;
  const Result<std::string> answer = TokenizeOrDecode(options);
  if (!answer) return Failed(answer.error());
  std::fwrite(answer->data(), 1, answer->size(), stdout);
  return kExitDone;
}

}  // namespace foretoken
