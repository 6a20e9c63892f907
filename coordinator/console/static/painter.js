/** The drawing of the ownership ribbon: what is where, and how it looks. Only the rows that are visible are drawn. */

import { look, themed, tile } from "./colours.js";
import { visible } from "./dom.js";
import { clip, time } from "./format.js";

const MOST_HEIGHT = 640; // beyond it the rows scroll
const AXIS = 30;
const DIMMED = 0.22;
const STEPS = [1, 5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400].map((s) => s * 1000);
const COLOURS = ["ink", "muted", "line", "surface", "accent", "hatch", "sunk"];

const font = (size, weight = "") => `${weight} ${size}px system-ui, sans-serif`.trim();

/** The position of the first span of a row that ends after a moment. */
export function firstSpan(row, at) {
  let low = 0;
  let high = row.spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row.spans[middle][1] <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The span of a row at a moment. */
export const spanAt = (row, at) => row.spans[Math.min(firstSpan(row, at), row.spans.length - 1)];

export class Painter {
  data = null; // the Ribbon
  edges = [0, 1]; // of the time that is shown
  rows = []; // {i, y, isFirst, since}: their places; `since` counts from the first row of the topic

  #layer = document.createElement("canvas");
  #drawn = ""; // what the layer shows
  #drawnData = null;

  /** Lay the rows out, and give the canvas the size of the visible part. */
  measure(canvas, scroller, spacer) {
    this.canvas = canvas;
    this.scroller = scroller;
    this.context = canvas.getContext("2d");
    this.width = scroller.clientWidth;
    this.isNarrow = this.width < 600;
    const rows = this.data.rows;
    const topics = new Map(rows.map((row) => [row.topic, row.partition])); // the last, which has the longest number
    const room = clip(innerHeight * 0.5, 220, 460) - topics.size * (this.isNarrow ? 20 : 6);
    this.rowHeight = clip(Math.floor(room / Math.max(rows.length, 1)), 3, 26);
    this.gap = this.rowHeight > 8 ? 1 : this.rowHeight > 5 ? 0.5 : 0;
    let y = AXIS + (this.rowHeight < 12 ? 5 : 0);
    let since = 0;
    this.rows = rows.map((row, i) => {
      const isFirst = row.topic !== rows[i - 1]?.topic;
      if (isFirst) y += this.isNarrow ? 20 : i ? 7 : 2;
      since = isFirst ? 0 : since + 1;
      y += this.rowHeight;
      return { i, y: y - this.rowHeight, isFirst, since };
    });
    this.context.font = font(11);
    const widths = [...topics].map(([topic, last]) => this.context.measureText(`${topic}-${last}`).width);
    const longest = Math.max(...widths, 0);
    this.gutter = this.isNarrow ? 34 : clip(longest + 14, 60, 190);
    this.height = Math.min(y + 4, MOST_HEIGHT);
    this.ratio = devicePixelRatio || 1;
    for (const name of ["width", "height"]) {
      const size = Math.round(this[name] * this.ratio);
      if (canvas[name] !== size) canvas[name] = size;
      canvas.style.setProperty(name, `${this[name]}px`);
    }
    scroller.style.setProperty("height", `${this.height}px`);
    spacer.style.setProperty("height", `${Math.max(y + 4 - this.height, 0)}px`);
  }

  // What is where -----------------------------------------------------------------------------------------------------

  x(at) {
    const [from, to] = this.edges;
    return this.gutter + ((at - from) / (to - from)) * (this.width - this.gutter - 1);
  }

  /** The start and the end of a rebalance in pixels. */
  seamX(seam) {
    const x0 = this.x(seam.at_ms);
    return [x0, Math.max(this.x(seam.outcome === "running" ? this.edges[1] : seam.ended_ms), x0 + 1.5)];
  }

  /** The rebalance that is nearest to a place, or null. */
  seamAt(px) {
    let best = null;
    let nearest = 5;
    for (const seam of this.data.seams) {
      const [x0, x1] = this.seamX(seam);
      const away = Math.max(x0 - px, px - Math.max(x1, x0 + 4), 0);
      if (away < nearest || (away === 0 && best)) [best, nearest] = [seam, Math.max(away, 0.01)];
    }
    return best;
  }

  /** The row and the moment at a place, or null: {row, at}. */
  spotAt({ x, y }) {
    const [from, to] = this.edges;
    const inside = y + this.scroller.scrollTop;
    const row = this.rows.findIndex((each) => inside >= each.y && inside < each.y + this.rowHeight);
    const at = from + ((x - this.gutter) / (this.width - this.gutter - 1)) * (to - from);
    return x < this.gutter || y < AXIS || row < 0 || at < this.data.known_from_ms ? null : { row, at };
  }

  /** Scroll so that a row is visible. */
  reveal(row) {
    const { y } = this.rows[row];
    this.scroller.scrollTop = clip(this.scroller.scrollTop, y + this.rowHeight + 2 - this.height, y - AXIS - 2);
  }

  // Drawing -----------------------------------------------------------------------------------------------------------

  /** `state`: {isLive, highlit: a key, chosen: seams, spot: {row, at}, cursor: {row, at, seam}}. */
  draw(state) {
    if (!this.canvas.width || !this.canvas.height) return; // the page has not been laid out yet
    const c = this.context;
    this.colours = Object.fromEntries(COLOURS.map((name) => [name, themed(`--${name}`)]));
    this.scroll = this.scroller.scrollTop;
    this.#keepRows(state.highlit);
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.drawImage(this.#layer, 0, 0);
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    c.textBaseline = "middle";
    this.#unknown();
    this.#seams(state.chosen);
    this.#axis(state.isLive);
    this.#cursor(state);
  }

  /** Draw the rows into a layer, unless it has them: the pointer and the arrow keys change only what is above. */
  #keepRows(highlit) {
    const size = [this.width, this.height, this.rowHeight, this.gutter, this.ratio];
    const drawn = [this.edges, this.scroll, highlit, this.colours.surface, size].join();
    if (drawn === this.#drawn && this.data === this.#drawnData) return;
    [this.#drawn, this.#drawnData] = [drawn, this.data];
    this.#layer.width = this.canvas.width;
    this.#layer.height = this.canvas.height;
    const c = (this.context = this.#layer.getContext("2d"));
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    c.textBaseline = "middle";
    c.fillStyle = this.colours.surface;
    c.fillRect(0, 0, this.width, this.height);
    c.beginPath();
    c.rect(0, AXIS, this.width, this.height - AXIS);
    c.clip();
    c.translate(0, -this.scroll);
    const isVisible = ({ y }) => y + this.rowHeight + 20 > this.scroll + AXIS && y - 20 < this.scroll + this.height;
    const shown = this.rows.filter(isVisible);
    this.#spans(shown, highlit);
    this.#labels(shown);
    this.context = this.canvas.getContext("2d");
  }

  #spans(shown, highlit) {
    const c = this.context;
    const [from, to] = this.edges;
    const nobody = c.createPattern(tile(this.colours.surface, this.colours.hatch, 1), "repeat");
    const keys = this.data.members.map((member) => member.key);
    const fills = keys.map((key) => look(key).fill);
    const known = this.#knownX();
    const perMs = (this.width - this.gutter - 1) / (to - from);
    const names = [];
    let above = [];
    for (const { i, y, isFirst } of shown) {
      const { spans } = this.data.rows[i];
      const named = [];
      for (let s = firstSpan(this.data.rows[i], from); s < spans.length && spans[s][0] < to; s++) {
        const [start, end, owner] = spans[s];
        const x0 = Math.max(this.gutter + (start - from) * perMs, known);
        const x1 = s === spans.length - 1 ? this.width : this.gutter + (end - from) * perMs;
        if (x1 <= x0) continue;
        if (highlit !== null) c.globalAlpha = keys[owner] === highlit ? 1 : DIMMED;
        c.fillStyle = owner < 0 ? nobody : fills[owner];
        c.fillRect(x0, y, Math.max(x1 - x0, 0.5), this.rowHeight - this.gap);
        if (owner >= 0 && x1 - x0 > 64 && this.rowHeight >= 11) named.push({ x0, width: x1 - x0, owner, y });
      }
      // A name is written where the row above does not have the same owner at the same time.
      const isNew = (name) =>
        isFirst || !above.some((each) => each.owner === name.owner && Math.abs(each.x0 - name.x0) < 8);
      names.push(...named.filter(isNew));
      above = named;
    }
    c.font = font(this.rowHeight > 14 ? 11 : 10, "600");
    for (const { x0, width, owner, y } of names) {
      const { fill, back, text } = look(keys[owner]);
      const letters = this.#fitted(this.data.members[owner].name, width - 10);
      if (highlit !== null) c.globalAlpha = keys[owner] === highlit ? 1 : DIMMED;
      c.fillStyle = back;
      if (fill !== back) c.fillRect(x0 + 1, y, c.measureText(letters).width + 8, this.rowHeight - this.gap);
      c.fillStyle = text;
      c.fillText(letters, x0 + 5, y + this.rowHeight / 2);
    }
    c.globalAlpha = 1;
  }

  #labels(shown) {
    const c = this.context;
    const every = Math.ceil(12 / this.rowHeight);
    for (const { i, y, isFirst, since } of shown) {
      const { topic, partition } = this.data.rows[i];
      if (isFirst && this.isNarrow) {
        c.font = font(11, "600");
        c.fillStyle = this.colours.ink;
        c.fillText(this.#fitted(topic, this.width - 10), 0, y - 9);
      } else if (isFirst && i) {
        c.fillStyle = this.colours.line;
        c.fillRect(0, y - 4, this.width, 1);
      }
      if (since % every) continue;
      c.font = font(this.rowHeight < 12 ? 10 : 11);
      c.textAlign = "right";
      c.fillStyle = this.colours.muted;
      const label = this.isNarrow
        ? `${partition}`
        : `${this.#fitted(topic, this.gutter - 12 - c.measureText(`-${partition}`).width)}-${partition}`;
      c.fillText(label, this.gutter - 8, y + this.rowHeight / 2);
      c.textAlign = "left";
    }
  }

  /** Where the time begins of which owners are known. */
  #knownX() {
    return Math.max(this.x(Math.max(this.data.known_from_ms, this.data.from_ms)), this.gutter);
  }

  /** The time of which nothing is known: dots, and words where they fit. */
  #unknown() {
    const c = this.context;
    const wide = this.#knownX() - this.gutter;
    if (wide < 1) return;
    c.fillStyle = this.colours.sunk;
    c.fillRect(this.gutter, AXIS, wide, this.height - AXIS);
    c.fillStyle = c.createPattern(tile(this.colours.sunk, this.colours.hatch, 3), "repeat");
    c.fillRect(this.gutter, AXIS, wide, this.height - AXIS);
    c.font = font(12, "italic");
    const text = `not known before ${time(this.data.known_from_ms)}`;
    const letters = c.measureText(text).width;
    if (letters + 24 > wide) return;
    c.fillStyle = this.colours.sunk;
    c.fillRect(this.gutter + wide - letters - 18, AXIS + 8, letters + 12, 20);
    c.fillStyle = this.colours.muted;
    c.fillText(text, this.gutter + wide - letters - 12, AXIS + 18);
  }

  #seams(chosen) {
    const c = this.context;
    for (const seam of this.data.seams) {
      const [x0, x1] = this.seamX(seam);
      if (x1 < this.gutter || x0 > this.width) continue;
      const isChosen = chosen.includes(seam.at_ms);
      const start = Math.max(x0, this.gutter);
      const line = (px, width) => c.fillRect(px, AXIS - 4, width, this.height - AXIS + 4);
      const colour = isChosen ? this.colours.accent : this.colours.ink;
      c.fillStyle = colour;
      c.globalAlpha = isChosen ? 0.3 : 0.14;
      c.fillRect(start, AXIS, x1 - start, this.height - AXIS);
      c.globalAlpha = 1;
      if (x0 < this.gutter) continue;
      c.fillStyle = this.colours.surface;
      if (isChosen) line(x0 - 2.5, 5);
      c.fillStyle = colour;
      line(isChosen ? x0 - 1.25 : x0 - 0.75, isChosen ? 2.5 : 1.5);
      c.beginPath();
      c.moveTo(x0 - 5, AXIS - 10);
      c.lineTo(x0 + 5, AXIS - 10);
      c.lineTo(x0, AXIS - 2);
      c.fill();
    }
  }

  #axis(isLive) {
    const c = this.context;
    const [from, to] = this.edges;
    const perMs = (this.width - this.gutter) / (to - from);
    const step = STEPS.find((ms) => ms * perMs > (ms < 60_000 ? 80 : 66)) ?? STEPS.at(-1);
    const shift = new Date(from).getTimezoneOffset() * 60_000;
    c.font = font(11);
    for (let at = Math.ceil((from - shift) / step) * step + shift; at < to; at += step) {
      const px = this.x(at);
      c.fillStyle = this.colours.hatch;
      c.fillRect(px, AXIS - 9, 1, 6);
      const label = time(at, { withSeconds: step < 60_000, withDay: false });
      const half = c.measureText(label).width / 2;
      c.fillStyle = this.colours.muted;
      if (px - half > this.gutter - 20 && px + half < this.width - (isLive ? 30 : 0)) c.fillText(label, px - half, 9);
    }
    if (!isLive) return;
    c.fillStyle = this.colours.accent;
    c.font = font(11, "600");
    c.fillText("now", this.width - 1 - c.measureText("now").width, 9);
  }

  /** The frame of the span under the pointer or the arrow keys. */
  #cursor({ spot, cursor }) {
    const c = this.context;
    const { row, at } = cursor ?? spot ?? {};
    if (!this.rows[row] || !this.data.rows[row].spans.length) return;
    const y = this.rows[row].y - this.scroll;
    const [start, end] = spanAt(this.data.rows[row], at);
    const x0 = Math.max(this.x(start), this.#knownX());
    const x1 = Math.min(this.x(end >= this.data.until_ms ? this.edges[1] : end), this.width);
    c.strokeStyle = this.colours.ink;
    c.lineWidth = cursor ? 2 : 1;
    if (cursor?.seam) c.strokeRect(this.x(at) - 6, y, 12, this.rowHeight);
    else if (y > AXIS - this.rowHeight)
      c.strokeRect(x0 + 0.5, y + 0.5, Math.max(x1 - x0 - 2, 3), Math.max(this.rowHeight - 1.5, 3));
  }

  /** A text as far as it fits, isolated in its direction. */
  #fitted(text, width) {
    const whole = visible(text);
    if (this.context.measureText(whole).width <= width) return `\u2068${whole}\u2069`;
    const letters = [...whole];
    const cut = (length) => `\u2068${letters.slice(0, length).join("")}…\u2069`;
    let low = 0;
    let high = letters.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.context.measureText(cut(middle)).width <= width) low = middle;
      else high = middle - 1;
    }
    return low < 2 ? "" : cut(low);
  }
}
