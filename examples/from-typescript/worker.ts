// The worker: a server that is sent each task, as its queue lets it. The body is the payload, and
// Idempotency-Key the task's id. Its answer is the result; 429 with Retry-After says that it is full.

import { createServer } from "node:http";

type Payload = { text: string };

const MOST_AT_A_TIME = 2;
let atWork = 0;

async function count({ text }: Payload): Promise<Record<string, number>> {
  await new Promise((later) => setTimeout(later, 200)); // yours asks something slow
  const words: Record<string, number> = {};
  for (const word of text.toLowerCase().match(/\p{L}+/gu) ?? []) {
    words[word] = (words[word] ?? 0) + 1;
  }
  return words;
}

const server = createServer(async (request, response) => {
  const answer = (status: number, body: unknown, headers = {}) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(body));
  };
  if (atWork >= MOST_AT_A_TIME) return answer(429, { error: "full" }, { "retry-after": "1" });
  atWork += 1;
  try {
    let text = "";
    for await (const part of request.setEncoding("utf8")) text += part;
    const payload = JSON.parse(text) as Partial<Payload>;
    if (typeof payload.text !== "string") return answer(400, { error: "no text to count" }); // FAILURE
    answer(200, await count({ text: payload.text })); // SUCCESS
  } catch (error) {
    answer(500, { error: String(error) }); // tried again
  } finally {
    atWork -= 1;
  }
});

server.listen(Number(process.env.PORT ?? 8773), "127.0.0.1", () => {
  console.log(JSON.stringify(server.address()));
});
