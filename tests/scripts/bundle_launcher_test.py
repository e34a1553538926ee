"""scripts/bundle_launcher.sh: where it looks for CUDA's libraries, and what it does without them."""

import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# No machine has this version: only what a test puts there is found.
NEEDED = ["libcublas.so.99", "libcudnn.so.99"]


class BundleLauncherTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="bundle launcher ")
        self.addCleanup(folder.cleanup)
        self.work = pathlib.Path(folder.name)
        self.bundle = self.work / "bundle"
        for name in ("bin", "lib", "libexec"):
            (self.bundle / name).mkdir(parents=True)
        launcher = self.bundle / "bin" / "launch"
        launcher.write_text((ROOT / "scripts" / "bundle_launcher.sh").read_text())
        launcher.chmod(0o755)
        for name in ("caffe", "caffe_host", "layers_test", "convert_imageset"):
            self.program(name)
        (self.bundle / "lib" / "cuda_needed").write_text("\n".join(NEEDED) + "\n")
        (self.bundle / "lib" / "cuda_helpful").write_text("libnvrtc.so.99\n")
        (self.bundle / "lib" / "cuda_programs").write_text("caffe\nlayers_test\n")

    def program(self, name):
        path = self.bundle / "libexec" / name
        path.write_text(f'#!/bin/sh\necho {name}\necho "$LD_LIBRARY_PATH"\nfor word in "$@"; do echo "$word"; done\n')
        path.chmod(0o755)
        if not name.endswith("_host"):
            (self.bundle / "bin" / name).symlink_to("launch")

    def put(self, folder, *libraries):
        """Empty files in the place of libraries; returns their folder."""
        path = self.work / folder
        path.mkdir(parents=True, exist_ok=True)
        for library in libraries:
            (path / library).touch()
        return str(path)

    def start(self, *words, program="caffe", **environment):
        path = self.bundle / "bin" / program
        return subprocess.run([path, *words], env={"PATH": os.environ["PATH"], **environment}, text=True,
                              capture_output=True)

    def libraries(self, done, program="caffe"):
        """The folders in which a program that was started looks for libraries, those of the bundle apart."""
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], program, done.stderr)
        folders = lines[1].split(":")
        self.assertEqual(folders[0], str(self.bundle / "lib"))
        return folders[1:]

    def test_finds_a_toolkit(self):
        toolkit = self.put("cuda/lib64", *NEEDED)
        done = self.start("train", "-gpu", "0", CUDA_HOME=str(self.work / "cuda"))
        self.assertEqual(self.libraries(done), [toolkit])
        self.assertEqual(done.stdout.splitlines()[2:], ["train", "-gpu", "0"])
        self.assertEqual(done.stderr, "")

    def test_finds_packages_of_python(self):
        base = "venv/lib/python3.11/site-packages/nvidia"
        cudnn = self.put(f"{base}/cudnn/lib", "libcudnn.so.99")
        cublas = self.put(f"{base}/cublas/lib", "libcublas.so.99")
        nvrtc = self.put(f"{base}/cuda_nvrtc/lib", "libnvrtc.so.99")
        self.put(f"{base}/nccl/lib", "libnccl.so.99")
        done = self.start(VIRTUAL_ENV=str(self.work / "venv"))
        self.assertEqual(self.libraries(done), [cublas, cudnn, nvrtc])

    def test_finds_packages_in_one_folder_per_release(self):
        base = "home/.local/lib/python3.12/site-packages/nvidia"
        common = self.put(f"{base}/cu13/lib", "libcublas.so.99", "libnvrtc.so.99")
        cudnn = self.put(f"{base}/cudnn/lib", "libcudnn.so.99")
        self.assertEqual(self.libraries(self.start(HOME=str(self.work / "home"))), [common, cudnn])

    def test_what_is_complete_is_better_than_a_mixture(self):
        self.put("cuda/lib64", "libcudnn.so.99")
        base = "venv/lib/python3.11/site-packages/nvidia"
        both = self.put(f"{base}/all/lib", *NEEDED)
        done = self.start(CUDA_HOME=str(self.work / "cuda"), VIRTUAL_ENV=str(self.work / "venv"))
        self.assertEqual(self.libraries(done), [both])

    def test_a_mixture_is_better_than_nothing(self):
        cudnn = self.put("cuda/lib64", "libcudnn.so.99")
        cublas = self.put("venv/lib/python3.11/site-packages/nvidia/cublas/lib", "libcublas.so.99")
        done = self.start(CUDA_HOME=str(self.work / "cuda"), VIRTUAL_ENV=str(self.work / "venv"))
        self.assertEqual(self.libraries(done), [cublas, cudnn])

    def test_named_folders_come_first(self):
        self.put("cuda/lib64", *NEEDED)
        one, two = self.put("one", "libcudnn.so.99"), self.put("two", "libcublas.so.99")
        done = self.start(CUDA_HOME=str(self.work / "cuda"), ROBUSTA_CUDA_LIBS=f"{one}:{two}")
        self.assertEqual(self.libraries(done), [two, one])

    def test_keeps_what_the_user_had(self):
        mine = self.put("mine", *NEEDED)
        self.assertEqual(self.libraries(self.start(LD_LIBRARY_PATH=mine)), [mine, mine])

    def test_without_libraries_the_cpu_is_used(self):
        self.put("cuda/lib64", "libcublas.so.99")
        quiet = self.start("train", CUDA_HOME=str(self.work / "cuda"))
        self.libraries(quiet, "caffe_host")
        self.assertEqual(quiet.stderr, "")
        for words in (["train", "-gpu", "0"], ["train", "--gpu=all"], ["device_query"]):
            done = self.start(*words, CUDA_HOME=str(self.work / "cuda"))
            self.libraries(done, "caffe_host")
            self.assertIn("not found: libcudnn.so.99.", done.stderr)
            self.assertIn("ROBUSTA_CUDA_LIBS", done.stderr)

    def test_tests_do_not_run_without_libraries(self):
        done = self.start(program="layers_test")
        self.assertEqual(done.returncode, 9)
        self.assertIn("libcublas.so.99", done.stderr)

    def test_others_do_not_look_for_them(self):
        toolkit = self.put("cuda/lib64", *NEEDED)
        done = self.start(program="convert_imageset", CUDA_HOME=str(self.work / "cuda"))
        self.assertNotIn(toolkit, self.libraries(done, "convert_imageset"))

    def test_starts_from_elsewhere(self):
        link = self.work / "caffe"
        link.symlink_to(self.bundle / "bin" / "caffe")
        done = subprocess.run([link, "a b"], cwd="/", env={"PATH": os.environ["PATH"]}, text=True, capture_output=True)
        self.libraries(done, "caffe_host")
        self.assertEqual(done.stdout.splitlines()[2:], ["a b"])

    def test_shows_the_folders(self):
        toolkit = self.put("cuda/lib64", *NEEDED)
        done = self.start(CUDA_HOME=str(self.work / "cuda"), ROBUSTA_SHOW_LIBRARIES="1")
        self.assertEqual(done.stdout, f"{self.bundle}/libexec/caffe\n{self.bundle}/lib:{toolkit}\n")

    def test_refuses_an_old_glibc(self):
        (self.bundle / "lib" / "glibc").write_text("9.99\n")
        done = self.start()
        self.assertEqual(done.returncode, 9)
        self.assertIn("needs glibc 9.99", done.stderr)
        (self.bundle / "lib" / "glibc").write_text("2.5\n")
        self.libraries(self.start(), "caffe_host")

    def test_names_a_missing_program(self):
        (self.bundle / "libexec" / "convert_imageset").unlink()
        done = self.start(program="convert_imageset")
        self.assertEqual(done.returncode, 1)
        self.assertIn("unpack the bundle again", done.stderr)


if __name__ == "__main__":
    unittest.main()
