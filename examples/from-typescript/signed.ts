// A fetch whose request is signed as AWS asks for it (version 4), by node's own means.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html

import { createHash, createHmac } from "node:crypto";

type Init = { method?: string; headers?: Record<string, string>; body?: string };

/** Sign and send a request. `service`: "execute-api" for a queue's API. The credentials are those
 * of the environment, as `. .local/environment` and a Lambda function have them. */
export async function signedFetch(url: string, service: string, init: Init = {}): Promise<Response> {
  const place = new URL(url);
  const time = new Date().toISOString().replace(/[-:]|\.\d+/g, "");
  const headers = Object.fromEntries(
    Object.entries(init.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value.trim()]),
  );
  headers["x-amz-date"] = time;
  const token = process.env.AWS_SESSION_TOKEN;
  if (token) headers["x-amz-security-token"] = token;

  const method = init.method ?? "GET";
  const signed: Record<string, string> = { ...headers, host: place.host };
  const names = Object.keys(signed).sort();
  const request = [
    method,
    place.pathname.split("/").map(encode).join("/"),
    [...place.searchParams].map(([name, value]) => `${encode(name)}=${encode(value)}`).sort().join("&"),
    ...names.map((name) => `${name}:${signed[name]}`),
    "",
    names.join(";"),
    sha256(init.body ?? ""),
  ].join("\n");
  const scope = [time.slice(0, 8), variable("AWS_DEFAULT_REGION", "AWS_REGION"), service, "aws4_request"];
  const text = ["AWS4-HMAC-SHA256", time, scope.join("/"), sha256(request)].join("\n");
  const key = scope.reduce<string | Buffer>(hmac, `AWS4${variable("AWS_SECRET_ACCESS_KEY")}`);
  headers.authorization =
    `AWS4-HMAC-SHA256 Credential=${variable("AWS_ACCESS_KEY_ID")}/${scope.join("/")}, ` +
    `SignedHeaders=${names.join(";")}, Signature=${hmac(key, text).toString("hex")}`;
  return fetch(url, { method, headers, body: init.body });
}

export function variable(...names: string[]): string {
  const found = names.map((name) => process.env[name]).find(Boolean);
  if (!found) throw new Error(`set ${names.join(" or ")} in the environment`);
  return found;
}

function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}
