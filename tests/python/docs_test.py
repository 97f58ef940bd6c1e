"""Runs the examples of docs/python.md and docs/pytorch.md."""

import doctest
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))


def blocks(page, kind):
    with open(os.path.join(ROOT, "docs", page), encoding="utf-8") as file:
        return re.findall(rf"^```{kind}\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)


class DocsTest(unittest.TestCase):
    def test_the_planner(self):
        os.chdir(ROOT)
        scope = {}
        found = 0
        for text in blocks("python.md", "python"):
            test = doctest.DocTestParser().get_doctest(text, scope, "python.md", "docs/python.md", 0)
            result = doctest.DocTestRunner().run(test, clear_globs=False)
            scope = test.globs
            self.assertEqual(result.failed, 0)
            found += result.attempted
        self.assertGreater(found, 10)

    @unittest.skipUnless(importlib.util.find_spec("xylem.torch"), "built without torch")
    def test_training(self):
        command = os.environ.get("XYLEM_COMMAND", "xylem")
        with tempfile.TemporaryDirectory() as folder:
            for text in blocks("pytorch.md", "python"):
                name = re.match(r"# (\S+\.py)\n", text)[1]
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            shown = blocks("pytorch.md", "text")
            self.assertTrue(shown)
            for text in shown:
                line, *output = text.splitlines()
                words = line.removeprefix("$ xylem ").replace("python3", sys.executable).split()
                for _ in range(3):
                    done = subprocess.run([command, *words], cwd=folder, capture_output=True, text=True, timeout=120)
                    if "Address already in use" not in done.stdout + done.stderr:
                        break  # another program has taken the port, which was free when it was chosen
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertEqual(sorted(done.stdout.splitlines()), output, done.stderr)


if __name__ == "__main__":
    unittest.main()
