// Uses the console as a person would, and prints what it answered as JSON: {step: text}.
// usage: NODE_PATH=… node act.mjs BASE GROUP TOKEN
import { createRequire } from "node:module";

const require = createRequire(process.env.NODE_PATH + "/");
const { chromium } = require("playwright-core");
const [base, group, token] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});
const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
page.setDefaultTimeout(20000);
const answers = { complaints: [] };
page.on("pageerror", (error) => answers.complaints.push(error.message));
const rows = () => page.locator("table.groups tbody tr").allInnerTexts();
const until = (fits, ...given) => page.waitForFunction(fits, given, { timeout: 20000 });
const first = (text) => until(([wanted]) => document.querySelector("table.groups tbody tr")?.innerText.includes(wanted), text);

const total = (text) => until(([wanted]) => document.querySelector(".found")?.innerText === wanted, text);

await page.goto(base);
await total("121 groups");
answers.rows_of_a_page = (await rows()).length;
await page.getByRole("searchbox").fill("SHOP");
await total("1 of 121 groups");
await page.getByRole("searchbox").fill("");
await total("121 groups");
await page.getByRole("button", { name: "Members" }).click();
await first("shop");
answers.most_members = (await rows())[0];
await page.getByRole("button", { name: "Next" }).click();
await until(() => document.querySelector(".pager span").innerText.startsWith("Page 2"));
answers.second_page = await page.locator(".pager span").innerText();
await page.goBack();
await until(() => document.querySelector(".pager span").innerText.startsWith("Page 1"));

// By keyboard alone: from the list to the group.
await page.getByRole("searchbox").focus();
await page.keyboard.type(group);
await first(group);
for (let presses = 0; presses < 40; presses++) {
  await page.keyboard.press("Tab");
  if (await page.evaluate(() => document.activeElement.matches("table.groups a"))) break;
}
await page.keyboard.press("Enter");
await page.waitForSelector(".headline .sentence");
answers.sentence = await page.locator(".headline .sentence").innerText();

// The JSON behind the page.
await page.locator("summary", { hasText: "curl" }).click();
await until(() => [...document.querySelectorAll("pre, code")].some((each) => each.innerText.includes('"verdicts"')));
answers.curl = await page.locator("pre, code").filter({ hasText: "curl " }).first().innerText();

// A member is removed: not with a wrong token, then with the right one.
await page.getByRole("button", { name: /^Remove member/ }).first().click();
await page.locator("dialog input[type=password]").fill("wrong");
await page.locator("dialog button", { hasText: "Remove member" }).click();
await until(() => document.querySelector("dialog [role=alert]")?.innerText);
answers.wrong_token = await page.locator("dialog [role=alert]").innerText();
await page.locator("dialog input[type=password]").fill(token);
await page.locator("dialog button", { hasText: "Remove member" }).click();
await page.waitForSelector("dialog", { state: "detached" });
await until(() => document.querySelector("main").innerText.includes("was removed"));
answers.removed = await page.locator("main").innerText();

// Back to a past moment, by the keyboard, and to now again.
await until(() => Number(document.querySelector("#moment").max) - Number(document.querySelector("#moment").min) > 5000);
await page.locator("#moment").focus();
await page.keyboard.press("ArrowLeft");
await page.keyboard.press("ArrowLeft");
await until(() => document.querySelector("#live").dataset.state === "past");
answers.past = await page.locator("#live").innerText();
answers.past_sentence = await page.locator(".headline .sentence").innerText();
await page.getByRole("button", { name: "Back to now" }).click();
await until(() => document.querySelector("#live").dataset.state === "live");
console.log(JSON.stringify(answers));
await browser.close();
