/** Numbers, times and names as text. */

const NUMBER = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const FINE = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 2 });

export const NOT_KNOWN = "not known";
export const isKnown = (value) => value != null && value !== -1;
export const number = (value) => (isKnown(value) ? NUMBER.format(value) : NOT_KNOWN);
export const count = (value, one, many = `${one}s`) => `${number(value)} ${value === 1 ? one : many}`;
export const clip = (value, low, high) => Math.min(Math.max(value, low), high);

/** The server's clock, estimated from the last answer. */
export const clock = {
  ahead: 0,
  set(at_ms) {
    this.ahead = at_ms - Date.now();
  },
  now() {
    return Date.now() + this.ahead;
  },
};

/** A duration in its two largest units: "850 ms", "3.4 s", "4 m 22 s", "3 h 12 m", "2 d 5 h". */
export function duration(ms) {
  if (!isKnown(ms)) return NOT_KNOWN;
  if (ms < 1000) return `${Math.max(Math.round(ms), 0)} ms`;
  if (ms < 9950) return `${(ms / 1000).toFixed(1).replace(/\.0$/, "")} s`;
  const seconds = Math.round(ms / 1000);
  for (const [unit, name, smaller, rest] of [
    [86400, "d", 3600, "h"],
    [3600, "h", 60, "m"],
    [60, "m", 1, "s"],
  ]) {
    const left = Math.floor((seconds % unit) / smaller);
    if (seconds >= unit) return `${Math.floor(seconds / unit)} ${name}${left ? ` ${left} ${rest}` : ""}`;
  }
  return `${seconds} s`;
}

/** How long ago a moment was, in whole seconds. */
export function ago(at_ms, now) {
  if (!(at_ms > 0)) return NOT_KNOWN;
  const ms = now - at_ms;
  return ms < 1000 ? "now" : `${duration(ms < 10000 ? Math.floor(ms / 1000) * 1000 : ms)} ago`;
}

const two = (value) => String(value).padStart(2, "0");
const day = (date) => `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;

/** A moment in the user's zone: its time, and its day unless that is today. */
export function time(at_ms, { withSeconds = true, withDay = null } = {}) {
  if (!(at_ms > 0)) return NOT_KNOWN;
  const date = new Date(at_ms);
  const text = `${two(date.getHours())}:${two(date.getMinutes())}${withSeconds ? `:${two(date.getSeconds())}` : ""}`;
  return (withDay ?? day(date) !== day(new Date())) ? `${day(date)} ${text}` : text;
}

/** The value of an input of type datetime-local. */
export const local = (at_ms) => time(at_ms, { withDay: true }).replace(" ", "T");

/** "+01:00" of the user's zone, with its name. */
export function zone() {
  const minutes = -new Date().getTimezoneOffset();
  const offset = `${minutes < 0 ? "-" : "+"}${two(Math.floor(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}`;
  return `${Intl.DateTimeFormat().resolvedOptions().timeZone} (UTC${offset})`;
}

/** The slope of a lag in words. */
export function slope(per_s) {
  if (per_s == null) return "how it develops is not known";
  if (Math.abs(per_s) < 0.1) return "steady";
  const rate = Math.abs(per_s) < 10 ? FINE.format(Math.abs(per_s)) : number(Math.abs(per_s));
  return `${per_s > 0 ? "grows" : "shrinks"} by ${rate}/s`;
}

/** The shortest name by which an operator knows a client, and the name with where it runs and what it is. */
export const name = (client) => client.instance_id || client.client_id || client.member_id || "an unnamed client";
export function fullName(client) {
  const where = [client.host, client.software].filter(Boolean).join(", ");
  return where ? `${name(client)} (${where})` : name(client);
}
export const isSomebody = (client) => Boolean(client.member_id || client.client_id || client.instance_id);
export const keyOf = (client) => client.instance_id || client.member_id;

/** A sentence of the server, with a capital and a full stop. */
export const asSentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");

/** Codes such as "member_joined" as words. */
export const words = (code) => code.replaceAll("_", " ");

export const BECAUSE = {
  member_joined: "a new member joined",
  protocols_changed: "a member rejoined with other protocols or another subscription",
  leader_rejoined: "the leader rejoined",
  static_member_replaced: "a static member was replaced by its next run",
  member_left: "a member left",
  session_expired: "a member sent nothing for its session timeout",
  no_sync: "a member sent no SyncGroup within the rebalance timeout",
  append_failed: "the assignments could not be written to the log",
  over_full: "the group was loaded with more members than group.max.size",
  forced: "it was asked for",
  not_revoked: "a member did not give up its partitions within its rebalance timeout",
  no_rejoin: "a member was told to rejoin and did not within its rebalance timeout",
  topics_changed: "its topics changed: they were created or deleted, or got partitions",
  regex_resolved: "a regular expression of a member matches other topics than before",
  member_gone: "a member left or its session ended, which the log does not tell apart",
  unknown: "of something that the log does not tell",
};

export const WAITS = {
  first_members: "more members (group.initial.rebalance.delay.ms)",
  joins: "JoinGroup requests",
  plan: "the assignments of the leader",
  disk: "the disk of the coordinator",
  assignor: "its assignor",
  revocation: "a member that has to give up partitions",
  heartbeat: "the next heartbeat of a member",
  return: "a static member that is away",
};
