"""The command's schedules."""

import json


def test_a_schedule_is_put_listed_and_deleted(lifoq, answer, queue):
    words = ("tenant-42", "report.send", '{"tenant": 42}', "--cron", "0 8 * * ? *")
    made = answer("schedule", "put", *words, "--time-zone", "Europe/Berlin", "--deadline", "30m")
    assert made == {
        "name": "tenant-42",
        "expression": "cron(0 8 * * ? *)",
        "time_zone": "Europe/Berlin",
        "enabled": True,
        "task_type": "report.send",
        "payload": {"tenant": 42},
        "if_exists": "keep",
        "deadline": 1800,
    }
    assert queue.schedules.get("tenant-42").task.deadline == 1800
    for number in range(3):
        _, printed, _ = lifoq("schedule", "put", f"a-{number}", "tidy", "--every", "1h")
        assert [line.split() for line in printed.splitlines()][:3] == [
            ["schedule", f"a-{number}"],
            ["fires", "rate(1", "hour)"],
            ["type", "tidy"],
        ]
    assert [one["name"] for one in answer("schedule", "list", "a-")] == ["a-0", "a-1", "a-2"]
    _, printed, told = lifoq("schedule", "list", "--limit", "3")
    assert printed.splitlines()[1].split() == ["a-0", "rate(1", "hour)", "tidy", "null"]
    assert "There are more: --limit 30 shows them." in told
    _, printed, _ = lifoq("schedule", "list", "ten")
    assert "deadline 30 min, {" in printed

    assert lifoq("schedule", "delete", "a-0", stdin="n\n")[1:] == (
        "0 deleted\n",
        "Delete the schedule a-0? [y/N] ",
    )
    assert answer("schedule", "delete", "a-0", "--yes") == {"deleted": 1}
    assert answer("schedule", "delete", "a-0", "--yes") == {"deleted": 0}
    assert lifoq("schedule", "list", "none")[1:] == ("", "no schedule matches\n")


def test_a_schedule_for_one_time_and_one_that_replaces(answer, tmp_path):
    file = tmp_path / "payload.json"
    file.write_text(json.dumps([1, 2]))
    when = ("--at", "2099-01-31T12:30:00+01:00")
    made = answer("schedule", "put", "once", "tidy", f"@{file}", *when, "--if-exists", "replace")
    assert made["expression"] == "at(2099-01-31T11:30:00)"
    assert (made["payload"], made["if_exists"]) == ([1, 2], "replace")
