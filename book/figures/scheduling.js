// The budget packer: the rows of each request in each step, which requests wait or are preempted, and what that does to the gaps between tokens.
//
// Every choice was recorded from the engine of lesson 11. A step is written as `23A1B1c8-D`: it takes 23 units; A and B get a row and a token each;
// C gets eight rows and no token yet; D is preempted (`~D`: to the host pool). What a request keeps follows from that.
window.figures.register("scheduling", (root, trace, ui) => {
    const NAMES = "ABCDEFGH";
    const requests = trace.requests;
    const CLASSES = ["urgent", "normal", "patient"];

    // --- a run, played from its steps

    const read = (text) => {
        const [, units] = text.match(/^(\d+)/);
        const rows = [...text.matchAll(/([A-Ha-h])(\d+)/g)].map(([, letter, rows]) => ({
            who: NAMES.indexOf(letter.toUpperCase()), rows: Number(rows), hasToken: letter === letter.toUpperCase(),
        }));
        const back = [...text.matchAll(/([-~])([A-H])/g)].map(([, how, letter]) => ({ who: NAMES.indexOf(letter), isSwapped: how === "~" }));
        return { units: Number(units), rows, back };
    };

    /** The steps of a run with all that is drawn of them. */
    function play(text) {
        let now = 0;
        const states = requests.map(() => ({ isIn: false, kept: 0, stored: 0, produced: 0, most: 0, taken: 0 }));
        const isOver = (who) => states[who].produced === requests[who].new;
        return text.split(" ").map(read).map((step) => {
            const is = { began: now, units: step.units, rows: [], back: [], joined: [], returned: [], ended: [], sitsOut: [], waits: [], stored: [] };
            for (const { who, isSwapped } of step.back) {
                const state = states[who];
                is.back.push({ who, isSwapped, tokens: state.kept });
                Object.assign(state, { isIn: false, stored: isSwapped ? state.kept : 0, kept: 0 });
            }
            for (const { who, rows, hasToken } of step.rows) {
                const state = states[who];
                if (!state.isIn && state.stored > 0) {
                    is.returned.push(who);
                    state.kept = state.stored;
                    state.stored = 0;
                } else if (!state.isIn) is.joined.push(who);
                // Admission takes the blocks of all known tokens.
                if (!state.isIn) state.taken = requests[who].prompt + state.produced;
                state.isIn = true;
                const missing = requests[who].prompt + state.produced - state.kept;
                is.rows.push({ who, rows, missing, hasToken, isAgain: state.kept < state.most });
                state.kept += rows;
                state.most = Math.max(state.most, state.kept);
                if (hasToken) state.produced += 1;
                if (isOver(who)) is.ended.push(who);
            }
            is.held = states.map((state) => (state.isIn ? Math.ceil(Math.max(state.kept, state.taken) / trace.block_size) : 0));
            for (const who of is.ended) Object.assign(states[who], { isIn: false, kept: 0 });
            states.forEach((state, who) => {
                if (state.isIn && !step.rows.some((row) => row.who === who)) is.sitsOut.push(who);
                if (requests[who].at <= now && !isOver(who) && !state.isIn) is.waits.push(who);
                if (state.stored > 0) is.stored.push({ who, tokens: state.stored });
            });
            now += step.units;
            return is;
        });
    }

    const list = (who) => {
        const names = who.map((i) => NAMES[i]);
        return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;
    };
    const verb = (who, one, many) => (who.length === 0 ? "" : ` ${list(who)} ${who.length === 1 ? one : many}.`);
    const told = (step, i) => `Step ${i + 1}, ${step.units} units: `
        + `${step.rows.map(({ who, rows, missing }) => (missing === 1 ? `${NAMES[who]} 1` : `${NAMES[who]} ${rows} of ${missing}`)).join(", ")}.`
        + step.back.map(({ who, isSwapped, tokens }) => ` ${NAMES[who]} is preempted and ${isSwapped ? "copies" : "forgets"} ${tokens}.`).join("")
        + verb(step.joined, "joins", "join")
        + verb(step.returned, "comes back from the pool", "come back from the pool")
        + verb(step.ended, "has all its tokens", "have all their tokens")
        + verb(step.sitsOut, "sits out", "sit out")
        + verb(step.waits, "waits", "wait");

    /** Times of the tokens of each request, and how long they waited for each other. */
    function measured(steps) {
        const tokens = requests.map(() => []);
        for (const step of steps) for (const { who, hasToken } of step.rows) if (hasToken) tokens[who].push(step.began + step.units);
        return tokens.map((times, who) => ({
            times,
            first: times[0] - requests[who].at,
            gaps: times.slice(1).map((time, i) => time - times[i]),
            done: times[times.length - 1] - requests[who].at,
            back: steps.reduce((sum, step) => sum + step.back.filter((back) => back.who === who).length, 0),
        }));
    }

    // --- what is chosen

    const kinds = ["budgets", "chunks", "policies", "memories", "preemptions"];
    const at = Object.fromEntries(kinds.map((kind) => [kind, 0]));
    let steps;
    let numbers;
    let followed = null;
    const choose = () => {
        const index = kinds.reduce((index, kind) => index * trace[kind].length + at[kind], 0);
        steps = play(trace.runs[trace.chosen[index]]);
        numbers = measured(steps);
    };
    const blocks = () => trace.memories[at.memories].value;
    const budget = () => trace.budgets[at.budgets].value;

    // --- what is shown

    const totals = ui.el("p", { style: { margin: "0 0 8px", lineHeight: "1.5" } });
    const packer = ui.el("div");
    const picture = ui.el("div", { style: { overflowX: "auto" } });
    const gaps = ui.el("p", { style: { margin: "6px 0 0", color: "var(--d-soft)", fontSize: "0.86em", lineHeight: "1.35", minHeight: "2.7em" } });
    const table = ui.el("table", { style: { width: "100%", maxWidth: "620px", borderCollapse: "collapse" } });
    const fold = ui.fold("Times of each request; a letter follows it", table);
    root.append(totals, packer, picture, gaps, fold);

    const text = (x, y, children, more) => ui.svg("text", { x, y, ...more }, children);
    const small = "font-size:13px";
    const soft = `fill:var(--d-soft);${small}`;

    /** The colours of a request's rows: pale for a token, dark for a prompt, the other colour for what is computed once more. */
    function look({ missing, isAgain }) {
        if (isAgain && missing > 1) return { fill: "var(--d-b)", stroke: "var(--d-b)", letter: "var(--d-bg)", weight: 600 };
        if (missing > 1) return { fill: "var(--d-a)", stroke: "var(--d-a)", letter: "var(--d-bg)", weight: 600 };
        return { fill: "var(--d-a-soft)", stroke: "var(--d-a)", letter: "var(--d-ink)", weight: 400 };
    }

    const LEFT = 62;
    const CELL = 18;
    const PER_LINE = window.matchMedia("(max-width: 600px)").matches ? 16 : 32;
    const WIDE = LEFT + PER_LINE * CELL + 2;
    const spot = (i, top) => ({ x: LEFT + (i % PER_LINE) * CELL + 1, y: top + 1 + Math.floor(i / PER_LINE) * (CELL + 3), width: CELL - 2, height: CELL });
    const letterAt = ({ x, y }, letter, style) => text(x + CELL / 2 - 1, y + 13.5, letter, { "text-anchor": "middle", style: `${small};${style}` });

    /** The rows of one step in the cells of its budget, and the blocks that are held after it. */
    function drawPacker(step) {
        const nodes = [];
        const used = step.rows.reduce((sum, row) => sum + row.rows, 0);
        const cells = Math.max(budget(), used);
        nodes.push(text(0, 14, "rows", { style: small }));
        let i = 0;
        for (const row of step.rows) {
            const { fill, stroke, letter, weight } = look(row);
            for (let k = 0; k < row.rows; k += 1, i += 1) {
                const place = spot(i, 0);
                nodes.push(ui.svg("rect", { ...place, rx: 2, fill, stroke }), letterAt(place, NAMES[row.who], `fill:${letter};font-weight:${weight}`));
            }
        }
        for (; i < cells; i += 1) nodes.push(ui.svg("rect", { ...spot(i, 0), rx: 2, fill: "none", stroke: "var(--d-line)", "stroke-dasharray": "3 3" }));
        // The same height in all steps, so that nothing jumps.
        const most = Math.max(budget(), ...steps.map((other) => other.rows.reduce((sum, row) => sum + row.rows, 0)));
        let top = Math.ceil(most / PER_LINE) * (CELL + 3) + 10;
        nodes.push(text(0, top + 14, "blocks", { style: small }));
        const owners = step.held.flatMap((count, who) => Array.from({ length: count }, () => who));
        for (let i = 0; i < blocks(); i += 1) {
            const place = spot(i, top);
            const isHeld = i < owners.length;
            nodes.push(ui.svg("rect", { ...place, rx: 2, fill: isHeld ? "var(--d-good-soft)" : "none", stroke: isHeld ? "var(--d-good)" : "var(--d-line)", "stroke-dasharray": isHeld ? null : "3 3" }));
            if (isHeld) nodes.push(letterAt(place, NAMES[owners[i]], ""));
        }
        top += Math.ceil(blocks() / PER_LINE) * (CELL + 3) + 9;
        if (trace.preemptions[at.preemptions].value === "swap") {
            nodes.push(text(0, top + 14, "host pool", { style: small }));
            const stored = step.stored.flatMap(({ who, tokens }) => Array.from({ length: Math.ceil(tokens / trace.block_size) }, () => who));
            stored.forEach((who, i) => {
                const place = spot(i, top);
                nodes.push(ui.svg("rect", { ...place, rx: 2, fill: "var(--d-b-soft)", stroke: "var(--d-b)" }), letterAt(place, NAMES[who], ""));
            });
            if (stored.length === 0) nodes.push(text(LEFT + 2, top + 14, "empty", { style: soft }));
            // The same height in all steps: the most that the pool ever holds.
            const most = Math.max(1, ...steps.map((other) => other.stored.reduce((sum, { tokens }) => sum + Math.ceil(tokens / trace.block_size), 0)));
            top += Math.ceil(most / PER_LINE) * (CELL + 3) + 9;
        }
        const share = budget() === 0 ? `${used} rows, no bound` : `${used} of ${budget()} rows`;
        ui.fill(packer, ui.svg("svg", {
            viewBox: `0 0 ${WIDE} ${top}`, role: "img", style: `max-width:${WIDE * 1.05}px`,
            "aria-label": `${share}; ${owners.length} of ${blocks()} blocks are held`,
        }, nodes));
    }

    const LINE = 24;
    /** A line for each request; a step is as wide as it is long. */
    function drawTimeline(index) {
        const end = steps[steps.length - 1].began + steps[steps.length - 1].units;
        const scale = Math.max(0.8, Math.min(1.05, 640 / end));
        const x = (time) => LEFT + time * scale;
        const y = (who) => 5 + who * LINE;
        const high = y(requests.length) + 24;
        const wide = x(end) + 6;
        const nodes = [ui.svg("rect", { x: x(steps[index].began), y: 0, width: steps[index].units * scale, height: high - 4, rx: 4, fill: "var(--d-fill)", opacity: 0.75 })];
        requests.forEach((request, who) => {
            const isFollowed = who === followed;
            nodes.push(text(0, y(who) + 16, `${NAMES[who]}`, { style: `font-weight:600;fill:var(--d-${isFollowed ? "b" : "ink"})` }));
            nodes.push(text(16, y(who) + 16, `${request.prompt}+${request.new}`, { style: isFollowed ? `${small};fill:var(--d-b)` : soft }));
            const joins = steps.find((step) => step.rows.some((row) => row.who === who));
            const from = Math.max(request.at, 0);
            nodes.push(ui.svg("path", { d: `M${x(from)} ${y(who) + 4}v14`, stroke: "var(--d-soft)", "stroke-width": 2 }));
            if (joins && joins.began > from) nodes.push(ui.svg("path", { d: `M${x(from)} ${y(who) + 11}H${x(joins.began)}`, stroke: "var(--d-soft)", "stroke-dasharray": "2 4" }));
        });
        steps.forEach((step, i) => {
            const opacity = i <= index ? 1 : 0.4;
            const box = (who) => ({ x: x(step.began) + 0.5, y: y(who) + 1, width: step.units * scale - 1, height: LINE - 6, rx: 3 });
            for (const row of step.rows) {
                const { fill, stroke, letter, weight } = look(row);
                nodes.push(ui.svg("rect", { ...box(row.who), fill: "var(--d-panel)" }), ui.svg("rect", { ...box(row.who), fill, stroke, opacity }));
                nodes.push(text(x(step.began + step.units / 2), y(row.who) + 15, row.rows, { "text-anchor": "middle", opacity: i <= index ? 1 : 0.7, style: `${small};font-weight:${weight};fill:${letter}` }));
                if (row.hasToken) nodes.push(ui.svg("circle", { cx: x(step.began + step.units) - 1, cy: y(row.who) + LINE - 4, r: 2.6, opacity, fill: row.who === followed ? "var(--d-b)" : "var(--d-ink)" }));
            }
            for (const who of step.sitsOut) nodes.push(ui.svg("rect", { ...box(who), fill: "none", stroke: "var(--d-a)", "stroke-dasharray": "3 3", opacity }));
            for (const { who } of step.back) {
                nodes.push(ui.svg("path", { d: `M${x(step.began) + 3} ${y(who) + 5}l10 10m0 -10l-10 10`, stroke: "var(--d-bad)", "stroke-width": 2.4, fill: "none", opacity }));
            }
            for (const who of step.waits) {
                const wasIn = steps.slice(0, i).some((other) => other.rows.some((row) => row.who === who));
                if (!wasIn) continue;
                const isStored = step.stored.some((stored) => stored.who === who);
                const from = step.back.some((back) => back.who === who) ? 17 : 0;
                nodes.push(ui.svg("path", { d: `M${x(step.began) + from} ${y(who) + 11}H${x(step.began + step.units)}`, stroke: isStored ? "var(--d-b)" : "var(--d-bad)", "stroke-width": isStored ? 3 : 1.5, "stroke-dasharray": isStored ? null : "4 4", opacity }));
            }
        });
        nodes.push(text(0, high - 6, "time", { style: soft }));
        for (let time = 0; time <= end; time += 100) nodes.push(text(x(time), high - 6, time, { "text-anchor": time === 0 ? "start" : "middle", style: soft }));
        ui.fill(picture, ui.svg("svg", {
            viewBox: `0 0 ${wide} ${high}`, role: "img", style: `max-width:${wide * 1.02}px`,
            "aria-label": `${steps.length} steps in ${end} units of time`,
        }, nodes));
        // Where the drawing is wider than its place, the step stays in sight.
        picture.scrollLeft = (picture.scrollWidth * x(steps[index].began + steps[index].units / 2)) / wide - picture.clientWidth / 2;
    }

    const rows = [];
    function drawTable() {
        const edge = { padding: "2px 5px", border: "none", verticalAlign: "middle" };
        const head = (words, align) => ui.el("th", { style: { ...edge, textAlign: align, fontWeight: "600" } }, words);
        const cell = (align, ...words) => ui.el("td", { style: { ...edge, textAlign: align } }, words);
        const body = requests.map((request, who) => {
            const name = ui.el("button", {
                type: "button", title: `Follow request ${NAMES[who]}`, "aria-label": `Follow request ${NAMES[who]}`,
                onclick: () => { followed = followed === who ? null : who; stepper.refresh(); },
                style: { font: "inherit", fontWeight: "600", minWidth: "2.4em", minHeight: "2.1em", borderRadius: "4px", cursor: "pointer" },
            }, NAMES[who]);
            const row = { name, first: cell("right"), gap: cell("right"), done: cell("right"), back: cell("right") };
            rows.push(row);
            return ui.el("tr", { style: { border: "none", background: "none" } },
                cell("left", name), cell("left", `${CLASSES[request.class]}, ${request.tenant}`), row.first, row.gap, row.done, row.back);
        });
        ui.fill(table,
            ui.el("thead", {}, ui.el("tr", { style: { border: "none" } }, head("", "left"), head("class, tenant", "left"), head("first token", "right"),
                head("longest gap", "right"), head("done after", "right"), head("preempted", "right"))),
            ui.el("tbody", {}, body));
    }
    function fillTable() {
        const worst = Math.max(...numbers.map((number) => Math.max(...number.gaps)));
        rows.forEach((row, who) => {
            const isFollowed = who === followed;
            row.name.setAttribute("aria-pressed", String(isFollowed));
            Object.assign(row.name.style, {
                color: isFollowed ? "var(--d-bg)" : "var(--d-ink)", background: isFollowed ? "var(--d-b)" : "var(--d-bg)",
                border: `1px solid ${isFollowed ? "var(--d-b)" : "var(--d-line)"}`,
            });
            const gap = Math.max(...numbers[who].gaps);
            ui.fill(row.first, numbers[who].first);
            ui.fill(row.gap, gap === worst ? ui.el("strong", {}, gap) : gap);
            ui.fill(row.done, numbers[who].done);
            ui.fill(row.back, numbers[who].back === 0 ? "" : numbers[who].back);
        });
    }

    function drawGaps(index) {
        if (followed === null) {
            ui.fill(gaps, "A number is the rows that a request gets in a step; a dot under its end is a token. Dark: a prompt. Pale: a stream. ",
                "Dotted: waits. Cross: preempted; what is computed once more, or lies in the host pool, has the other colour. Open the table and press a letter to see the gaps between its tokens.");
            return;
        }
        const now = steps[index].began + steps[index].units;
        const { times, gaps: all, first } = numbers[followed];
        const known = times.filter((time) => time <= now).length;
        const shown = known < 1 ? "no token yet" : `first token after ${first}, then gaps of ${all.slice(0, known - 1).join(", ") || "…"}`;
        ui.fill(gaps, ui.el("strong", { style: { color: "var(--d-b)" } }, `${NAMES[followed]}: `), shown);
    }

    function draw(index) {
        const rows = steps.reduce((sum, step) => sum + step.rows.reduce((sum, row) => sum + row.rows, 0), 0);
        const again = rows - requests.reduce((sum, request) => sum + request.prompt + request.new - 1, 0);
        const end = steps[steps.length - 1].began + steps[steps.length - 1].units;
        const worst = Math.max(...numbers.map((number) => Math.max(...number.gaps)));
        ui.fill(totals, ui.el("strong", {}, `${steps.length} steps, ${end} units of time`), `, ${rows} rows`, again > 0 ? ` (${again} of them once more)` : "",
            `; longest gap between two tokens ${worst}`);
        drawPacker(steps[index]);
        drawTimeline(index);
        drawGaps(index);
        fillTable();
    }

    choose();
    drawTable();
    const stepper = ui.stepper({
        steps: steps.length,
        // Step 3 of lesson 08's schedule: both streams wait for a prompt.
        start: 2,
        render(i) { draw(i); return told(steps[i], i); },
    });
    const labels = { budgets: "budget", chunks: "chunk", policies: "order", memories: "memory", preemptions: "preempted by" };
    for (const kind of kinds) {
        ui.select({
            label: labels[kind],
            options: trace[kind].map((choice, i) => [String(i), choice.name]),
            change(i) { at[kind] = Number(i); choose(); stepper.reset(steps.length, Math.min(stepper.index, steps.length - 1)); },
        });
    }
});
