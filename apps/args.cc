#include "args.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "command.h"

namespace foretoken {
namespace {

// "-n, --new-tokens N" -> {"-n", "--new-tokens"}.
std::vector<std::string> NamesOf(std::string_view shown) {
  std::vector<std::string> names;
  while (!shown.empty()) {
    const size_t end = std::min(shown.find_first_of(", "), shown.size());
    if (shown.starts_with('-')) names.emplace_back(shown.substr(0, end));
    shown.remove_prefix(std::min(end + 1, shown.size()));
  }
  return names;
}

template <typename Number>
bool ReadNumber(std::string_view text, Number* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Args::Args(std::string synopsis, std::string notes)
    : synopsis_(std::move(synopsis)), notes_(std::move(notes)) {}

void Args::Group(std::string title) { options_.push_back({{}, std::move(title), "", false, {}}); }

void Args::Add(std::string names, std::string help, bool takes_value,
               std::function<Status(std::string_view)> take) {
  std::vector<std::string> list = NamesOf(names);
  options_.push_back(
      {std::move(list), std::move(names), std::move(help), takes_value, std::move(take)});
}

void Args::Text(std::string names, std::string help, std::string* value) {
  Add(std::move(names), std::move(help), true, [value](std::string_view text) {
    *value = text;
    return Status();
  });
}

void Args::Int(std::string names, std::string help, int* value, int low, int high) {
  Add(std::move(names), std::move(help), true, [=](std::string_view text) -> Status {
    int number = 0;
    if (ReadNumber(text, &number) && number >= low && number <= high) {
      *value = number;
      return {};
    }
    return Error{"found '" + std::string(text) + "', expected a whole number from " +
                 std::to_string(low) + " to " + std::to_string(high)};
  });
}

void Args::Float(std::string names, std::string help, float* value) {
  Add(std::move(names), std::move(help), true, [value](std::string_view text) -> Status {
    if (ReadNumber(text, value)) return {};
    return Error{"found '" + std::string(text) + "', expected a number"};
  });
}

void Args::Each(std::string names, std::string help,
                std::function<Status(std::string_view)> take) {
  Add(std::move(names), std::move(help), true, std::move(take));
}

void Args::Flag(std::string names, std::string help, bool* value) {
  Add(std::move(names), std::move(help), false, [value](std::string_view) {
    *value = true;
    return Status();
  });
}

const Args::Option* Args::Find(std::string_view name) const {
  for (const Option& o : options_) {
    if (std::find(o.names.begin(), o.names.end(), name) != o.names.end()) return &o;
  }
  return nullptr;
}

Status Args::Parse(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::string_view name = argv[i], value;
    if (name == "-h" || name == "--help") {
      help_ = true;
      return {};
    }
    if (name == "--") {
      if (i + 1 == argc) return {};
      return Error{"unexpected argument '" + std::string(argv[i + 1]) + "'"};
    }
    const size_t equals = name.starts_with("--") ? name.find('=') : std::string_view::npos;
    const bool attached = equals != std::string_view::npos;
    if (attached) {
      value = name.substr(equals + 1);
      name = name.substr(0, equals);
    }
    const Option* option = Find(name);
    if (option == nullptr) return Error{"unknown argument '" + std::string(name) + "'"};
    if (attached && !option->takes_value) return Error{std::string(name) + " takes no value"};
    if (option->takes_value && !attached) {
      if (++i == argc) return Error{std::string(name) + " needs a value"};
      value = argv[i];
    }
    if (const Status s = option->take(value); !s.ok()) {
      return Error{std::string(name) + ": " + s.error().message};
    }
  }
  return {};
}

std::string Args::HelpText() const {
  constexpr size_t kColumn = 28;
  std::string text = "usage: foretoken " + synopsis_ + "\n";
  for (const Option& o : options_) {
    if (o.names.empty()) {
      text += "\n" + o.shown + ":\n";
      continue;
    }
    std::string line = "  " + o.shown;
    line += line.size() < kColumn ? std::string(kColumn - line.size(), ' ')
                                  : "\n" + std::string(kColumn, ' ');
    for (char c : o.help) line += c == '\n' ? "\n" + std::string(kColumn, ' ') : std::string(1, c);
    text += line + "\n";
  }
  if (!notes_.empty()) text += "\n" + notes_ + "\n";
  return text;
}

int ParseOrExit(Args& args, std::string_view command, int argc, char** argv) {
  const Status status = args.Parse(argc, argv);
  const int width = static_cast<int>(command.size());
  if (!status.ok()) {
    std::fprintf(stderr, "foretoken %.*s: %s; 'foretoken %.*s --help' explains\n", width,
                 command.data(), status.error().message.c_str(), width, command.data());
    return kExitUsage;
  }
  if (!args.help()) return -1;
  std::fputs(args.HelpText().c_str(), stdout);
  return kExitDone;
}

}  // namespace foretoken
