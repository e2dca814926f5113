"""The top level is the table of contents, and there are no other folders for tests, pins or builds."""
from __future__ import annotations

import json
import subprocess
import unittest

from ladder.levels import names
from tests import support

TOP = {"common", "scripts", "docs", "CMakeLists.txt", "CMakePresets.json", "README.md", "LICENSE"}
DOTFILES = {".ci", ".clang-format", ".devcontainer", ".github", ".gitignore", ".mypy.ini", ".ruff.toml",
            ".shellcheckrc"}


class Layout(unittest.TestCase):
    def test_the_top_level_holds_what_it_says(self) -> None:
        answer = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=support.ROOT,
                                capture_output=True, text=True, check=False)
        if answer.returncode != 0:
            self.skipTest("this is no git repository")
        there = {name.partition("/")[0] for name in answer.stdout.splitlines()
                 if (support.ROOT / name.partition("/")[0]).exists()}
        self.assertEqual(there, {*TOP, *DOTFILES, *names.all_levels()})

    def test_contributing_names_it(self) -> None:
        page = support.words("docs/contributing.md")
        for name in TOP:
            self.assertIn(f"`{name}`", page)

    def test_every_build_is_below_build(self) -> None:
        presets = json.loads((support.ROOT / "CMakePresets.json").read_text(encoding="utf-8"))
        folders = {preset["name"]: preset["binaryDir"] for preset in presets["configurePresets"]}
        self.assertLessEqual({"default", "asan", "tsan"}, set(folders))
        for name, folder in folders.items():
            self.assertEqual(folder, "${sourceDir}/build" + ("" if name == "default" else f"/{name}"))


if __name__ == "__main__":
    unittest.main()
