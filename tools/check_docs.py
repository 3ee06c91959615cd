#!/usr/bin/env python3
"""Fails when README.md or a page of docs/ has a link, an anchor or a command that does not exist.

Links: every relative one leads to a file or folder, and its anchor to a heading (by GitHub's rules) or an `<a id>`.
Commands: lines of code blocks and code spans that begin with `foretoken`, `build/release/foretoken` or `make` name a
subcommand and long options that `foretoken SUBCOMMAND --help` lists, or targets of the Makefile. Without BINARY,
`foretoken` commands are not checked. Methods and options of `foretoken train` are those that train/ declares, as a
binary may lack the trainer.

usage: tools/check_docs.py [BINARY] [--root ROOT]
"""
import argparse
import collections
import glob
import os
import re
import shlex
import subprocess
import sys

LINK = re.compile(
    r"\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)"  # [text](target)
    r"|^ {0,3}\[[^\]^]+\]:\s*(\S+)"  # [name]: target
    r"|<(?:img|a)\s[^>]*(?:src|href)=\"([^\"]+)\"", re.MULTILINE)
EXPLICIT_ANCHOR = re.compile(r"<a\s[^>]*(?:id|name)=\"([^\"]+)\"")
FENCE = re.compile(r" {0,3}(```+|~~~+)")
# An option where --help lists it, not where a description mentions it.
LISTED_OPTION = re.compile(r"^ {1,6}(?:-\w,)?(--[\w-]+(?:,--[\w-]+)*)", re.MULTILINE)
LISTED_COMMAND = re.compile(r"^  ([a-z][\w-]*) {2,}\S", re.MULTILINE)
PLACEHOLDER = re.compile(r"[A-Z][A-Z_-]*$")  # METHOD, COMMAND
COMMAND = re.compile(r"(\$ |sudo )?(build/release/)?foretoken |(\$ |sudo )?make( |$)")
END_OF_COMMAND = ("|", "||", "&", "&&", ";", ">", ">>", "<", "2>", "(", ")")


def slug(heading):
    """The anchor that GitHub gives a heading, before it numbers repeated ones."""
    text = re.sub(r"<[^>]*>", "", heading)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"[^\w\- ]", "", text.strip().rstrip("#").strip().lower()).replace(" ", "-")


class Page:
    """A Markdown file: its prose with code blanked out, its anchors, and the lines of its code blocks and spans."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            lines = f.read().split("\n")
        self.anchors = set()
        self.blocks, self.spans = [], []  # each [[(line number, text)]]
        prose, fence, repeated = [], None, collections.Counter()
        after_blank, indented, in_list = True, False, False
        for number, line in enumerate(lines, 1):
            mark = FENCE.match(line)
            if fence:
                if mark and line.strip() == fence:
                    fence = None
                else:
                    self.blocks[-1].append((number, line))
                prose.append("")
                continue
            if mark:
                fence = mark.group(1)
                self.blocks.append([])
                prose.append("")
                continue
            # An indented block begins after an empty line, outside of lists.
            is_code = line.startswith("    ") and line.strip() and not in_list and (indented or after_blank)
            if is_code:
                if not indented:
                    self.blocks.append([])
                self.blocks[-1].append((number, line))
                prose.append("")
            else:
                prose.append(line)
                if re.match(r"(?:[-*+]|\d+[.)])\s", line):
                    in_list = True
                elif line.strip() and not line.startswith(" "):
                    in_list = False
                if heading := re.match(r"#{1,6}\s+(.*)", line):
                    name = slug(heading.group(1))
                    count = repeated[name]
                    repeated[name] += 1
                    self.anchors.add(f"{name}-{count}" if count else name)
            indented = is_code
            after_blank = not line.strip()
        text = "\n".join(prose)
        self.anchors.update(EXPLICIT_ANCHOR.findall(text))
        # A code span may cross a line, but not a paragraph. It holds no links.
        def take_span(span):
            self.spans.append([(text.count("\n", 0, span.start()) + 1, span.group(2).replace("\n", " "))])
            return re.sub(r"[^\n]", " ", span.group(0))

        self.prose = re.sub(r"(`+)((?:(?!\n\n).)+?)\1(?!`)", take_span, text, flags=re.DOTALL)

    def commands(self):
        """(line number, words) of each command line."""
        for number, text in command_lines(self.blocks + self.spans, COMMAND):
            yield number, [w for w in split(text) if w not in ("$", "sudo")]


def split(text):
    """The words of a command without its comment. Raises ValueError where a quotation is open."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    return list(lexer)


def command_lines(blocks, begins):
    """(line number, text) of each command of `blocks` that `begins` matches, joined where `\\` or an open quotation
    continues it."""
    for block in blocks:
        text, first = "", 0
        for number, line in block:
            if not text:
                first, text = number, line.strip()
            else:
                text += " " + line.strip()
            if not begins.match(text):
                text = ""
                continue
            if text.endswith("\\"):
                text = text[:-1]
                continue
            try:
                split(text)
            except ValueError:  # an open quotation: the next line belongs to it
                continue
            yield first, text
            text = ""


class Program:
    """The subcommands and long options of a foretoken binary, by its --help."""

    def __init__(self, binary, root):
        self.binary, self.root, self.known = binary, root, {}

    def help(self, *command):
        done = subprocess.run([self.binary, *command, "--help"],
                              capture_output=True, text=True, timeout=20, check=False)
        return done.stdout if done.returncode == 0 else None

    def describe(self, *command):
        """(subcommands, long options); None where --help fails."""
        if command not in self.known:
            text = self.help(*command)
            if command and command[0] == "train":
                self.known[command] = self.trainer(command, text or "")
            elif text is None:
                self.known[command] = None
            else:
                part = re.search(r"^(?:Subcommands|commands):\n((?:  .*\n)+)", text, re.MULTILINE)
                commands = set(LISTED_COMMAND.findall(part.group(1))) if part else set()
                options = {o for listed in LISTED_OPTION.findall(text) for o in listed.split(",")}
                self.known[command] = commands, options | {"--help", "--version"}
        return self.known[command]

    def trainer(self, command, text):
        """What train/ declares: methods, options as they are typed, and fields of recipes, each of which is a flag."""
        with open(os.path.join(self.root, "train", "methods.def"), encoding="utf-8") as f:
            methods = set(re.findall(r"^FT_METHOD\((\w+)", f.read(), re.MULTILINE))
        options = {"--help"} | set(re.findall(r"--[a-z][\w-]*", text))
        paths = glob.glob(os.path.join(self.root, "train", "**", "*.[ch]*"), recursive=True)
        for path in paths + glob.glob(os.path.join(self.root, "apps", "models", "*train*")):
            with open(path, encoding="utf-8") as f:
                for name in re.findall(r'"(?:-\w,)?(?:--)?([a-z][a-z0-9_-]+)"', f.read()):
                    options.add("--" + name.replace("_", "-"))
        return methods | {"answers", "export", "plot"} if len(command) == 1 else set(), options

    def complaints(self, words):
        command = []
        known = self.describe()
        if known is None:
            return [f"{self.binary} --help fails"]
        words = words[1:]
        for i, word in enumerate(words):
            if word in END_OF_COMMAND:
                words = words[:i]
                break
        while known and words and known[0] and not words[0].startswith("-"):
            if PLACEHOLDER.match(words[0]):
                return []
            if words[0] not in known[0]:
                return [f"foretoken {' '.join(command)}{' ' * bool(command)}has no command '{words[0]}'"]
            command.append(words.pop(0))
            known = self.describe(*command)
        if known is None:
            return [f"foretoken {' '.join(command)} --help fails"]
        used = [m.group(0) for w in words if (m := re.match(r"--[a-z][\w-]*", w))]
        return [f"foretoken {' '.join(command)} has no option {o}" for o in used if o not in known[1]]


def make_complaints(words, targets):
    named = [w for w in words[1:] if re.match(r"[a-z][\w-]*$", w)]
    for i, word in enumerate(words):
        if word in END_OF_COMMAND:
            named = [w for w in words[1:i] if re.match(r"[a-z][\w-]*$", w)]
            break
    return [f"the Makefile has no target '{w}'" for w in named if w not in targets]


def check_links(path, page, root, pages):
    for link in LINK.finditer(page.prose):
        target = next(g for g in link.groups() if g)
        if re.match(r"[a-zA-Z][a-zA-Z+.-]*:", target):
            continue
        number = page.prose.count("\n", 0, link.start()) + 1
        file, _, anchor = target.partition("#")
        place = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
        if place.startswith("..") or not os.path.exists(os.path.join(root, place)):
            yield number, f"links to {target}, which does not exist"
        elif anchor and place.endswith(".md"):
            if place not in pages:
                pages[place] = Page(os.path.join(root, place))
            if anchor not in pages[place].anchors:
                yield number, f"links to {target}, an anchor that {place} lacks"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", nargs="?", metavar="BINARY", help="a built foretoken")
    parser.add_argument("--root", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    args = parser.parse_args()
    root = os.path.abspath(args.root)
    if args.binary and not os.access(args.binary, os.X_OK):
        parser.error(f"{args.binary}: no program is there")
    program = Program(os.path.abspath(args.binary), root) if args.binary else None
    with open(os.path.join(root, "Makefile"), encoding="utf-8") as f:
        targets = set(re.findall(r"^([a-z][\w-]*):", f.read(), re.MULTILINE))
    paths = ["README.md"] + sorted(
        os.path.relpath(p, root) for p in glob.glob(os.path.join(root, "docs", "**", "*.md"), recursive=True))
    pages = {path: Page(os.path.join(root, path)) for path in paths}
    findings, commands = [], 0
    for path in paths:
        found = list(check_links(path, pages[path], root, pages))
        for number, words in pages[path].commands():
            if words[0] == "make":
                complaints = make_complaints(words, targets)
            elif program:
                complaints = program.complaints(words)
            else:
                continue
            commands += 1
            found += [(number, complaint) for complaint in complaints]
        findings += [f"{path}:{number}: {what}" for number, what in sorted(found)]
    for finding in findings:
        print(finding)
    if not findings:
        print(f"check_docs: links of {len(paths)} pages and {commands} commands exist")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
