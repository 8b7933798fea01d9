// Opens every page of the built book in Chromium, from its folder, as a reader would: wide and narrow, light and dark.
//
//   node book/tests/browser.mjs [--book FOLDER] [--shots FOLDER] [--only WORD]
//
// Fails when a page writes an error to the console, asks for a file that is not there or for anything outside the book, or
// is wider than the phone; when a code block has to be scrolled on a desktop; when an interactive figure does not start, does
// not step to its end and back by keyboard, says the same sentence twice in a row, or is higher than a screen; when axe finds a
// breach of WCAG 2 A or AA; when a text of a picture is pale or cut off; when paper would have blank pages; when the first Tab does not lead past the table of
// contents; when the search finds nothing. --shots saves pictures of every page.
import { readdirSync, readFileSync, mkdirSync, existsSync } from "node:fs";
import { createRequire } from "node:module";
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
    { name: "desktop-light", viewport: { width: 1280, height: 800 }, colorScheme: "light" },
    { name: "desktop-dark", viewport: { width: 1280, height: 800 }, colorScheme: "dark" },
    { name: "phone-light", viewport: { width: 390, height: 844 }, colorScheme: "light", isMobile: true, hasTouch: true },
    { name: "phone-dark", viewport: { width: 390, height: 844 }, colorScheme: "dark", isMobile: true, hasTouch: true },
];

/** An interactive figure with picture, sentence and buttons is seen whole on a desktop. */
const MAX_FIGURE_HEIGHT = 700;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

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

/** Code blocks that have to be scrolled sideways. */
const longCode = () => [...document.querySelectorAll("main pre")].flatMap((pre) => {
    const isLong = [pre, ...pre.children].some((box) => box.scrollWidth > box.clientWidth + 1);
    return isLong ? [`code has to be scrolled: ${pre.textContent.trim().slice(0, 60)}`] : [];
});

/** Texts of charts and drawings that the edge of their picture cuts off. */
const cutTexts = () => [...document.querySelectorAll("main :is(.chart, .drawing) svg")].flatMap((svg) => {
    const frame = svg.getBoundingClientRect();
    const isCut = (box) => box.width > 0 && (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1);
    const name = (svg.getAttribute("aria-label") || "").slice(0, 40);
    return [...svg.querySelectorAll("text")].filter((text) => isCut(text.getBoundingClientRect())).map((text) => `picture "${name}": "${text.textContent}" is cut off`);
});

/** Texts of charts and drawings that stand out too little from what lies under them; axe does not look into pictures. */
const paleTexts = () => {
    const read = (color) => (color.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
    const over = ([r, g, b, a = 1], under) => [r, g, b].map((part, i) => part * a + under[i] * (1 - a));
    const light = (color) => color.map((part) => part / 255).map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
        .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
    const opacity = (node) => (node instanceof Element ? Number(getComputedStyle(node).opacity) * opacity(node.parentNode) : 1);
    /** The colour with which a node covers what is below it; null where it covers nothing. */
    const cover = (node) => {
        const style = getComputedStyle(node);
        if (!(node instanceof SVGElement) || node instanceof SVGSVGElement) return style.backgroundColor;
        return /^(text|tspan|g|a)$/.test(node.tagName) || style.fill === "none" ? null : style.fill;
    };
    const seen = (color, node, own, under) => {
        const [r, g, b, a = 1] = read(color);
        return over([r, g, b, a * own * opacity(node)], under);
    };
    const said = [];
    for (const svg of document.querySelectorAll("main :is(.chart, .drawing) svg")) {
        svg.scrollIntoView({ block: "center", inline: "center" });
        for (const text of svg.querySelectorAll("text")) {
            let box = text.getBoundingClientRect();
            if (box.width === 0) continue;
            if (box.top < 60 || box.bottom > window.innerHeight) {
                text.scrollIntoView({ block: "center", inline: "center" });
                box = text.getBoundingClientRect();
            }
            const style = getComputedStyle(text);
            const nodes = document.elementsFromPoint(box.left + box.width / 2, box.top + box.height / 2);
            let under = nodes.reverse().reduce((below, node) => {
                const color = cover(node);
                return color === null ? below : seen(color, node, node instanceof SVGSVGElement || !(node instanceof SVGElement) ? 1 : Number(getComputedStyle(node).fillOpacity), below);
            }, [255, 255, 255]);
            // A rim in the colour of the paper is drawn first and covers the lines below.
            if (style.stroke !== "none" && style.paintOrder.startsWith("stroke")) under = seen(style.stroke, text, Number(style.strokeOpacity), under);
            const [dark, pale] = [light(seen(style.fill, text, Number(style.fillOpacity), under)), light(under)].sort((a, b) => a - b);
            const ratio = (pale + 0.05) / (dark + 0.05);
            const size = Number.parseFloat(style.fontSize) * (box.width > 0 && svg.viewBox.baseVal.width ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1);
            if (ratio < (size >= 24 ? 3 : 4.5)) said.push(`picture "${(svg.getAttribute("aria-label") || "").slice(0, 40)}": "${text.textContent}" has a contrast of ${ratio.toFixed(2)}`);
        }
    }
    return said;
};

/** What makes blank pages on paper: a fixed box repeats on each page, and a title that breaks the page again after mdBook did. */
const blankPaper = () => {
    const isFixed = (node) => getComputedStyle(node).position === "fixed" && node.getClientRects().length > 0;
    const fixed = [...document.querySelectorAll("body *")].filter(isFixed).map((node) => `on paper <${node.tagName.toLowerCase()} class="${node.className}"> repeats on each page`);
    const titles = [...document.querySelectorAll("main h1")].filter((title) => getComputedStyle(title).breakBefore !== "auto");
    return fixed.concat(titles.map((title) => `on paper a blank page precedes "${title.textContent}"`));
};

/** What axe says against a page. The rules that do not depend on the theme are tried once. */
async function breaches(page, isDark) {
    await page.evaluate(axe);
    return page.evaluate(async (isDark) => {
        const rules = isDark ? { type: "rule", values: ["color-contrast", "link-in-text-block"] } : { type: "tag", values: ["wcag2a", "wcag2aa"] };
        const { violations } = await window.axe.run(document, { runOnly: rules, resultTypes: ["violations"], preload: false });
        return violations.flatMap(({ id, nodes }) => nodes.map((node) => {
            const why = [...node.any, ...node.all, ...node.none].map((check) => check.message)[0] || "";
            return `axe, ${id}: ${node.target.join(" ")}: ${why.slice(0, 160)}`;
        }));
    }, isDark);
}

/** The first Tab of a page leads to a link past the table of contents, and that link into the text. */
async function skips(page, look, path) {
    const focused = () => page.evaluate(() => {
        const { tagName, className } = document.activeElement;
        return `${tagName.toLowerCase()}.${className}`;
    });
    await page.keyboard.press("Tab");
    if (await focused() !== "a.skip-link") return problem(look, path, `the first Tab leads to ${await focused()}`);
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    if (!await page.evaluate(() => document.querySelector("main").contains(document.activeElement))) problem(look, path, `the link to the text leads to ${await focused()}`);
}

/** Steps a figure to its end and back with the arrow keys; its sentence must change at each step. */
async function stepThrough(figure, look, path) {
    const name = await figure.getAttribute("data-figure");
    const say = (text) => problem(look, path, `figure ${name}: ${text}`);
    if (await figure.getAttribute("data-state") !== "ready") return say("did not start");
    const steps = Number(await figure.getAttribute("data-steps"));
    if (!(steps >= 2)) return say(`has ${steps} steps`);
    const sentence = () => figure.locator(".figure-text").innerText();
    const heights = [];
    const measure = async () => heights.push(await figure.evaluate((node) => Math.ceil(node.getBoundingClientRect().height)));
    await measure();
    await figure.focus();
    await figure.press("Home");
    await measure();
    const first = await sentence();
    if (!first.trim()) say("says nothing at step 1");
    let before = first;
    for (let i = 1; i < steps; i++) {
        await figure.press("ArrowRight");
        const at = Number(await figure.getAttribute("data-step"));
        const now = await sentence();
        if (at !== i) return say(`the right arrow led to step ${at + 1}, not ${i + 1}`);
        if (i === Math.floor(steps / 2) || i === steps - 1) await measure();
        if (now === before) say(`says the same at steps ${i} and ${i + 1}`);
        before = now;
    }
    if (!look.isMobile && Math.max(...heights) > MAX_FIGURE_HEIGHT) say(`is ${Math.max(...heights)} px high (as it opens, first, middle, last step: ${heights.join(", ")}), at most ${MAX_FIGURE_HEIGHT}`);
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
    const found = await page.locator("#mdbook-searchresults li > a").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
    const firstNote = found.findIndex((link) => link.includes("teaching/"));
    if (!found[0]?.includes("glossary") || (firstNote >= 0 && found.slice(firstNote).some((link) => !link.includes("teaching/")))) {
        problem(look, path, `the search does not begin with the glossary and end with the notes for teachers: ${found.join(", ")}`);
    }
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
        const isPaper = path.endsWith("print.html");
        const isDark = settings.colorScheme === "dark";
        // What is folded is measured too; figures fold their own tables.
        await page.evaluate(() => { for (const fold of document.querySelectorAll("main details")) fold.open = !fold.closest("figure.interactive"); });
        const wide = await page.evaluate(overflowing);
        if (wide) problem(look, path, wide);
        for (const text of await page.evaluate(outOfFigure)) problem(look, path, text);
        const theme = await page.evaluate(() => document.documentElement.className);
        if (theme.includes("navy") !== isDark) problem(look, path, `is drawn as ${theme}`);
        const said = [];
        if (!isPaper && !settings.isMobile) {
            if (!isDark) said.push(...await page.evaluate(longCode));
            said.push(...await page.evaluate(paleTexts), ...await breaches(page, isDark));
        }
        if (!isPaper && !isDark) said.push(...await page.evaluate(cutTexts));
        if (isPaper) {
            await page.emulateMedia({ media: "print" });
            said.push(...await page.evaluate(blankPaper));
        }
        for (const text of said) problem(look, path, text);
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
    if (!settings.isMobile) await skips(page, look, path);
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
