/**
 * The ownership ribbon: a row for each partition, time to the right, the colour is the owner. Only the visible rows are
 * drawn, on a canvas of the size of the visible part. What it shows is also told by arrow keys, and as a table.
 */

import { assign, byName, forget, look, themed, tile } from "./colours.js";
import { h, id, table, visible } from "./dom.js";
import { BECAUSE, clip, clock, count, duration, number, time, words } from "./format.js";

const RANGES = [["5m", "5 min", 300_000], ["15m", "15 min", 900_000], ["1h", "1 h", 3_600_000], ["all", "All", Infinity]];
const MOST_IN_TABLE = 300;
const MOST_IN_LEGEND = 24;
const MOST_HEIGHT = 640; // beyond it the rows scroll
const AXIS = 30;
const HINT = "Arrow keys go to partitions, owners and rebalances. Enter selects a rebalance.";
const STEPS = [1, 5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400].map((s) => s * 1000);

/** `onSelect(at_ms, byKey)`: a rebalance was selected. `onRange(name)`: another range was. */
export function ribbonView({ onSelect, onRange, redraw }) {
  let data = null; // the Ribbon
  let isLive = false;
  let range = null;
  let isTable = false;
  let pinned = null; // the key of the member that is highlighted, until it is clicked again
  let hovered = null;
  let selected = null; // at_ms of a rebalance
  let cursor = null; // {row, at}: where the arrow keys are
  let pointer = null; // {x, y} within the canvas
  let scroller, canvas, spacer, tip, told, place;
  let layout = { rows: [], height: 0, width: 0, gutter: 0 };
  let isDue = false;
  let drawnAt = 0;
  const calm = matchMedia("(prefers-reduced-motion: reduce)");

  let edges = [0, 1]; // of the time that is shown, reckoned once for each drawing
  const left = () => edges[0];
  const right = () => edges[1];

  function reckon() {
    const to = isLive ? Math.max(clock.now(), data.until_ms) : data.until_ms;
    const span = RANGES.find(([name]) => name === (range ?? ownRange(to)))[2];
    const known = Math.max(data.from_ms, data.known_from_ms - (to - data.known_from_ms) * 0.04);
    edges = [span === Infinity ? Math.min(known, to - 1000) : to - span, to];
  }

  /** Without a choice: the shortest range with two rebalances, but no longer than an hour. */
  function ownRange(to) {
    const before = data.seams.at(-2)?.at_ms ?? data.known_from_ms;
    return (RANGES.slice(0, 2).find(([, , ms]) => to - before < ms * 0.9) ?? RANGES[data.seams.length ? 2 : 1])[0];
  }

  // Layout ------------------------------------------------------------------------------------------------------------

  function measure() {
    if (!scroller?.isConnected || !data) return;
    const width = scroller.clientWidth;
    const isNarrow = width < 600;
    const topics = new Set(data.rows.map((row) => row.topic)).size;
    const room = clip(innerHeight * 0.5, 220, 460) - topics * (isNarrow ? 20 : 6);
    const height = clip(Math.floor(room / Math.max(data.rows.length, 1)), 3, 26);
    let y = AXIS + (height < 12 ? 5 : 0);
    let topic = null;
    const rows = data.rows.map((row, i) => {
      const isFirst = row.topic !== topic;
      if (isFirst) y += isNarrow ? 20 : topic === null ? 2 : 7;
      topic = row.topic;
      const place = { i, y, isFirst };
      y += height;
      return place;
    });
    const context = canvas.getContext("2d");
    context.font = font(11);
    const longest = Math.max(...data.rows.map((row) => context.measureText(`${row.topic}-${row.partition}`).width), 0);
    layout = {
      rows, isNarrow, width, rowHeight: height, height: y + 4, gutter: isNarrow ? 34 : clip(longest + 14, 60, 190),
      shown: Math.min(y + 4, MOST_HEIGHT),
    };
    const ratio = devicePixelRatio || 1;
    for (const [name, size] of [["width", width], ["height", layout.shown]]) {
      if (canvas[name] !== Math.round(size * ratio)) canvas[name] = Math.round(size * ratio);
      canvas.style.setProperty(name, `${size}px`);
    }
    scroller.style.setProperty("height", `${layout.shown}px`);
    spacer.style.setProperty("height", `${Math.max(layout.height - layout.shown, 0)}px`);
  }

  const font = (size, weight = "") => `${weight} ${size}px system-ui, sans-serif`.trim();
  const x = (at) => layout.gutter + ((at - left()) / (right() - left())) * (layout.width - layout.gutter - 1);
  const timeAt = (px) => left() + ((px - layout.gutter) / (layout.width - layout.gutter - 1)) * (right() - left());

  // Drawing -----------------------------------------------------------------------------------------------------------

  function draw() {
    isDue = false;
    if (!data || isTable || !canvas?.isConnected) return;
    drawnAt = Date.now();
    reckon();
    const c = canvas.getContext("2d");
    const ratio = devicePixelRatio || 1;
    const colours = Object.fromEntries(["ink", "muted", "line", "surface", "accent", "hatch", "sunk"].map((n) => [n, themed(`--${n}`)]));
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = colours.surface;
    c.fillRect(0, 0, layout.width, layout.shown);
    const scroll = scroller.scrollTop;
    c.save();
    c.beginPath();
    c.rect(0, AXIS, layout.width, layout.shown - AXIS);
    c.clip();
    c.translate(0, -scroll);
    drawRows(c, colours, scroll);
    c.restore();
    drawUnknown(c, colours);
    drawSeams(c, colours);
    drawAxis(c, colours);
    drawCursor(c, colours, scroll);
  }

  function drawRows(c, colours, scroll) {
    const nobody = c.createPattern(tile(colours.surface, colours.hatch, 1), "repeat");
    const [from, to] = [left(), right()];
    const gap = layout.rowHeight > 8 ? 1 : layout.rowHeight > 5 ? 0.5 : 0;
    const shown = hovered ?? pinned;
    const known = knownX();
    const labels = [];
    let above = null;
    for (const { i, y, isFirst } of layout.rows) {
      if (y + layout.rowHeight < scroll + AXIS || y > scroll + layout.shown) continue;
      const row = data.rows[i];
      const named = [];
      for (let s = firstSpan(row, from); s < row.spans.length; s++) {
        const [start, end, owner] = row.spans[s];
        if (start > to) break;
        const x0 = Math.max(x(start), known.from);
        const x1 = Math.min(x(s === row.spans.length - 1 ? to : end), known.until);
        if (x1 <= x0) continue;
        const key = owner < 0 ? null : data.members[owner].key;
        c.globalAlpha = shown && key !== shown ? 0.22 : 1;
        c.fillStyle = key === null ? nobody : look(key).fill;
        c.fillRect(x0, y, Math.max(x1 - x0, 0.5), layout.rowHeight - gap);
        if (key !== null && x1 - x0 > 64 && layout.rowHeight >= 11) named.push([x0, x1, key, data.members[owner].name, y]);
      }
      // A name is written where the row above does not have the same owner at the same time.
      if (isFirst) above = null;
      labels.push(...named.filter(([x0, , key]) => !above?.some((other) => other[2] === key && Math.abs(other[0] - x0) < 8)));
      above = named;
    }
    c.textBaseline = "middle";
    c.font = font(layout.rowHeight > 14 ? 11 : 10, "600");
    for (const [x0, x1, key, name, y] of labels) {
      const letters = fitted(c, name, x1 - x0 - 10);
      c.globalAlpha = shown && key !== shown ? 0.22 : 1;
      const { fill, back, text } = look(key);
      if (fill !== back) {
        c.fillStyle = back;
        c.fillRect(x0 + 1, y, c.measureText(letters).width + 8, layout.rowHeight - gap);
      }
      c.fillStyle = text;
      c.fillText(letters, x0 + 5, y + layout.rowHeight / 2);
    }
    c.globalAlpha = 1;
    drawLabels(c, colours, scroll);
  }

  function drawLabels(c, colours, scroll) {
    const every = Math.ceil(12 / layout.rowHeight);
    let since = 0;
    for (const { i, y, isFirst } of layout.rows) {
      const row = data.rows[i];
      since = isFirst ? 0 : since + 1;
      if (y + 20 < scroll + AXIS || y - 20 > scroll + layout.shown) continue;
      if (isFirst && layout.isNarrow) {
        c.font = font(11, "600");
        c.fillStyle = colours.ink;
        c.textAlign = "left";
        c.fillText(fitted(c, row.topic, layout.width - 10), 0, y - 9);
      } else if (isFirst && i) {
        c.fillStyle = colours.line;
        c.fillRect(0, y - 4, layout.width, 1);
      }
      if (since % every) continue;
      c.font = font(layout.rowHeight < 12 ? 10 : 11);
      c.textAlign = "right";
      c.fillStyle = colours.muted;
      const label = `-${row.partition}`;
      const topic = layout.isNarrow ? "" : fitted(c, row.topic, layout.gutter - 12 - c.measureText(label).width);
      c.fillText(layout.isNarrow ? row.partition : topic + label, layout.gutter - 8, y + layout.rowHeight / 2);
    }
    c.textAlign = "left";
  }

  /** Where the owners are known, in pixels. */
  function knownX() {
    return { from: Math.max(x(Math.max(data.known_from_ms, data.from_ms)), layout.gutter), until: layout.width };
  }

  /** The time of which nothing is known: dots, and words where they fit. */
  function drawUnknown(c, colours) {
    const { from } = knownX();
    const wide = from - layout.gutter;
    if (wide < 1) return;
    c.fillStyle = colours.sunk;
    c.fillRect(layout.gutter, AXIS, wide, layout.shown - AXIS);
    c.fillStyle = c.createPattern(tile("transparent", colours.hatch, 3), "repeat");
    c.globalAlpha = 0.45;
    c.fillRect(layout.gutter, AXIS, wide, layout.shown - AXIS);
    c.globalAlpha = 1;
    c.font = font(12, "italic");
    const text = `not known before ${time(data.known_from_ms)}`;
    const letters = c.measureText(text).width;
    if (letters + 20 > wide) return;
    c.fillStyle = colours.sunk;
    c.fillRect(from - letters - 18, AXIS + 8, letters + 12, 20);
    c.fillStyle = colours.muted;
    c.fillText(text, from - letters - 12, AXIS + 18);
  }

  function drawSeams(c, colours) {
    const over = pointer && seamAt(pointer.x);
    for (const seam of data.seams) {
      const [x0, x1] = seamX(seam);
      if (x1 < layout.gutter || x0 > layout.width) continue;
      const isChosen = seam.at_ms === selected || seam === over;
      const start = Math.max(x0, layout.gutter);
      c.fillStyle = isChosen ? colours.accent : colours.ink;
      c.globalAlpha = isChosen ? 0.3 : 0.14;
      c.fillRect(start, AXIS, x1 - start, layout.shown - AXIS);
      c.globalAlpha = 1;
      if (x0 < layout.gutter) continue;
      c.fillRect(x0 - 0.75, AXIS - 4, 1.5, layout.shown - AXIS + 4);
      c.beginPath();
      c.moveTo(x0 - 5, AXIS - 10);
      c.lineTo(x0 + 5, AXIS - 10);
      c.lineTo(x0, AXIS - 2);
      c.fill();
    }
  }

  const isRunning = (seam) => seam.outcome === "running";
  function seamX(seam) {
    const x0 = x(seam.at_ms);
    return [x0, Math.max(x(isRunning(seam) ? right() : seam.ended_ms), x0 + 1.5)];
  }

  function drawAxis(c, colours) {
    const span = right() - left();
    const step = STEPS.find((ms) => ((layout.width - layout.gutter) * ms) / span > (ms < 60_000 ? 80 : 66)) ?? STEPS.at(-1);
    const shift = new Date().getTimezoneOffset() * 60_000;
    c.font = font(11);
    c.textBaseline = "middle";
    for (let at = Math.ceil((left() - shift) / step) * step + shift; at < right(); at += step) {
      const px = x(at);
      c.fillStyle = colours.hatch;
      c.fillRect(px, AXIS - 9, 1, 6);
      c.fillStyle = colours.muted;
      const label = time(at, { withSeconds: step < 60_000, withDay: false }).slice(-8);
      const half = c.measureText(label).width / 2;
      if (px - half > layout.gutter - 20 && px + half < layout.width - (isLive ? 30 : 0)) c.fillText(label, px - half, 9);
    }
    c.fillStyle = isLive ? colours.accent : colours.muted;
    c.textAlign = "right";
    c.font = font(11, "600");
    if (isLive) c.fillText("now", layout.width - 1, 9);
    c.textAlign = "left";
  }

  function drawCursor(c, colours, scroll) {
    const at = document.activeElement === scroller ? cursor : null;
    const spot = at ? { row: at.row, at: at.at } : pointer && !seamAt(pointer.x) && spotAt(pointer);
    if (!spot || spot.row < 0 || !layout.rows[spot.row]) return;
    const span = spanOf(data.rows[spot.row], spot.at);
    const y = layout.rows[spot.row].y - scroll;
    if (!span || y < AXIS - layout.rowHeight) return;
    const x0 = Math.max(x(span[0]), layout.gutter);
    c.strokeStyle = colours.ink;
    c.lineWidth = at ? 2 : 1;
    c.strokeRect(x0 + 0.5, y + 0.5, Math.max(Math.min(x(ending(span)), layout.width) - x0 - 2, 3), Math.max(layout.rowHeight - 1.5, 3));
    if (at?.seam) {
      c.fillStyle = colours.accent;
      c.fillRect(x(at.at) - 1.5, AXIS - 10, 3, layout.shown);
    }
  }

  function fitted(c, text, width) {
    const whole = visible(text);
    if (c.measureText(whole).width <= width) return `\u2068${whole}\u2069`;
    const letters = [...whole];
    let low = 0;
    let high = letters.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (c.measureText(`${letters.slice(0, middle).join("")}…`).width <= width) low = middle;
      else high = middle - 1;
    }
    return low < 2 ? "" : `\u2068${letters.slice(0, low).join("")}…\u2069`;
  }

  function schedule() {
    if (isDue || document.hidden) return;
    isDue = true;
    requestAnimationFrame(draw);
  }

  // What is where -----------------------------------------------------------------------------------------------------

  /** The position of the first span that ends after a moment. */
  function firstSpan(row, at) {
    let low = 0;
    let high = row.spans.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (row.spans[middle][1] <= at) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  const spanOf = (row, at) => row.spans[Math.min(firstSpan(row, at), row.spans.length - 1)];
  const ending = (span) => (span[1] >= data.until_ms ? right() : span[1]);

  function seamAt(px) {
    let best = null;
    let nearest = 5;
    for (const seam of data.seams) {
      const [x0, x1] = seamX(seam);
      const away = px < x0 ? x0 - px : Math.max(px - Math.max(x1, x0 + 4), 0);
      if (away < nearest || (away === 0 && best)) [best, nearest] = [seam, Math.max(away, 0.01)];
    }
    return best;
  }

  function spotAt({ x: px, y }) {
    if (px < layout.gutter || y < AXIS) return null;
    const inside = y + scroller.scrollTop;
    const row = layout.rows.findIndex((each) => inside >= each.y && inside < each.y + layout.rowHeight);
    const at = timeAt(px);
    return row < 0 || at < data.known_from_ms ? null : { row, at };
  }

  const owner = (span) => (span[2] < 0 ? "nobody" : data.members[span[2]].name);

  function spanText(row, span) {
    const isOpen = span[1] >= data.until_ms;
    return `${visible(row.topic)}-${row.partition}: ${visible(owner(span))}, from ${time(Math.max(span[0], data.known_from_ms))} ` +
      `${isOpen && isLive ? "until now" : `to ${time(span[1])}`}, ${duration(ending(span) - Math.max(span[0], data.known_from_ms))}.`;
  }

  function seamText(seam) {
    const took = isRunning(seam) ? `It has run for ${duration(right() - seam.at_ms)}.` : `It took ${duration(seam.ended_ms - seam.at_ms)}.`;
    return `Rebalance at ${time(seam.at_ms)}, generation ${seam.generation}: ${BECAUSE[seam.cause] ?? "the cause is not known"}. ` +
      `${seam.culprit ? `Culprit: ${visible(seam.culprit)}. ` : ""}${took} Outcome: ${words(seam.outcome || "not known")}.`;
  }

  // Pointer and keys --------------------------------------------------------------------------------------------------

  function onMove(event) {
    const box = canvas.getBoundingClientRect();
    pointer = { x: event.clientX - box.left, y: event.clientY - box.top };
    const seam = seamAt(pointer.x);
    const spot = !seam && spotAt(pointer);
    const text = seam ? seamText(seam) : spot ? spanText(data.rows[spot.row], spanOf(data.rows[spot.row], spot.at)) : "";
    scroller.style.setProperty("cursor", seam ? "pointer" : "default");
    showTip(text, pointer);
    schedule();
  }

  function showTip(text, at) {
    tip.hidden = !text;
    tip.textContent = text;
    if (!text) return;
    const isRight = at.x > layout.width / 2;
    tip.style.setProperty("left", isRight ? "auto" : `${at.x + 14}px`);
    tip.style.setProperty("right", isRight ? `${layout.width - at.x + 14}px` : "auto");
    tip.style.setProperty("top", `${clip(at.y + 14, 0, layout.shown - 20)}px`);
  }

  function onLeave() {
    pointer = null;
    tip.hidden = true;
    schedule();
  }

  function onClick(event) {
    onMove(event);
    const seam = seamAt(pointer.x);
    if (seam) onSelect(seam.at_ms, false);
  }

  /** The moments at which the arrow keys stop in a row: its spans, and the rebalances. */
  function stops(row) {
    const [from, to] = [Math.max(left(), data.known_from_ms), right()];
    const spans = row.spans.filter((span) => span[1] > from && span[0] < to).map((span) => ({ at: Math.max(span[0], from), span }));
    const seams = data.seams.filter((seam) => seam.at_ms >= from && seam.at_ms < to).map((seam) => ({ at: seam.at_ms, seam }));
    return [...spans, ...seams].sort((a, b) => a.at - b.at || (a.seam ? -1 : 1));
  }

  function onKey(event) {
    if (!data?.rows.length || event.ctrlKey || event.altKey || event.metaKey) return;
    let row = clip(cursor?.row ?? 0, 0, data.rows.length - 1);
    let all = stops(data.rows[row]);
    let at = cursor ? all.findIndex((stop) => stop.at === cursor.at && stop.seam?.at_ms === cursor.seam?.at_ms) : -1;
    if (at < 0) at = cursor ? all.findLastIndex((stop) => stop.at <= cursor.at) : all.length - 1;
    const move = {
      ArrowLeft: () => at--, ArrowRight: () => at++, Home: () => (at = 0), End: () => (at = all.length - 1),
      ArrowUp: () => row--, ArrowDown: () => row++, PageUp: () => (row -= 10), PageDown: () => (row += 10),
    }[event.key];
    if (event.key === "Enter" && cursor?.seam) onSelect(cursor.seam.at_ms, true);
    if (event.key === "Escape") {
      [pinned, cursor] = [null, null];
      tell();
    }
    if (move) {
      const before = row;
      move();
      row = clip(row, 0, data.rows.length - 1);
      if (row !== before && cursor) {
        all = stops(data.rows[row]);
        at = all.findLastIndex((stop) => stop.at <= cursor.at && Boolean(stop.seam) === Boolean(cursor.seam));
      }
      const stop = all[clip(at, 0, all.length - 1)];
      cursor = stop && { row, at: stop.at, seam: stop.seam };
      tell();
      const { y } = layout.rows[row];
      if (y - AXIS < scroller.scrollTop) scroller.scrollTop = y - AXIS;
      if (y + layout.rowHeight > scroller.scrollTop + layout.shown) scroller.scrollTop = y + layout.rowHeight - layout.shown;
    } else if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    schedule();
  }

  function tell() {
    const row = cursor && data.rows[cursor.row];
    told.textContent = !row ? HINT : cursor.seam ? `${seamText(cursor.seam)} Enter selects it.` : spanText(row, spanOf(row, cursor.at));
  }

  // Description -------------------------------------------------------------------------------------------------------

  function legend() {
    const all = [...data.members].sort(byName);
    const now = all.filter((member) => member.is_member);
    const former = all.filter((member) => !member.is_member);
    const entry = (member) => h("li", { key: member.key }, h("button", {
      type: "button", "aria-pressed": String(pinned === member.key), title: [visible(member.name), member.client_id, member.host].filter(Boolean).join(", "),
      onmouseenter: () => highlight(member.key), onmouseleave: () => highlight(null),
      onfocus: () => highlight(member.key), onblur: () => highlight(null),
      onclick: () => {
        pinned = pinned === member.key ? null : member.key;
        redraw();
        schedule();
      },
    }, swatch(member.key), id(member.name), member.is_member ? null : h("small", null, " former")));
    const shown = now.slice(0, MOST_IN_LEGEND);
    const rest = [...now.slice(MOST_IN_LEGEND), ...former].slice(0, 200);
    return h("div", { class: "legend" },
      h("ul", { "aria-label": "Members" }, shown.map(entry),
        h("li", { key: " nobody" }, h("span", { class: "swatch nobody" }), "nobody"),
        h("li", { key: " seam" }, h("span", { class: "swatch seam" }), "rebalance")),
      rest.length > 0 && h("details", null, h("summary", null, former.length ? `${count(rest.length, "more member")}, with former ones` : count(rest.length, "more member")),
        h("ul", { "aria-label": "More members" }, rest.map(entry))));
  }

  function spansTable() {
    const [from, to] = [left(), right()];
    const all = data.rows.flatMap((row) => row.spans
      .filter((span) => span[1] > from && span[0] < to && span[1] > data.known_from_ms).map((span) => ({ row, span })));
    all.sort((a, b) => b.span[0] - a.span[0]);
    return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Spans", key: "spans" }, table({
      caption: all.length > MOST_IN_TABLE ? `The newest ${MOST_IN_TABLE} of ${number(all.length)} spans in this range`
        : "Spans in this range, newest first",
      columns: [
        { label: "Partition", cell: ({ row }) => id(`${row.topic}-${row.partition}`) },
        { label: "Owner", cell: ({ span }) => (span[2] < 0 ? "nobody" : [swatch(data.members[span[2]].key), id(owner(span))]) },
        { label: "From", num: true, cell: ({ span }) => (span[0] <= data.known_from_ms ? `${time(data.known_from_ms)} or before` : time(span[0])) },
        { label: "Until", num: true, cell: ({ span }) => (span[1] >= data.until_ms ? (isLive ? "now" : time(data.until_ms)) : time(span[1])) },
        { label: "Duration", num: true, cell: ({ span }) => duration(ending(span) - Math.max(span[0], data.known_from_ms)) },
      ],
      rows: all.slice(0, MOST_IN_TABLE), key: ({ row, span }) => `${row.topic}-${row.partition}-${span[0]}`,
    }));
  }

  function describe() {
    if (!data) return h("p", { class: "note" }, "The owners of partitions are not known.");
    reckon();
    const chosen = range ?? ownRange(right());
    const press = (label, isOn, onclick, key) => h("button", { type: "button", key, "aria-pressed": String(isOn), onclick }, label);
    return h("div", { class: "ribbon" },
      h("div", { class: "bar tools" },
        h("div", { class: "chips", role: "group", "aria-label": "Range of time" }, RANGES.map(([name, label]) =>
          press(label, name === chosen, () => onRange(name), name))),
        h("div", { class: "chips" }, press("As table", isTable, () => {
          isTable = !isTable;
          redraw();
        }))),
      data.rows.length === 0 && h("p", { class: "note" }, "No member has owned a partition in this time."),
      data.rows.length > 0 && legend(),
      isTable && spansTable(),
      h("div", { class: "canvas", hidden: isTable || !data.rows.length, ref: (node) => (place = node) },
        h("div", {
          class: "ribbon-scroll", tabindex: "0", role: "application", "aria-roledescription": "ownership ribbon",
          "aria-label": `Owners of ${count(data.rows.length, "partition")}. Up and down arrows choose a partition, left and right ` +
            "arrows its owners and the rebalances, Enter selects a rebalance.", "aria-describedby": "ribbon-told",
          onkeydown: onKey, onscroll: schedule, onfocus: schedule, onblur: schedule, onpointermove: onMove,
          onpointerleave: onLeave, onclick: onClick, ref: (node) => (scroller = node),
        },
        h("canvas", { "aria-hidden": "true", ref: (node) => (canvas = node) }),
        h("div", { class: "spacer", ref: (node) => (spacer = node) })),
        h("div", { class: "tip", hidden: true, own: true, "aria-hidden": "true", ref: (node) => (tip = node) })),
      h("p", { id: "ribbon-told", class: "told", "aria-live": "polite", own: true, ref: (node) => ((told = node).textContent = HINT) }),
      data.rows_left_out > 0 && h("p", { class: "note" }, `${count(data.rows_left_out, "partition")} more are not shown.`));
  }

  const resized = new ResizeObserver(() => {
    measure();
    schedule();
  });

  function highlight(key) {
    hovered = key;
    schedule();
  }

  return {
    highlight,
    /** Take new data, before `describe`. */
    update(ribbon, live, members = []) {
      data = ribbon;
      isLive = live;
      const owners = ribbon?.members ?? [];
      const keys = new Set(owners.map(({ key }) => key));
      assign([...owners, ...members.filter(({ key }) => !keys.has(key))]);
    },
    options(name, at_ms) {
      range = RANGES.some(([each]) => each === name) ? name : null;
      selected = at_ms;
    },
    describe,
    /** After `describe` is in the document. */
    drawn() {
      if (place && resized.place !== place) {
        resized.disconnect();
        resized.observe((resized.place = place));
      }
      measure();
      schedule();
    },
    tick() {
      if (data && isLive && (!calm.matches || Date.now() - drawnAt > 10_000)) schedule();
    },
    themed() {
      forget();
      schedule();
    },
    close: () => resized.disconnect(),
  };
}

/** The mark of a member beside its name. */
export const swatch = (key) => h("span", { class: "swatch", css: { "background-image": look(key).image } });
