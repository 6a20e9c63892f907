/** Routing, the head of the page, problems, and the tick of each second. */

import { get } from "./api.js";
import { h, id, patch, visible } from "./dom.js";
import { asSentence, clock, duration, time, zone } from "./format.js";
import { groupPage } from "./group.js";
import { listPage } from "./list.js";
import { address, parse } from "./route.js";

const element = (name) => document.getElementById(name);
const problems = new Map(); // by where they come from
let page = null;
let route = null;
let isFirst = true;

/** What pages share. `cluster` is the last ClusterView, or null. */
const context = {
  cluster: null,
  /** Show a sentence until it is taken back with an empty one. */
  problem(source, sentence) {
    if (sentence) problems.set(source, sentence);
    else problems.delete(source);
    drawHead();
  },
  /** How current the page is: "live", "old", "past", "waiting". `at_ms`: of what it shows. */
  shows(state, at_ms) {
    context.state = state;
    context.at_ms = at_ms;
    drawHead();
  },
  /** Change the query of the hash. `replace`: without an entry in the history of the browser. */
  go(params, { replace = false, id: group = route.id } = {}) {
    const hash = address(group, { ...route.params, ...params });
    if (hash === location.hash) return;
    if (replace) {
      history.replaceState(null, "", hash);
      onRoute();
    } else location.hash = hash;
  },
};

function onRoute() {
  if (location.hash === "#main") {
    // the skip link
    history.replaceState(null, "", address(route.id, route.params));
    element("main").focus();
    return;
  }
  const wanted = parse(location.hash);
  const isOther = !page || wanted.id !== route.id;
  route = wanted;
  if (!isOther) {
    page.route(route);
    return;
  }
  page?.close();
  if (page) element("main").replaceChildren(); // elements belong to the page that made them
  problems.clear();
  if (context.cluster?.problem) problems.set("cluster", context.cluster.problem);
  context.shows("waiting");
  page = (route.id == null ? listPage : groupPage)(element("main"), context, route);
  if (!isFirst) {
    scrollTo(0, 0);
    element("main").focus({ preventScroll: true });
  }
  isFirst = false;
}

function drawHead() {
  const { cluster, state, at_ms } = context;
  patch(
    element("cluster"),
    cluster && [
      h("span", null, "Cluster ", id(cluster.cluster_id)),
      " ",
      h("span", null, cluster.kind === "observed" ? "observed at " : "at ", id(cluster.bootstrap_servers)),
      " ",
      h(
        "span",
        { title: cluster.nodes.join(", ") },
        `${cluster.nodes.length} node${cluster.nodes.length === 1 ? "" : "s"}`,
      ),
      cluster.behind_ms > 1000 && h("span", null, ` ${duration(cluster.behind_ms)} behind the offsets log`),
    ],
  );
  const text = {
    live: "Live",
    waiting: "Connecting",
    old: `Old, of ${time(at_ms)}`,
    past: "In the past",
  }[state];
  element("live").dataset.state = state;
  patch(element("live"), state === "old" && !at_ms ? "Not live" : text);
  document.body.classList.toggle("is-old", state === "old");
  patch(
    element("problems"),
    [...problems].map(([source, sentence]) => h("p", { key: source }, visible(asSentence(sentence)))),
  );
}

async function loadCluster() {
  if (document.hidden) return;
  try {
    context.cluster = await get("cluster");
    context.problem("cluster", context.cluster.problem);
    page?.redraw();
  } catch (error) {
    context.problem("cluster", page?.hasProblem?.() ? "" : error.message);
  }
}

function drawTheme() {
  const name = globalThis.consoleTheme.name();
  element("theme").textContent = `Theme: ${name}`;
  page?.themed?.();
}

element("theme").onclick = () => globalThis.consoleTheme.next();
addEventListener("themechange", drawTheme);
addEventListener("hashchange", onRoute);
element("zone").textContent = `Times are those of ${zone()}.`;
drawTheme();
onRoute();
loadCluster();
setInterval(loadCluster, 15_000);
setInterval(() => document.hidden || page.tick(clock.now()), 1000);
