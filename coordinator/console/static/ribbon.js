/**
 * The ownership ribbon: a row for each partition, time to the right, the colour is the owner. A canvas shows it; arrow
 * keys tell the same, and a table has it as text.
 */

import { assign, byName, forget, look } from "./colours.js";
import { h, id, table, visible } from "./dom.js";
import { BECAUSE, clip, clock, count, duration, number, time, words } from "./format.js";
import { Painter, spanAt } from "./painter.js";

const RANGES = [
  ["5m", "5 min", 300_000],
  ["15m", "15 min", 900_000],
  ["1h", "1 h", 3_600_000],
  ["all", "All", Infinity],
];
const MOST_IN_TABLE = 300;
const MOST_IN_LEGEND = 24;
const CALM_MS = 10_000; // between two drawings for those who want less motion
const HINT = "Arrow keys go to partitions, owners and rebalances. Enter selects a rebalance.";

/** The mark of a member beside its name. */
export const swatch = (key) => h("span", { class: "swatch", css: { "background-image": look(key).image } });

/** `onSelect(at_ms, byKey)`: a rebalance was selected. `onRange(name)`: another range was. */
export function ribbonView({ onSelect, onRange, redraw }) {
  const painter = new Painter();
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  let data = null; // the Ribbon
  let isLive = false;
  let range = null; // the chosen one
  let own = null; // the range without a choice
  let isTable = false;
  let hovered = null; // the key of the member whose spans are highlighted
  let pinned = null; // the same, until it is clicked again
  let selected = null; // at_ms of a rebalance
  let cursor = null; // {row, at, seam}: where the arrow keys are
  let pointer = null; // {x, y} within the canvas
  let scroller, canvas, spacer, tip, told, place;
  let isDue = false;
  let drawnAt = 0;

  // Time --------------------------------------------------------------------------------------------------------------

  const now = () => (isLive ? Math.max(clock.now(), data.until_ms) : data.until_ms);

  /** The edges of the time that is shown. */
  function reckon() {
    let to = now();
    own ??= ownRange(to);
    const span = RANGES.find(([name]) => name === (range ?? own))[2];
    const known = Math.max(data.from_ms, data.known_from_ms - (to - data.known_from_ms) * 0.04);
    const from = span === Infinity ? Math.min(known, to - 1000) : to - span;
    const step = isLive ? 2 ** Math.floor(Math.log2((to - from) / 1000)) : 1; // less than the time of a pixel
    to = Math.ceil(to / step) * step;
    painter.edges = [span === Infinity ? Math.floor(from / step) * step : to - span, to];
  }

  /** The shortest range with two rebalances, but no longer than an hour. */
  function ownRange(to) {
    const before = data.seams.at(-2)?.at_ms ?? data.known_from_ms;
    return (RANGES.slice(0, 2).find(([, , ms]) => to - before < ms * 0.9) ?? RANGES[data.seams.length ? 2 : 1])[0];
  }

  const isOpen = (span) => span[1] >= data.until_ms;
  const beginning = (span) => Math.max(span[0], data.known_from_ms);
  const length = (span) => (isOpen(span) ? now() : span[1]) - beginning(span);

  // Words -------------------------------------------------------------------------------------------------------------

  const owner = (span) => (span[2] < 0 ? "nobody" : data.members[span[2]].name);

  function spanText(row, span) {
    const until = isOpen(span) && isLive ? "until now" : `to ${time(span[1])}`;
    const place = `${visible(row.topic)}-${row.partition}`;
    return `${place}: ${visible(owner(span))}, from ${time(beginning(span))} ${until}, ${duration(length(span))}.`;
  }

  function seamText(seam) {
    const took =
      seam.outcome === "running"
        ? `It has run for ${duration(now() - seam.at_ms)}.`
        : `It took ${duration(seam.ended_ms - seam.at_ms)}.`;
    const cause = BECAUSE[seam.cause] ?? "the cause is not known";
    const culprit = seam.culprit ? `Culprit: ${visible(seam.culprit)}. ` : "";
    const outcome = words(seam.outcome || "not known");
    return (
      `Rebalance at ${time(seam.at_ms)}, generation ${seam.generation}: ${cause}. ${culprit}${took} ` +
      `Outcome: ${outcome}.`
    );
  }

  // Drawing -----------------------------------------------------------------------------------------------------------

  function draw() {
    isDue = false;
    if (!data || isTable || !canvas?.isConnected || !painter.rows.length) return;
    drawnAt = Date.now();
    reckon();
    const over = pointer && painter.seamAt(pointer.x);
    painter.draw({
      isLive,
      highlit: hovered ?? pinned,
      chosen: [selected, over?.at_ms],
      spot: pointer && !over ? painter.spotAt(pointer) : null,
      cursor: document.activeElement === scroller ? cursor : null,
    });
  }

  function schedule() {
    if (isDue || document.hidden) return;
    isDue = true;
    requestAnimationFrame(draw);
  }

  function measure() {
    if (data && scroller?.isConnected) painter.measure(canvas, scroller, spacer);
    schedule();
  }

  const resized = new ResizeObserver(measure);

  function highlight(key) {
    hovered = key;
    schedule();
  }

  // Pointer and keys --------------------------------------------------------------------------------------------------

  function onMove(event) {
    const box = canvas.getBoundingClientRect();
    pointer = { x: event.clientX - box.left, y: event.clientY - box.top };
    const seam = painter.seamAt(pointer.x);
    const spot = !seam && painter.spotAt(pointer);
    const row = spot && data.rows[spot.row];
    showTip(seam ? seamText(seam) : row ? spanText(row, spanAt(row, spot.at)) : "");
    scroller.style.setProperty("cursor", seam ? "pointer" : "default");
    schedule();
    return seam;
  }

  function showTip(text) {
    tip.hidden = !text;
    tip.textContent = text;
    if (!text) return;
    const isRight = pointer.x > painter.width / 2;
    tip.style.setProperty("left", isRight ? "auto" : `${pointer.x + 14}px`);
    tip.style.setProperty("right", isRight ? `${painter.width - pointer.x + 14}px` : "auto");
    tip.style.setProperty("top", `${clip(pointer.y + 14, 0, painter.height - 20)}px`);
  }

  function onLeave() {
    pointer = null;
    tip.hidden = true;
    schedule();
  }

  function onClick(event) {
    const seam = onMove(event);
    if (seam) onSelect(seam.at_ms, false);
  }

  /** The moments at which the arrow keys stop in a row: the beginnings of its spans, and the rebalances. */
  function stops(row) {
    const [left, to] = painter.edges;
    const from = Math.max(left, data.known_from_ms);
    const spans = row.spans
      .filter((span) => span[1] > from && span[0] < to)
      .map((span) => ({ at: Math.max(span[0], from) }));
    const seams = data.seams
      .filter((seam) => seam.at_ms >= from && seam.at_ms < to)
      .map((seam) => ({ at: seam.at_ms, seam }));
    return [...spans, ...seams].sort((a, b) => a.at - b.at || (a.seam ? -1 : 1));
  }

  function onKey(event) {
    if (!data?.rows.length || event.ctrlKey || event.altKey || event.metaKey) return;
    const isAlike = (stop) => Boolean(stop.seam) === Boolean(cursor.seam);
    const place = (all) =>
      cursor ? all.findLastIndex((stop) => stop.at <= cursor.at && isAlike(stop)) : all.length - 1;
    let row = clip(cursor?.row ?? 0, 0, data.rows.length - 1);
    let at = place(stops(data.rows[row]));
    const rows = { ArrowUp: -1, ArrowDown: 1, PageUp: -10, PageDown: 10 }[event.key];
    const columns = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9 }[event.key];
    if (event.key === "Enter" && cursor?.seam) onSelect(cursor.seam.at_ms, true);
    else if (event.key === "Escape") pinned = cursor = null;
    else if (rows || columns) {
      row = clip(row + (rows ?? 0), 0, data.rows.length - 1);
      const all = stops(data.rows[row]);
      at = clip((rows ? place(all) : at) + (cursor && columns ? columns : 0), 0, all.length - 1);
      cursor = all[at] ? { row, ...all[at] } : null;
      painter.reveal(row);
    } else return;
    const where = cursor && data.rows[cursor.row];
    told.textContent = !where
      ? HINT
      : cursor.seam
        ? `${seamText(cursor.seam)} Enter selects it.`
        : spanText(where, spanAt(where, cursor.at));
    event.preventDefault();
    schedule();
  }

  // Description -------------------------------------------------------------------------------------------------------

  function legend() {
    const all = [...data.members].sort(byName);
    const first = all.filter((member, i) => member.is_member && i < MOST_IN_LEGEND);
    const rest = all.slice(first.length, 200);
    const former = rest.filter((member) => !member.is_member).length;
    const title = [count(rest.length - former, "more member"), count(former, "former member")].filter(
      (part) => !part.startsWith("0 "),
    );
    const entry = (member) =>
      h(
        "li",
        { key: member.key },
        h(
          "button",
          {
            type: "button",
            "aria-pressed": String(pinned === member.key),
            title: [member.name, member.client_id, member.host].filter(Boolean).map(visible).join(", "),
            onmouseenter: () => highlight(member.key),
            onmouseleave: () => highlight(null),
            onfocus: () => highlight(member.key),
            onblur: () => highlight(null),
            onclick: () => {
              pinned = pinned === member.key ? null : member.key;
              redraw();
            },
          },
          swatch(member.key),
          id(member.name),
          !member.is_member && h("small", null, " former"),
        ),
      );
    return h(
      "div",
      { class: "legend" },
      h(
        "ul",
        { "aria-label": "Members" },
        first.map(entry),
        h("li", { key: " nobody" }, h("span", { class: "swatch nobody" }), "nobody"),
        data.known_from_ms > painter.edges[0] &&
          h("li", { key: " unknown" }, h("span", { class: "swatch unknown" }), "not known"),
        h("li", { key: " seam" }, h("span", { class: "swatch seam" }), "rebalance"),
      ),
      rest.length > 0 &&
        h(
          "details",
          null,
          h("summary", null, title.join(", ")),
          h("ul", { "aria-label": "More members" }, rest.map(entry)),
        ),
    );
  }

  function spansTable() {
    const [from, to] = [Math.max(painter.edges[0], data.known_from_ms), painter.edges[1]];
    const all = data.rows.flatMap((row) =>
      row.spans.filter((span) => span[1] > from && span[0] < to).map((span) => ({ row, span })),
    );
    all.sort((a, b) => b.span[0] - a.span[0]);
    return h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Spans", key: "spans" },
      table({
        caption:
          all.length > MOST_IN_TABLE
            ? `The newest ${MOST_IN_TABLE} of ${number(all.length)} spans in this range`
            : "Spans in this range, newest first",
        columns: [
          { label: "Partition", cell: ({ row }) => id(`${row.topic}-${row.partition}`) },
          {
            label: "Owner",
            cell: ({ span }) => (span[2] < 0 ? "nobody" : [swatch(data.members[span[2]].key), id(owner(span))]),
          },
          {
            label: "From",
            num: true,
            cell: ({ span }) => time(beginning(span)) + (span[0] < data.known_from_ms ? " or before" : ""),
          },
          { label: "Until", num: true, cell: ({ span }) => (isOpen(span) && isLive ? "now" : time(span[1])) },
          { label: "Duration", num: true, cell: ({ span }) => duration(length(span)) },
        ],
        rows: all.slice(0, MOST_IN_TABLE),
        key: ({ row, span }) => `${row.topic}-${row.partition}-${span[0]}`,
      }),
    );
  }

  function describe() {
    if (!data) return h("p", { class: "note" }, "The owners of partitions are not known.");
    reckon();
    const isEmpty = !data.rows.length;
    const press = (label, isOn, onclick) =>
      h("button", { type: "button", "aria-pressed": String(isOn), onclick }, label);
    return h(
      "div",
      { class: "ribbon" },
      h(
        "div",
        { class: "bar tools" },
        h(
          "div",
          { class: "chips", role: "group", "aria-label": "Range of time" },
          RANGES.map(([name, label]) => press(label, name === (range ?? own), () => onRange(name))),
        ),
        h(
          "div",
          { class: "chips" },
          press("As table", isTable, () => {
            isTable = !isTable;
            redraw();
          }),
        ),
      ),
      isEmpty ? h("p", { class: "note" }, "No member has owned a partition in this time.") : legend(),
      isTable && !isEmpty && spansTable(),
      h(
        "div",
        { class: "canvas", hidden: isTable || isEmpty, ref: (node) => (place = node) },
        h(
          "div",
          {
            class: "ribbon-scroll",
            tabindex: "0",
            role: "application",
            "aria-roledescription": "ownership ribbon",
            "aria-label": `Owners of ${count(data.rows.length, "partition")}. ${HINT}`,
            "aria-describedby": "ribbon-told",
            onkeydown: onKey,
            onscroll: schedule,
            onfocus: schedule,
            onblur: schedule,
            onpointermove: onMove,
            onpointerleave: onLeave,
            onclick: onClick,
            ref: (node) => (scroller = node),
          },
          h("canvas", { "aria-hidden": "true", ref: (node) => (canvas = node) }),
          h("div", { class: "spacer", ref: (node) => (spacer = node) }),
        ),
        h("div", { class: "tip", hidden: true, own: true, "aria-hidden": "true", ref: (node) => (tip = node) }),
      ),
      h("p", {
        id: "ribbon-told",
        class: "told",
        "aria-live": "polite",
        hidden: isTable || isEmpty,
        own: true,
        ref: (node) => ((told = node).textContent = HINT),
      }),
      data.rows_left_out > 0 &&
        h("p", { class: "note" }, `${count(data.rows_left_out, "partition")} more are not shown.`),
    );
  }

  return {
    highlight,
    describe,
    /** Take new data, before `describe`. `members`: others that need a look. */
    update(ribbon, live, members) {
      data = painter.data = ribbon;
      isLive = live;
      const owners = ribbon?.members ?? [];
      const keys = new Set(owners.map(({ key }) => key));
      assign([...owners, ...members.filter(({ key }) => !keys.has(key))]);
    },
    /** The range by its name, and the selected rebalance. */
    options(name, at_ms) {
      range = RANGES.some(([each]) => each === name) ? name : null;
      selected = at_ms;
    },
    /** After `describe` is in the document. */
    drawn() {
      if (place && resized.place !== place) {
        resized.disconnect();
        resized.observe((resized.place = place));
      }
      measure();
    },
    tick() {
      if (isLive && (!calm.matches || Date.now() - drawnAt > CALM_MS)) schedule();
    },
    themed() {
      forget();
      schedule();
    },
    close: () => resized.disconnect(),
  };
}
