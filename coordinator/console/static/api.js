/** The JSON API: requests, streams, and the defaults that the server leaves out (coordinator/console/model.py). */

const maybe = (template) => ({ maybe: template });

const CLIENT = { member_id: "", instance_id: "", client_id: "", host: "", software: "" };
const CHANGE = { member: CLIENT, after_ms: 0, reason: "", session_timeout_ms: 0, rebalance_timeout_ms: 0 };
const REBALANCE = {
  trigger: {
    cause: "",
    member: CLIENT,
    reason: "",
    session_timeout_ms: 0,
    rebalance_timeout_ms: 0,
    subscription_changed: false,
  },
  members_before: 0,
  members_after: 0,
  join_ms: -1,
  plan_ms: -1,
  sync_ms: -1,
  changes: [CHANGE],
  counts: {},
  leader: CLIENT,
  last_to_join: CLIENT,
  last_join_ms: -1,
  previous_join_ms: -1,
  rebalance_timeout_ms: 0,
  protocol: "",
  partitions: -1,
  partitions_moved: 0,
  unowned_partition_ms: 0,
  records_read_twice: -1,
  shares: [{ member: CLIENT, lost: 0, gained: 0 }],
  last_to_revoke: CLIENT,
  last_revoke_ms: -1,
  last_to_reconcile: CLIENT,
  last_reconcile_ms: -1,
  previous_reconcile_ms: -1,
  type: "classic",
};
const INCIDENT = {
  member: CLIENT,
  other: CLIENT,
  error: "",
  api: "",
  reason: "",
  generation: -1,
  more: 0,
  waited_ms: -1,
  at_most_ms: -1,
  offered: [],
  times: 1,
  others: 0,
  last_ms: 0,
};
const LIVE_MEMBER = {
  member: CLIENT,
  partitions: -1,
  has_joined: false,
  has_synced: false,
  is_leader: false,
  silent_ms: -1,
  session_timeout_ms: 0,
  rebalance_timeout_ms: 0,
  protocols: [],
  topics: [],
  revoking: 0,
  awaited: 0,
  epoch: -1,
  step_ms: -1,
  is_classic: false,
  assigned: [],
  target: [],
  giving_up: [],
};
const LIVE_GROUP = {
  since_ms: -1,
  loaded_at_ms: -1,
  generation: 0,
  protocol_type: "",
  protocol: "",
  partitions: -1,
  member_count: 0,
  waits: "nothing",
  waits_for: [CLIENT],
  waits_for_count: 0,
  waits_at_most_ms: -1,
  members: [LIVE_MEMBER],
  rebalance: maybe(REBALANCE),
  rebalances: 0,
  commits_refused: 0,
  fencings: 0,
  type: "classic",
  assignment_epoch: -1,
  classic_members: 0,
  unmatched: [],
  pending_offsets: [{ partitions: [], since_ms: -1 }],
};
const TRANSACTION = { transactional_id: "", state: "", start_ms: -1, timeout_ms: -1, is_hanging: false };
const GROUP = {
  verdicts: [{ advice: "", culprit: CLIENT, evidence: [], since_ms: -1, at_most_ms: -1 }],
  story: {
    state: maybe(LIVE_GROUP),
    events: [(event) => (event.kind === "rebalance" ? REBALANCE : INCIDENT)],
    held: [{ transaction: TRANSACTION }],
    offsets_pending_in: [TRANSACTION],
  },
  type: "classic",
  is_past: false,
  facts: [{ age_ms: -1, evictions: 0, departures: 0 }],
  ribbon: maybe({
    members: [{ client_id: "", host: "", is_member: false }],
    rows: [],
    rows_left_out: 0,
    seams: [{ cause: "", culprit: "", outcome: "", event: -1 }],
  }),
  lag: maybe({
    total: -1,
    per_s: null,
    samples: [],
    sample_ms: 0,
    partitions_left_out: 0,
    partitions: [{ end: -1, lag: -1, committed_ms: -1, owner: -1, held_at: -1, held_by: "" }],
  }),
  unknown: [],
  problem: "",
};
const GROUPS = {
  groups: [
    {
      type: "classic",
      protocol_type: "",
      members: -1,
      generation: -1,
      lag: -1,
      unknown_partitions: 0,
      lags: [],
      rebalances: 0,
      last_rebalance_ms: -1,
    },
  ],
  states: {},
  open_transactions: 0,
  transactions: [{ count: 0, partitions: [] }],
  problem: "",
};
const CLUSTER = {
  nodes: [],
  can_kick: false,
  history: "",
  history_from_ms: -1,
  behind_ms: -1,
  problem: "",
  version: "",
};
const TEMPLATES = { cluster: CLUSTER, groups: GROUPS, group: GROUP };

/** The value with the defaults of the template where it has nothing. */
function fill(value, template) {
  if (typeof template === "function") return fill(value, template(value));
  if (Array.isArray(template))
    return template.length ? (value ?? []).map((each) => fill(each, template[0])) : (value ?? []);
  if (template === null || typeof template !== "object") return value ?? template;
  if (template.maybe) return value == null ? null : fill(value, template.maybe);
  const filled = { ...value };
  for (const key in template) filled[key] = fill(value?.[key], template[key]);
  return filled;
}

/** The path and query of a question. Parameters without a value are left out. */
export function address(what, params = {}) {
  const given = Object.entries(params).filter(([, value]) => value != null && value !== "");
  const query = given.map(([key, value]) => `${key}=${encodeURIComponent(wellFormed(value))}`).join("&");
  return `/api/${what}${query ? `?${query}` : ""}`;
}

/** A string that encodeURIComponent takes: a lone half of a surrogate pair is replaced. */
export const wellFormed = (text) => String(text).replace(/\p{Surrogate}/gu, "\ufffd");

/** An answer that is no success, or none at all. `status` is 0 if the server was not reached. */
export class Refused extends Error {
  constructor(sentence, status) {
    super(sentence);
    this.status = status;
  }
}

/** Ask, and return the text of the answer. */
export async function ask(path, options) {
  let answer, text;
  try {
    answer = await fetch(path, options);
    text = await answer.text();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("The server cannot be reached.", 0);
  }
  if (answer.ok) return text;
  let sentence;
  try {
    sentence = JSON.parse(text).error;
  } catch {
    /* The body is not of this API. */
  }
  throw new Refused(sentence || `The server answered with status ${answer.status}.`, answer.status);
}

export async function get(what, params, signal) {
  return fill(JSON.parse(await ask(address(what, params), { signal })), TEMPLATES[what]);
}

/**
 * Follow a view: `onData(view)` for each new state, `onProblem(sentence)` when it stops being current. Returns a
 * function that ends it. EventSource connects again by itself after a lost connection, but not after an error status.
 */
export function follow(what, params, onData, onProblem) {
  let source,
    timer,
    isOver = false,
    hasData = false;
  let problem = ""; // the last sentence of the stream since its last data
  const take = (view) => {
    if (isOver) return;
    hasData = true;
    problem = "";
    onData(view);
  };
  /** One plain request: it tells the sentence of an error, and helps where streams do not pass. */
  const once = async (otherwise) => {
    try {
      take(await get(what, params));
      if (otherwise && !isOver) onProblem(otherwise);
    } catch (error) {
      if (!isOver) onProblem(error.message, error.status);
    }
  };
  const open = () => {
    if (isOver || document.hidden) return;
    source = new EventSource(address(`stream/${what}`, params));
    source.addEventListener(what, (event) => take(fill(JSON.parse(event.data), TEMPLATES[what])));
    source.addEventListener("problem", (event) => {
      problem = JSON.parse(event.data).error;
      onProblem(problem);
    });
    source.onerror = () => {
      if (source.readyState !== EventSource.CLOSED) {
        onProblem(problem || "The stream of updates is disconnected; the browser connects again by itself.");
        return;
      }
      once("The stream of updates was refused; the page asks again every 5 s.");
      timer = setTimeout(open, 5000);
    };
  };
  const shut = () => {
    clearTimeout(timer);
    source?.close();
  };
  const onVisibility = () => {
    shut();
    open();
  };
  document.addEventListener("visibilitychange", onVisibility);
  open();
  const slow = setTimeout(() => hasData || isOver || once(), 3000);
  return () => {
    isOver = true;
    clearTimeout(slow);
    shut();
    document.removeEventListener("visibilitychange", onVisibility);
  };
}
