/** The hash of the page: `#/` or `#/group/<id>`, each with a query. */

import { wellFormed } from "./api.js";

/** The hash of the list (no group) or of a group. */
export function address(group, params = {}) {
  const query = new URLSearchParams(
    Object.entries(params).filter(([, value]) => value != null && value !== ""),
  ).toString();
  return `#/${group == null ? "" : `group/${encodeURIComponent(wellFormed(group))}`}${query ? `?${query}` : ""}`;
}

/** The group and the parameters of a hash. */
export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const params = Object.fromEntries(new URLSearchParams(query));
  if (!path.startsWith("group/")) return { id: null, params };
  try {
    return { id: decodeURIComponent(path.slice(6)), params };
  } catch {
    return { id: path.slice(6), params };
  }
}
