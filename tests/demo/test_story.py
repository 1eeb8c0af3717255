"""The demo's report reads as the story of the demo."""

import json

from analytics.page import about
from demo.story import Chapter
from demo.story import about as told


def test_the_report_understands_what_it_is_told(tmp_path):
    template = tmp_path / "template.json"
    alarm = {
        "Type": "AWS::CloudWatch::Alarm",
        "Properties": {"MetricName": "OldestWaitingAgeSeconds", "Threshold": 8},
    }
    other = {"Type": "AWS::CloudWatch::Alarm", "Properties": {"Threshold": 1}}
    topic = {"Type": "AWS::SNS::Topic", "Properties": {}}
    template.write_text(json.dumps({"Resources": {"a": alarm, "b": other, "c": topic}}))

    story = told(
        stage="demo",
        chapters=[Chapter(name="overload", start=1_700_000_000_250_000, end=1_700_000_040_000_000)],
        template=template,
    )

    assert about.read(story) == {
        "queue": "lifoq",
        "stage": "demo",
        "phases": [
            {
                "name": "overload",
                "from": "2023-11-14T22:13:20.250000Z",
                "to": "2023-11-14T22:14:00.000000Z",
            }
        ],
        "events": [],
        "alarms": {"oldest_waiting_seconds": 8.0},
    }
