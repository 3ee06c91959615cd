#include "apps/talk/line_editor.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "apps/talk/message_text.h"
#include "base/output_file.h"
#include "base/utf8.h"

// Included after the C and C++ headers, on which it relies.
#include <histedit.h>

namespace foretoken {
namespace {

constexpr int kKeptMessages = 1000;
constexpr int kPasteMilliseconds = 20;  // maximum time between the lines of a paste
constexpr char kAccept[] = "\x18\n";    // Ctrl-X Ctrl-J, bound to libedit's own Enter
// Enable and disable bracketed paste, the marks that a terminal puts around pasted text.
constexpr std::string_view kMarkPastes = "\x1b[?2004h";
constexpr std::string_view kNoPasteMarks = "\x1b[?2004l";
constexpr const char* kTemporaryHistory = ".tmp";  // followed by the process id

bool MoreArrivesAtOnce() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return poll(&input, 1, kPasteMilliseconds) > 0 && (input.revents & POLLIN) != 0;
}

std::string Utf8Of(wchar_t c) {
  std::string text;
  AppendUtf8(static_cast<uint32_t>(c), text);
  return text;
}

// The longest common prefix of the candidates, in whole characters.
std::string CommonBeginning(const std::vector<std::string>& candidates) {
  std::string common = candidates.front();
  for (const std::string& c : candidates) {
    const auto [end, other] = std::ranges::mismatch(common, c);
    common.erase(end, common.end());
  }
  return common.substr(0, ValidUtf8Prefix(common));
}

struct history* NewHistory() {
  struct history* made = history_init();
  HistEvent event;
  history(made, &event, H_SETSIZE, kKeptMessages);
  history(made, &event, H_SETUNIQUE, 1);
  return made;
}

bool TerminalMarksPastes() {
  const char* terminal = std::getenv("TERM");
  return terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
}

// Disables paste marks, then ends the process by the signal that was caught, whose default action
// SA_RESETHAND has restored.
void EndWithoutPasteMarks(int signal) {
  [[maybe_unused]] const ssize_t written =
      write(STDOUT_FILENO, kNoPasteMarks.data(), kNoPasteMarks.size());
  std::raise(signal);
}

// During its lifetime, signals that end the process first disable the terminal's paste marks.
class PasteMarksGuard {
 public:
  PasteMarksGuard() {
    for (size_t i = 0; i < std::size(kSignals); ++i) {
      sigaction(kSignals[i], nullptr, &old_[i]);
      if (old_[i].sa_handler != SIG_DFL || !TerminalMarksPastes()) continue;
      struct sigaction action {};
      action.sa_handler = EndWithoutPasteMarks;
      action.sa_flags = static_cast<int>(SA_RESETHAND);
      sigaction(kSignals[i], &action, nullptr);
    }
  }
  ~PasteMarksGuard() {
    for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &old_[i], nullptr);
  }
  PasteMarksGuard(const PasteMarksGuard&) = delete;
  PasteMarksGuard& operator=(const PasteMarksGuard&) = delete;

 private:
  static constexpr int kSignals[] = {SIGTERM, SIGHUP};
  struct sigaction old_[std::size(kSignals)]{};
};

// The target of `path` if it is a link.
std::string FileBehind(const std::string& path) {
  std::error_code fault;
  const std::filesystem::path file = std::filesystem::canonical(path, fault);
  return fault ? path : file.string();
}

int ScreenColumns(EditLine* el) {
  int columns = 0;
  return el_get(el, EL_GETTC, "co", &columns) == 0 && columns > 10 ? columns : 80;
}

// The longest prefix of `text` that fits into `columns`, with newlines as blanks.
std::string OnOneLine(std::string text, int columns) {
  std::ranges::replace(text, '\n', ' ');
  const std::string_view whole = text;
  size_t end = 0;
  while (end < text.size()) {
    const size_t length = std::max<size_t>(1, Utf8SequenceLength(whole.substr(end)));
    columns -= length > 2 ? 2 : 1;  // upper bound of a character's width
    if (columns < 0) break;
    end += length;
  }
  return text.substr(0, end);
}

}  // namespace

LineEditor::LineEditor(std::string history_file, Completer completer)
    : history_file_(std::move(history_file)), completer_(std::move(completer)) {
  el_ = el_init("foretoken", stdin, stdout, stderr);
  history_ = NewHistory();
  el_set(el_, EL_CLIENTDATA, this);
  el_set(
      el_, EL_PROMPT, +[](EditLine* el) {
        void* editor = nullptr;
        el_get(el, EL_CLIENTDATA, &editor);
        return static_cast<LineEditor*>(editor)->prompt_.data();
      });
  el_set(el_, EL_HIST, history, history_);
  el_set(el_, EL_EDITOR, "emacs");
  el_set(el_, EL_SIGNAL, 1);
  el_source(el_, nullptr);  // the user's settings in ~/.editrc
  BindKeys();
  LoadHistory();
}

LineEditor::~LineEditor() {
  history_end(history_);
  el_end(el_);
}

template <LineEditor::Key key>
void LineEditor::Bind(const wchar_t* name, const wchar_t* help,
                      std::initializer_list<const wchar_t*> sequences) {
  el_wset(
      el_, EL_ADDFN, name, help, +[](EditLine* el, int) {
        void* editor = nullptr;
        el_get(el, EL_CLIENTDATA, &editor);
        return (static_cast<LineEditor*>(editor)->*key)();
      });
  for (const wchar_t* sequence : sequences) el_wset(el_, EL_BIND, sequence, name, nullptr);
}

void LineEditor::BindKeys() {
  el_set(el_, EL_BIND, "^X^J", "ed-newline", nullptr);
  Bind<&LineEditor::Enter>(L"ft-enter", L"End the message", {L"^M", L"^J"});
  Bind<&LineEditor::AddLine>(L"ft-add-line", L"Begin another line", {L"\\e^M", L"\\e^J"});
  Bind<&LineEditor::Paste>(L"ft-paste", L"Take a paste as it is", {L"\\e[200~"});
  Bind<&LineEditor::Complete>(L"ft-complete", L"Complete a command", {L"^I"});
  Bind<&LineEditor::Search>(L"ft-search", L"Search earlier messages", {L"^R"});
  // Makes Ctrl-C and Ctrl-Z ordinary keys, so that Ctrl-C abandons only the line, and keeps the
  // line ends of pastes unchanged.
  el_set(el_, EL_SETTY, "-d", "-isig", "-icrnl", "-inlcr", nullptr);
  Bind<&LineEditor::Interrupt>(L"ft-interrupt", L"Clear the line", {L"^C"});
  Bind<&LineEditor::Suspend>(L"ft-suspend", L"Suspend the program", {L"^Z"});
}

void LineEditor::LoadHistory() {
  std::error_code ignored;
  const auto kind = std::filesystem::status(history_file_, ignored).type();
  const bool usable =
      kind == std::filesystem::file_type::regular || kind == std::filesystem::file_type::not_found;
  if (!usable) history_file_.clear();  // reading a pipe would block
  if (history_file_.empty()) return;
  HistEvent event;
  history(history_, &event, H_LOAD, history_file_.c_str());
  for (int found = history(history_, &event, H_LAST); found >= 0;
       found = history(history_, &event, H_PREV)) {
    entries_.emplace_back(event.str);
  }
}

// Writes the message immediately, so that it is kept however the program ends.
void LineEditor::Remember(const std::string& message) {
  HistEvent event;
  history(history_, &event, H_ENTER, message.c_str());
  entries_.push_back(message);
  if (!history_file_.empty()) AddToHistoryFile(message);
}

// Appends to the file's current contents, so that concurrent chats keep each other's messages. The
// new contents go to a temporary file that replaces the file when complete; libedit makes it
// readable only by its owner.
void LineEditor::AddToHistoryFile(const std::string& message) const {
  const std::string file = FileBehind(history_file_);
  const bool is_protected =
      access(file.c_str(), F_OK) == 0 && access(file.c_str(), R_OK | W_OK) != 0;
  if (is_protected) return;  // renaming would replace it regardless
  const std::filesystem::path path(file);
  const std::string folder = path.has_parent_path() ? path.parent_path().string() : ".";
  RemoveLeftovers(folder, path.filename().string() + kTemporaryHistory, "");
  const std::string temporary = file + kTemporaryHistory + std::to_string(getpid());
  struct history* kept = NewHistory();
  HistEvent event;
  history(kept, &event, H_LOAD, file.c_str());
  history(kept, &event, H_ENTER, message.c_str());
  const bool is_saved = history(kept, &event, H_SAVE, temporary.c_str()) >= 0;
  history_end(kept);
  std::error_code fault;
  if (is_saved) std::filesystem::rename(temporary, file, fault);
  if (!is_saved || fault) std::filesystem::remove(temporary, fault);
}

std::string LineEditor::Line() const {
  const LineInfo* line = el_line(el_);
  return {line->buffer, line->lastchar};
}

void LineEditor::ReplaceLine(const std::string& text) {
  el_cursor(el_, 1 << 20);
  const LineInfoW* line = el_wline(el_);
  // el_deletestr deletes nothing if asked for more characters than there are.
  el_deletestr(el_, static_cast<int>(line->lastchar - line->buffer));
  el_insertstr(el_, text.c_str());
}

// Enables or disables paste marks. With marks, line ends in a paste are not taken for Enter.
void LineEditor::ShowPastes(bool on) const {
  if (!TerminalMarksPastes()) return;
  std::fputs((on ? kMarkPastes : kNoPasteMarks).data(), stdout);
  std::fflush(stdout);
}

std::optional<std::string> LineEditor::ReadOnce(const std::string& prompt) {
  prompt_ = prompt;
  interrupted_ = cleared_text_ = false;
  int length = 0;
  const PasteMarksGuard guard;
  el_set(el_, EL_PREP_TERM, 1);  // before the prompt, so that early input is edited too
  ShowPastes(true);
  const char* typed = el_gets(el_, &length);
  ShowPastes(false);
  if (typed == nullptr) return std::nullopt;
  std::string line(typed, static_cast<size_t>(std::max(length, 0)));
  if (line.ends_with('\n')) line.pop_back();
  cleared_text_ = interrupted_ && !line.empty();
  if (interrupted_) return std::nullopt;
  return line;
}

std::optional<std::string> LineEditor::Read(const std::string& prompt) {
  for (bool after_interrupt = false;; after_interrupt = true) {
    auto line = ReadOnce(prompt);
    if (line) {
      if (!MessageOf(*line).empty()) Remember(*line);
      return line;
    }
    const bool leaves = after_interrupt && !cleared_text_;
    if (!interrupted_ || leaves) return std::nullopt;
    std::puts("(Ctrl-C again, or Ctrl-D, leaves)");
  }
}

unsigned char LineEditor::Enter() {
  const std::string line = Line();
  const bool is_command = ParseCommand(line).has_value();
  if (IsOpenBlock(line) || (!is_command && MoreArrivesAtOnce())) return AddLine();
  if (EndsInBackslash(line) && !is_command) {
    el_cursor(el_, 1 << 20);
    el_deletestr(el_, 1);
    return AddLine();
  }
  el_push(el_, kAccept);
  return CC_NORM;
}

unsigned char LineEditor::AddLine() {
  el_insertstr(el_, "\n");
  return CC_REFRESH;
}

unsigned char LineEditor::Paste() {
  constexpr std::wstring_view kEnd = L"\x1b[201~";
  std::wstring pasted;
  wchar_t c = 0;
  while (!pasted.ends_with(kEnd) && el_wgetc(el_, &c) == 1) pasted += c;
  if (pasted.ends_with(kEnd)) pasted.resize(pasted.size() - kEnd.size());
  std::wstring text;
  for (size_t i = 0; i < pasted.size(); ++i) {
    const bool is_return = pasted[i] == L'\r';  // terminals send this for a line end
    if (is_return && i + 1 < pasted.size() && pasted[i + 1] == L'\n') continue;
    if (is_return || pasted[i] == L'\n' || pasted[i] == L'\t' || pasted[i] >= L' ') {
      text += is_return ? L'\n' : pasted[i];
    }
  }
  if (!text.empty() && el_winsertstr(el_, text.c_str()) != 0) return CC_ERROR;
  return CC_REFRESH;
}

unsigned char LineEditor::Interrupt() {
  interrupted_ = true;
  el_push(el_, kAccept);
  return CC_NORM;
}

unsigned char LineEditor::Suspend() {
  ShowPastes(false);
  el_set(el_, EL_PREP_TERM, 0);
  kill(0, SIGTSTP);  // the whole job, as a terminal does; libedit catches only the first signal
  el_set(el_, EL_PREP_TERM, 1);
  ShowPastes(true);
  return CC_REDISPLAY;
}

unsigned char LineEditor::Complete() {
  const LineInfo* info = el_line(el_);
  const std::string line(info->buffer, info->cursor);
  const bool may_be_command = line.starts_with('/') && line.find('\n') == std::string::npos;
  if (!may_be_command) return el_insertstr(el_, "\t") == 0 ? CC_REFRESH : CC_ERROR;
  const Completions found = completer_(line);
  if (found.candidates.empty()) return CC_REFRESH_BEEP;
  const std::string typed = line.substr(found.begin);
  std::string common = CommonBeginning(found.candidates);
  if (found.candidates.size() == 1 && !common.ends_with('/')) common += ' ';
  if (common.size() > typed.size()) {
    el_insertstr(el_, common.substr(typed.size()).c_str());
    return CC_REFRESH;
  }
  ShowCandidates(found.candidates);
  return CC_REDISPLAY;
}

void LineEditor::ShowCandidates(const std::vector<std::string>& candidates) const {
  int left = 0;
  std::fputc('\n', stdout);
  for (const std::string& c : candidates) {
    left -= static_cast<int>(c.size()) + 2;
    if (left < 0) {
      if (&c != candidates.data()) std::fputc('\n', stdout);
      left = ScreenColumns(el_) - static_cast<int>(c.size()) - 2;
    }
    std::printf("%s  ", c.c_str());
  }
  std::fputc('\n', stdout);
  std::fflush(stdout);
}

void LineEditor::ShowSearch(const HistorySearch& search) const {
  const std::string head =
      std::string(search.failed() ? "(not found) '" : "(search) '") + search.pattern() + "': ";
  const std::string* found = search.found();
  const std::string line = head + (found != nullptr ? *found : "");
  std::printf("\r\x1b[K%s", OnOneLine(line, ScreenColumns(el_) - 1).c_str());
  std::fflush(stdout);
}

// Incremental search: characters narrow it, Ctrl-R moves to older messages, Ctrl-C and Ctrl-G
// cancel. Any other key accepts the match and then has its usual effect.
unsigned char LineEditor::Search() {
  HistorySearch search(entries_);
  wchar_t c = 0;
  for (ShowSearch(search); el_wgetc(el_, &c) == 1; ShowSearch(search)) {
    if (c == 0x12) {
      search.Older();
    } else if (c == 0x7F || c == 0x08) {
      search.Erase();
    } else if (c >= L' ') {
      search.Type(Utf8Of(c));
    } else {
      break;
    }
  }
  const bool gives_up = c == 0x03 || c == 0x07;
  if (!gives_up && search.found() != nullptr) ReplaceLine(*search.found());
  const wchar_t key[] = {c, 0};
  const bool is_escape = c == 0x1B && !MoreArrivesAtOnce();  // not the first byte of an arrow key
  if (!gives_up && !is_escape) el_wpush(el_, key);
  return CC_REDISPLAY;
}

}  // namespace foretoken
