"""tools/zoo, in a checkout of two machines."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
XYLEM = os.environ["XYLEM_COMMAND"]


class ZooTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for name in ("tools", "topologies", "docs", "tests/golden/nccl"):
            (self.root / name).mkdir(parents=True)
        shutil.copy(ROOT / "tools/zoo", self.root / "tools/zoo")
        for name in ("seed-a40x2", "gpu1-nonic"):
            shutil.copy(ROOT / f"topologies/{name}.xml", self.root / "topologies")
        self.page = self.root / "docs/zoo.md"

    def zoo(self, *words):
        command = [sys.executable, str(self.root / "tools/zoo"), *words, "--xylem", XYLEM]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    def row(self, name):
        return next(line for line in self.page.read_text("utf-8").splitlines() if line.startswith(f"| [{name}]"))

    def test_a_page_that_was_written_is_up_to_date(self):
        self.assertEqual(self.zoo("page").returncode, 0)
        self.assertEqual(self.zoo("page", "--check").stdout, "docs/zoo.md is up to date\n")
        self.assertIn("| 2 × sm 86 | 48.0 to 1 GPU | 1 × 200 |", self.row("seed-a40x2"))
        self.assertIn("| 1 × sm 90 | – | – | – | no network |", self.row("gpu1-nonic"))

    def test_a_change_of_a_machine_is_noticed(self):
        self.zoo("page")
        machine = self.root / "topologies/seed-a40x2.xml"
        machine.write_text(machine.read_text("utf-8").replace('count="4"', 'count="2"'), "utf-8")
        done = self.zoo("page", "--check")
        self.assertEqual(done.returncode, 1)
        self.assertIn("out of date: docs/zoo/seed-a40x2.svg, docs/zoo.md; run `tools/zoo page`", done.stderr)
        self.assertIn("24.0 to 1 GPU", done.stdout)
        self.assertIn("48.0 to 1 GPU", self.row("seed-a40x2"))

    def test_a_machine_without_text_is_refused(self):
        machine = self.root / "topologies/gpu1-nonic.xml"
        lines = machine.read_text("utf-8").splitlines(keepends=True)
        machine.write_text('<system version="1">\n' + "".join(lines[1:]), "utf-8")
        done = self.zoo("page")
        self.assertEqual(done.returncode, 1)
        self.assertIn("topologies/gpu1-nonic.xml:1: the line does not say what the machine is", done.stderr)
        self.assertFalse(self.page.exists())

    def test_drawings_are_made_and_go_with_their_machines(self):
        self.zoo("page")
        self.assertIn("([drawing](zoo/gpu1-nonic.svg))", self.row("gpu1-nonic"))
        drawn = self.root / "docs/zoo/gpu1-nonic.svg"
        self.assertTrue(drawn.read_text("utf-8").startswith("<svg"))
        (self.root / "topologies/gpu1-nonic.xml").unlink()
        self.assertIn("docs/zoo/gpu1-nonic.svg", self.zoo("page", "--check").stderr)
        self.zoo("page")
        self.assertFalse(drawn.exists())

    def test_plans_are_made_where_nccl_was_not_asked(self):
        shutil.copy(ROOT / "tests/golden/nccl/gpu1-nonic.n1.json", self.root / "tests/golden/nccl")
        self.assertEqual(self.zoo("plans").stdout, "wrote 2 plans to tests/golden/xylem\n")
        plan = json.loads((self.root / "tests/golden/xylem/seed-a40x2.n2.json").read_text("utf-8"))
        self.assertEqual((plan["job"]["ranks"], plan["input"]["topology"]), (4, "seed-a40x2.xml"))
        self.assertEqual(list(plan["connections"]["ranks"]["sample"]), ["0", "1", "2", "3"])
        self.zoo("page")
        self.assertIn("| Xylem |", self.row("seed-a40x2"))
        self.assertIn("| NCCL |", self.row("gpu1-nonic"))

    def test_an_unknown_machine_is_named(self):
        done = self.zoo("plans", "nowhere")
        self.assertEqual(done.returncode, 1)
        self.assertIn("topologies/ has no machine nowhere", done.stderr)


if __name__ == "__main__":
    unittest.main()
