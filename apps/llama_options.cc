#include "apps/llama_options.h"

#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <span>
#include <string_view>

#include "base/input_file.h"

namespace foretoken {
namespace {

enum class Treatment : uint8_t {
  kSame,      // `text` is foretoken's name for it
  kSilent,    // the default behaviour here
  kDropped,   // no effect here; `text` says why
  kAnswered,  // `text` says what to do instead
};
enum class Value : uint8_t { kNone, kOne, kSwitch };  // kSwitch: on, off or auto may follow

struct LlamaOption {
  std::string_view names;  // with blanks around each name
  Value value;
  Treatment treatment;
  std::string_view text;
  std::string_view commands = "";  // the commands it applies to, or "" for all
};

// The commands that take llama.cpp's options.
constexpr std::string_view kLlamaCommands[] = {"generate", "chat", "serve"};
constexpr std::string_view kWriters = "generate chat";

constexpr std::string_view kOnCpu = "foretoken runs on the CPU";
constexpr std::string_view kNoFetch =
    "foretoken downloads nothing; fetch the .gguf file and name it with -m";
constexpr std::string_view kNoSampler =
    "foretoken has no such sampler; it has --top-k, --top-p, --min-p and --typical-p";
constexpr std::string_view kFromModel = "foretoken takes this from the model's file";
constexpr std::string_view kServer = "'foretoken serve' is the server";
constexpr std::string_view kInRequests = "clients set it in their requests";

constexpr LlamaOption kLlamaOptions[] = {
    // Same meaning, different name.
    {" --temperature ", Value::kOne, Treatment::kSame, "--temp"},
    {" --predict --n-predict ", Value::kOne, Treatment::kSame, "--new-tokens", kWriters},
    {" -n --predict --n-predict ", Value::kOne, Treatment::kSame, "--max-tokens", "serve"},
    {" -np ", Value::kOne, Treatment::kSame, "--parallel", "serve"},
    {" -a ", Value::kOne, Treatment::kSame, "--alias", "serve"},
    {" --ctx-size ", Value::kOne, Treatment::kSame, "--context"},
    {" -s ", Value::kOne, Treatment::kSame, "--seed", kWriters},
    {" --typical ", Value::kOne, Treatment::kSame, "--typical-p"},
    {" --repeat-last-n ", Value::kOne, Treatment::kSame, "--penalty-last-n"},
    {" -jf ", Value::kOne, Treatment::kSame, "--json-schema-file", kWriters},
    {" -l ", Value::kOne, Treatment::kSame, "--logit-bias"},
    {" -sys --system-prompt ", Value::kOne, Treatment::kSame, "--system", kWriters},
    {" -md --model-draft --spec-draft-model ", Value::kOne, Treatment::kSame, "--draft-model"},
    {" --draft-n --spec-draft-n-max ", Value::kOne, Treatment::kSame, "--draft-max"},
    {" -ctk --cache-type-k ", Value::kOne, Treatment::kSame, "--cache-type"},
    {" -st --single-turn ", Value::kNone, Treatment::kSame, "--chat", "generate"},
    // Default behaviour.
    {" -no-cnv --no-conversation --no-display-prompt --simple-io --log-disable ", Value::kNone,
     Treatment::kSilent, "", "generate"},
    {" -cnv --conversation -i --interactive --multiline-input -mli --simple-io --log-disable ",
     Value::kNone, Treatment::kSilent, "", "chat"},
    {" --metrics --slots --props -cb --cont-batching --webui --log-disable --perf --no-perf "
     "--no-context-shift --offline ",
     Value::kNone, Treatment::kSilent, "", "serve"},
    {" --jinja --color -co --no-escape --no-warmup --mmap ", Value::kNone, Treatment::kSilent, ""},
    // No effect here.
    {" -ngl --gpu-layers --n-gpu-layers -ngld --gpu-layers-draft -dev --device -sm --split-mode "
     "-ts "
     "--tensor-split -mg --main-gpu -ot --override-tensor -ncmoe --n-cpu-moe ",
     Value::kOne, Treatment::kDropped, kOnCpu},
    {" -nkvo --no-kv-offload --no-op-offload -cmoe --cpu-moe ", Value::kNone, Treatment::kDropped,
     kOnCpu},
    {" -b --batch-size -ub --ubatch-size ", Value::kOne, Treatment::kDropped,
     "foretoken chooses its batch sizes itself"},
    {" -tb --threads-batch ", Value::kOne, Treatment::kDropped,
     "-t sets the number of threads for prompts, too"},
    {" -fa --flash-attn ", Value::kSwitch, Treatment::kDropped,
     "attention never materialises the score matrix, so there is nothing to switch on"},
    {" --mlock --no-mmap ", Value::kNone, Treatment::kDropped,
     "model files are mapped into memory"},
    {" --numa --prio --poll ", Value::kOne, Treatment::kDropped,
     "foretoken places its threads itself"},
    {" --perf --no-perf --no-context-shift ", Value::kNone, Treatment::kDropped,
     "--stats writes the statistics, and a full context is never shifted", kWriters},
    {" --threads-http ", Value::kOne, Treatment::kDropped,
     "foretoken chooses its number of connection threads itself", "serve"},
    {" -to ", Value::kOne, Treatment::kDropped,
     "foretoken limits the time of connections itself; --timeout limits that of an answer",
     "serve"},
    {" -v --verbose --log-verbose ", Value::kNone, Treatment::kDropped,
     "--log writes a line for each request", "serve"},
    {" -lv --verbosity --log-verbosity ", Value::kOne, Treatment::kDropped,
     "--log writes a line for each request", "serve"},
    {" --no-webui --no-ui ", Value::kNone, Treatment::kDropped,
     "the web page at / is part of the program and has the same limits as other clients", "serve"},
    {" --reasoning-format ", Value::kOne, Treatment::kDropped,
     "reasoning stays in the content of answers, as the model writes it", "serve"},
    {" -kvu --kv-unified --swa-full --no-cont-batching -nocb ", Value::kNone, Treatment::kDropped,
     "foretoken shares its memory among all answers, page by page", "serve"},
    {" --cache-ram -cram ", Value::kOne, Treatment::kDropped,
     "--memory limits all caches, and cached prompts with them", "serve"},
    {" --log-file ", Value::kOne, Treatment::kDropped,
     "messages go to standard error, which can be redirected to a file", "serve"},
    {" --keep ", Value::kOne, Treatment::kDropped, "a full context is never shifted"},
    // Handled differently.
    {" -cnv --conversation -i --interactive -if --interactive-first ", Value::kNone,
     Treatment::kAnswered, "use 'foretoken chat' for a conversation; --chat answers one message",
     "generate"},
    {" -no-cnv --no-conversation -st --single-turn ", Value::kNone, Treatment::kAnswered,
     "use 'foretoken generate' for one text, with --chat for one answer", "chat"},
    {" -p --prompt ", Value::kOne, Treatment::kAnswered,
     "type it at the prompt, or use 'foretoken generate --chat -p TEXT'; --system sets a system "
     "message",
     "chat"},
    {" -f --file ", Value::kOne, Treatment::kAnswered,
     "type /file FILE at the prompt, or use 'foretoken generate --chat -f FILE'", "chat"},
    {" -ctv --cache-type-v ", Value::kOne, Treatment::kAnswered,
     "--cache-type sets the type of both keys and values"},
    {" -hf -hfr --hf-repo -hff --hf-file -hfd --hf-repo-draft -mu --model-url ", Value::kOne,
     Treatment::kAnswered, kNoFetch},
    {" --samplers --sampling-seq --sampler-seq ", Value::kOne, Treatment::kAnswered,
     "--sampling-order sets the order of the sampling steps"},
    {" --mirostat --mirostat-lr --mirostat-ent --dynatemp-range --dynatemp-exp --xtc-probability "
     "--xtc-threshold --dry-multiplier --dry-base --top-n-sigma --top-nsigma ",
     Value::kOne, Treatment::kAnswered, kNoSampler},
    {" --chat-template --chat-template-file --rope-scaling --rope-scale --rope-freq-base "
     "--rope-freq-scale ",
     Value::kOne, Treatment::kAnswered, kFromModel},
    {" --draft-min --draft-n-min --spec-draft-n-min --draft-p-min --spec-draft-p-min ", Value::kOne,
     Treatment::kAnswered,
     "--tree auto, the default, drafts only where a gain is expected; --draft-max limits it"},
    {" -r --reverse-prompt ", Value::kOne, Treatment::kAnswered,
     "an answer ends at the model's end tokens or after -n tokens", kWriters},
    {" --lora --lora-scaled --control-vector --mmproj --image ", Value::kOne, Treatment::kAnswered,
     "foretoken runs text models as they are; merge adapters into the model first"},
    {" --prompt-cache ", Value::kOne, Treatment::kAnswered,
     "'foretoken chat' keeps its cache from turn to turn; /save and /load keep the conversation",
     kWriters},
    {" -e --escape ", Value::kNone, Treatment::kAnswered,
     "prompts are used as they are; in bash, -p $'two\\nlines' contains a line break", kWriters},
    {" --host --port --api-key -np --parallel ", Value::kOne, Treatment::kAnswered, kServer,
     kWriters},
    {" -p --prompt -f --file -sys --system-prompt --system -r --reverse-prompt -s --seed "
     "--chat-template-kwargs ",
     Value::kOne, Treatment::kAnswered, kInRequests, "serve"},
    {" --path --api-prefix ", Value::kOne, Treatment::kAnswered,
     "the paths of the server and its web page are fixed; a proxy can change them", "serve"},
    {" --models-dir --models-max ", Value::kOne, Treatment::kAnswered,
     "one process serves one model, which -m names", "serve"},
    {" -j --json-schema -jf --json-schema-file --grammar --grammar-file ", Value::kOne,
     Treatment::kAnswered,
     "clients set it in their requests, as response_format, json_schema or grammar", "serve"},
    {" --prompt-cache --slot-save-path --cache-reuse ", Value::kOne, Treatment::kAnswered,
     "prompts are cached in memory automatically; --memory limits the size of the cache", "serve"},
    {" --reasoning-budget ", Value::kOne, Treatment::kAnswered,
     "clients set it in their requests, as chat_template_kwargs {\"enable_thinking\": false}",
     "serve"},
    {" --spec-type ", Value::kOne, Treatment::kAnswered,
     "--drafter chooses how drafts are made; --help lists the drafters"},
    {" --embedding --embeddings --rerank --reranking --pooling ", Value::kNone,
     Treatment::kAnswered, "foretoken generates text only, not embeddings", "serve"},
    {" --ssl-key-file --ssl-cert-file ", Value::kOne, Treatment::kAnswered,
     "foretoken serves plain HTTP; put a TLS proxy in front of it (docs/serving.md)", "serve"},
};

const LlamaOption* FindLlamaOption(std::string_view name, std::string_view command) {
  const std::string word = " " + std::string(name) + " ";
  for (const LlamaOption& o : kLlamaOptions) {
    const bool is_meant = o.commands.empty() || o.commands.find(command) != std::string_view::npos;
    if (is_meant && o.names.find(word) != std::string_view::npos) return &o;
  }
  return nullptr;
}

// Number of arguments in `next` that are the option's values.
size_t ValuesOf(const LlamaOption& option, std::span<const std::string> next) {
  if (next.empty() || option.value == Value::kNone) return 0;
  if (option.value == Value::kOne) return 1;
  constexpr std::string_view kStates[] = {"on", "off", "auto", "0", "1"};
  return std::ranges::find(kStates, next[0]) != std::end(kStates) ? 1 : 0;
}

Error AnswerTo(const std::string& name, const std::string& text) {
  return Error{name + ": " + text};
}

// Whether the option is llama.cpp's --draft N, a number of tokens. Our --draft is a file.
bool IsDraftLength(const std::string& name, const std::string& value) {
  if (name != "--draft" || value.empty()) return false;
  return value.find_first_not_of("0123456789") == std::string::npos && !FileExists(value);
}

// The value of the first argument that is one of `names`; empty if none is.
std::string ValueOfFirst(std::span<const std::string> arguments,
                         std::initializer_list<std::string_view> names) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    for (const std::string_view name : names) {
      if (arguments[i] == name) return i + 1 < arguments.size() ? arguments[i + 1] : "";
      if (arguments[i].starts_with(std::string(name) + "=")) {
        return arguments[i].substr(name.size() + 1);
      }
    }
  }
  return "";
}

// Whether keys and values get the same type, as --cache-type does it.
bool AreOfOneType(std::span<const std::string> arguments) {
  const std::string keys = ValueOfFirst(arguments, {"-ctk", "--cache-type-k", "--cache-type"});
  return !keys.empty() && keys == ValueOfFirst(arguments, {"-ctv", "--cache-type-v"});
}

size_t OwnValues(const CLI::Option& option) {
  return static_cast<size_t>(std::min(option.get_type_size_min(), option.get_items_expected_min()));
}

}  // namespace

Result<std::vector<std::string>> WithOurOptions(const CLI::App& app,
                                                const std::vector<std::string>& arguments) {
  const std::string command = app.get_name().substr(app.get_name().rfind(' ') + 1);
  if (std::ranges::find(kLlamaCommands, command) == std::end(kLlamaCommands)) return arguments;
  std::vector<std::string> ours;
  const auto copy = [&](size_t at, size_t count) {
    for (size_t i = at; i < std::min(arguments.size(), at + count); ++i)
      ours.push_back(arguments[i]);
  };
  for (size_t i = 0; i < arguments.size();) {
    const std::string& typed = arguments[i];
    const size_t equals = typed.starts_with("--") ? typed.find('=') : std::string::npos;
    const std::string name = typed.substr(0, equals);
    const size_t rest = i + 1;
    const bool is_option = name.size() > 1 && name[0] == '-';
    const CLI::Option* own = is_option ? app.get_option_no_throw(name) : nullptr;
    const std::string next = rest < arguments.size() ? arguments[rest] : "";
    if (IsDraftLength(name, equals == std::string::npos ? next : typed.substr(equals + 1))) {
      return AnswerTo(name, "expected a file; --draft-max limits the number of drafted tokens");
    }
    const LlamaOption* other = own == nullptr ? FindLlamaOption(name, command) : nullptr;
    if (other == nullptr) {
      const size_t count =
          1 + (own != nullptr && equals == std::string::npos ? OwnValues(*own) : 0);
      copy(i, count);
      i += count;
      continue;
    }
    const bool has_value = equals != std::string::npos;
    const size_t values = has_value ? 0 : ValuesOf(*other, std::span(arguments).subspan(rest));
    const std::string text(other->text);
    const bool repeats = (name == "-ctv" || name == "--cache-type-v") && AreOfOneType(arguments);
    if (other->treatment == Treatment::kAnswered && !repeats) return AnswerTo(name, text);
    if (other->treatment == Treatment::kSame) {
      ours.push_back(text);
      if (has_value) ours.back().append(typed, equals);
      copy(rest, values);
    } else if (other->treatment == Treatment::kDropped) {
      std::fprintf(stderr, "foretoken: %s does nothing: %s\n", name.c_str(), text.c_str());
    }
    i = rest + values;
  }
  return ours;
}

}  // namespace foretoken
