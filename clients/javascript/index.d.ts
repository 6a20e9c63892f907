import { Verbs } from "./verbs.js";

export { CoordinatorError, NotInTimeError } from "./ask.js";
export type { Fault, Group, Member, Payload } from "./ask.js";
export { Verbs } from "./verbs.js";

export interface StartOptions {
  /** Topics to create, with their numbers of partitions. */
  topics?: Record<string, number>;
  /** Settings by their names in Kafka, such as "group.max.size". */
  settings?: Record<string, string | number | boolean>;
  /** The program with its first arguments, if it is not `coordinator` in the PATH. */
  command?: string | string[];
  /** The path of a single-file binary; without it, that in the variable COORDINATOR_BINARY. */
  binary?: string;
  /** The name of a container image, run by `docker`; without it, that in the variable COORDINATOR_IMAGE. */
  image?: string;
  /** Seconds until the server must be ready; default: 60. */
  startTimeout?: number;
}

/** A running test server. */
export class Coordinator extends Verbs {
  /** The address of its first listener, host:port. */
  readonly bootstrapServers: string;
  /** The last lines that it wrote. */
  readonly log: string;
  /** Stop the server. Rejects if it had ended before, or if a fault was asked for that no request has met. */
  stop(): Promise<void>;
}

/** Start a test server. Resolves when clients can use it. */
export function start(options?: StartOptions): Promise<Coordinator>;
