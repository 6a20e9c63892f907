/** The lag of a group: how it develops, and of which partitions it is. */

import { h, id, table } from "./dom.js";
import { ago, count, duration, number, slope } from "./format.js";
import { swatch } from "./ribbon.js";

const FIRST = 25; // partitions before "Show all"
const WIDTH = 600;
const HEIGHT = 120;

/** The line of some lags as the path of an SVG; it has a gap where the lag is not known. */
export function path(values, width, height, most, margin = 0, floor = 0) {
  let isDown = false;
  return values
    .map((value, i) => {
      if (value < 0) {
        isDown = false;
        return "";
      }
      const x = (i / Math.max(values.length - 1, 1)) * width;
      const y = height - margin - ((value - floor) / Math.max(most - floor, 1)) * (height - 2 * margin);
      const step = `${isDown ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
      isDown = true;
      return step;
    })
    .join("");
}

function chart(lag) {
  const known = lag.samples.filter((value) => value >= 0);
  if (known.length < 2) return h("p", { class: "note" }, "There are too few samples for a chart.");
  const most = Math.max(...known);
  const span = (lag.samples.length - 1) * lag.sample_ms;
  const label =
    `Lag over ${duration(span)}: from ${number(known[0])} to ${number(known.at(-1))}, at least ` +
    `${number(Math.min(...known))}, at most ${number(most)} records.`;
  return h(
    "figure",
    { class: "chart" },
    h(
      "div",
      { class: "plot" },
      h("span", { class: "most", "aria-hidden": "true" }, number(most)),
      h("span", { class: "least", "aria-hidden": "true" }, "0"),
      h(
        "svg",
        { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": label },
        [0, HEIGHT / 2, HEIGHT].map((y) => h("path", { class: "grid", d: `M0 ${y}H${WIDTH}` })),
        h("path", { class: "line", d: path(lag.samples, WIDTH, HEIGHT, most) }),
      ),
    ),
    h("figcaption", null, h("span", null, `${duration(span)} ago`), h("span", null, "latest sample")),
  );
}

/** The transaction that holds the readers of a partition back. */
const heldBack = (p) =>
  h(
    "small",
    { class: "held" },
    `held back at ${number(p.held_at)} by `,
    p.held_by ? id(p.held_by) : "an unknown transactional id",
  );

/** `settings`: {now, showsAll, onShowAll}. */
export function lagSection(view, settings) {
  const { lag, ribbon } = view;
  if (!lag) return h("p", { class: "note" }, "The lag of this group is not known.");
  const shown = settings.showsAll ? lag.partitions : lag.partitions.slice(0, FIRST);
  const owner = (position) => {
    const member = ribbon?.members[position];
    return member ? [swatch(member.key), id(member.name)] : ribbon && position < 0 ? "nobody" : "not known";
  };
  return h(
    "div",
    { class: "lagging" },
    h(
      "div",
      null,
      h(
        "p",
        { class: "total" },
        h("b", null, number(lag.total)),
        lag.total === 1 ? " record" : " records",
        ", ",
        slope(lag.per_s),
      ),
      chart(lag),
    ),
    h(
      "div",
      null,
      shown.length === 0
        ? h("p", { class: "note" }, "The group has committed no offset.")
        : table({
            caption: "Partitions with a committed offset, those with the longest lag first",
            hideCaption: true,
            columns: [
              { label: "Partition", cell: (p) => id(`${p.topic}-${p.partition}`) },
              { label: "Committed offset", num: true, cell: (p) => number(p.committed) },
              { label: "End offset", num: true, cell: (p) => number(p.end) },
              { label: "Lag", num: true, cell: (p) => [number(p.lag), p.held_at >= 0 && heldBack(p)] },
              { label: "Owner", cell: (p) => owner(p.owner) },
              { label: "Last commit", num: true, cell: (p) => ago(p.committed_ms, settings.now) },
            ],
            rows: shown,
            key: (p) => `${p.topic}-${p.partition}`,
          }),
      lag.partitions.length > shown.length &&
        h("button", { type: "button", onclick: settings.onShowAll }, `Show all ${number(lag.partitions.length)}`),
      settings.showsAll &&
        lag.partitions_left_out > 0 &&
        h("p", { class: "note" }, `${count(lag.partitions_left_out, "partition")} more are not shown.`),
    ),
  );
}
