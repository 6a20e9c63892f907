/** The dialog that removes a member. The admin token is kept in the session storage of the browser tab. */

import { ask } from "./api.js";
import { h, id, patch, visible } from "./dom.js";
import { asSentence, fullName } from "./format.js";

let kept = ""; // where the session storage is not available

const token = {
  get() {
    try {
      return sessionStorage.getItem("token") ?? kept;
    } catch {
      return kept;
    }
  },
  set(value) {
    kept = value;
    try {
      if (value) sessionStorage.setItem("token", value);
      else sessionStorage.removeItem("token");
    } catch {
      /* It is kept in memory. */
    }
  },
};

/** A header takes bytes only, so each one of UTF-8 becomes a character. */
const bytes = (text) => String.fromCharCode(...new TextEncoder().encode(text));

/** The button beside a member. `settings`: {group, label, onDone(sentence)}. */
export function kickButton(client, settings) {
  return h(
    "button",
    {
      type: "button",
      class: "danger",
      "aria-label": `Remove member ${visible(settings.label)}`,
      onclick: () => open(client, settings),
    },
    "Remove…",
  );
}

function open(client, { group, label, onDone }) {
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-labelledby", "kick-title");
  let sentence = "";
  let isBusy = false;

  async function send(event) {
    event.preventDefault();
    const form = new FormData(event.target);
    if (form.get("token")) token.set(form.get("token"));
    [isBusy, sentence] = [true, ""];
    draw();
    try {
      await ask("/api/kick", {
        method: "POST",
        headers: { "Content-Type": "application/json", Authorization: `Bearer ${bytes(token.get())}` },
        body: JSON.stringify({ group, member_id: client.member_id, reason: form.get("reason") }),
      });
      onDone(`Member ${visible(label)} was removed.`);
      dialog.close();
      return;
    } catch (error) {
      sentence = asSentence(error.message);
      if (error.status === 401 || error.status === 403) token.set("");
    }
    isBusy = false;
    draw();
    dialog.querySelector("input[type=password]")?.focus();
  }

  function draw() {
    patch(
      dialog,
      h(
        "form",
        { onsubmit: send },
        h("h2", { id: "kick-title" }, "Remove this member?"),
        h(
          "p",
          null,
          id(fullName(client)),
          " will be removed from group ",
          id(group),
          ". Its partitions go to other members in a rebalance. " + "The client joins again if it still runs.",
        ),
        h("p", { class: "note" }, "Member id: ", id(client.member_id)),
        h(
          "label",
          null,
          h("span", null, "Reason"),
          h("input", { name: "reason", maxlength: 255, autocomplete: "off" }),
        ),
        !token.get() &&
          h(
            "label",
            null,
            h("span", null, "Admin token"),
            h("input", { name: "token", type: "password", required: true, autocomplete: "off" }),
          ),
        h("p", { role: "alert", class: "wrong" }, sentence),
        h(
          "div",
          { class: "bar" },
          h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"),
          h("button", { class: "danger solid", disabled: isBusy }, "Remove member"),
        ),
      ),
    );
  }

  draw();
  dialog.onclose = () => dialog.remove();
  document.body.append(dialog);
  dialog.showModal();
}
