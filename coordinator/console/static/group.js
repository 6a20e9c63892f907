/** The page of one group. */

import { follow, get } from "./api.js";
import { curlPanel } from "./curl.js";
import { h, id, patch, table, unseen, visible } from "./dom.js";
import {
  ago,
  clip,
  clock,
  count,
  duration,
  fullName,
  isKnown,
  isSomebody,
  keyOf,
  name,
  NOT_KNOWN,
  number,
  time,
  WAITS,
  words,
} from "./format.js";
import { kickButton } from "./kick.js";
import { lagSection } from "./lag.js";
import { stateMark } from "./list.js";
import { pastSlider } from "./past.js";
import { ribbonView, swatch } from "./ribbon.js";
import { rebalances, waterfalls } from "./waterfall.js";
import { address } from "./route.js";

const FIRST_MEMBERS = 50;
const NOTICE_MS = 20_000;
const AWAY = -2; // the epoch of a static member that has closed and may come back

const partitions = (named) => (named.length ? named.map((each) => h("div", { key: each }, id(each))) : "none");
/** Columns of a KIP-848 group, whose members follow its target one by one. */
const EPOCH_COLUMNS = [
  { label: "Epoch", num: true, cell: (m) => (m.epoch === AWAY ? "away" : isKnown(m.epoch) ? number(m.epoch) : NOT_KNOWN) },
  { label: "Has", cell: (m) => partitions(m.assigned) },
  { label: "Shall have", cell: (m) => partitions(m.target) },
];

export function groupPage(root, context, first) {
  let route = first;
  let view = null; // the last GroupPage
  let isOld = false;
  let isLoading = false;
  let selected = null; // at_ms of the selected rebalance
  let notice = "";
  let stop = () => {};
  const shows = { rebalances: false, members: false, partitions: false }; // all of them
  const curl = curlPanel();
  const ribbon = ribbonView({
    onSelect: select,
    onRange: (range) => context.go({ range }, { replace: true }),
    redraw: draw,
  });
  const past = pastSlider((at) => context.go({ at }), draw);

  const at = () => (/^\d+$/.test(route.params.at ?? "") ? Number(route.params.at) : null);
  const question = () => ({ id: route.id, at: at() });
  const isLive = () => !isOld && view !== null && !view.is_past;
  /** The moment of the page: it goes on while the page is live. */
  const now = () => (isLive() ? clock.now() : view.at_ms);

  function take(next) {
    view = next;
    isOld = Boolean(view.problem);
    isLoading = false;
    if (!view.is_past) clock.set(view.at_ms);
    context.problem("view", view.problem);
    context.shows(view.is_past ? "past" : isOld ? "old" : "live", view.at_ms);
    draw();
  }

  function fail(sentence) {
    isOld = true;
    isLoading = false;
    context.problem("view", sentence);
    context.shows("old", view?.at_ms);
    draw();
  }

  function start() {
    stop();
    if (at() === null) {
      stop = follow("group", question(), take, fail);
    } else {
      const control = new AbortController();
      stop = () => control.abort();
      isLoading = true;
      get("group", question(), control.signal).then(
        take,
        (error) => error.name === "AbortError" || fail(error.message),
      );
    }
    draw();
  }

  /** Select a rebalance: open it in the list below. */
  function select(at_ms, byKey) {
    selected = at_ms;
    draw();
    const details = root.querySelector(`details[data-at="${at_ms}"]`);
    if (!details) return;
    details.open = true;
    details.scrollIntoView({
      block: "nearest",
      behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth",
    });
    if (byKey) details.querySelector("summary").focus({ preventScroll: true });
  }

  const kick = (client) =>
    context.cluster?.can_kick &&
    !view.is_past &&
    client.member_id &&
    kickButton(client, {
      group: view.group,
      label: label(client),
      onDone(sentence) {
        notice = sentence;
        setTimeout(() => (notice = ""), NOTICE_MS);
        draw();
      },
    });

  // Sections ----------------------------------------------------------------------------------------------------------

  function headline() {
    const [main, ...others] = view.verdicts;
    const { state } = view.story;
    const facts = state
      ? [
          stateMark(state.state),
          `${view.type === "classic" ? "generation" : "epoch"} ${number(state.generation)}`,
          isKnown(state.assignment_epoch) &&
            state.assignment_epoch !== state.generation &&
            `target of epoch ${number(state.assignment_epoch)}`,
          state.protocol && `${view.type === "consumer" ? "assignor" : "protocol"} ${state.protocol}`,
          count(state.member_count, "member"),
          isKnown(state.partitions) && count(state.partitions, "partition"),
          view.type !== "classic" && `type ${view.type}`,
          state.classic_members > 0 && `${number(state.classic_members)} of the classic protocol`,
          state.since_ms > 0 && `since ${time(state.since_ms)}`,
        ]
      : ["There is no such group at this moment."];
    return h(
      "section",
      { class: "headline", key: "headline", "aria-label": "Verdict" },
      h(
        "p",
        { class: "state-line" },
        facts
          .filter(Boolean)
          .map((fact, i) => [
            i > 0 && h("span", { class: "dot", "aria-hidden": "true" }, " · "),
            h("span", null, fact),
          ]),
      ),
      main &&
        h(
          "div",
          { class: "main" },
          h("p", { class: "sentence" }, visible(main.sentence)),
          main.advice && h("p", { class: "advice" }, visible(main.advice)),
          evidence(main),
        ),
      others.length > 0 && h("ul", { class: "also" }, others.map(also)),
    );
  }

  function also(verdict) {
    const sentence = [h("b", null, "Also: "), visible(verdict.sentence)];
    return h(
      "li",
      null,
      verdict.advice
        ? h("details", null, h("summary", null, sentence), h("p", null, visible(verdict.advice)), evidence(verdict))
        : h("p", null, sentence),
    );
  }

  /** The rebalances that prove a verdict, as buttons. */
  function evidence(verdict) {
    const found = rebalances(view.story)
      .filter(({ position }) => verdict.evidence.includes(position))
      .slice(0, 5);
    return (
      found.length > 0 &&
      h(
        "p",
        { class: "evidence" },
        found.length === 1 ? "Seen in the rebalance of " : "Seen in the rebalances of ",
        found
          .reverse()
          .map(({ event }) =>
            h(
              "button",
              { type: "button", class: "link", key: event.at_ms, onclick: () => select(event.at_ms, true) },
              time(event.at_ms),
            ),
          ),
      )
    );
  }

  function waiting() {
    const { state } = view.story;
    if (!state || state.waits === "nothing") return null;
    const since = state.rebalance?.at_ms ?? state.since_ms;
    const most = state.waits_at_most_ms - (now() - view.story.at_ms);
    const more = state.waits_for_count - state.waits_for.length;
    return h(
      "section",
      { class: "waiting", key: "waiting", "aria-labelledby": "h-waiting" },
      h(
        "h2",
        { id: "h-waiting" },
        state.waits === "joins" && state.waits_for_count > 0
          ? `Waiting for ${count(state.waits_for_count, "member")} to join`
          : `Waiting for ${WAITS[state.waits] ?? words(state.waits)}`,
      ),
      h(
        "p",
        null,
        since > 0 ? `It has waited for ${duration(now() - since)}, since ${time(since)}. ` : "The start is not known. ",
        state.waits_at_most_ms >= 0
          ? `It waits at most ${duration(Math.max(most, 0))} more.`
          : "How long it still waits is not known.",
      ),
      state.waits_for.length > 0 &&
        h(
          "ul",
          null,
          state.waits_for.map((client) =>
            h("li", { key: client.member_id }, swatchOf(client), id(fullName(client)), " ", kick(client)),
          ),
          more > 0 && h("li", { key: " more" }, `${number(more)} more`),
        ),
    );
  }

  const inRibbon = (client) => view.ribbon?.members.find((member) => member.key === keyOf(client));
  const swatchOf = (client) => inRibbon(client) && swatch(keyOf(client));
  /** The name that the ribbon has of a client, which tells it apart from others with the same client id. */
  const label = (client) => inRibbon(client)?.name ?? name(client);

  function members() {
    const { state } = view.story;
    if (!state) return null;
    if (!state.members.length) return h("p", { class: "note" }, "The group has no members.");
    const facts = new Map(view.facts.map((each) => [each.member_id, each]));
    const shown = shows.members ? state.members : state.members.slice(0, FIRST_MEMBERS);
    const fact = (m) => facts.get(m.member.member_id) ?? { age_ms: -1, evictions: 0, departures: 0 };
    const columns = [
      {
        label: "Member",
        cell: (m) => [
          swatchOf(m.member),
          id(label(m.member), { title: visible(m.member.member_id) }),
          m.is_leader && h("span", { class: "tag" }, "leader"),
          tags(m, state).map((tag) => h("span", { class: "tag", key: tag }, tag)),
        ],
      },
      { label: "Client id", minor: true, cell: (m) => (m.member.client_id ? id(m.member.client_id) : "none") },
      { label: "Instance id", minor: true, cell: (m) => (m.member.instance_id ? id(m.member.instance_id) : "none") },
      { label: "Host", cell: (m) => (m.member.host ? id(m.member.host) : NOT_KNOWN) },
      { label: "Version", cell: (m) => (m.member.software ? id(m.member.software) : NOT_KNOWN) },
      {
        label: "Age",
        num: true,
        cell: (m) =>
          duration(isKnown(fact(m).age_ms) && isLive() ? fact(m).age_ms + now() - view.at_ms : fact(m).age_ms),
      },
      { label: "Evictions", num: true, cell: (m) => number(fact(m).evictions) },
      { label: "Partitions", num: true, cell: (m) => number(m.partitions) },
      ...(isKnown(state.assignment_epoch) ? EPOCH_COLUMNS : []),
      { label: "Last heartbeat", cell: silence },
      context.cluster?.can_kick && !view.is_past && { label: "Action", cell: (m) => kick(m.member) },
    ].filter(Boolean);
    return h(
      "div",
      null,
      table({
        caption:
          state.member_count > state.members.length
            ? `${number(state.members.length)} of ${count(state.member_count, "member")}`
            : "Members",
        hideCaption: state.member_count <= state.members.length,
        columns,
        rows: shown,
        key: (m) => m.member.member_id,
        row: (m) => ({
          onmouseenter: () => ribbon.highlight(keyOf(m.member)),
          onmouseleave: () => ribbon.highlight(null),
        }),
        attrs: { class: "members" },
      }),
      state.members.length > shown.length && all("members", state.members.length),
    );
  }

  /** How far a member is, in words. */
  function tags(m, state) {
    if (state.type !== "consumer") {
      return state.rebalance ? [m.has_synced ? "synced" : m.has_joined ? "joined" : "not joined"] : [];
    }
    return [
      m.is_classic && "classic",
      m.epoch === AWAY && "away",
      m.revoking > 0 && `gives up ${number(m.revoking)}`,
      m.awaited > 0 && `waits for ${number(m.awaited)}`,
    ].filter(Boolean);
  }

  /** The time since the last heartbeat, against the session timeout. */
  function silence(member) {
    const { session_timeout_ms: timeout } = member;
    if (member.silent_ms < 0) return context.cluster?.kind === "observed" ? NOT_KNOWN : "its request waits";
    const part = timeout > 0 ? clip(member.silent_ms / timeout, 0, 1) : 0;
    return h(
      "span",
      { class: `gap${part > 0.8 ? " bad" : part > 0.5 ? " busy" : ""}` },
      timeout > 0 && h("span", { class: "meter", "aria-hidden": "true" }, h("i", { css: { width: `${part * 100}%` } })),
      h("span", null, `${duration(member.silent_ms)} of ${timeout > 0 ? duration(timeout) : NOT_KNOWN}`),
    );
  }

  const all = (what, total) =>
    h(
      "button",
      {
        type: "button",
        onclick: () => {
          shows[what] = true;
          draw();
        },
      },
      `Show all ${number(total)}`,
    );

  function incidents() {
    const found = view.story.events.filter((event) => event.kind === "incident").reverse();
    if (!found.length) return h("p", { class: "note" }, "No incident is kept of this group.");
    return table({
      caption: "Incidents, newest first",
      hideCaption: true,
      rows: found,
      key: (e, i) => `${e.at_ms} ${e.what} ${e.member.member_id} ${i}`,
      columns: [
        { label: "When", tight: true, cell: (e) => time(e.at_ms) },
        { label: "What", tight: true, cell: (e) => words(e.what) },
        { label: "Client", cell: (e) => (isSomebody(e.member) ? id(fullName(e.member)) : "none") },
        { label: "Text", cell: (e) => incidentText(e) },
        {
          label: "Times",
          num: true,
          cell: (e) => [number(e.times), e.last_ms > 0 && h("small", null, ` last ${time(e.last_ms)}`)],
        },
      ],
    });
  }

  function incidentText(event) {
    const other = isSomebody(event.other) && [" ", id(fullName(event.other))];
    switch (event.what) {
      case "static_member_replaced":
        return ["It took the place of the member with the same instance id:", other, "."];
      case "rebalance_slow":
        return [
          `The rebalance had waited ${duration(event.waited_ms)} for ${WAITS[event.reason] ?? words(event.reason)}`,
          isSomebody(event.member) && event.more > 0 && `, of this client and ${number(event.more)} more`,
          isKnown(event.at_most_ms) && `, at most ${duration(event.at_most_ms)} more`,
          ".",
        ];
      case "assignor_failed":
        return ["The group keeps its assignment. ", event.reason];
      case "group_loaded":
        return "The coordinator loaded the group; its sessions began anew.";
      case "group_upgraded":
        return `It joined with the consumer protocol and made the group a consumer group, from epoch ${event.generation} on.`;
      case "group_downgraded":
        return `It was the last member of the consumer protocol: a classic group from generation ${event.generation} on.`;
      default:
        return [
          `Its request ${event.api} was refused with ${event.error || NOT_KNOWN}`,
          isKnown(event.generation) && ` in generation ${event.generation}`,
          other && ["; the other side is", other],
          event.offered.length > 0 && [", it offered ", id(event.offered.join(", "))],
          event.reason && [", reason: ", id(event.reason)],
          ".",
        ];
    }
  }

  const section = (key, title, ...content) =>
    h("section", { key, class: key, "aria-labelledby": `h-${key}` }, h("h2", { id: `h-${key}` }, title), content);

  function draw() {
    document.title = `${visible(route.id)} – Consumer groups`;
    ribbon.update(
      view?.ribbon ?? null,
      isLive(),
      view?.story.state?.members.map(({ member }) => ({
        key: keyOf(member),
        name: name(member),
        client_id: member.client_id,
        is_member: true,
      })) ?? [],
    );
    ribbon.options(route.params.range, selected);
    patch(
      root,
      h("nav", { class: "back", key: "back", "aria-label": "Back" }, h("a", { href: address(null) }, "All groups")),
      h("h1", { key: "title" }, unseen("Group "), id(route.id)),
      past.draw({ cluster: context.cluster, at: at(), now: clock.now(), isLoading }),
      view?.is_past &&
        h(
          "p",
          { class: "band", key: "band", role: "status" },
          `This is ${time(view.at_ms, { withDay: true })}, not now.`,
        ),
      h("p", { class: "notice", key: "notice", role: "status" }, notice),
      view === null &&
        h(
          "p",
          { class: "note", key: "none" },
          isOld ? "Nothing is known of this group yet." : "The page waits for the first answer of the server.",
        ),
      view && [
        headline(),
        waiting(),
        section("ownership", "Ownership", ribbon.describe()),
        section(
          "rebalances",
          "Rebalances",
          waterfalls(view.story, {
            group: view.group,
            now: now(),
            selected,
            showsAll: shows.rebalances,
            hasPast: context.cluster && !context.cluster.history,
            onShowAll() {
              shows.rebalances = true;
              draw();
            },
          }),
        ),
        view.story.state && section("members", "Members", members()),
        section(
          "lags",
          "Lag",
          lagSection(view, {
            now: now(),
            showsAll: shows.partitions,
            onShowAll() {
              shows.partitions = true;
              draw();
            },
          }),
        ),
        section("incidents", "Incidents", incidents()),
        view.unknown.length > 0 &&
          section(
            "unknown",
            "What the log cannot tell",
            h(
              "ul",
              null,
              view.unknown.map((each) => h("li", null, visible(each))),
            ),
          ),
      ],
      h("div", { key: "curl" }, curl.draw("group", question())),
    );
    ribbon.drawn();
  }

  start();
  return {
    route(next) {
      const before = at();
      route = next;
      if (at() !== before) start();
      else draw();
    },
    tick() {
      if (!view) return;
      if (isLive()) draw();
      ribbon.tick();
    },
    redraw: draw,
    themed() {
      ribbon.themed();
      draw();
    },
    hasProblem: () => isOld,
    close() {
      stop();
      past.close();
      ribbon.close();
    },
  };
}
