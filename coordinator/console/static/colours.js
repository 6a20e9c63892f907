/** The looks of members: ten colours that colour-blind people can tell apart, and patterns over them beyond that. */

const TILE = 8;
// Of the first ten members, the next ten, and so on: what the colour is mixed with, how much, and the pattern.
const SHADES = [
  ["--ink", 0, 0],
  ["--surface", 0.42, 0],
  ["--ink", 0.4, 0],
  ["--ink", 0, 3],
];
const hues = new Map(); // by family: the number of its colour
const runs = new Map(); // by key: {family, run}
const colours = new Map(); // by name, in the present colour scheme
const looks = new Map(); // by hue and run, in the present colour scheme

/** A colour of the style sheet, such as "--ink", in the present scheme. The sheet has it as `light-dark(…)`. */
export function themed(name) {
  if (!colours.has(name)) {
    const pair = getComputedStyle(document.documentElement)
      .getPropertyValue(name)
      .match(/#\w{6}/g);
    colours.set(name, pair.at(isDark() ? 1 : 0));
  }
  return colours.get(name);
}

function isDark() {
  const { theme } = document.documentElement.dataset;
  return theme === "dark" || (theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
}

/** Forget the looks, because the colour scheme has changed. */
export function forget() {
  looks.clear();
  colours.clear();
}

/**
 * Give each member a look, which it keeps for as long as it is among them. The runs of one client id have one colour,
 * if it is not that of several members at once; a later run has another pattern. `members`: {key, name,
 * client_id, is_member}.
 */
export function assign(members) {
  const wanted = new Set(members.map(({ key }) => key));
  for (const key of runs.keys()) if (!wanted.has(key)) runs.delete(key);
  const present = new Map(); // how many members have a client id at the same time
  for (const each of members) if (each.is_member) present.set(each.client_id, (present.get(each.client_id) ?? 0) + 1);
  const former = members.filter((each) => !each.is_member).reverse();
  const inOrder = [...members.filter((each) => each.is_member).sort(byName), ...former];
  for (const { key, client_id } of inOrder) {
    if (runs.has(key)) continue;
    const family = !client_id || present.get(client_id) > 1 ? `key ${key}` : `client ${client_id}`;
    let run = 0;
    for (const other of runs.values()) if (other.family === family) run = Math.max(run, other.run + 1);
    runs.set(key, { family, run });
  }
  const families = new Set([...runs.values()].map(({ family }) => family));
  for (const family of hues.keys()) if (!families.has(family)) hues.delete(family);
  const taken = new Set(hues.values());
  for (const family of families) {
    if (hues.has(family)) continue;
    let hue = 0;
    while (taken.has(hue)) hue++;
    taken.add(hue);
    hues.set(family, hue);
  }
}

/** Members now before former ones, each in the order of their names. */
export const byName = (a, b) =>
  b.is_member - a.is_member || ORDER.compare(a.name, b.name) || ORDER.compare(a.key, b.key);
const ORDER = new Intl.Collator("en", { numeric: true });

/** The look of a member: `fill` for a canvas, `back` and `text` for letters upon it, `image` for a swatch. */
export function look(key) {
  const { family, run } = runs.get(key) ?? { run: 0 };
  const hue = hues.get(family) ?? 0;
  const name = `${hue % 40} ${run % 3}`;
  if (!looks.has(name)) looks.set(name, make(hue % 10, SHADES[Math.floor(hue / 10) % SHADES.length], run % 3));
  return looks.get(name);
}

function make(hue, [towards, part, ofShade], ofRun) {
  const pattern = ofRun || ofShade;
  const back = mixed(themed(`--m${hue}`), themed(towards), part);
  const canvas = tile(back, mixed(back, themed("--surface"), 0.55), pattern);
  const fill = pattern ? canvas.getContext("2d").createPattern(canvas, "repeat") : back;
  return { fill, back, image: `url(${canvas.toDataURL()})`, text: brightness(back) > 0.2 ? "#10151b" : "#fff" };
}

const parts = (colour) => [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));

function mixed(colour, other, part) {
  const to = parts(other);
  return `#${parts(colour)
    .map((value, i) =>
      Math.round(value + (to[i] - value) * part)
        .toString(16)
        .padStart(2, "0"),
    )
    .join("")}`;
}

function brightness(colour) {
  const [r, g, b] = parts(colour).map((value) => (value / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** A tile of a pattern: 0 plain, 1 and 2 diagonals, 3 dots. */
export function tile(back, front, pattern) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = TILE;
  const c = canvas.getContext("2d");
  c.fillStyle = back;
  c.fillRect(0, 0, TILE, TILE);
  c.fillStyle = c.strokeStyle = front;
  c.lineWidth = 1.6;
  if (pattern === 3) for (const at of [1, 5]) c.fillRect(at, at, 2, 2);
  if (pattern !== 1 && pattern !== 2) return canvas;
  const [from, to] = pattern === 1 ? [TILE + 1, -1] : [-1, TILE + 1];
  for (const shift of [-TILE, 0, TILE]) {
    c.moveTo(shift - 1, from);
    c.lineTo(shift + TILE + 1, to);
  }
  c.stroke();
  return canvas;
}
