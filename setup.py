"""`pip install .`: has CMake build the extension modules and install the package. XYLEM_CMAKE_ARGS adds arguments for
CMake, as -DXYLEM_TORCH=OFF; XYLEM_JOBS is how many cores it uses."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).resolve().parent
VERSION = re.search(r"project\(xylem VERSION ([\d.]+)", (HERE / "CMakeLists.txt").read_text(encoding="utf-8"))[1]


class CMakeBuild(build_ext):
    """All of the package is one extension: CMake knows what it consists of."""

    def build_extension(self, ext):
        build = Path(self.build_temp).resolve()
        build.mkdir(parents=True, exist_ok=True)
        prefix = Path(self.build_lib).resolve()
        configure = ["cmake", "-S", str(HERE), "-B", str(build), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                     "-DXYLEM_TESTS=OFF", "-DXYLEM_BENCH=OFF", "-DXYLEM_PYTHON=ON",
                     "-DXYLEM_PYTHON_INSTALL_DIR=.",
                     f"-DPython3_EXECUTABLE={sys.executable}"]
        subprocess.run(configure + shlex.split(os.environ.get("XYLEM_CMAKE_ARGS", "")), check=True)
        jobs = os.environ.get("XYLEM_JOBS", str(os.cpu_count()))
        subprocess.run(["cmake", "--build", str(build), "--target", "python", "--parallel", jobs], check=True)
        subprocess.run(["cmake", "--install", str(build), "--component", "python", "--prefix", str(prefix), "--strip"],
                       check=True)

    def get_outputs(self):
        return [str(path) for path in Path(self.build_lib).rglob("*") if path.is_file()]

    def copy_extensions_to_source(self):
        raise SystemExit("an editable install is not needed: PYTHONPATH=build/release/python has links to the sources")


# What setuptools leaves behind goes where CMake's does.
(HERE / "build").mkdir(exist_ok=True)
setup(version=VERSION, packages=[], ext_modules=[Extension("xylem._planner", sources=[])],
      cmdclass={"build_ext": CMakeBuild}, options={"egg_info": {"egg_base": "build"}})
