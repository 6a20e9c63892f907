/**
 * Descriptions of elements, and the one function that brings the document to them. Elements stay where they are as long
 * as their description stays alike, so focus, selection, scroll position and open details survive live updates.
 * All text becomes text nodes: no string is ever read as HTML.
 */

const SVG = "http://www.w3.org/2000/svg";

/**
 * Describe an element. Attributes beside those of HTML: `key` (identity among siblings), `css` (custom or other
 * properties, set one by one), `ref` (called once with the new element), `own` (its content is not touched), `on…`.
 */
export function h(tag, attrs, ...children) {
  return { tag, attrs: attrs ?? {}, children: children.flat(9).filter((c) => c != null && c !== false && c !== "") };
}

/** Make the children of `parent` those that `wanted` describes. */
export function patch(parent, ...wanted) {
  const active = document.activeElement;
  update(parent, h("", null, wanted).children);
  if (active !== document.activeElement && active?.isConnected) active.focus({ preventScroll: true });
}

function update(parent, wanted) {
  const keyed = new Map();
  const free = [];
  for (const node of parent.childNodes) {
    const key = node.described?.attrs.key;
    if (key === undefined) free.push(node);
    else keyed.set(key, node);
  }
  let next = 0;
  const nodes = wanted.map((child) => {
    const key = child.attrs?.key;
    let node = keyed.get(key);
    if (node) keyed.delete(key);
    if (key === undefined) {
      const found = free.findIndex((each, i) => i >= next && fits(each, child));
      if (found >= 0) {
        node = free[found];
        next = found + 1;
      }
    }
    if (!node || !fits(node, child)) node = create(parent, child);
    if (typeof child !== "object") {
      if (node.data !== String(child)) node.data = child;
    } else {
      bring(node, child);
    }
    return node;
  });
  const kept = new Set(nodes);
  for (const node of [...parent.childNodes]) if (!kept.has(node)) node.remove();
  let place = parent.firstChild;
  for (const node of nodes) {
    if (node === place) place = place.nextSibling;
    else if (node.isConnected && parent.moveBefore) parent.moveBefore(node, place);
    else parent.insertBefore(node, place);
  }
}

function fits(node, child) {
  return typeof child === "object" ? node.described?.tag === child.tag : node.nodeType === Node.TEXT_NODE;
}

function create(parent, child) {
  if (typeof child !== "object") return document.createTextNode(child);
  const isSvg = child.tag === "svg" || parent.namespaceURI === SVG;
  const node = isSvg ? document.createElementNS(SVG, child.tag) : document.createElement(child.tag);
  node.described = { tag: child.tag, attrs: {} };
  child.attrs.ref?.(node);
  return node;
}

function bring(node, child) {
  const old = node.described.attrs;
  for (const name of new Set([...Object.keys(old), ...Object.keys(child.attrs)])) {
    const value = child.attrs[name];
    if (name === "css") style(node, old.css ?? {}, value ?? {});
    else if (old[name] !== value) set(node, name, value);
  }
  node.described = child;
  if (!child.attrs.own) update(node, child.children);
}

function style(node, old, now) {
  for (const name of new Set([...Object.keys(old), ...Object.keys(now)])) {
    if (old[name] !== now[name]) node.style.setProperty(name, now[name] ?? "");
  }
}

function set(node, name, value) {
  if (name === "key" || name === "ref" || name === "own") return;
  if (name.startsWith("on")) node[name] = value ?? null;
  else if (name === "value" || name === "checked") {
    if (node !== document.activeElement || node.type === "range") node[name] = value;
  } else if (value == null || value === false) node.removeAttribute(name);
  else node.setAttribute(name, value === true ? "" : value);
}

/** A name that comes from a client: isolated in its direction, with control characters made visible. */
export function id(text, attrs) {
  return h("bdi", { class: "id", ...attrs }, visible(text));
}

/** Control characters as their pictures. */
export function visible(text) {
  const picture = (c) => (c === "\x7f" ? "␡" : String.fromCharCode(0x2400 + c.charCodeAt(0)));
  return String(text).replace(/[\u0000-\u001f\u007f]/g, picture);
}

/** Text for screen readers alone. */
export const unseen = (...text) => h("span", { class: "unseen" }, ...text);

/**
 * A table, which becomes cards on narrow screens; its roles are given, because `display` would take them away.
 * columns: {label, cell(row), num, tight, minor, head (instead of the label), sort ("ascending", …)}; the first one
 * heads the row.
 */
export function table({ caption, columns, rows, key, row = () => ({}), attrs = {}, hideCaption = false }) {
  return h(
    "table",
    { role: "table", ...attrs, class: `cards ${attrs.class ?? ""}` },
    h("caption", { class: hideCaption ? "unseen" : null }, caption),
    h(
      "thead",
      { role: "rowgroup" },
      h(
        "tr",
        { role: "row" },
        columns.map((c) =>
          h("th", { role: "columnheader", scope: "col", class: kind(c), "aria-sort": c.sort }, c.head ?? c.label),
        ),
      ),
    ),
    h(
      "tbody",
      { role: "rowgroup" },
      rows.map((r, i) =>
        h(
          "tr",
          { role: "row", key: key ? key(r, i) : undefined, ...row(r) },
          columns.map((c, position) =>
            h(
              position ? "td" : "th",
              {
                role: position ? "cell" : "rowheader",
                scope: position ? null : "row",
                class: kind(c),
                "data-label": c.label,
              },
              c.cell(r, i),
            ),
          ),
        ),
      ),
    ),
  );
}

const kind = (column) =>
  [column.num && "num", column.tight && "tight", column.minor && "minor"].filter(Boolean).join(" ") || null;
