/** A value or key of a record. */
export type Payload = string | Uint8Array;

/** A verb that cannot be done. The message is the sentence of the server. */
export class CoordinatorError extends Error {}

/** A wait that ended without what it waited for. The message tells what was seen last. */
export class NotInTimeError extends CoordinatorError {}

/** A group, as the coordinator knows it. */
export interface Group {
  group: string;
  state: string;
  generation: number;
  members: Member[];
}

/** A member of a group. `partitions`: as "topic-number". */
export interface Member {
  memberId: string;
  clientId: string;
  instanceId: string | null;
  partitions: string[];
}

/** A fault, with how often it has fired. `api` and `error`: by their numbers in Kafka's protocol. */
export interface Fault {
  number: number;
  action: "fail" | "delay" | "lose_reply";
  api: number;
  times: number;
  client: string;
  group: string;
  error: number;
  delayMs: number;
  fired: number;
}
