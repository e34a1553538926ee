#!/usr/bin/env python3
"""`caffe -plugin` with plugins that are wrong in one way each: an error with a code before training, and a warning where
others could change the plugin. They are compiled here, by the compiler that the machine has."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = pathlib.Path(os.environ.get("ROBUSTA_TOOLS_DIR", ROOT / "build" / "tools")).resolve()
COMPILER = shutil.which(os.environ.get("CXX", "c++"))

# The two functions of a plugin, without the headers.
BARE = 'extern "C" int robusta_plugin_abi() {{ return {abi}; }}\n{more}extern "C" void robusta_plugin_register() {{ {body} }}\n'
SOLVER = """base_lr: 0.01 lr_policy: 'fixed' snapshot_prefix: 'toy' random_seed: 1 max_iter: 2 snapshot_after_train: false
net_param { name: 'toy'
  layer { name: 'data' type: 'DummyData' top: 'data' top: 'label'
          dummy_data_param { shape { dim: 2 dim: 3 } shape { dim: 2 } } }
  layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip' inner_product_param { num_output: 2 } }
  layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' } }
"""
TAKEN = """#include <robusta/layer.h>
#include <memory>
ROBUSTA_PLUGIN() {
  robusta::register_layer("ReLU", [](const robusta::LayerSpec&) { return std::unique_ptr<robusta::Layer>(); });
}
"""
USAGE, INTERNAL, UNSUPPORTED = 1, 70, 9


@unittest.skipUnless((TOOLS / "caffe").exists(), "ROBUSTA_TOOLS_DIR names no folder with caffe")
@unittest.skipUnless(COMPILER, "there is no compiler")
class Plugins(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "solver.prototxt").write_text(SOLVER)

    def make(self, name, source, *options):
        (self.folder / "plugin.cpp").write_text(source)
        subprocess.run([COMPILER, "-shared", "-fPIC", "-o", name, "plugin.cpp", *options], cwd=self.folder, check=True)
        (self.folder / name).chmod(0o755)  # whatever the umask is
        return self.folder / name

    def train(self, *plugins, folder=None):
        words = [TOOLS / "caffe", "train", "-solver", self.folder / "solver.prototxt", "-plugin", ",".join(map(str, plugins))]
        env = {**os.environ, "XDG_CACHE_HOME": str(self.folder), "OMP_NUM_THREADS": "1"}
        done = subprocess.run(words, cwd=folder or self.folder, env=env, capture_output=True, text=True, timeout=120,
                              check=False)
        return done.returncode, done.stderr

    def refused(self, code, text, *plugins):
        ended, said = self.train(*plugins)
        self.assertEqual(ended, code, said)
        self.assertIn(text, said)
        self.assertNotIn("Starting Optimization", said)

    def test_names_are_paths_from_where_the_user_stands(self):
        plugin = self.make("good.so", BARE.format(abi=1, more="", body=""))
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        for name, folder in ((plugin, elsewhere), ("good.so", None), ("./good.so", None), ("../good.so", elsewhere)):
            code, said = self.train(name, folder=folder)
            self.assertEqual(code, 0, said)
            self.assertNotIn("other users", said)

    def test_what_is_no_plugin_is_refused(self):
        os.mkfifo(self.folder / "fifo")
        for name in ("none.so", "fifo", ".", "/dev/zero"):
            self.refused(USAGE, f"there is no plugin {name}", name)
        (self.folder / "text.so").write_text("not a library")
        self.refused(UNSUPPORTED, "cannot be loaded", "text.so")
        self.make("half.so", 'extern "C" int robusta_plugin_abi() { return 1; }\n')
        self.refused(UNSUPPORTED, "half.so is no plugin: it has no robusta_plugin_register", "half.so")
        whole = self.make("whole.so", BARE.format(abi=1, more="", body="")).read_bytes()
        (self.folder / "cut.so").write_bytes(whole[:3000])
        self.refused(UNSUPPORTED, "cannot be loaded", "cut.so")

    def test_a_function_that_is_missing_is_found_before_training(self):
        more = 'extern "C" void nobody_has_this();\n'
        self.make("lacks.so", BARE.format(abi=1, more=more, body="nobody_has_this();"))
        self.refused(UNSUPPORTED, "nobody_has_this", "lacks.so")
        # Of another version, its version is the cause.
        self.make("old.so", BARE.format(abi=99, more=more, body="nobody_has_this();"))
        self.refused(UNSUPPORTED, "compiled for version 99", "old.so")

    def test_a_registration_that_throws_names_its_plugin(self):
        self.make("throws.so", BARE.format(abi=1, more="#include <stdexcept>\n", body='throw std::runtime_error("no luck");'))
        self.refused(INTERNAL, "the plugin throws.so: the plugin's code: no luck", "throws.so")
        self.make("number.so", BARE.format(abi=1, more="", body="throw 5;"))
        self.refused(INTERNAL, "the plugin number.so: the plugin's code: an exception of an unknown type", "number.so")

    def test_a_name_that_is_taken_is_refused(self):
        self.make("taken.so", TAKEN, "-std=c++20", f"-I{ROOT}/include")
        self.refused(USAGE, 'the plugin taken.so: a layer type "ReLU" is known already', "taken.so")

    def test_plugins_that_others_can_change_are_named(self):
        plugin = self.make("open.so", BARE.format(abi=1, more="", body=""))
        plugin.chmod(0o777)
        code, said = self.train("open.so")
        self.assertEqual(code, 0, said)
        self.assertIn(f"other users can change {plugin.resolve()}", said)

        plugin.chmod(0o755)
        shared = self.folder / "shared"
        shared.mkdir()
        shutil.copy(plugin, shared / "inner.so")
        (self.folder / "link.so").symlink_to("shared/inner.so")
        shared.chmod(0o777)
        for name in ("shared/inner.so", "link.so"):
            self.assertIn(f"other users can change {shared.resolve()}", self.train(name)[1])
        shared.chmod(0o1777)  # as /tmp: each only what is his own
        self.assertNotIn("other users", self.train("shared/inner.so")[1])


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
