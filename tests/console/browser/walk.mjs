// Walks the console's screens in headless Chromium, and prints what it saw as JSON, a line for each screen.
// usage: NODE_PATH=… node walk.mjs BASE SHOTS SCREENS.json
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const require = createRequire(process.env.NODE_PATH + "/");
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const [base, shots, plan] = process.argv.slice(2);
const SIZES = { wide: [1280, 900, 1], phone: [360, 740, 2] };

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});
for (const screen of JSON.parse(readFileSync(plan, "utf8"))) {
  for (const scheme of ["light", "dark"]) for (const [size, [width, height, deviceScaleFactor]] of Object.entries(SIZES)) {
    if (screen.only && screen.only !== size) continue;
    const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height }, deviceScaleFactor });
    const page = await context.newPage();
    const seen = { screen: screen.name, scheme, size, complaints: [], foreign: [] };
    page.on("console", (message) => ["error", "warning"].includes(message.type()) && seen.complaints.push(message.text()));
    page.on("pageerror", (error) => seen.complaints.push(error.message));
    page.on("request", (request) => {
      const { origin, protocol } = new URL(request.url());
      if (protocol !== "data:" && origin !== new URL(base).origin) seen.foreign.push(request.url());
    });
    await page.goto(base + screen.hash);
    await page.waitForFunction((text) => document.body.innerText.includes(text), screen.awaits, { timeout: 20000 });
    seen.first_paint_ms = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? -1);
    seen.overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
    seen.violations = violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0].html.slice(0, 160)}`);
    seen.text = await page.evaluate(() => document.querySelector("main").innerText);
    seen.colours = await page.evaluate(colours);
    seen.elements = await page.evaluate(() => document.querySelectorAll("*").length);
    await page.screenshot({ path: `${shots}/${screen.name}-${scheme}-${size}.png`, fullPage: true });
    console.log(JSON.stringify(seen));
    await context.close();
  }
}
await browser.close();

/** The number of colours in each canvas: an empty one has one or two. */
function colours() {
  return [...document.querySelectorAll("canvas")].map((canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const found = new Set();
    for (let at = 0; at < data.length && found.size < 1000; at += 4 * 7) found.add(data[at] << 16 | data[at + 1] << 8 | data[at + 2]);
    return found.size;
  });
}
