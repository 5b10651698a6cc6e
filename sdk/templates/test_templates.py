"""Writes the folder of every language as `workflows init` does, and runs the tests in it."""

import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SDK = Path(__file__).resolve().parent.parent
TEMPLATES = SDK / "templates"
NAME = "acme.database"
# Where ./test installs the compiler.
TYPESCRIPT = Path(os.environ.get("PROVISION_ENGINE_TYPESCRIPT", SDK.parent / "target" / "typescript" / "node_modules"))
FILES = {
    "python": {"provision_engine_steps.py": "python/provision_engine_steps.py"},
    "typescript": {
        "provision_engine_steps.mts": "typescript/provision_engine_steps.mts",
        "build/provision_engine_steps.mjs": "typescript/provision_engine_steps.mjs",
    },
    "go": {"steps/steps.go": "go/steps/steps.go"},
}


def create(language, folder):
    def write(name, text):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def filled(text):
        return text.replace("{{name}}", NAME).replace("{{slug}}", re.sub("[^a-z0-9-]", "-", NAME))

    for name, source in FILES[language].items():
        write(name, (SDK / source).read_text())
    for source in sorted((TEMPLATES / language).rglob("*")):
        if source.is_file() and source.name != "commands.txt" and "__pycache__" not in source.parts:
            name = str(source.relative_to(TEMPLATES / language))
            write(name[: -len(".template")] if name.endswith(".template") else name, filled(source.read_text()))
    write(f"{NAME}.yaml", filled((TEMPLATES / "workflow.yaml").read_text()))
    write(f"{NAME}.secret", secrets.token_hex(32) + "\n")


class Templates(unittest.TestCase):
    def folder(self, language):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        create(language, Path(folder.name))
        return Path(folder.name)

    def run_in(self, folder, *command):
        ran = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(ran.returncode, 0, f"{command}\n{ran.stdout}")
        return ran.stdout

    def test_python(self):
        self.assertIn("Ran 3 tests", self.run_in(self.folder("python"), sys.executable, "-m", "unittest"))

    def test_go(self):
        folder = self.folder("go")
        self.assertEqual(self.run_in(folder, "gofmt", "-l", "."), "")
        self.run_in(folder, "go", "vet", "./...")
        self.assertIn("ok", self.run_in(folder, "go", "test", "./..."))

    def test_typescript_runs_without_a_compiler(self):
        folder = self.folder("typescript")
        out = self.run_in(folder, "node", "--test", "--test-reporter=tap", "build/service.test.mjs")
        self.assertIn("# pass 3", out)

    def test_typescript_is_what_the_compiler_makes(self):
        folder = self.folder("typescript")
        built = {path.name: path.read_text() for path in (folder / "build").iterdir()}
        shutil.rmtree(folder / "build")
        self.run_in(folder, str(TYPESCRIPT / ".bin" / "tsc"), "-p", ".", "--typeRoots", str(TYPESCRIPT / "@types"))
        made = {path.name: path.read_text() for path in (folder / "build").iterdir()}
        for name in made.keys() | built.keys():
            self.assertEqual(made.get(name), built.get(name), f"{name}: run sdk/templates/build")

    def test_the_readme_of_each_has_the_three_commands(self):
        for language in FILES:
            commands = (TEMPLATES / language / "commands.txt").read_text()
            self.assertEqual(commands.count("\n"), 3)
            self.assertIn(f"```sh\n{commands}```", (TEMPLATES / language / "README.md").read_text())

    def test_every_placeholder_is_known_and_the_sdks_have_none(self):
        for language, files in FILES.items():
            folder = self.folder(language)
            for path in folder.rglob("*"):
                if path.is_file():
                    self.assertNotIn("{{", path.read_text(), path)
            for source in files.values():
                self.assertNotIn("{{", (SDK / source).read_text(), source)


if __name__ == "__main__":
    unittest.main()
