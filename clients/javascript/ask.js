// Asks a test server for a verb over HTTP, and gives its answer the form of JavaScript.

import http from "node:http";

/** A verb that cannot be done. The message is the sentence of the server. */
export class CoordinatorError extends Error {
  name = "CoordinatorError";
}

/** A wait that ended without what it waited for. The message tells what was seen last. */
export class NotInTimeError extends CoordinatorError {
  name = "NotInTimeError";
}

/** Have a server do a verb. A server in a container, or with a token, asks for it. */
export function ask({ url, token }, verb, parameters) {
  const headers = { "Content-Type": "application/x-www-form-urlencoded" };
  if (token) headers.Authorization = `Bearer ${token}`;
  return new Promise((resolve, reject) => {
    const fail = (error) => reject(new CoordinatorError(`${url} does not answer to ${verb}: ${error.message}`));
    const request = http.request(url + verb, { method: "POST", agent: false, headers }, (answer) => {
      const parts = [];
      answer.on("data", (part) => parts.push(part)).on("error", fail);
      answer.on("end", () => {
        try {
          resolve(resultOf(answer.statusCode, JSON.parse(Buffer.concat(parts).toString())));
        } catch (error) {
          reject(error instanceof SyntaxError ? new CoordinatorError(`${url} is no coordinator: ${error.message}`) : error);
        }
      });
    });
    request.on("error", fail).end(formOf(parameters));
  });
}

function resultOf(status, body) {
  if (status === 200) return body ?? undefined;
  throw new (status === 408 ? NotInTimeError : CoordinatorError)(body.error);
}

function formOf({ topics, ...parameters }) {
  const pairs = Object.entries({ ...parameters, ...topics });
  return pairs.flatMap(([name, value]) => textsOf(name, value).map((text) => `${encodeURIComponent(name)}=${text}`)).join("&");
}

/** The values of a parameter, each as a form has it. */
function textsOf(name, value) {
  if (value === undefined) return [];
  if (name === "values") return [...value].map(bytesOf);
  if (name === "fault") return [`${value.number ?? value}`];
  return [bytesOf(value)];
}

function bytesOf(value) {
  if (value === null) throw new CoordinatorError("a record without a value cannot be produced by a verb; use a Kafka client");
  return Buffer.from(value instanceof Uint8Array ? value : `${value}`).toString("hex").replace(/../g, "%$&");
}

export function groupOf({ group, state, generation, members }) {
  return { group, state, generation, members: members.map(memberOf) };
}

function memberOf({ member_id, client_id, instance_id, partitions }) {
  return {
    memberId: member_id,
    clientId: client_id,
    instanceId: instance_id,
    partitions: partitions.map(([topic, partition]) => `${topic}-${partition}`).sort(),
  };
}

export function faultOf({ delay_ms, ...fault }) {
  return { ...fault, delayMs: delay_ms };
}
