"""The lint of the layers of the simulated device and of scripts/ladder."""
from __future__ import annotations

import unittest

from ladder import files, layers


def simulated(**texts: str) -> dict[str, str]:
    return {f"common/sim/{name.replace('__', '/')}.h": text for name, text in texts.items()}


class Includes(unittest.TestCase):
    def test_what_is_above_or_beside(self) -> None:
        for path, include in (("machine__a", "exec/core/op.h"), ("exec__core__a", "check/observer.h"),
                              ("engine__a", "timing/trace.h"), ("check__a", "timing/trace.h"),
                              ("timing__a", "runtime/api.h")):
            with self.subTest(path):
                wrong = layers.wrong_includes(simulated(**{path: f'#pragma once\n#include "{include}"\n'}))
                self.assertEqual(len(wrong), 1)
                self.assertIn(":2: ", wrong[0])

    def test_the_core_below_its_rooms(self) -> None:
        text = '#include "exec/core/op.h"\n#include "exec/async/box.h"\n'
        self.assertEqual(len(layers.wrong_includes(simulated(exec__core__a=text, exec__sync__a=text))), 1)

    def test_a_folder_without_a_layer(self) -> None:
        self.assertEqual(len(layers.wrong_includes(simulated(cellar__a="#pragma once\n"))), 1)

    def test_what_is_below(self) -> None:
        text = '#include <vector>\n#include "common/base/text.h"\n#include "machine/cta.h"\n#include "exec/core/op.h"\n'
        self.assertEqual(layers.wrong_includes(simulated(exec__core__a=text, check__order__a=text, device__a=text)), [])


class Imports(unittest.TestCase):
    def test_what_is_above_or_beside(self) -> None:
        for path, text in (("files.py", "from ladder.levels import lab"),
                           ("levels/lab.py", "from ladder import context"),
                           ("sim/traces.py", "def late():\n    from ladder.pages.blocks import rows"),
                           ("tune/space.py", "from ladder.mutants.sites import Site"), ("cellar/a.py", "")):
            with self.subTest(path):
                self.assertEqual(len(layers.wrong_imports({layers.LADDER + path: text})), 1)

    def test_what_is_below(self) -> None:
        text = "from ladder import context, files\nfrom ladder.levels import lab\nfrom ladder.model.a import b\n"
        self.assertEqual(layers.wrong_imports({layers.LADDER + "model/a.py": text}), [])


class Names(unittest.TestCase):
    def test_two_classes_of_one_name(self) -> None:
        texts = simulated(machine__a="struct Cta {\n};\n", check__b="namespace order {\nclass Cta final : Base {\n")
        self.assertEqual(len(layers.shared_names(texts)), 1)
        texts["common/sim/exec/c.cpp"] = "struct Cta {\n"
        self.assertIn("exec/c.cpp", layers.shared_names(texts)[0])

    def test_what_is_no_second_class(self) -> None:
        texts = simulated(machine__a="struct Cta;\nstruct Warp {\n  struct Cta {\n  };\n};\n",
                          machine__b="struct Cta {\n};\nstruct Cta::Part {\n};\n")
        self.assertEqual(layers.shared_names(texts), [])
        local = {f"common/sim/exec/{name}.cpp": "struct Operands {\n};\n" for name in "ab"}
        self.assertEqual(layers.shared_names(local), [])

    def test_constants(self) -> None:
        texts = simulated(machine__a="constexpr int kM = 4;\ntemplate <int ROWS>\n  static constexpr int ROWS = 4;\n")
        self.assertEqual([sentence.split(":")[1] for sentence in layers.wrong_constants(texts)], ["3"])


    def test_sentences(self) -> None:
        texts = simulated(exec__a='// "says that this is wrong"\nf("the CTA has exited early");\nf("a TMA load");\n',
                          report__a='f("the CTA has exited early");\n')
        self.assertEqual([sentence.split(":")[1] for sentence in layers.wrong_sentences(texts)], ["2"])


class Tree(unittest.TestCase):
    def test_all_of_it(self) -> None:
        texts = {str(path.relative_to(files.ROOT)): path.read_text(encoding="utf-8")
                 for folder, suffixes in ((layers.SIM, (".h", ".cpp")), (layers.LADDER, (".py",)))
                 for path in (files.ROOT / folder).rglob("*") if path.suffix in suffixes}
        self.assertGreater(len(texts), 300)
        self.assertEqual(layers.complaints(texts), [])


if __name__ == "__main__":
    unittest.main()
