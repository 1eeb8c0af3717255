"""What decides in the templates of a stage with everything switched on, to be read at a glance.

``python -m tests.infrastructure.snapshot`` writes it anew; the change is reviewed as code is.
"""

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.infrastructure.deployments import Deployment, synthesized
from tests.infrastructure.everything import Everything

FILE = Path(__file__).with_name("snapshot.txt")
ELSEWHERE = re.compile(
    r"AWS::(CDK|EC2|IAM::Role|Logs|SSM)|.*::(Dashboard|Permission|Route|TopicPolicy|QueuePolicy)$"
)
"""The CDK's own; and what the laws are about, or tests read as those do for whom it is."""
NOISE = {
    *("AlarmActions", "OKActions", "AlarmDescription", "BucketEncryption", "KmsMasterKeyId"),
    *("Architectures", "AttributeDefinitions", "Code", "DefinitionString", "Description", "Family"),
    *("FilterCriteria", "FunctionName", "GlobalSecondaryIndexes", "KeySchema", "LogConfiguration"),
    *("LoggingConfig", "LoggingConfiguration", "PolicyName", "Role", "RoleArn"),
    *("Roles", "Runtime", "SSESpecification", "Tags", "TracingConfig", "Version"),
}
"""Left out, since laws judge it, or since it is executed."""


def snapshot(deployment: Deployment) -> str:
    return "\n".join(line for stack in deployment.templates for line in _stack(deployment, stack))


def _stack(deployment: Deployment, stack: str) -> Iterator[str]:
    template = deployment.templates[stack]
    yield f"# {stack}"
    for logical_id, resource in sorted(template["Resources"].items()):
        kind = resource["Type"].removeprefix("AWS::")
        of_a_function = kind == "IAM::Policy" and "Function" in logical_id
        if not ELSEWHERE.match(resource["Type"]) and not of_a_function:
            kept = ", kept" if resource.get("DeletionPolicy", "").startswith("Retain") else ""
            yield f"{_name(logical_id)} ({kind}{kept})"
            for line in _told(_plain(resource.get("Properties", {}))):
                yield _wrapped(line)
    outputs = (name for name in template.get("Outputs", {}) if not name.startswith("Exports"))
    yield _wrapped(f"Outputs: {' '.join(sorted(outputs))}") + "\n"


def _wrapped(line: str) -> str:
    return textwrap.fill(
        _without_hashes(line),
        100,
        initial_indent="    ",
        subsequent_indent="        ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _told(properties: dict[str, Any]) -> Iterator[str]:
    """A line for each statement of a policy, and one for all the rest."""
    if "ComparisonOperator" in properties:
        yield _alarm(properties)
        return
    documents = [properties.pop(name, {}) for name in ("PolicyDocument", "KeyPolicy")]
    documents.append(properties.pop("ResourcePolicy", {}).get("PolicyDocument", {}))
    for one in (one for document in documents for one in document.get("Statement", ())):
        to = " ".join(_leaves({key: one.get(key, {}) for key in ("Principal", "Condition")}))
        yield f"{one['Effect']} {_listed(one['Action'])} on {_listed(one['Resource'])} {to}".strip()
    if rest := " ".join(_leaves(properties)):
        yield rest


def _alarm(properties: dict[str, Any]) -> str:
    metrics = [one["MetricStat"] for one in properties.get("Metrics", ()) if "MetricStat" in one]
    watched = [(one["Metric"], one["Stat"], one["Period"]) for one in metrics]
    if not watched:
        watched = [(properties, properties.get("Statistic"), properties.get("Period"))]
    of = ", ".join(
        f"{stat} of {metric['MetricName']} in {period} s ("
        + ", ".join(str(one["Value"]) for one in metric.get("Dimensions", ()))
        + ")"
        for metric, stat, period in watched
    )
    formula = "".join(
        f": {one['Expression']}" for one in properties.get("Metrics", ()) if "Expression" in one
    )
    return (
        f"{properties['ComparisonOperator']} {properties['Threshold']}, "
        f"{properties['EvaluationPeriods']} times, missing {properties['TreatMissingData']}: "
        f"{of}{formula}"
    )


def _leaves(value: Any, name: str = "") -> Iterator[str]:
    """Each value with its own name: what is around it says itself."""
    match value:
        case {"Name": own, "Value": one}:
            yield f"{own}={one}"
        case dict():
            for own, one in value.items():
                yield from _leaves(one, own)
        case list():
            for one in value:
                yield from _leaves(one, name)
        case _:
            yield f"{name}={value}"


def _listed(value: Any) -> str:
    """The CDK puts assets in the order of their hashes."""
    return ", ".join(sorted(map(_without_hashes, value if isinstance(value, list) else [value])))


def _without_hashes(text: str) -> str:
    return re.sub(r"[0-9a-f]{64}", "…", text)


def _name(logical_id: str) -> str:
    """Without the hash of its path."""
    return re.sub(r"[0-9A-F]{8}$", "", logical_id)


def _plain(value: Any) -> Any:
    """References by their names."""
    plain: Any = value
    match value:
        case {"Ref": str(name)}:
            plain = f"<{_name(name).removeprefix('AWS::')}>"
        case {"Fn::GetAtt": [str(name), str(attribute)]}:
            plain = f"<{_name(name)}.{attribute}>"
        case {"Fn::ImportValue": str(name)}:
            plain = f"<{re.sub(r'^.*(FnGetAtt|Ref)|[0-9A-F]{8}.*$', '', name)}>"
        case {"Fn::Sub": str(text)}:
            plain = text
        case {"Fn::Join": ["", list(parts)]}:
            plain = "".join(str(_plain(part)) for part in parts)
        case dict():
            plain = {name: _plain(one) for name, one in value.items() if name not in NOISE}
        case list():
            plain = [_plain(one) for one in value]
    return plain


if __name__ == "__main__":
    FILE.write_text(snapshot(synthesized(Everything().with_default_numbers().stage("prod"))))
