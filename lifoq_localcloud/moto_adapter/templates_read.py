"""Templates are read by a reader of JSON, or by one of YAML that is not written in Python. moto has
one of YAML read both, which takes a hundred times as long."""

import json
from typing import Any, Final

import yaml  # type: ignore[import-untyped] # it has no types
from moto.cloudformation.models import ChangeSet, Stack
from moto.cloudformation.utils import yaml_tag_constructor

from lifoq_localcloud.moto_adapter.patch import replace

_LOADER: Final = getattr(yaml, "CLoader", yaml.Loader)
"""PyYAML has the first where it was built with libyaml."""


def install() -> None:
    """Let stacks and change sets read by ``read``."""
    yaml.add_multi_constructor("", yaml_tag_constructor, Loader=_LOADER)
    replace(Stack, "parse_template", staticmethod(read))
    replace(ChangeSet, "_parse_template", _read_own)


def read(template: str) -> Any:
    """Return what a template says, in JSON or YAML. Raises ``YAMLError``."""
    try:
        return json.loads(template)
    except ValueError:
        return yaml.load(template, Loader=_LOADER)  # noqa: S506 - as moto does


def _read_own(change_set: ChangeSet) -> None:
    change_set.template_dict = read(change_set.template)
