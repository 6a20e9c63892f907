/** The rebalances of a group, newest first, each with its phases on a common scale. */

import { h, id, unseen, visible } from "./dom.js";
import { BECAUSE, count, duration, fullName, isKnown, isSomebody, NOT_KNOWN, number, time, words } from "./format.js";
import { address } from "./route.js";

const FIRST = 12; // shown before "Show all"
const PHASES = [
  ["join", "Join"],
  ["plan", "Plan"],
  ["sync", "Sync"],
];
/** Of a KIP-848 group: until the target is computed, and until each member has it. */
const EPOCH_PHASES = [
  ["join", "Target"],
  ["sync", "Reconcile"],
];
const isOfEpochs = (event) => event.type === "consumer";
/** When the last one was there, and the one before it. */
const lastOnes = (event) =>
  isOfEpochs(event)
    ? [event.previous_reconcile_ms, event.last_reconcile_ms]
    : [event.previous_join_ms, event.last_join_ms];
const TICKS = [
  2, 10, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000,
  3_600_000,
];

/** The rebalances of a story, newest first: {event, position, isRunning}. */
export function rebalances(story) {
  const found = story.events
    .map((event, position) => ({ event, position }))
    .filter(({ event }) => event.kind === "rebalance");
  if (story.state?.rebalance)
    found.push({ event: story.state.rebalance, position: story.events.length, isRunning: true });
  return found.reverse();
}

/** The phases as [name, from, until] in milliseconds since the start. Of a running one the last phase ends now. */
function phases({ event, isRunning }, now) {
  const so_far = Math.max(now - event.at_ms, 0);
  if (event.join_ms < 0) return isRunning ? [["join", 0, so_far]] : [];
  const join = event.join_ms;
  const end = event.sync_ms >= 0 ? join + event.sync_ms : isRunning ? Math.max(so_far, join) : join;
  const planned = event.plan_ms >= 0 ? Math.min(join + event.plan_ms, end) : end;
  return [
    ["join", 0, join],
    ["plan", join, planned],
    ["sync", planned, end],
  ];
}

const ending = (parts) => (parts.length ? parts.at(-1)[2] : -1);

/** A common scale: even, or else by square roots or logarithms if the durations differ much. */
function scale(ends) {
  const known = ends.filter((ms) => ms > 0);
  const longest = Math.max(...known, 1);
  const ratio = longest / Math.max(Math.min(...known, longest), 1);
  const [name, f] =
    ratio <= 25
      ? ["", (ms) => ms]
      : ratio <= 2500
        ? ["square root", Math.sqrt]
        : ["logarithmic", (ms) => Math.log1p(ms / 5)];
  return { name, at: (ms) => (f(Math.max(ms, 0)) / f(longest * 1.02)) * 100, longest };
}

const percent = (value) => `${value.toFixed(2)}%`;

function bar({ event }, parts, to) {
  const [before, final] = lastOnes(event);
  const marks = [
    [before, "previous"],
    [final, "last"],
  ].filter(([ms, which]) => ms >= 0 && (which === "last" || ms < final));
  return h(
    "svg",
    { class: "phases", height: 22, "aria-hidden": "true" },
    parts.map(([name, from, until]) =>
      h(
        "rect",
        {
          key: name,
          class: name,
          y: 5,
          height: 12,
          x: percent(to.at(from)),
          css: { width: `max(${percent(to.at(until) - to.at(from))}, 1.5px)` },
        },
        h("title", null, `${name}: ${duration(until - from)}`),
      ),
    ),
    marks.map(([ms, which]) =>
      h("line", {
        key: which,
        class: `comer ${which}`,
        x1: percent(to.at(ms)),
        x2: percent(to.at(ms)),
        y1: which === "last" ? 0 : 3,
        y2: which === "last" ? 22 : 19,
      }),
    ),
  );
}

/** What a rebalance cost, in words. */
function price({ event, isRunning }) {
  const after = isRunning && event.join_ms < 0 ? "?" : number(event.members_after);
  const members = `members ${number(event.members_before)} → ${after}`;
  if (isRunning) return [members];
  const moved =
    event.partitions_moved < 0
      ? "moved partitions not known"
      : event.partitions < 0
        ? `${count(event.partitions_moved, "partition")} moved`
        : `${number(event.partitions_moved)} of ${count(event.partitions, "partition")} moved`;
  const seconds = event.unowned_partition_ms / 1000;
  const unowned =
    event.unowned_partition_ms < 0
      ? "time without an owner not known"
      : `${seconds > 0 && seconds < 10 ? seconds.toFixed(1) : number(seconds)} partition-seconds without an owner`;
  const twice =
    event.records_read_twice < 0
      ? "records read twice not known"
      : event.records_read_twice === 0
        ? "no record read twice"
        : `at most ${count(event.records_read_twice, "record")} read twice`;
  return [moved, unowned, twice, members];
}

function comers(event) {
  if (event.last_join_ms < 0 && !isSomebody(event.last_to_join)) return NOT_KNOWN;
  const previous =
    event.previous_join_ms < 0 ? "" : `; the one before it joined after ${duration(event.previous_join_ms)}`;
  return [id(fullName(event.last_to_join)), ` joined last, after ${duration(event.last_join_ms)}${previous}`];
}

/** A member of a KIP-848 group and when it was there. */
const when = (client, ms) => (ms < 0 ? null : [id(fullName(client)), ` after ${duration(ms)}`]);

/** What is known of the phases of a rebalance, by the kind of its group. */
function course(event, phase) {
  if (isOfEpochs(event)) {
    return [
      ["Target, reconcile", EPOCH_PHASES.map(([name]) => phase(name)).join(", ")],
      ["Last to give up its partitions", when(event.last_to_revoke, event.last_revoke_ms)],
      ["Last to have its target", when(event.last_to_reconcile, event.last_reconcile_ms)],
      ["Assignor", event.protocol || NOT_KNOWN],
      ["Epochs", `${number(event.previous_generation)} → ${number(event.generation)}`],
    ];
  }
  return [
    ["Join, plan, sync", PHASES.map(([name]) => phase(name)).join(", ")],
    ["Last to join", comers(event)],
    ["Leader", someone(event.leader)],
    ["Protocol", event.protocol || NOT_KNOWN],
    ["Generations", `${number(event.previous_generation)} → ${number(event.generation)}`],
  ];
}

const someone = (client) => (isSomebody(client) ? id(fullName(client)) : NOT_KNOWN);

function changes(event) {
  if (!event.changes.length) return null;
  const named = event.changes.reduce((all, each) => ({ ...all, [each.kind]: (all[each.kind] ?? 0) + 1 }), {});
  const more = Object.entries(event.counts)
    .map(([kind, total]) => [kind, total - (named[kind] ?? 0)])
    .filter(([, left]) => left > 0);
  return h(
    "ul",
    null,
    event.changes.map((each) =>
      h(
        "li",
        null,
        `${words(each.kind)} `,
        id(fullName(each.member)),
        ` after ${duration(each.after_ms)}`,
        each.reason && [", reason: ", id(each.reason)],
      ),
    ),
    more.map(([kind, left]) => h("li", null, `${number(left)} more ${words(kind)}`)),
  );
}

function shares(event) {
  return (
    event.shares.length > 0 &&
    h(
      "ul",
      null,
      event.shares.map((each) =>
        h("li", null, id(fullName(each.member)), ` lost ${number(each.lost)} and gained ${number(each.gained)}`),
      ),
    )
  );
}

function facts(entry, parts, past) {
  const { event, isRunning } = entry;
  const { trigger } = event;
  const phase = (name) => {
    const part = parts.find(([each]) => each === name);
    if (!part || (name === "sync" && event.sync_ms < 0)) return NOT_KNOWN;
    if (name === "plan" && event.plan_ms < 0)
      return isRunning ? `${duration(part[2] - part[1])} so far` : "the leader sent none";
    return duration(part[2] - part[1]) + (isRunning && part === parts.at(-1) ? " so far" : "");
  };
  const entries = [
    ["Cause", BECAUSE[trigger.cause] ?? (words(trigger.cause) || NOT_KNOWN)],
    ["Culprit", someone(trigger.member)],
    ["Member id", trigger.member.member_id && id(trigger.member.member_id)],
    ["Reason of the client", trigger.reason && id(trigger.reason)],
    ["Its session timeout", trigger.session_timeout_ms > 0 && duration(trigger.session_timeout_ms)],
    ["Its rebalance timeout", trigger.rebalance_timeout_ms > 0 && duration(trigger.rebalance_timeout_ms)],
    ["Subscription", trigger.subscription_changed && "its topics or assignors changed"],
    ...course(event, phase),
    ["Outcome", isRunning ? "running" : words(event.outcome)],
    ["Changes", changes(event)],
    ["Partitions", shares(event)],
    ["The group then", past && h("a", { href: past }, `Show it at ${time(event.at_ms)}`)],
  ];
  return h(
    "dl",
    { class: "facts" },
    entries
      .filter(([, value]) => value)
      .map(([term, value]) => h("div", { key: term }, h("dt", null, term), h("dd", null, value))),
  );
}

/** `settings`: {group, now, selected, showsAll, onShowAll, hasPast}. */
export function waterfalls(story, settings) {
  const all = rebalances(story);
  if (!all.length) return h("p", { class: "note" }, "No rebalance is kept of this group.");
  const shown = settings.showsAll
    ? all
    : all.filter((entry, i) => i < FIRST || entry.event.at_ms === settings.selected);
  const parts = new Map(shown.map((entry) => [entry, phases(entry, settings.now)]));
  const to = scale([...parts.values()].map(ending));
  let last = 0;
  const ticks = TICKS.filter(
    (ms) => ms < to.longest && to.at(ms) < 92 && to.at(ms) - last > 13 && ((last = to.at(ms)), true),
  );
  return h(
    "div",
    { class: "waterfalls" },
    h(
      "div",
      { class: "scale" },
      h(
        "p",
        { class: "note" },
        (isOfEpochs(all[0].event) ? EPOCH_PHASES : PHASES).map(([name, label]) =>
          h("span", { class: "phase" }, h("i", { class: name }), label),
        ),
        h(
          "span",
          { class: "phase" },
          h("i", { class: "comer" }),
          isOfEpochs(all[0].event) ? "last to have its target" : "last to join",
        ),
        to.name && h("span", null, `The scale is ${to.name}, because the durations differ much.`),
      ),
      h(
        "svg",
        { class: "ticks", height: 14, "aria-hidden": "true" },
        [0, ...ticks].map((ms) =>
          h(
            "text",
            { key: ms, x: percent(to.at(ms)), y: 11, "text-anchor": ms ? "middle" : "start" },
            ms ? duration(ms) : "0",
          ),
        ),
      ),
    ),
    h(
      "ol",
      null,
      shown.map((entry) => {
        const { event, isRunning } = entry;
        const end = ending(parts.get(entry));
        const culprit = event.trigger.member;
        const isSelected = event.at_ms === settings.selected;
        return h(
          "li",
          { key: event.at_ms, class: [isSelected && "selected", isRunning && "running"].filter(Boolean).join(" ") },
          h(
            "details",
            { "data-at": event.at_ms },
            h(
              "summary",
              null,
              h("span", { class: "when" }, h("b", null, time(event.at_ms)), unseen(": ")),
              h(
                "span",
                { class: "why" },
                words(event.trigger.cause) || "cause not known",
                isSomebody(culprit) &&
                  h(
                    "small",
                    null,
                    unseen(" by "),
                    id(visible(culprit.client_id || fullName(culprit))),
                    culprit.host && ` ${culprit.host}`,
                  ),
              ),
              bar(entry, parts.get(entry), to),
              h(
                "span",
                { class: "took" },
                unseen(" took "),
                end < 0 ? NOT_KNOWN : duration(end),
                isRunning && h("small", null, "running"),
                !isRunning && event.outcome !== "stable" && h("small", null, words(event.outcome)),
              ),
              h("span", { class: "price" }, price(entry).join(" · ")),
            ),
            facts(
              entry,
              parts.get(entry),
              settings.hasPast && !isRunning && address(settings.group, { at: event.at_ms }),
            ),
          ),
        );
      }),
    ),
    all.length > shown.length &&
      h("button", { type: "button", onclick: settings.onShowAll }, `Show all ${number(all.length)}`),
  );
}
