"""Set-up finds what it needs on any machine, or says in one sentence what is missing."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BASICS = ("bash", "env", "sed", "id", "dirname")


@pytest.fixture
def machine(tmp_path):
    """Has nothing on its PATH but the basics; ``add`` installs a command."""
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


@pytest.mark.parametrize(("named", "found"), [("", "python3.12"), ("my-python", "my-python")])
def test_the_python_that_one_names_comes_first_and_an_old_one_is_passed_over(machine, named, found):
    installed = {
        name: machine.add(name, python(version))
        for name, version in (("python3", (3, 9)), ("python3.12", (3, 12)), ("my-python", (3, 13)))
    }
    assert machine.run("find-python", PYTHON=named).stdout == f"{installed[found]}\n"


def test_java_home_comes_first_then_the_path_then_the_usual_folders(machine, tmp_path):
    machine.add("java", java("17", "/elsewhere"))
    homes = {"own": "25", "java-21": "21"}
    for name, version in homes.items():
        home = tmp_path / "jvm" / name
        (home / "bin").mkdir(parents=True)
        machine.add("newer", java(version, home)).rename(home / "bin" / "java")
        homes[name] = str(home)
    assert machine.run("find-java", JAVA_HOME=homes["own"]).stdout == f"{homes['own']}\n"
    assert machine.run("find-java", str(tmp_path / "jvm")).stdout == "/elsewhere\n"
    machine.add("java", java("1.8", "/old"))
    assert machine.run("find-java", str(tmp_path / "jvm")).stdout == f"{homes['java-21']}\n"


@pytest.mark.parametrize(
    ("tool", "needed"),
    [
        ("find-python", "Python 3.11 or newer with its venv module is needed"),
        ("find-java", "Java 17 or newer is needed"),
    ],
)
def test_what_is_missing_is_one_sentence(machine, tmp_path, tool, needed):
    machine.add("python3", python((3, 9)))
    machine.add("java", java("1.8", "/old"))
    result = machine.run(tool, str(tmp_path / "no-jvm"))
    assert result.returncode == 1
    assert result.stderr.startswith(needed)
    assert len(result.stderr.splitlines()) == 1
