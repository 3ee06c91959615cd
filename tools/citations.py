#!/usr/bin/env python3
"""Checks that every citation of a rule resolves to one anchor in docs/methods, and that Markdown links resolve.

A rule is `<a id="H-7"></a>` before its visible label in a page of docs/methods. A citation is the bare ID, a
capital letter and a number (docs/methods/README.md).

usage: tools/citations.py [ROOT]     prints one line per finding; exits with 1 if there is one
       tools/citations.py H-7 ...    prints the places of rules and of their citations
"""
import collections
import os
import re
import sys

from check_docs import slug

FOLDERS = ("src", "apps", "eval", "train", "tests", "tools", "bench", "docs", "scripts", "cmake", "models", "recipes")
SOURCES = re.compile(r"(\.(h|cc|def|py|sh|cmake|md)|CMakeLists\.txt)$")
PAGES = "docs/methods"

ID = re.compile(r"(?<![\w-])[A-Z]-\d+(?![\w-])")
ANCHOR = re.compile(r'<a id="([^"]*)"></a>(\*\*)?([A-Z]-\d+)?')
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
# References that a reader of a clone cannot resolve; split so that this file does not contain them.
UNRESOLVABLE = [
    (re.compile(r"(?<![\w/])methods" + r"\.md"), "cites a page that is not in the repository"),
    (re.compile("shared" + "/design"), "points outside the repository"),
    (re.compile("\u00a7"), "cites a section by sign; expected a rule's ID, or a paper and its section"),
]


def files(root):
    names = [n for n in sorted(os.listdir(root)) if os.path.isfile(os.path.join(root, n))]
    yield from (n for n in names if SOURCES.search(n))
    for top in FOLDERS:
        for folder, folders, names in os.walk(os.path.join(root, top)):
            folders.sort()
            for name in sorted(names):
                if SOURCES.search(name):
                    yield os.path.relpath(os.path.join(folder, name), root)


class Repository:
    def __init__(self, root):
        self.root = root
        self.text = {}
        for path in files(root):
            with open(os.path.join(root, path), encoding="utf-8") as f:
                self.text[path] = f.read().split("\n")
        self.rules = collections.defaultdict(list)  # ID -> [(path, line)]
        self.citations = collections.defaultdict(list)
        self.anchors = collections.defaultdict(set)  # path -> anchors of its headings and rules
        self.findings = []
        for path, lines in self.text.items():
            self._read(path, lines)

    def _read(self, path, lines):
        fenced = False
        for number, line in enumerate(lines, 1):
            fenced ^= line.startswith("```")
            if path.endswith(".md"):
                if not fenced and (heading := re.match(r"#+ (.*)", line)):
                    self.anchors[path].add(slug(heading.group(1)))
                for anchor in ANCHOR.finditer(line):
                    self._rule(path, number, anchor)
                line = ANCHOR.sub("", line)
            for link in re.finditer(r"#([A-Z]-\d+)\b", line):
                line = line.replace(link.group(0), "#")  # checked as a link
            for cited in ID.finditer(line):
                self.citations[cited.group(0)].append((path, number))

    def _rule(self, path, number, anchor):
        name, _, label = anchor.groups()
        self.anchors[path].add(name)
        if not path.startswith(PAGES + "/"):
            return
        self.rules[name].append((path, number))
        if label != name:
            self._find(path, number, f"anchor {name} is followed by {label}, expected its own ID")

    def _find(self, path, number, message):
        self.findings.append(f"{path}:{number}: {message}")

    def check(self):
        for name, places in sorted(self.rules.items()):
            for path, number in places[1:]:
                self._find(path, number, f"anchor {name} exists already, at {places[0][0]}:{places[0][1]}")
        for name, places in sorted(self.citations.items()):
            for path, number in places if name not in self.rules else ():
                self._find(path, number, f"cites {name}, which is no rule of {PAGES}")
        for path, lines in self.text.items():
            for number, line in enumerate(lines, 1):
                for pattern, message in UNRESOLVABLE:
                    if pattern.search(line):
                        self._find(path, number, message)
                if path.endswith(".md"):
                    self._check_links(path, number, line)
                elif page := re.search(r"docs/methods/[\w./-]*\.md", line):
                    if page.group(0) not in self.text:
                        self._find(path, number, f"names {page.group(0)}, which does not exist")
        index = "\n".join(self.text.get(PAGES + "/README.md", []))
        for path in self.text:
            if os.path.dirname(path) == PAGES and f"]({os.path.basename(path)})" not in index:
                if os.path.basename(path) != "README.md":
                    self._find(path, 1, f"is missing in {PAGES}/README.md")
        return self.findings

    def _check_links(self, path, number, line):
        for link in LINK.finditer(line):
            target, _, anchor = link.group(1).partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            page = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
            if not os.path.exists(os.path.join(self.root, page)):
                self._find(path, number, f"links to {link.group(1)}, which does not exist")
            elif anchor and page.endswith(".md") and anchor not in self.anchors[page]:
                self._find(path, number, f"links to {link.group(1)}, an anchor that {page} lacks")


def main():
    wanted = [a for a in sys.argv[1:] if ID.fullmatch(a)]
    roots = [a for a in sys.argv[1:] if not ID.fullmatch(a)]
    root = roots[0] if roots else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    repository = Repository(root)
    for name in wanted:
        for path, number in repository.rules[name]:
            print(f"{path}:{number}: {repository.text[path][number - 1]}")
        for path, number in repository.citations[name]:
            print(f"  cited in {path}:{number}")
    if wanted:
        return 0 if all(repository.rules[name] for name in wanted) else 1
    findings = repository.check()
    for finding in findings:
        print(f"citations: {finding}", file=sys.stderr)
    if findings:
        return 1
    cited = sum(len(places) for places in repository.citations.values())
    print(f"citations: {cited}, of {len(repository.rules)} rules and their links, all resolved")
    return 0


if __name__ == "__main__":
    sys.exit(main())
