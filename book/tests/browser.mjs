// Opens every page of the built book in Chromium, from its folder, as a reader would: wide and narrow, light and dark.
//
//   node book/tests/browser.mjs [--book FOLDER] [--shots FOLDER] [--only WORD]
//
// Fails when a page writes an error to the console, asks for a file that is not there or for anything outside the book, or
// is wider than the phone; when an interactive figure does not start, does not step to its end and back by keyboard, or says
// the same sentence twice in a row; when the search finds nothing. --shots saves pictures of every page.
import { readdirSync, mkdirSync, existsSync } from "node:fs";
import { join, resolve, relative, dirname } from "node:path";
import { pathToFileURL, fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const option = (name, otherwise) => {
    const at = process.argv.indexOf(name);
    return at < 0 ? otherwise : process.argv[at + 1];
};
const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const book = resolve(option("--book", join(root, "target/book")));
const shots = option("--shots", null);
const only = option("--only", "");

if (!existsSync(join(book, "index.html"))) {
    console.error(`${book}: there is no book; build it with \`cargo course book\``);
    process.exit(2);
}

function pagesBelow(folder) {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
        const path = join(folder, entry.name);
        if (entry.isDirectory()) return pagesBelow(path);
        return entry.name.endsWith(".html") ? [path] : [];
    });
}

const pages = pagesBelow(book)
    .filter((path) => !path.endsWith("toc.html"))   // the bare list inside pages without scripts
    .filter((path) => path.includes(only))
    .sort();

const looks = [
    { name: "desktop-light", viewport: { width: 1280, height: 900 }, colorScheme: "light" },
    { name: "desktop-dark", viewport: { width: 1280, height: 900 }, colorScheme: "dark" },
    { name: "phone-light", viewport: { width: 360, height: 740 }, colorScheme: "light", isMobile: true, hasTouch: true },
    { name: "phone-dark", viewport: { width: 360, height: 740 }, colorScheme: "dark", isMobile: true, hasTouch: true },
];

const problems = [];
const problem = (look, path, text) => problems.push(`${look.name}  ${relative(book, path)}  ${text}`);

/** Listens to everything that goes wrong on a page. */
function listen(page, look, path) {
    page.on("console", (message) => {
        if (["error", "warning"].includes(message.type())) problem(look, path, `console: ${message.text()}`);
    });
    page.on("pageerror", (error) => problem(look, path, `script: ${error.message}`));
    page.on("requestfailed", (request) => problem(look, path, `request failed: ${request.url()}`));
    page.on("request", (request) => {
        if (!/^(file|data|blob|about):/.test(request.url())) problem(look, path, `asks outside: ${request.url()}`);
    });
}

/** What is wider than the page, so that the message names it. mdBook's content scrolls by itself, so the page alone tells nothing. */
const overflowing = () => {
    const width = document.documentElement.clientWidth;
    const main = document.querySelector("main");
    const isCut = (node) => node !== main && (/(auto|scroll|hidden|clip)/.test(getComputedStyle(node).overflowX) || isCut(node.parentElement));
    const isWide = (node) => node.getBoundingClientRect().right > width + 1 && !isCut(node.parentElement) && node.getClientRects().length > 0;
    const wide = [...main.querySelectorAll("*")].find(isWide);
    if (wide) return `wider than ${width} px: <${wide.tagName.toLowerCase()} class="${wide.getAttribute("class") || ""}"> ${wide.textContent.trim().slice(0, 60)}`;
    const boxes = [document.documentElement, document.getElementById("mdbook-content")];
    return boxes.some((box) => box.scrollWidth > box.clientWidth + 1) ? `something is wider than ${width} px` : null;
};

/** Buttons and choices that stand out of their figure. */
const outOfFigure = () => [...document.querySelectorAll("figure.interactive")].flatMap((figure) => {
    const right = figure.getBoundingClientRect().right + 1;
    const parts = [...figure.querySelectorAll(".figure-controls *, .figure-stepper *")];
    const wide = parts.find((part) => part.getBoundingClientRect().right > right);
    return wide ? [`figure ${figure.dataset.figure}: <${wide.tagName.toLowerCase()}> runs over its edge`] : [];
});

/** Steps a figure to its end and back with the arrow keys; its sentence must change at each step. */
async function stepThrough(figure, look, path) {
    const name = await figure.getAttribute("data-figure");
    const say = (text) => problem(look, path, `figure ${name}: ${text}`);
    if (await figure.getAttribute("data-state") !== "ready") return say("did not start");
    const steps = Number(await figure.getAttribute("data-steps"));
    if (!(steps >= 2)) return say(`has ${steps} steps`);
    const sentence = () => figure.locator(".figure-text").innerText();
    await figure.focus();
    await figure.press("Home");
    const first = await sentence();
    if (!first.trim()) say("says nothing at step 1");
    let before = first;
    for (let i = 1; i < steps; i++) {
        await figure.press("ArrowRight");
        const at = Number(await figure.getAttribute("data-step"));
        const now = await sentence();
        if (at !== i) return say(`the right arrow led to step ${at + 1}, not ${i + 1}`);
        if (now === before) say(`says the same at steps ${i} and ${i + 1}`);
        before = now;
    }
    await figure.press("ArrowRight");
    if (Number(await figure.getAttribute("data-step")) !== steps - 1) say("goes on after its last step");
    for (let i = steps - 1; i > 0; i--) await figure.press("ArrowLeft");
    if (await sentence() !== first) say("does not come back to its first sentence");
    await figure.press("End");
    if (Number(await figure.getAttribute("data-step")) !== steps - 1) say("the End key does not lead to the end");
    // Every switch and choice is tried once, from the keyboard's side of things: it must not throw.
    for (const box of await figure.locator("input[role=switch]").all()) { await box.press("Space"); await box.press("Space"); }
    for (const list of await figure.locator("select").all()) {
        for (const value of await list.locator("option").evaluateAll((all) => all.map((o) => o.value))) await list.selectOption(value);
        await list.selectOption({ index: 0 });
    }
    await figure.press("Home");
    return steps;
}

async function search(page, look, path) {
    await page.keyboard.press("/");
    const bar = page.locator("#mdbook-searchbar");
    await bar.waitFor({ state: "visible", timeout: 60_000 });
    await bar.pressSequentially("gradient");
    await page.locator("#mdbook-searchresults li").first().waitFor({ timeout: 60_000 })
        .catch(() => problem(look, path, "the search finds nothing for \"gradient\""));
}

const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
let opened = 0;
let stepped = 0;
for (const look of looks) {
    const { name, ...settings } = look;
    const context = await browser.newContext({ ...settings, reducedMotion: "reduce" });
    context.setDefaultTimeout(120_000);   // a busy machine is no fault of the book
    await context.addInitScript(() => { window.print = () => {}; });
    for (const path of pages) {
        const page = await context.newPage();
        listen(page, look, path);
        await page.goto(pathToFileURL(path).href, { waitUntil: "load" });
        opened += 1;
        const wide = await page.evaluate(overflowing);
        if (wide) problem(look, path, wide);
        for (const text of await page.evaluate(outOfFigure)) problem(look, path, text);
        const theme = await page.evaluate(() => document.documentElement.className);
        if (theme.includes("navy") !== (settings.colorScheme === "dark")) problem(look, path, `is drawn as ${theme}`);
        const isPaper = path.endsWith("print.html");
        if (!isPaper) {
            for (const figure of await page.locator("figure.interactive").all()) {
                if (await stepThrough(figure, look, path)) stepped += 1;
            }
        }
        if (shots && !isPaper) {
            const file = join(resolve(shots), `${relative(book, path).replace(/[\\/]/g, "-").replace(".html", "")}-${name}.png`);
            mkdirSync(dirname(file), { recursive: true });
            await page.evaluate(() => window.scrollTo(0, 0));
            await page.screenshot({ path: file, fullPage: true });
        }
        await page.close();
    }
    const page = await context.newPage();
    const path = pages[0];
    listen(page, look, path);
    await page.goto(pathToFileURL(path).href, { waitUntil: "load" });
    await search(page, look, path);
    await context.close();
}

// Without scripts the recorded steps stand there as text.
const plain = await browser.newContext({ javaScriptEnabled: false });
for (const path of pages) {
    const page = await plain.newPage();
    await page.goto(pathToFileURL(path).href, { waitUntil: "load" });
    for (const list of await page.locator(".figure-recorded ol").all()) {
        if (!(await list.isVisible()) || !(await list.innerText()).trim()) problem({ name: "no-scripts" }, path, "a figure shows no text");
    }
    await page.close();
}
await browser.close();

for (const line of problems) console.error(line);
console.log(`${pages.length} pages, opened ${opened} times; figures stepped through ${stepped} times; ${problems.length} problems`);
process.exit(problems.length === 0 ? 0 : 1);
