// BullMQ: newest first by `lifo`; it has no deadline, so the processor looks at the job's age.

import { appendFileSync } from "node:fs";
import { createRequire } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";

const setting = (name) => process.env[`BESIDE_${name}`];
const { Queue, Worker } = createRequire(`${setting("MODULES")}/`)("bullmq");
const connection = { host: "127.0.0.1", port: Number(new URL(setting("REDIS")).port), maxRetriesPerRequest: null };
const seconds = () => Date.now() / 1000;

async function check({ data, timestamp }) {
  const started = seconds();
  if (started - timestamp / 1000 > Number(setting("DEADLINE"))) return "too old";
  const answer = await fetch(setting("URL"), { method: "POST", body: "{}" });
  await answer.text();
  appendFileSync(setting("LOG"), JSON.stringify({ ...data, started, ended: seconds() }) + "\n");
}

async function put(queue) {
  const rate = Number(setting("RATE"));
  const began = seconds();
  for (let number = 0; number < Math.round(rate * Number(setting("SECONDS"))); number += 1) {
    await sleep(Math.max(0, began + number / rate - seconds()) * 1000);
    await queue.add("check", { number, put: seconds() }, { lifo: true });
  }
}

if (process.argv[2] === "work") {
  new Worker("beside", check, { connection, concurrency: Number(setting("SLOTS")) });
} else {
  const queue = new Queue("beside", { connection });
  if (process.argv[2] === "put") await put(queue);
  else console.log(JSON.stringify({ completed: await queue.getCompletedCount() }));
  await queue.close();
}
