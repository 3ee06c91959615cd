#!/usr/bin/env python3
"""Tests tools/citations.py on a small temporary repository.

usage: tools/citations_test.py
"""
import os
import tempfile
import unittest

import citations

RULE = '<a id="H-7"></a>**H-7. Ties.** Equal scores keep their order.\n'
INDEX = "# Methods\n\n[trees](trees.md)\n"


class Citations(unittest.TestCase):
    def findings(self, **changed):
        """Findings in a clean repository with some files changed; in their names, `__` means `/` and `_` means `.`."""
        files = {"docs/methods/README.md": INDEX, "docs/methods/trees.md": RULE, "src/a.h": "// By score (H-7).\n"}
        files.update({name.replace("__", "/").replace("_", "."): text for name, text in changed.items()})
        with tempfile.TemporaryDirectory() as root:
            for name, text in files.items():
                os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
                with open(os.path.join(root, name), "w", encoding="utf-8") as f:
                    f.write(text)
            return citations.Repository(root).check()

    def expect(self, finding, **changed):
        found = self.findings(**changed)
        self.assertEqual(len(found), 1, found)
        self.assertIn(finding, found[0])

    def test_a_clean_repository_has_no_findings(self):
        self.assertEqual(self.findings(), [])
        self.assertEqual(self.findings(src__b_cc="// EAGLE-3 with AVX-512, UTF-8 and Q-learning.\n"), [])

    def test_citations_resolve(self):
        self.expect("src/a.h:2: cites H-" + "8,", src__a_h="\n// (H-7, H-" + "8)\n")
        self.expect("tests/t.py:1: cites Z-" + "1,", tests__t_py="# Z-" + "1\n")

    def test_anchors_are_unique_and_labelled(self):
        self.expect("anchor H-7 exists already, at docs/methods/trees.md:1", docs__methods__trees_md=RULE + RULE)
        self.expect("anchor H-7 is followed by None", docs__methods__trees_md='<a id="H-7"></a>Ties.\n')

    def test_links_resolve(self):
        self.expect("links to none.md, which", docs__a_md="[x](none.md)\n")
        self.expect("an anchor that docs/methods/trees.md lacks", docs__a_md="[x](methods/trees.md#H-" + "8)\n")
        self.assertEqual(self.findings(docs__a_md="# A `b` c\n[x](methods/trees.md#H-7) [y](#a-b-c)\n"), [])

    def test_pages_are_named(self):
        self.expect(f"{citations.PAGES}/b.md:1: is missing", docs__methods__b_md="# B\n")
        self.expect(f"names {citations.PAGES}/c.md", src__b_h=f"// {citations.PAGES}/c.md\n")

    def test_places_outside_the_repository_are_refused(self):
        self.expect("not in the repository", src__b_h="// (methods" + ".md 2.1)\n")
        self.expect("outside the repository", src__b_h="// ../shared" + "/design/x\n")
        self.expect("section by sign", src__b_h="// paper, \u00a73\n")


if __name__ == "__main__":
    unittest.main()
