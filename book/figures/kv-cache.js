// The work triangle: steps down, positions across. The same text is written three times; each step shows which rows it computes,
// which keys they read, and what the cache holds. All counts come from the trace.
window.figures.register("kv-cache", (root, trace, ui) => {
    const runs = new Map([trace, ...trace.others].map((run) => [run.kind, run]));
    let run = trace;

    const columns = trace.pieces.length;
    const [left, top, width, height] = [40, 84, 22, 17];
    const most = Math.max(...[...runs.values()].map((r) => r.steps.length));
    // The second picture: the rows of this step.
    const [edge, above, narrow, thin] = [24, 26, 13, 9];
    const x = (position) => left + position * width;

    const say = (text) => ui.el("p", { style: { margin: "0 0 0.4em" } }, text);
    const picture = ui.el("div", { style: { flex: "1 1 420px", maxWidth: "440px" } });
    const reads = ui.el("div", { style: { flex: "1 1 236px", maxWidth: "248px" } });
    const counts = ui.el("div");
    root.append(
        say("Blue: computed for the first time. Orange with a stroke: computed again. Green with a dot: not computed, its keys and values are kept and read. Ring: the token that is chosen."),
        ui.el("div", { style: { display: "flex", flexWrap: "wrap", gap: "12px", alignItems: "flex-start" } }, picture, reads),
        ui.fold("The numbers", counts));

    const text = (x, y, content, anchor = "start", more = {}) =>
        ui.svg("text", { x, y, "text-anchor": anchor, style: { fontSize: "12.5px", ...more } }, content);
    const colors = { new: ["var(--d-a)", "var(--d-a)"], again: ["var(--d-b-soft)", "var(--d-b)"], kept: ["var(--d-good-soft)", "var(--d-good)"] };

    /** A position in a step, or a key that a row reads. */
    function cell(position, y, high, kind, [from, wide] = [left, width]) {
        const [fill, stroke] = colors[kind];
        const [cx, cy] = [from + (position + 0.5) * wide, y + high / 2];
        const nodes = [ui.svg("rect", { x: from + position * wide, y, width: wide, height: high, fill, stroke: kind === "new" ? "var(--d-bg)" : stroke, "stroke-width": 0.8 })];
        if (kind === "again") nodes.push(ui.svg("path", { d: `M${cx - high / 3} ${cy + high / 3}L${cx + high / 3} ${cy - high / 3}`, stroke, "stroke-width": 1.6 }));
        if (kind === "kept") nodes.push(ui.svg("circle", { cx, cy, r: Math.min(2.6, high / 4), fill: stroke }));
        return nodes;
    }

    const isNaive = () => run.kind === "naive";
    const end = (step) => step.first + step.rows;

    /** What step i does with each position. */
    function row(i) {
        const step = run.steps[i];
        const seen = i === 0 ? 0 : end(run.steps[i - 1]);
        const y = top + i * height;
        const nodes = [];
        for (let p = 0; p < end(step); p++) nodes.push(cell(p, y, height, p < step.first ? "kept" : p < seen ? "again" : "new"));
        if (step.says_token) {
            nodes.push(ui.svg("circle", {
                cx: x(end(step)) + width / 2, cy: y + height / 2, r: height / 2 - 3, fill: "none", stroke: "var(--d-ink)", "stroke-width": 1.6,
            }));
        }
        return nodes;
    }

    function draw(at) {
        const step = run.steps[at];
        const known = end(step) + (step.says_token ? 1 : 0);
        const nodes = [];
        for (let p = 0; p < Math.max(known, trace.prompt_tokens); p++) {
            const [tx, ty] = [x(p) + width / 2 + 4, top - 8];
            const isPrompt = p < trace.prompt_tokens;
            nodes.push(ui.svg("text", {
                x: tx, y: ty, transform: `rotate(-60 ${tx} ${ty})`,
                style: { fontSize: "12.5px", fill: isPrompt ? "var(--d-soft)" : "var(--d-ink)", fontWeight: p === known - 1 && step.says_token ? "bold" : "normal" },
            }, trace.pieces[p]));
        }
        // The field: prompt on the left of the line, answer on the right.
        const bottom = top + run.steps.length * height;
        nodes.push(ui.svg("rect", { x: left, y: top, width: columns * width, height: bottom - top, fill: "none", stroke: "var(--d-line)" }));
        for (let i = 0; i <= at; i++) nodes.push(row(i));
        for (let i = 0; i < run.steps.length; i++) {
            nodes.push(text(left - 8, top + (i + 0.5) * height + 4.5, i + 1, "end", i === at ? { fontWeight: "bold" } : { fill: "var(--d-soft)" }));
        }
        nodes.push(ui.svg("line", { x1: x(trace.prompt_tokens), x2: x(trace.prompt_tokens), y1: top - 4, y2: bottom, stroke: "var(--d-soft)", "stroke-width": 1.5, "stroke-dasharray": "4 3" }));
        nodes.push(ui.svg("rect", { x: left, y: top + at * height, width: columns * width, height, fill: "none", stroke: "var(--d-ink)", "stroke-width": 1.8 }));
        nodes.push(text(4, top - 8, "step"));

        ui.fill(picture, ui.svg("svg", {
            viewBox: `0 0 ${left + columns * width + 28} ${top + most * height + 6}`, role: "img",
            "aria-label": `Step ${at + 1}: positions ${step.first} to ${end(step) - 1} are computed, ${step.first} are kept`,
        }, nodes));
        drawReads(step, at);
    }

    /** A step's rows, one below the other, and the keys that each of them reads. */
    function drawReads(step, at) {
        const nodes = [text(edge, 14, `step ${at + 1}: ${step.rows === 1 ? "a row and its keys" : `${step.rows} rows and their keys`}`)];
        for (let r = 0; r < step.rows; r++) {
            for (let p = 0; p <= step.first + r; p++) nodes.push(cell(p, above + r * thin, thin, p < step.first ? "kept" : "new", [edge, narrow]));
        }
        const rowName = (r) => text(edge - 6, above + (r + 0.5) * thin + 4.5, step.first + r, "end", { fill: "var(--d-soft)" });
        nodes.push(rowName(0), step.rows > 2 ? rowName(step.rows - 1) : null);
        ui.fill(reads, ui.svg("svg", {
            viewBox: `0 0 ${edge + columns * narrow + 4} ${above + (columns - 1) * thin + 6}`, role: "img",
            "aria-label": `${step.keys} pairs of a row and a key are read`,
        }, nodes));
    }

    const sum = (steps, key) => steps.reduce((total, step) => total + step[key], 0);
    const thousands = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f");
    const millions = (n) => (n / 1e6).toFixed(1);

    function count(at) {
        const done = run.steps.slice(0, at + 1);
        const tokens = done.filter((step) => step.says_token).length;
        const naive = runs.get("naive").steps.slice(0, tokens);
        const rows = [
            ["rows computed", "rows", thousands], ["keys read", "keys", thousands], ["million multiply-adds", "multiply_adds", millions],
        ].map(([name, key, show]) => [name, show(run.steps[at][key]), show(sum(done, key)), show(sum(naive, key))]);
        const kept = run.steps[at].kept_bytes / 1024;
        rows.push(["kept, KiB", isNaive() ? "0" : `+${(run.steps[at].rows * trace.bytes_per_position) / 1024}`, kept, "0"]);
        const head = ["", "this step", "so far", `naive, ${tokens} ${tokens === 1 ? "token" : "tokens"}`];
        ui.fill(counts, ui.el("table", { style: { marginTop: "0.6em" } },
            ui.el("thead", {}, ui.el("tr", {}, head.map((name) => ui.el("th", { scope: "col" }, name)))),
            ui.el("tbody", {}, rows.map(([name, ...values]) => ui.el("tr", {},
                ui.el("th", { scope: "row", style: { fontWeight: "normal" } }, name),
                values.map((value) => ui.el("td", { style: { textAlign: "right", fontVariantNumeric: "tabular-nums" } }, value)))))));
    }

    /** What a step computes and what it finds, in words. */
    function sentence(step) {
        const { first, rows } = step;
        const kept = step.kept_bytes / 1024;
        const positions = `positions ${first} to ${end(step) - 1}`;
        const next = step.says_token ? ` The next token: ‹${trace.pieces[end(step)]}›.` : "";
        if (isNaive()) {
            return rows === trace.prompt_tokens
                ? `${rows} rows are computed, and nothing of them is kept.${next}`
                : `${rows} rows are computed; ${rows - 1} of them were computed in the step before.${next}`;
        }
        if (first >= trace.prompt_tokens) {
            return `Decode: one row, position ${first}. It reads ${step.keys} keys, ${first} kept ones and its own. The cache holds ${kept} KiB.${next}`;
        }
        if (run.kind === "cached") return `Prefill: ${rows} rows at once, ${positions}. Their keys and values are kept, ${kept} KiB.${next}`;
        const before = first === 0 ? "nothing is kept yet" : `each also reads the ${first} kept keys`;
        return `Prefill: ${rows} rows, ${positions}; ${before}. After it the cache holds ${kept} KiB.${next || " No token yet."}`;
    }

    const stepper = ui.stepper({
        steps: run.steps,
        label: "Step",
        render(at) { draw(at); count(at); return sentence(run.steps[at]); },
    });
    const choose = (kind) => {
        run = runs.get(kind);
        stepper.reset(run.steps, stepper.index);
    };
    const loop = ui.select({
        label: "The loop",
        options: [["naive", "naive, as in lesson 05"], ["cached", "with a cache"], ["chunked", "with a cache, the prompt in chunks of 3"]],
        value: run.kind,
        change: choose,
    });

    const rowsOf = (kind) => sum(runs.get(kind).steps, "rows");
    const texts = trace.steps.length;
    ui.guess({
        question: `With a cache ${texts} tokens cost ${rowsOf("cached")} rows. How many does lesson 05's loop compute?`,
        options: [2 * rowsOf("cached"), trace.prompt_tokens * texts, rowsOf("naive")].map(String),
        answer: 2,
        because: "Each step begins again at the first position, and the text grows. Go back step by step and look for orange.",
        done() {
            loop.element.value = loop.element.options[0].value;
            choose("naive");
            stepper.go(runs.get("naive").steps.length - 1);
        },
    });
});
