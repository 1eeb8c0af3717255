"""Set-up finds what it needs on any machine, or says in one sentence what is missing."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BASICS = ("bash", "env", "sed", "id", "dirname")


@pytest.fixture
def machine(tmp_path):
    """A machine with nothing on its PATH but the basics; ``add`` installs a command."""
    path = tmp_path / "bin"
    path.mkdir()
    for name in BASICS:
        (path / name).symlink_to(shutil.which(name))

    class Machine:
        def add(self, name, script):
            (path / name).write_text(f"#!{path}/bash\n{script}\n")
            (path / name).chmod(0o755)
            return path / name

        def run(self, tool, *arguments, **environment):
            return subprocess.run(
                [ROOT / "tools" / tool, *arguments],
                env={"PATH": str(path)} | environment,
                capture_output=True,
                text=True,
                check=False,
            )

    return Machine()


def python(version):
    """A stand-in for an interpreter: knows its version, and prints where it is."""
    return f'[[ $2 == *version_info* ]] && exit {int(version < (3, 11))}; echo "$0"'


def java(version, home):
    return (
        f"printf '    java.home = %s\\n    java.specification.version = %s\\n' {home} {version} >&2"
    )


def test_an_old_python3_is_passed_over_for_a_newer_one(machine):
    machine.add("python3", python((3, 9)))
    newer = machine.add("python3.12", python((3, 12)))
    assert machine.run("find-python").stdout == f"{newer}\n"


def test_the_python_that_one_names_comes_first(machine):
    machine.add("python3", python((3, 11)))
    named = machine.add("my-python", python((3, 13)))
    assert machine.run("find-python", PYTHON=str(named)).stdout == f"{named}\n"


def test_no_fitting_python_is_one_sentence(machine):
    machine.add("python3", python((3, 9)))
    result = machine.run("find-python")
    assert result.returncode == 1
    assert result.stderr.startswith("Python 3.11 or newer with its venv module is needed")
    assert len(result.stderr.splitlines()) == 1


def test_java_home_comes_before_the_path(machine, tmp_path):
    machine.add("java", java("17", "/elsewhere"))
    own = tmp_path / "jdk" / "bin"
    own.mkdir(parents=True)
    machine.add("newer", java("25", own.parent)).rename(own / "java")
    assert machine.run("find-java", JAVA_HOME=str(own.parent)).stdout == f"{own.parent}\n"


def test_a_newer_java_in_the_usual_folder_is_found_beside_an_old_one_on_the_path(machine, tmp_path):
    machine.add("java", java("1.8", "/old"))
    jdk = tmp_path / "jvm" / "java-17"
    (jdk / "bin").mkdir(parents=True)
    machine.add("newer", java("17", jdk)).rename(jdk / "bin" / "java")
    assert machine.run("find-java", str(jdk.parent)).stdout == f"{jdk}\n"


def test_no_java_is_one_sentence(machine, tmp_path):
    machine.add("java", java("1.8", "/old"))
    result = machine.run("find-java", str(tmp_path / "no-jvm"))
    assert result.returncode == 1
    assert result.stderr.startswith("Java 17 or newer is needed")


def test_make_help_lists_every_target():
    targets = {
        line.removeprefix(".PHONY: ")
        for line in (ROOT / "Makefile").read_text().splitlines()
        if line.startswith(".PHONY: ")
    }
    told = subprocess.run(
        ["make", "--no-print-directory", "help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert {line.split()[1] for line in told.stdout.splitlines()} == targets
