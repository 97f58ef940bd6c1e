"""The installed package works in its place, without the build folder."""

import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))


class InstallTest(unittest.TestCase):
    def test_the_installed_package(self):
        with tempfile.TemporaryDirectory() as prefix:
            subprocess.run(["cmake", "--install", os.environ["XYLEM_BUILD"], "--component", "python", "--prefix", prefix],
                           check=True, stdout=subprocess.DEVNULL)
            package = os.path.join(prefix, "lib", "python3", "dist-packages")
            program = ("import sys, xylem; print(xylem.__file__); print(xylem.plan(sys.argv[1]).ranks)")
            done = subprocess.run([sys.executable, "-c", program, os.path.join(ROOT, "topologies", "dgxh100.xml")],
                                  env={**os.environ, "PYTHONPATH": package}, cwd="/", check=True,
                                  capture_output=True, text=True)
            self.assertEqual(done.stdout.split(), [os.path.join(package, "xylem", "__init__.py"), "8"])


if __name__ == "__main__":
    unittest.main()
