"""The decisions in the templates of a stage with everything switched on, to be read at a glance.
``python -m tests.infrastructure.snapshot`` writes them anew; the change is reviewed as code is."""

import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.infrastructure.deployments import Deployment, synthesized
from tests.infrastructure.everything import plain

FILE = Path(__file__).with_name("snapshot.txt")
ELSEWHERE = re.compile(
    r"AWS::(CDK|EC2|IAM::Role|Logs)|.*::(Permission|Route|TopicPolicy|QueuePolicy)$"
)
"""The CDK's own; and what the laws are about, or tests read as those do for whom it is."""
NOISE = {
    *("AlarmActions", "InsufficientDataActions", "OKActions", "AlarmDescription"),
    *("BucketEncryption", "KmsMasterKeyId"),
    *("Architectures", "AttributeDefinitions", "Code", "DefinitionString", "Description", "Family"),
    *("FilterCriteria", "FunctionName", "GlobalSecondaryIndexes", "KeySchema", "LoggingConfig"),
    *("POWERTOOLS_METRICS_NAMESPACE", "PolicyName"),
    *("POWERTOOLS_LOG_LEVEL", "POWERTOOLS_SERVICE_NAME", "Qualifier", "Role"),
    *("RoleArn", "Roles", "Runtime", "SSESpecification", "Tags", "TracingConfig", "Version"),
}
"""Left out, since laws judge it, or since it is executed."""
SIGNS = {"GreaterThan": ">", "GreaterThanOrEqualTo": "≥", "LessThan": "<"}
MINUTE = 60
LONG = 60
"""Characters: a value that is longer is shown once."""


def snapshot(deployment: Deployment) -> str:
    return "\n".join(line for stack in deployment.templates for line in _stack(deployment, stack))


def _stack(deployment: Deployment, stack: str) -> Iterator[str]:
    """Return a stack's resources. Those with the same properties stand together; a long value
    stands there once."""
    template = deployment.templates[stack]
    alike: dict[tuple[str, ...], list[str]] = {}
    long: set[str] = set()
    for logical_id, resource in sorted(template["Resources"].items()):
        kind = resource["Type"].removeprefix("AWS::")
        if not ELSEWHERE.match(resource["Type"]):
            kept = ", kept" if resource.get("DeletionPolicy", "").startswith("Retain") else ""
            told = _told(named(resource.get("Properties", {})), long)
            alike.setdefault((f"({kind}{kept})", *told), []).append(_name(logical_id))
    yield f"# {stack}"
    for (kind, *told), names in alike.items():
        yield _wrapped(f"{', '.join(names)} {kind}", indent="")
        yield from map(_wrapped, told)
    outputs = (name for name in template.get("Outputs", {}) if not name.startswith("Exports"))
    yield _wrapped(f"Outputs: {' '.join(sorted(outputs))}") + "\n"


def _wrapped(line: str, indent: str = "    ") -> str:
    return textwrap.fill(
        _without_hashes(line),
        100,
        initial_indent=indent,
        subsequent_indent=f"{indent}    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _told(properties: dict[str, Any], long: set[str]) -> Iterator[str]:
    """A line for each statement of a policy, and one for all the rest. ``long``: what stands there
    already."""
    if "ComparisonOperator" in properties:
        yield _alarm(properties)
        return
    if "DashboardBody" in properties:
        yield from map(_widget, json.loads(properties["DashboardBody"])["widgets"])
        return
    documents = [properties.pop(name, {}) for name in ("PolicyDocument", "KeyPolicy")]
    documents.append(properties.pop("ResourcePolicy", {}).get("PolicyDocument", {}))
    for one in (one for document in documents for one in document.get("Statement", ())):
        to = " ".join(_leaves({key: one.get(key, {}) for key in ("Principal", "Condition")}))
        yield f"{one['Effect']} {_listed(one['Action'])} on {_listed(one['Resource'])} {to}".strip()
    leaves = [*_leaves(properties)]
    if leaves:
        yield " ".join(f"{one.partition('=')[0]}=…" if one in long else one for one in leaves)
    long.update(one for one in leaves if len(one) > LONG)


def _alarm(properties: dict[str, Any]) -> str:
    """Metrics of which an alarm judges the plain sum have no formula here."""
    metrics = [one["MetricStat"] for one in properties.get("Metrics", ()) if "MetricStat" in one]
    watched: dict[str, list[str]] = {}
    for one in metrics or [{"Metric": properties, "Stat": properties.get("Statistic")}]:
        metric, period = one["Metric"], one.get("Period", properties.get("Period"))
        name = f"{one['Stat']} of {metric['MetricName']} in {period} s"
        of = " ".join(str(dimension["Value"]) for dimension in metric.get("Dimensions", ()))
        watched.setdefault(name, []).append(of)
    text = ", ".join(f"{name} ({', '.join(of)})" for name, of in watched.items())
    for one in properties.get("Metrics", ()):
        plain_sum = " + ".join(f"FILL(m{number}, 0)" for number in range(len(metrics)))
        if one.get("Expression", plain_sum) != plain_sum:
            text += f": {one['Expression']}"
    sign = SIGNS[properties["ComparisonOperator"].removesuffix("Threshold")]
    missing = properties["TreatMissingData"]
    unless = "" if missing == "notBreaching" else f", missing {missing}"
    times = properties["EvaluationPeriods"]
    return f"{sign} {properties['Threshold']}, {times} times{unless}: {text}"


def _widget(widget: dict[str, Any]) -> str:
    """Metrics of which a widget shows the same stand together, by their labels."""
    said = widget["properties"]
    place = f"{widget['width']} wide at {widget['x']}, {widget['y']}"
    shown: dict[str, list[str]] = {}
    for *metric, how in said.get("metrics", ()):
        what = f"{how['stat']} of {metric[1]}" if metric else how["expression"]
        label = how.get("label") or how["id"]
        often = "" if how["period"] == MINUTE else f" in {how['period']} s"
        shown.setdefault(what + often, []).append(label)
    text = ", ".join(f"{what} ({', '.join(labels)})" for what, labels in shown.items())
    bounds = " ".join(_leaves([said.get("annotations", {}), said.get("yAxis", {})]))
    return f"{said.get('title') or said['markdown']}, {place}: {text} {bounds}".strip(" :")


def _leaves(value: Any, name: str = "") -> Iterator[str]:
    """Each value with its own name: what is around it says itself."""
    match value:
        case {"Name": own, "Value": one, **more} if not more:
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


def named(value: Any) -> Any:
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
            plain = "".join(str(named(part)) for part in parts)
        case dict():
            plain = {name: named(one) for name, one in value.items() if name not in NOISE}
        case list():
            plain = [named(one) for one in value]
    return plain


if __name__ == "__main__":
    FILE.write_text(snapshot(synthesized(plain())))
