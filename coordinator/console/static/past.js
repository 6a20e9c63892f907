/** The slider into the past. */

import { h } from "./dom.js";
import { clip, duration, local, time } from "./format.js";

const STEP = 1000;
const SETTLED_MS = 400;

/** `onMove(at_ms)`: a moment was chosen; null: now. */
export function pastSlider(onMove, redraw) {
  let dragged = null; // the value while the slider is moved
  let timer = null;

  /** Act once the value stays, because each key changes it. */
  function settle(act) {
    clearTimeout(timer);
    timer = setTimeout(act, SETTLED_MS);
  }

  return {
    /** `at`: the moment that is shown, or null. */
    draw({ cluster, at, now, isLoading }) {
      if (!cluster) return null;
      const sentence = cluster.history || (cluster.history_from_ms < 0 && "The beginning of the history is not known.");
      const from = Math.floor(cluster.history_from_ms / STEP) * STEP;
      const until = Math.max(Math.floor(now / STEP) * STEP, from + STEP);
      const value = dragged ?? (at === null ? until : clip(at, from, until));
      const isNow = value >= until;
      const text = sentence ? "now" : isNow ? "now" : `${time(value)}, ${duration(now - value)} ago`;
      const go = (wanted) => onMove(wanted >= until ? null : Math.max(wanted, from));
      return h(
        "div",
        { class: `past${at === null ? "" : " is-past"}`, key: "past", role: "group", "aria-label": "Moment" },
        h("label", { for: "moment" }, "Moment"),
        h("input", {
          id: "moment",
          type: "range",
          disabled: Boolean(sentence),
          min: sentence ? 0 : from,
          max: sentence ? 1 : until,
          step: STEP,
          value: sentence ? 1 : value,
          "aria-valuetext": text,
          "aria-describedby": sentence ? "no-past" : null,
          oninput: (event) => {
            dragged = Number(event.target.value);
            redraw();
          },
          onchange: (event) =>
            settle(() => {
              dragged = null;
              go(Number(event.target.value));
            }),
        }),
        sentence
          ? h("p", { id: "no-past", class: "note" }, sentence)
          : [
              h("output", { for: "moment" }, text),
              h("input", {
                type: "datetime-local",
                step: 1,
                "aria-label": "Date and time",
                min: local(from),
                max: local(until),
                value: local(Math.min(value, now)),
                onchange: (event) =>
                  settle(() => {
                    const wanted = new Date(event.target.value).getTime();
                    if (!Number.isNaN(wanted)) go(wanted);
                  }),
              }),
              h("button", { type: "button", disabled: at === null, onclick: () => onMove(null) }, "Back to now"),
              isLoading && h("span", { class: "note", role: "status" }, "The past is read."),
            ],
      );
    },
    close: () => clearTimeout(timer),
  };
}
