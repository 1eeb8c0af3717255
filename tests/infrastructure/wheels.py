"""A package registry in a folder: wheels of a few bytes for any platform, without a network."""

import hashlib
import zipfile
from dataclasses import dataclass
from pathlib import Path

LAMBDA_ARM64 = "cp314-cp314-manylinux_2_28_aarch64"
LAMBDA_X86_64 = "cp314-cp314-manylinux_2_28_x86_64"


@dataclass(frozen=True)
class Registry:
    """Laid out as PEP 503 says: a folder for each project, with an index of its files."""

    folder: Path

    def add(self, name: str, version: str, tag: str = "py3-none-any") -> None:
        """A wheel whose one module says for which platform it was built."""
        about = f"{name}-{version}.dist-info"
        files = {
            f"{name}/__init__.py": f"BUILT_FOR = {tag!r}\n",
            f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
            f"{about}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tag}\n",
        }
        files[f"{about}/RECORD"] = "".join(f"{file},,\n" for file in [*files, f"{about}/RECORD"])
        with zipfile.ZipFile(self._place(name) / f"{name}-{version}-{tag}.whl", "w") as wheel:
            for file, text in files.items():
                wheel.writestr(file, text)
        self._list(name)

    def add_source(self, name: str, version: str) -> None:
        """A release that would have to be built; nothing in it may run."""
        (self._place(name) / f"{name}-{version}.tar.gz").write_bytes(b"no archive")
        self._list(name)

    def _place(self, name: str) -> Path:
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _list(self, name: str) -> None:
        links = [
            f'<a href="{file.name}#sha256={hashlib.sha256(file.read_bytes()).hexdigest()}">'
            f"{file.name}</a>"
            for file in sorted(self._place(name).glob("*-*"))
        ]
        page = "<!DOCTYPE html>\n" + "<br>\n".join(links)
        (self._place(name) / "index.html").write_text(page)
