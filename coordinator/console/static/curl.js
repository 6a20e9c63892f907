/** The panel with the command that asks for what the screen shows, and the JSON of its answer. */

import { address, ask } from "./api.js";
import { h } from "./dom.js";
import { asSentence, number } from "./format.js";

const MOST_CHARS = 200_000;
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** Return the panel of one page. `draw(what, params)` describes it. */
export function curlPanel() {
  let shown = null; // the path that `json` is of
  let json = "";
  let note = "";
  let pre, status;

  async function load(path) {
    shown = path;
    note = "The JSON is loaded.";
    show("");
    try {
      json = JSON.stringify(JSON.parse(await ask(path)), null, 2);
      note =
        json.length > MOST_CHARS
          ? `The first ${number(MOST_CHARS)} of ${number(json.length)} characters are shown. The command gives all.`
          : "";
    } catch (error) {
      json = "";
      note = asSentence(error.message);
    }
    if (shown === path) show(json.slice(0, MOST_CHARS));
  }

  function show(text) {
    pre.textContent = text;
    status.textContent = note;
  }

  async function copy(command) {
    try {
      await navigator.clipboard.writeText(command);
      status.textContent = "The command is in the clipboard.";
    } catch {
      status.textContent = "The browser does not permit to copy; select the command and copy it.";
    }
  }

  return {
    draw(what, params) {
      const path = address(what, params);
      const command = `curl -sS ${quoted(location.origin + path)}`;
      return h(
        "details",
        { class: "curl", ontoggle: (event) => event.target.open && shown !== path && load(path) },
        h("summary", null, "The same as JSON, with curl"),
        h(
          "div",
          { class: "command" },
          h("code", { tabindex: "0" }, command),
          h("button", { type: "button", onclick: () => copy(command) }, "Copy"),
          h("button", { type: "button", onclick: () => load(path) }, "Load again"),
        ),
        h("p", { role: "status", class: "note", own: true, ref: (node) => (status = node) }),
        h("pre", { tabindex: "0", role: "region", "aria-label": "JSON", own: true, ref: (node) => (pre = node) }),
      );
    },
  };
}
