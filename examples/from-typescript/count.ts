// The producer: puts a task, and waits for its result.
//
//     node count.ts 'to be or not to be'

import { signedFetch, variable } from "./signed.ts";

/** What the queue answers; docs/openapi.json has every field. */
type Task = {
  id: string;
  status: "PENDING" | "DELAYED" | "TAKEN" | "SUCCESS" | "FAILURE" | "CANCELLED" | "SHED";
  result?: unknown;
  error?: { type: string; message: string };
};

/** The address that the application has kept. */
async function address(): Promise<string> {
  const region = variable("AWS_DEFAULT_REGION", "AWS_REGION");
  const ssm = process.env.AWS_ENDPOINT_URL ?? `https://ssm.${region}.amazonaws.com`;
  const response = await signedFetch(`${ssm}/`, "ssm", {
    method: "POST",
    headers: { "content-type": "application/x-amz-json-1.1", "x-amz-target": "AmazonSSM.GetParameter" },
    body: JSON.stringify({ Name: "/words/url" }),
  });
  if (!response.ok) throw new Error(`no address: ${response.status} ${await response.text()}`);
  const { Parameter } = (await response.json()) as { Parameter: { Value: string } };
  return Parameter.Value;
}

/** Send a request to the queue. A put whose answer is lost, or a 503, may be sent again: its
 * Idempotency-Key is the task's id. */
async function ask(path: string, body?: object, key?: string): Promise<Task> {
  const init = body && {
    method: "POST",
    headers: { "content-type": "application/json", ...(key && { "idempotency-key": key }) },
    body: JSON.stringify(body),
  };
  const response = await signedFetch(url + path, "execute-api", init);
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return (await response.json()) as Task;
}

const url = await address();
const key = `count-${Date.now()}`;
let task = await ask("/tasks", { type: "words.count", payload: { text: process.argv[2] }, deadline: 60 }, key);
while (["PENDING", "DELAYED", "TAKEN"].includes(task.status)) {
  task = await ask(`/tasks/${task.id}?wait=20`);
}
console.log(task.status, JSON.stringify(task.result ?? task.error));
