/** The list of groups. */

import { follow } from "./api.js";
import { curlPanel } from "./curl.js";
import { h, id, patch, table, visible } from "./dom.js";
import { ago, clock, count, duration, number } from "./format.js";
import { path } from "./lag.js";
import { address } from "./route.js";
import { transactions } from "./transactions.js";

const PER_PAGE = 50;
const GLYPHS = { Stable: "●", PreparingRebalance: "◐", CompletingRebalance: "◑", Empty: "○", Dead: "✕" };
const KINDS = { Stable: "good", Empty: "idle", Dead: "bad" };

/** The state of a group: a sign, a colour and the word. */
export function stateMark(state) {
  return h(
    "span",
    { class: `state ${KINDS[state] ?? "busy"}` },
    h("span", { "aria-hidden": "true" }, GLYPHS[state] ?? "◐"),
    " ",
    state,
  );
}

/** A small line of the last lags. */
function spark(row, sample_ms) {
  const known = row.lags.filter((lag) => lag >= 0);
  if (known.length < 2) return null;
  const label =
    `Over ${duration((row.lags.length - 1) * sample_ms)} the lag went from ${number(known[0])} to ` +
    `${number(known.at(-1))}, at most ${number(Math.max(...known))}.`;
  return h(
    "svg",
    { class: "spark", viewBox: "0 0 100 20", preserveAspectRatio: "none", role: "img", "aria-label": label },
    h("title", null, label),
    h("path", { d: path(row.lags, 100, 20, Math.max(...known), 1.5) }),
  );
}

export function listPage(root, context, first) {
  let route = first;
  let list = null;
  let stop = () => {};
  let typing = null;
  let isOld = false;
  const curl = curlPanel();

  const query = () => {
    const { search, state, sort = "group", reverse, page = 1 } = route.params;
    return {
      search,
      state,
      sort,
      reverse: reverse ? 1 : 0,
      offset: (Math.max(Number(page) || 1, 1) - 1) * PER_PAGE,
      limit: PER_PAGE,
    };
  };

  function start() {
    stop();
    stop = follow(
      "groups",
      query(),
      (view) => {
        list = view;
        isOld = Boolean(view.problem);
        clock.set(view.at_ms);
        context.problem("view", view.problem);
        context.shows(isOld ? "old" : "live", view.at_ms);
        draw();
      },
      (sentence) => {
        isOld = true;
        context.problem("view", sentence);
        context.shows("old", list?.at_ms);
      },
    );
    draw();
  }

  const search = (value) => {
    clearTimeout(typing);
    typing = setTimeout(() => context.go({ search: value, page: null }, { replace: true }), 250);
  };

  /** A header that sorts. The first click of a number sorts the largest first. */
  function header(label, sort, isNumber) {
    const isIt = query().sort === sort;
    const isDown = Boolean(query().reverse);
    const reverse = isIt ? !isDown : isNumber;
    return {
      sort: isIt ? (isDown ? "descending" : "ascending") : "none",
      head: h(
        "button",
        {
          type: "button",
          class: "sort",
          onclick: () => context.go({ sort, reverse: reverse ? 1 : null, page: null }),
        },
        label,
        h("span", { "aria-hidden": "true", class: "arrow" }, isIt ? (isDown ? "▼" : "▲") : ""),
      ),
    };
  }

  const columns = () => [
    {
      label: "Group",
      ...header("Group", "group"),
      cell: (r) => h("a", { href: address(r.group), class: "open" }, id(r.group)),
    },
    { label: "State", ...header("State", "state"), cell: (r) => stateMark(r.state) },
    { label: "Type", minor: true, cell: (r) => r.type },
    { label: "Members", num: true, ...header("Members", "members", true), cell: (r) => number(r.members) },
    {
      label: "Lag",
      num: true,
      ...header("Lag", "lag", true),
      cell: (r) =>
        h(
          "span",
          { class: "lag" },
          spark(r, list.sample_ms),
          h(
            "span",
            null,
            number(r.lag),
            r.unknown_partitions > 0 && h("small", null, ` + ${count(r.unknown_partitions, "partition")} not known`),
          ),
        ),
    },
    { label: "Rebalances", num: true, ...header("Rebalances", "rebalances", true), cell: (r) => number(r.rebalances) },
    {
      label: "Last rebalance",
      num: true,
      ...header("Last rebalance", "last_rebalance_ms", true),
      cell: (r) =>
        r.last_rebalance_ms > 0 ? ago(r.last_rebalance_ms, clock.now()) : r.rebalances ? "not known" : "none",
    },
  ];

  function pager() {
    const last = Math.max(Math.ceil(list.matched / PER_PAGE), 1);
    const now = Math.floor(list.offset / PER_PAGE) + 1;
    const button = (label, to) =>
      h(
        "button",
        {
          type: "button",
          disabled: to < 1 || to > last || to === now,
          onclick: () => context.go({ page: to > 1 ? to : null }),
        },
        label,
      );
    return h(
      "nav",
      { class: "pager", "aria-label": "Pages" },
      button("First", 1),
      button("Previous", now - 1),
      h("span", null, `Page ${number(now)} of ${number(last)}`),
      button("Next", now + 1),
      button("Last", last),
    );
  }

  function states() {
    const { state = "" } = route.params;
    const known = { ...list?.states };
    if (state && !(state in known)) known[state] = 0;
    const button = (value, label, total) =>
      h(
        "button",
        {
          type: "button",
          key: value,
          "aria-pressed": String(state === value),
          onclick: () => context.go({ state: value, page: null }),
        },
        label,
        total == null ? null : [" ", h("small", null, number(total))],
      );
    return h(
      "div",
      { class: "chips", role: "group", "aria-label": "State" },
      button("", "All", list?.total),
      Object.keys(known)
        .sort()
        .map((each) => button(each, stateMark(each), known[each])),
    );
  }

  function draw() {
    document.title = "Consumer groups";
    const { search: wanted = "" } = route.params;
    patch(
      root,
      h(
        "div",
        { class: "bar", key: "bar" },
        h("h1", null, "Consumer groups"),
        h(
          "p",
          { class: "found", role: "status" },
          list &&
            (list.matched === list.total
              ? count(list.total, "group")
              : `${number(list.matched)} of ${count(list.total, "group")}`),
        ),
      ),
      h(
        "div",
        { class: "bar filters", key: "filters" },
        h(
          "label",
          { class: "search" },
          h("span", null, "Search"),
          h("input", {
            type: "search",
            value: wanted,
            placeholder: "part of the group id",
            autocomplete: "off",
            spellcheck: "false",
            oninput: (event) => search(event.target.value),
          }),
        ),
        states(),
      ),
      list &&
        (list.groups.length
          ? table({
              caption: "Groups of this page",
              hideCaption: true,
              columns: columns(),
              rows: list.groups,
              key: (r) => r.group,
              attrs: { class: "groups", key: "table" },
              row: (r) => ({
                onclick: (event) => {
                  if (!event.target.closest("a") && !String(getSelection())) location.hash = address(r.group);
                },
              }),
            })
          : h(
              "p",
              { class: "empty", key: "none" },
              list.total
                ? ["No group fits the search", wanted && [" for ", id(visible(wanted))], "."]
                : "The cluster has no consumer groups.",
            )),
      list && pager(),
      list && list.open_transactions > 0 && transactions(list, clock.now()),
      h("div", { key: "curl" }, curl.draw("groups", query())),
    );
  }

  start();
  return {
    route(next) {
      route = next;
      start();
    },
    tick: () => list && draw(),
    redraw: draw,
    hasProblem: () => isOld,
    close() {
      clearTimeout(typing);
      stop();
    },
  };
}
