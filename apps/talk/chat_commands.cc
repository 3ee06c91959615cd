#include "apps/talk/chat_commands.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/nearest_name.h"
#include "draft/drafter.h"
#include "tree/tree_policy.h"

namespace foretoken {
namespace {

enum class Argument : uint8_t { kNone, kOther, kFile, kSetting, kDrafter, kTree };

struct ChatCommand {
  std::string_view name, argument, summary;
  Argument completes;
  Status (*run)(Chat& chat, const std::string& argument);
  std::string_view aliases = {};  // with blanks around each alias
};

Status ShowHelp(Chat&, const std::string&) {
  std::fputs(ChatHelp().c_str(), stdout);
  return {};
}

Status RunSet(Chat& chat, const std::string& typed) {
  constexpr std::string_view kOllama = "parameter ";  // "/set parameter temperature 0.8"
  const std::string argument = typed.starts_with(kOllama) ? typed.substr(kOllama.size()) : typed;
  const size_t space = argument.find_first_of(" \t=");
  const std::string name = argument.substr(0, space);
  if (name.empty()) {
    std::fputs(SettingsTable(chat.settings()).c_str(), stdout);
    return {};
  }
  const size_t value =
      space == std::string::npos ? space : argument.find_first_not_of(" \t=", space);
  if (value != std::string::npos) FT_RETURN_IF_ERROR(chat.Set(name, argument.substr(value)));
  FT_ASSIGN_OR_RETURN(const std::string now, ShowSetting(chat.settings(), name));
  std::puts(now.c_str());
  return {};
}

Status RunSeed(Chat& chat, const std::string& argument) { return RunSet(chat, "seed " + argument); }

Status RunClear(Chat& chat, const std::string&) {
  chat.Clear();
  return {};
}

Status RunSystem(Chat& chat, const std::string& argument) {
  if (argument.empty()) std::printf("system message: %s\n", chat.system().c_str());
  if (!argument.empty()) chat.SetSystem(argument);
  return {};
}

Status RunDrafter(Chat& chat, const std::string& argument) {
  if (!argument.empty()) return chat.SetDrafter(argument);
  std::printf("drafter: %s\n", chat.draft().drafter.c_str());
  return {};
}

Status RunTree(Chat& chat, const std::string& argument) {
  if (!argument.empty()) return chat.SetTree(argument);
  std::printf("tree: %s\n", TreeOf(chat.draft()).c_str());
  return {};
}

Status RunStats(Chat& chat, const std::string&) {
  chat.PrintStats();
  return {};
}

Status RunQuit(Chat& chat, const std::string&) {
  chat.is_leaving = true;
  return {};
}

template <Status (Chat::*method)()>
Status Run(Chat& chat, const std::string&) {
  return (chat.*method)();
}

template <Status (Chat::*method)(const std::string&)>
Status Run(Chat& chat, const std::string& argument) {
  return (chat.*method)(argument);
}

constexpr ChatCommand kChatCommands[] = {
    {"help", "", "this list", Argument::kNone, ShowHelp, " ? "},
    {"clear", "", "forget the conversation", Argument::kNone, RunClear},
    {"undo", "", "take back the last question and its answer", Argument::kNone, Run<&Chat::Undo>},
    {"regen", "", "answer the last question again, with the next seed if sampling", Argument::kNone,
     Run<&Chat::Regenerate>},
    {"forget", "[N]", "drop the oldest N exchanges (1) to free context", Argument::kOther,
     Run<&Chat::Forget>},
    {"file", "FILE", "put a file's text in front of the next message", Argument::kFile,
     Run<&Chat::Attach>},
    {"system", "[TEXT]", "show or set the system message; setting it clears the conversation",
     Argument::kOther, RunSystem},
    {"set", "[NAME [VALUE]]", "show or set temp, top-k, new-tokens, ...; alone: all of them",
     Argument::kSetting, RunSet},
    {"seed", "[N]", "show or set the seed; -1 picks a random one", Argument::kOther, RunSeed},
    {"drafter", "[NAME]", "show or change the drafter (auto, pld, ..., none for no drafts)",
     Argument::kDrafter, RunDrafter},
    {"tree", "[TREE]", "show or change the tree (auto, chain, eagle2, pct, ...)", Argument::kTree,
     RunTree},
    {"stats", "", "statistics of the last answer", Argument::kNone, RunStats},
    {"save", "FILE", "write the conversation: as JSON to .json, else as text", Argument::kFile,
     Run<&Chat::Save>},
    {"load", "FILE", "load a saved conversation", Argument::kFile, Run<&Chat::LoadDialogue>},
    {"quit", "", "leave (or Ctrl-D)", Argument::kNone, RunQuit, " exit bye "},
};

constexpr char kTyping[] =
    "\"\"\" begins and ends a message of several lines; a line that ends in \\ continues on the\n"
    "next, and pasted lines are one message. Tab completes commands, Ctrl-R searches earlier\n"
    "messages. Ctrl-C stops an answer and keeps the conversation; at the prompt it clears the\n"
    "line, and twice in a row it exits.\n";

std::vector<std::string> CommandNames() {
  std::vector<std::string> names;
  for (const ChatCommand& c : kChatCommands) names.emplace_back(c.name);
  return names;
}

const ChatCommand* FindCommand(std::string_view name) {
  const std::string word = " " + std::string(name) + " ";
  for (const ChatCommand& c : kChatCommands) {
    if (c.name == name || c.aliases.find(word) != std::string_view::npos) return &c;
  }
  return nullptr;
}

// Files whose paths begin with `typed`; folders end in '/'.
std::vector<std::string> FilesBeginning(const std::string& typed) {
  namespace fs = std::filesystem;
  const std::string folder = typed.substr(0, typed.rfind('/') + 1);  // "" if there is no '/'
  const char* home = std::getenv("HOME");
  const bool at_home = home != nullptr && folder.starts_with("~/");
  const std::string place = at_home ? home + folder.substr(1) : folder;
  const std::string beginning = typed.substr(folder.size());
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator it(place.empty() ? "." : place, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename();
    if (!name.starts_with(beginning) || (name.starts_with('.') && beginning.empty())) continue;
    std::error_code ignored;
    files.push_back(folder + name + (it->is_directory(ignored) ? "/" : ""));
  }
  return files;
}

std::vector<std::string> ArgumentsFor(Argument kind, const std::string& typed) {
  std::vector<std::string> names;
  if (kind == Argument::kFile) return FilesBeginning(typed);
  if (kind == Argument::kSetting) return SettingNames();
  if (kind == Argument::kDrafter) {
    names.emplace_back("none");
    for (const DrafterEntry& e : AllDrafters()) names.emplace_back(e.name);
  } else if (kind == Argument::kTree) {
    names.emplace_back(kPaperTree);
    for (const TreeEntry& e : AllTrees()) names.emplace_back(e.name);
  }
  return names;
}

}  // namespace

std::string ChatHelp() {
  std::string help;
  for (const ChatCommand& c : kChatCommands) {
    std::string line = "/" + std::string(c.name);
    if (!c.argument.empty()) line.append(" ").append(c.argument);
    line.resize(std::max<size_t>(line.size() + 1, 21), ' ');
    help.append(line).append(c.summary).append("\n");
  }
  return help + kTyping;
}

Status RunCommand(Chat& chat, const TypedCommand& typed) {
  const ChatCommand* command = FindCommand(typed.name);
  if (command == nullptr) {
    const std::string nearest = DidYouMean(typed.name, CommandNames(), "/");
    return Error{"no command /" + typed.name + (nearest.empty() ? "; /help lists them" : nearest)};
  }
  const bool needs_file = command->completes == Argument::kFile && typed.argument.empty();
  if (needs_file) return Error{"/" + typed.name + " needs the name of a file"};
  return command->run(chat, typed.argument);
}

Completions CompleteCommand(const std::string& line) {
  const size_t space = line.find(' ');
  Completions found{.begin = space == std::string::npos ? 1 : space + 1};
  std::vector<std::string> names;
  if (space == std::string::npos) {
    names = CommandNames();
  } else if (const ChatCommand* command = FindCommand(line.substr(1, space - 1))) {
    names = ArgumentsFor(command->completes, line.substr(found.begin));
  }
  for (std::string& name : names) {
    if (name.starts_with(line.substr(found.begin))) found.candidates.push_back(std::move(name));
  }
  std::ranges::sort(found.candidates);
  return found;
}

}  // namespace foretoken
