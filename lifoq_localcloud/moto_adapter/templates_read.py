"""The reader of templates. moto reads JSON with PyYAML's reader, too, which is written in Python
and takes a hundred times as long. Here JSON is read as JSON, and YAML by libyaml."""

import json
from typing import Any, Final

import yaml  # type: ignore[import-untyped] # it has no types
from moto.cloudformation.models import ChangeSet, Stack
from moto.cloudformation.utils import yaml_tag_constructor

from lifoq_localcloud.moto_adapter.patch import replace

_LOADER: Final = getattr(yaml, "CLoader", yaml.Loader)
"""libyaml's, where PyYAML was built with it."""


def install() -> None:
    """Have stacks and change sets read their templates by ``read``."""
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
