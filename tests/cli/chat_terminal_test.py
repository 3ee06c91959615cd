#!/usr/bin/env python3
"""Tests foretoken chat through a pseudo-terminal, as its user sees it. The messages that it received are
read from the conversation that /save writes.

usage: chat_terminal_test.py FORETOKEN MODEL FOLDER [TEST...]
"""
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import sys
import termios
import time

LEFT, UP, BACKSPACE, CTRL_C, CTRL_D, CTRL_R = "\x1b[D", "\x1b[A", "\x7f", "\x03", "\x04", "\x12"
PROMPT = r"\x1b\[\?2004h[^>]*> "
binary, model, folder = sys.argv[1:4]
SHORT = ["-n", "4"]  # answers
# Answers of exactly n tokens: the end tokens are ruled out.
ENDLESS = ["--logit-bias", "256:-1000", "--logit-bias", "258:-1000"]


class Terminal:
    """A chat in a terminal of 24 lines, as a context manager that kills it at the end."""

    def __init__(self, *options, columns=80, **environment):
        try:
            self.pid, self.fd = pty.fork()
        except OSError as missing:
            raise AssertionError(f"this machine gives no pseudo-terminal: {missing}") from missing
        if self.pid == 0:
            signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup, it would inherit "ignored"
            base = {"HOME": folder, "TERM": "xterm", "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
            settings = {k: v for k, v in {**base, **environment}.items() if v is not None}
            command = [binary, "chat", "-m", model, "-t", "1", *(options or SHORT)]
            os.execve(binary, command, settings)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.unread = ""
        self.expect(PROMPT)

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)

    def send(self, text):
        os.write(self.fd, text.encode())

    def expect(self, pattern, most=1 << 16):
        """Reads until the output matches `pattern`; returns the output up to the end of the match."""
        deadline = time.monotonic() + 60
        while not (found := re.search(pattern, self.unread, re.DOTALL)):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                raise AssertionError(f"no {pattern!r} in {self.unread[-2000:]!r}")
            try:
                self.unread += os.read(self.fd, most).decode(errors="replace")
            except OSError as ended:
                raise AssertionError(f"ended without {pattern!r}: {self.unread[-2000:]!r}") from ended
        seen, self.unread = self.unread[: found.end()], self.unread[found.end() :]
        return seen

    def begin(self, line):
        """Types a line and Enter, and waits for the next line to begin, so that lines are not taken for a paste."""
        self.send(line + "\r")
        self.expect("\n")

    def say(self, text):
        """Types keys and Enter; returns the output up to the next prompt."""
        self.send(text + "\r")
        return self.expect(PROMPT)

    def saved(self):
        path = os.path.join(folder, "saved.json")
        if os.path.exists(path):
            os.remove(path)
        self.say("/save " + path)
        with open(path, encoding="utf-8") as f:
            return json.load(f)["messages"]

    def asked(self):
        return [m["content"] for m in self.saved() if m["role"] == "user"]

    def status(self):
        """Waits for the chat to end by itself; returns its exit status."""
        try:
            while os.read(self.fd, 1 << 16):
                pass
        except OSError:
            pass
        status = os.waitpid(self.pid, 0)[1]
        self.pid = 0
        return os.waitstatus_to_exitcode(status)


def equal(found, expected):
    assert found == expected, f"found {found!r}, expected {expected!r}"


def contains(text, part):
    assert part in text, f"no {part!r} in {text[-2000:]!r}"


def forget_history():
    path = os.path.join(folder, ".foretoken_history")
    if os.path.exists(path):
        os.remove(path)


def test_utf8_is_typed_edited_and_found():
    """UTF-8 works in a UTF-8 locale, in the POSIX locale and in one that is not installed."""
    for locale in [{}, {"LC_ALL": "C"}, {"LC_ALL": None}, {"LC_ALL": "xx_XX.UTF-8"}]:
        forget_history()
        with Terminal(**locale) as chat:
            chat.say("grüß 日本 😀ab" + LEFT + LEFT + BACKSPACE + "X")  # deletes the emoji
            chat.say("Čau 🚀 wörld" + LEFT * 5 + "日" + BACKSPACE * 2)
            equal(chat.asked(), ["grüß 日本 Xab", "Čau 🚀wörld"])
        with Terminal(**locale) as chat:  # the history was saved, and is searched
            chat.say(UP + UP)  # the /save is the newest
            chat.say(CTRL_R + "🚀")
            chat.say(CTRL_R + "本")
            chat.send(CTRL_R + "ß 日X" + BACKSPACE + "\x1b")  # Esc takes the line, to be edited
            chat.expect("K> ")
            chat.say("!")
            chat.say(CTRL_R + "au" + LEFT + LEFT + "ö")  # an arrow key takes it, too
            equal(
                chat.asked(),
                ["Čau 🚀wörld", "Čau 🚀wörld", "grüß 日本 Xab", "grüß 日本 Xab!", "Čau 🚀wöröld"],
            )


def test_search_goes_on_and_is_given_up():
    forget_history()
    with Terminal() as chat:
        for text in ["one ä", "two ä", "three"]:
            chat.say(text)
        chat.send(CTRL_R + "ä")
        chat.expect("two ä")
        chat.say(CTRL_R)  # finds an older line
        chat.send(CTRL_R + "zzz")
        chat.expect("not found")
        chat.send("\x07")
        chat.say("four")
        chat.send("typed before" + CTRL_R + "two")  # the line found replaces what was typed
        chat.expect("two ä")
        chat.say("")
        equal(chat.asked(), ["one ä", "two ä", "three", "one ä", "four", "two ä"])


FUNCTION = '''def area(r):
\t"""The area of a circle."""
    # naïve, 日本 😀
    return 3.14159 \\
        * r ** 2'''


def test_pasted_lines_are_one_message():
    comment = "/* a comment */\nint x;  // /help\n/quit"
    with Terminal() as chat:
        chat.say("\x1b[200~" + FUNCTION.replace("\n", "\r") + "\x1b[201~")  # a bracketed paste
        chat.say(FUNCTION.replace("\n", "\r"))  # without paste marks: lines that arrive at once
        chat.say("\x1b[200~" + comment.replace("\n", "\r\n") + "\x1b[201~")
        chat.say("see: \x1b[200~two\rlines\x1b[201~ and more")
        equal(chat.asked(), [FUNCTION, FUNCTION, comment, "see: two\nlines and more"])
    many = "\n".join(f"line {i}" for i in range(150))  # exceeds the screen and libedit's buffer
    with Terminal() as chat:
        chat.say("\x1b[200~" + many.replace("\n", "\r") + "\r\x1b[201~")
        equal(chat.asked(), [many])


def test_blocks_and_joined_lines():
    with Terminal() as chat:
        for line in ['"""', "first", "", "  /help"]:
            chat.begin(line)
        chat.say('last"""')
        chat.begin("one \\")
        chat.say("two")
        chat.say('"""short"""')
        chat.begin("three\x1b")  # Alt-Enter
        chat.say("four")
        chat.say("/etc/passwd is a path")
        expected = ["first\n\n  /help\nlast", "one \ntwo", "short", "three\nfour", "/etc/passwd is a path"]
        equal(chat.asked(), expected)
        chat.begin('/system """be')
        chat.say('brief"""')
        equal(chat.saved(), [{"role": "system", "content": "be\nbrief"}])


def test_ctrl_c_clears_the_line_and_twice_leaves():
    forget_history()
    with Terminal() as chat:
        chat.say("first")
        chat.send("not wanted" + CTRL_C)
        contains(chat.expect(PROMPT), "Ctrl-C again, or Ctrl-D, leaves")
        chat.say("second")
        equal(chat.asked(), ["first", "second"])
        chat.send(CTRL_C)
        chat.expect(PROMPT)
        for text in ["one", "two"]:  # something was typed in between, so Ctrl-C clears the line only
            chat.send(text + CTRL_C)
            contains(chat.expect(PROMPT), "Ctrl-C again, or Ctrl-D, leaves")
        chat.send(CTRL_C)
        equal(chat.status(), 0)
    with Terminal() as chat:
        chat.say(CTRL_R + "sec")
        equal(chat.asked(), ["second"])
        chat.send(CTRL_D)
        equal(chat.status(), 0)
    with Terminal() as chat:  # killed, and yet the history is kept
        chat.say("third")
    with Terminal() as chat:
        chat.say(UP)
        equal(chat.asked(), ["third"])


def test_chats_that_run_together_keep_one_history():
    forget_history()
    with Terminal() as one, Terminal() as other:
        one.say("first")
        other.say("second")
        one.say("third")
    with open(os.path.join(folder, ".foretoken_history"), encoding="utf-8") as f:
        equal(f.read().split()[1:], ["first", "second", "third"])  # after libedit's mark
    equal([name for name in os.listdir(folder) if name.startswith(".foretoken_history.")], [])
    with Terminal() as chat:
        chat.say(UP + UP)
        equal(chat.asked(), ["second"])


def test_a_signal_at_the_prompt_ends_paste_marks():
    for number in [signal.SIGTERM, signal.SIGHUP]:
        with Terminal() as chat:
            os.kill(chat.pid, number)
            chat.expect(r"\x1b\[\?2004l")
            equal(chat.status(), -number)


def test_ctrl_c_stops_an_answer():
    for _ in range(5):  # a fast machine may have answered before Ctrl-C arrives
        with Terminal("--isa", "portable", "--drafter", "none", "--temp", "1", *ENDLESS) as chat:
            chat.send("hello\r")
            chat.expect(r"\x1b\[\?2004l.", most=1)
            chat.send(CTRL_C)
            if "stopped" not in chat.expect(PROMPT):
                continue
            first = chat.saved()
            equal([m["role"] for m in first], ["user", "assistant"])
            chat.say("/set new-tokens 4")
            chat.say("go on")
            equal(chat.saved()[:2], first)
            equal(len(chat.saved()), 4)
            return
    raise AssertionError("five answers ended before Ctrl-C stopped them")


def test_a_full_context_offers_a_way_on():
    # One token a byte: with template tokens, "three" and its answer, "aaaa", take 30, the others 28 and 29.
    with Terminal("-c", "109", *SHORT, "--logit-bias", "97:1000") as chat:
        for text in ["one", "two", "three"]:
            chat.say(text)
        equal(chat.asked(), ["one", "two", "three"])
        chat.send("four\r")
        contains(chat.expect(r"\[y/N\] "), "Forget the oldest of 4 exchanges and continue?")
        chat.send("n\r")
        contains(chat.expect(PROMPT), "/forget 1 forgets the oldest of 4 exchanges, /undo")
        equal(chat.asked(), ["one", "two", "three"])
        chat.send("four\r")
        chat.expect(r"\[y/N\] ")
        chat.send("y" + CTRL_C)  # no
        contains(chat.expect(PROMPT), "/forget 1 forgets the oldest of 4 exchanges, /undo")
        equal(chat.asked(), ["one", "two", "three"])
        chat.send("four\r")
        chat.expect(r"\[y/N\] ")
        chat.say("y")
        equal(chat.asked(), ["two", "three", "four"])
        chat.say("/forget 2")
        equal(chat.asked(), ["four"])
        contains(chat.say("x" * 300), "the message is too long: the prompt with this message alone has")
        contains(chat.say("/forget 2"), "/forget: found '2', the conversation has 1 exchange")
        equal(chat.asked(), ["four"])
        long_file = os.path.join(folder, "long.txt")
        with open(long_file, "w", encoding="utf-8") as f:
            f.write("x" * 300)
        chat.say("/file " + long_file)
        contains(chat.say("five"), "the attached file is dropped")
        equal(chat.asked(), ["four"])
        chat.say("five")
        equal(chat.asked()[-1], "five")


def test_settings():
    with Terminal() as chat:
        contains(chat.say("/set"), "penalty-last-n     64")
        contains(chat.say("/set temp 0.8"), "temp 0.8")
        contains(chat.say("/set top_p = 0.9"), "top-p 0.9")
        contains(chat.say("/set temperature"), "temp 0.8")
        contains(chat.say("/set parameter top_k 40"), "top-k 40")
        contains(chat.say("/set temp 500"), "temperature: found 500")
        contains(chat.say("/set temp 500"), "to 100")
        contains(chat.say("/set temp hot"), "temp: found 'hot', expected a number")
        contains(chat.say("/set top-k 2.5"), "top-k: found '2.5', expected a whole number")
        contains(chat.say("/set new-tokens 0"), "new-tokens: found 0, expected -1 or at least 1")
        contains(chat.say("/set tmp 1"), "no setting 'tmp'; did you mean temp?")
        contains(chat.say("/set wings 1"), "there are temp, top-k")
        contains(chat.say("/seed 7"), "seed 7")
        contains(chat.say("/seed"), "seed 7")
        contains(chat.say("/seed -2"), "seed: found '-2', expected a whole number from -1 to")
        drawn = {re.search(r"seed (\d+)", chat.say("/seed -1"))[1] for _ in range(3)}
        assert len(drawn) > 1, drawn
        contains(chat.say("/stets"), "no command /stets; did you mean /stats?")
        contains(chat.say("/zzzzzz"), "no command /zzzzzz; /help lists them")


def test_regen_and_undo():
    sampled = ["--temp", "1", "-n", "12", *ENDLESS]
    with Terminal(*sampled, "--seed", "5") as chat:
        chat.say("hello")
        first = chat.saved()
        contains(chat.say("/regen"), "(seed 6)")
        second = chat.saved()
        equal(second[0], first[0])
        assert second[1] != first[1], "the same answer again"
        chat.say("and")
        contains(chat.say("/undo"), "1 exchange left")
        equal(chat.saved(), second)
        chat.say("/undo")
        equal(chat.saved(), [])
        contains(chat.say("/undo"), "nothing was asked yet")
        contains(chat.say("/regen"), "nothing was asked yet")
    with Terminal(*sampled) as chat:  # a seed set in the chat has the effect of --seed
        chat.say("hello")
        chat.say("/seed 6")
        chat.say("/undo")
        chat.say("hello")
        equal(chat.saved(), second)
        contains(chat.say("/set temp 0"), "temp 0")
        contains(chat.say("/regen"), "at temperature 0 the answer is always the same")


def test_files_and_conversations():
    source = os.path.join(folder, "größe 1.py")
    with open(source, "w", encoding="utf-8") as f:
        f.write("x = 'ä'\n")
    paths = [os.path.join(folder, name) for name in ("talk.json", "talk.txt", "odd.txt")]
    for path in paths:
        if os.path.exists(path):
            os.remove(path)
    with Terminal("--system", "be brief", *SHORT) as chat:
        contains(chat.say("/file " + source), "größe 1.py, 9 tokens, will be sent with the next message")
        chat.say("what is it?")
        chat.say("two\\n")
        before = chat.saved()
        equal(before[1]["content"], "größe 1.py:\n\nx = 'ä'\n\nwhat is it?")
        for path in paths[:2]:
            chat.say("/save " + path)
        contains(chat.say("/file " + model), "is not UTF-8 text")
        contains(chat.say("/file " + folder + "/none"), "cannot open")
        contains(chat.say("/load " + source), "is not a conversation")
        contains(chat.say("/load"), "/load needs the name of a file")
        equal(chat.saved(), before)
        chat.say("\x1b[200~a\r\ruser: b\x1b[201~")
        contains(chat.say("/save " + paths[2]), "save as .json for that")
    with Terminal() as chat:
        contains(chat.say("/load " + paths[0]), "2 exchanges loaded")
        equal(chat.saved(), before)
        chat.say("go on")
        longer = chat.saved()
        equal(longer[:5], before)
        chat.say("/load " + paths[0])  # asks no question, as the conversation is saved
        chat.say("go on")
        chat.send("/load " + paths[0] + "\r")
        contains(chat.expect(r"\[y/N\] "), "(3 exchanges not saved)")
        contains(chat.say("n"), "nothing was loaded; /save FILE keeps the conversation")
        equal(len(chat.saved()), len(longer))
        chat.say("/undo")
        chat.send("/load " + paths[0] + "\r")
        chat.expect(r"\[y/N\] ")
        contains(chat.say("y"), "2 exchanges loaded")
    with Terminal() as chat:
        chat.say("/load " + paths[1])
        shown = [m["content"] for m in chat.saved() if m["role"] != "assistant"]
        equal(shown, [m["content"] for m in before if m["role"] != "assistant"])


def test_completion_and_help():
    with Terminal() as chat:
        chat.say("hello")
        chat.say("/cl\t")
        equal(chat.saved(), [])
        chat.say("hello")
        chat.say("/und\t")
        equal(chat.saved(), [])
        chat.send("/se\t")
        chat.expect("seed  set")
        contains(chat.say("t te\t0.5"), "temp 0.5")
        chat.say("/drafter look\t")
        contains(chat.say("/drafter"), "drafter: lookahead\r")
        chat.say("/tree eag\t2")
        contains(chat.say("/tree"), "tree: eagle2\r")
        os.makedirs(os.path.join(folder, "töpfe"), exist_ok=True)
        with open(os.path.join(folder, "töpfe", "näh.txt"), "w", encoding="utf-8") as f:
            f.write("text")
        contains(chat.say("/file ~/tö\tn\t"), "näh.txt, 4 tokens, will be sent with")
        chat.say("a\tb")
        equal(chat.asked(), ["näh.txt:\n\ntext\n\na\tb"])
        shown = chat.say("/help")
        commands = re.findall(r"(?:^|l)/(\w+) +[^\r\n]*[a-z)]\r$", shown, re.MULTILINE)
        equal(" ".join(commands), "help clear undo regen forget file system set seed drafter tree stats save load quit")
        contains(chat.say("/?"), "/regen")
        chat.send("/bye\r")
        equal(chat.status(), 0)


def main():
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    failures = 0
    for name, test in list(globals().items()):
        if not name.startswith("test_") or (sys.argv[4:] and name not in sys.argv[4:]):
            continue
        try:
            test()
        except AssertionError as error:
            failures += 1
            print(f"FAIL: {name}: {error}")
    print("all passed" if failures == 0 else f"{failures} failed")
    return failures


if __name__ == "__main__":
    sys.exit(main())
