#include "apps/command_line.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "apps/llama_options.h"
#include "base/check.h"
#include "base/nearest_name.h"

namespace foretoken {
namespace {

// CLI11's help formatter with descriptions wrapped to fit a terminal.
class FoldedHelp : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override {
    constexpr size_t kColumns = 72;  // besides the 30 columns of the names
    const std::string& text = option->get_description();
    std::string folded;
    size_t column = 0;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.size(), text.find_first_of(" \n", begin));
      if (column > 0 && column + 1 + end - begin > kColumns) {
        folded += "\n  ";
        column = 2;
      } else if (column > 0) {
        folded += ' ';
        ++column;
      }
      folded.append(text, begin, end - begin);
      column += end - begin;
      if (end < text.size() && text[end] == '\n') folded += '\n', column = 0;
      begin = end + 1;
    }
    return folded;
  }
};

void FoldHelp(CLI::App& app, const std::shared_ptr<FoldedHelp>& help) {
  app.formatter(help);
  for (CLI::App* part : app.get_subcommands({})) FoldHelp(*part, help);
}

// The selected subcommand, or `app` itself.
const CLI::App& Named(const CLI::App& app) {
  const auto parts = app.get_subcommands();
  return parts.empty() ? app : Named(*parts[0]);
}

std::vector<std::string> LongNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  }
  return names;
}

// The error message for `extra`, an argument that the command does not take.
std::string Unexpected(const CLI::App& app, const std::string& extra) {
  std::vector<std::string> parts;
  for (const CLI::App* part : app.get_subcommands({})) parts.push_back(part->get_name());
  const std::string nearest = DidYouMean(extra, parts);
  if (!parts.empty() && !extra.starts_with('-')) return "no '" + extra + "'" + nearest;
  if (extra.starts_with('-')) {
    const std::string name = extra.substr(0, extra.find('='));
    const size_t dashes = name.find_first_not_of('-');
    if (dashes == std::string::npos) return "no option " + name;
    return "no option " + name + DidYouMean(name.substr(dashes), LongNames(app), "--");
  }
  const CLI::Option* model = app.get_option_no_throw("--model");
  const bool is_model = model != nullptr && model->count() == 0;
  return "found '" + extra + "', expected an option" +
         (is_model ? "; did you mean -m " + extra + "?" : "");
}

// Reports unexpected arguments. Returns whether there were any.
bool RefuseExtras(const CLI::App& app) {
  const std::vector<std::string> extras = app.remaining(/*recurse=*/true);
  if (extras.empty()) return false;
  const auto option =
      std::ranges::find_if(extras, [](const std::string& e) { return e.starts_with('-'); });
  const std::string& extra = option != extras.end() ? *option : extras.front();
  const CLI::App& named = Named(app);
  const std::string command =
      &named == &app ? app.get_name() : app.get_name() + " " + named.get_name();
  std::fprintf(stderr, "foretoken: %s; see '%s --help'\n",
               Legible(Unexpected(named, extra)).c_str(), command.c_str());
  return true;
}

// The option of `app` or of its subcommands that `argument` names, without a value in it; nullptr
// if there is none.
const CLI::Option* OptionNamed(const CLI::App& app, const std::string& argument) {
  if (argument.size() < 2 || argument[0] != '-') return nullptr;
  if (const CLI::Option* option = app.get_option_no_throw(argument)) return option;
  for (const CLI::App* part : app.get_subcommands({})) {
    if (const CLI::Option* option = OptionNamed(*part, argument)) return option;
  }
  return nullptr;
}

// CLI11 takes whatever follows an option as its value. Errors: an option's long name where the
// option before it lacks its value.
Status CheckValues(const CLI::App& app, std::span<const std::string> arguments) {
  for (size_t i = 0; i + 1 < arguments.size() && arguments[i] != "--"; ++i) {
    const std::string &name = arguments[i], &next = arguments[i + 1];
    const CLI::Option* option = OptionNamed(app, name);
    if (option == nullptr || option->get_items_expected_min() == 0) continue;
    const std::string following = next.substr(0, next.find('='));
    if (!following.starts_with("--") || OptionNamed(app, following) == nullptr) continue;
    const std::string whole = option->get_lnames().empty() ? name : "--" + option->get_lnames()[0];
    return Error{name + " has no value: found the option " + following + "; write " + whole + "=" +
                 next + " if that is the value"};
  }
  return {};
}

DefinitionVisit* active_visit = nullptr;

}  // namespace

DefinitionVisit::DefinitionVisit(std::function<void(CLI::App&)> visit) : visit_(std::move(visit)) {
  FT_CHECK(active_visit == nullptr);
  active_visit = this;
}

DefinitionVisit::~DefinitionVisit() { active_visit = nullptr; }

bool DefinitionVisit::IsActive() { return active_visit != nullptr; }

std::optional<int> ParseCommandLine(CLI::App& app, int argc, char** argv) {
  if (active_visit != nullptr) {
    active_visit->visit_(app);
    return kExitDone;
  }
  FoldHelp(app, std::make_shared<FoldedHelp>());
  auto arguments = WithOurOptions(app, {argv + 1, argv + argc});
  if (!arguments.ok()) return BadUsage(arguments.error());
  if (const Status s = CheckValues(app, *arguments); !s.ok()) return BadUsage(s.error());
  std::ranges::reverse(*arguments);  // the order that CLI11 expects
  try {
    app.parse(std::move(*arguments));
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    const bool is_refused = error.get_exit_code() != 0 && RefuseExtras(app);
    return is_refused || app.exit(error) != 0 ? kExitUsage : kExitDone;
  }
}

}  // namespace foretoken
