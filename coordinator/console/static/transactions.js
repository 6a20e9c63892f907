/** The open transactions of the cluster, below the list of groups. */

import { h, id, table } from "./dom.js";
import { count, duration, number } from "./format.js";

/** How long a transaction lasts at most. The outcome of one that is decided does not depend on its timeout. */
function ends(row, now) {
  if (row.state !== "Ongoing") return "when its markers are written";
  const left = row.start_ms + row.timeout_ms - now;
  return left > 0 ? `in ${duration(left)} at most` : "now";
}

function partitions(row) {
  const more = row.count - row.partitions.length;
  return [
    row.partitions.map((name, i) => [i > 0 && ", ", id(name)]),
    more > 0 && h("small", null, ` and ${number(more)} more`),
  ];
}

/** `list`: an answer of /api/groups with open transactions. */
export function transactions(list, now) {
  const rows = list.transactions;
  const shown =
    rows.length === list.open_transactions
      ? "Readers of committed records wait for them."
      : `Of ${count(list.open_transactions, "open transaction")}, the oldest ${number(rows.length)} that are open for ` +
        "a second or longer are shown. Readers of committed records wait for them.";
  return h(
    "section",
    { key: "transactions", class: "transactions", "aria-labelledby": "h-transactions" },
    h("h2", { id: "h-transactions" }, "Open transactions"),
    h("p", { class: "note" }, shown),
    rows.length > 0 &&
      table({
        caption: "Open transactions, the oldest first",
        hideCaption: true,
        columns: [
          { label: "Transactional id", cell: (r) => id(r.transactional_id) },
          { label: "State", cell: (r) => r.state },
          { label: "Open for", num: true, cell: (r) => duration(Math.max(now - r.start_ms, 0)) },
          { label: "Ends", cell: (r) => ends(r, now) },
          { label: "Partitions held back", cell: partitions },
        ],
        rows,
        key: (r) => r.transactional_id,
      }),
  );
}
