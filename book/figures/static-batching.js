// What a row costs: a queue of requests, served in batches. How often the weights are read, how many cells are padding, and how long
// the steps take on a machine that does so many multiply-adds while it reads one byte.
window.figures.register("static-batching", (root, trace, ui) => {
    const { model, queues } = trace;
    let queue = queues[0].name;
    let rule = "own";
    let balance = 6; // multiply-adds of the machine for each byte that it reads
    const runOf = (r) => trace.runs.find((run) => run.queue === queue && run.rule === r);
    const stepsOf = (r) => (runOf(r).steps.length > 0 ? runOf(r).steps : trace.steps);

    // Queue and bars stand side by side where there is room.
    const picture = ui.el("div", { style: { flex: "1 1 380px", maxWidth: "400px" } });
    const bars = ui.el("div", { style: { flex: "1 1 260px", maxWidth: "320px" } });
    const numbers = ui.el("div");
    root.append(ui.el("div", { style: { display: "flex", flexWrap: "wrap", gap: "14px", alignItems: "flex-start" } }, picture, bars), ui.fold("The numbers", numbers));

    const text = (x, y, content, anchor = "start", attrs = {}) =>
        ui.svg("text", { x, y, "text-anchor": anchor, fill: "var(--d-ink)", style: { fontSize: "14px" }, ...attrs }, content);
    const box = (x, y, width, height, fill, attrs = {}) => ui.svg("rect", { x, y, width, height, fill, ...attrs });
    const whole = (n) => Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, " ");
    const short = (n) => (n >= 100 ? whole(n) : n.toFixed(1));
    const sum = (list, of) => list.reduce((total, item) => total + of(item), 0);

    /** Times of all passes of a step, in readings of the weights: the longer of reading and arithmetic counts, pass by pass. */
    function times(step, phase) {
        const read = (batch) => batch[phase].bytes / model.weight_bytes;
        const compute = (batch) => batch[phase].multiply_adds / balance / model.weight_bytes;
        return {
            reading: sum(step.batches, read),
            arithmetic: sum(step.batches, compute),
            time: sum(step.batches, (batch) => Math.max(read(batch), compute(batch))),
        };
    }

    /** Useful and padded cells of all batches. The lengths stand in the order in which the batches take them. */
    function cells(step) {
        const unsorted = queues.find((q) => q.name === queue).lengths;
        const lengths = runOf(rule).order.map((request) => unsorted[request]);
        const all = sum(step.batches, (batch) => batch.width * batch.requests);
        const useful = sum(lengths, (length) => length);
        return { lengths, all, useful, padded: all - useful, share: (100 * useful) / all };
    }

    /** One line a request: its tokens as a thick bar, its padding as a thin one; a bracket holds the rows of a batch together. */
    function drawQueue(step) {
        const { lengths } = cells(step);
        const [left, top, pitch, scale] = [14, 24, 3.6, 330 / trace.max_width];
        const nodes = [text(left, 15, `${lengths.length} requests, by ${step.size}`), text(left + 330, 15, `${trace.max_width} tokens`, "end", { fill: "var(--d-soft)" })];
        let y = top, request = 0;
        for (const batch of step.batches) {
            const height = batch.requests * pitch;
            nodes.push(ui.svg("path", {
                d: `M${left - 4} ${y + 0.5}h-6v${height - 1.5}h6`, fill: "none", stroke: "var(--d-ink)", "stroke-width": batch.requests > 1 ? 1.3 : 0.8,
            }));
            for (const length of lengths.slice(request, request + batch.requests)) {
                const useful = length * scale;
                nodes.push(box(left, y + 0.5, useful, pitch - 1, "var(--d-a)"));
                if (batch.width > length) nodes.push(box(left + useful, y + 1.3, batch.width * scale - useful, 1.5, "var(--d-b)"));
                y += pitch;
            }
            request += batch.requests;
        }
        const legend = y + 20;
        nodes.push(box(left, legend - 9, 16, 6, "var(--d-a)"), text(left + 22, legend, "tokens"),
            box(left + 84, legend - 7, 16, 2.2, "var(--d-b)"), text(left + 106, legend, "padding"),
            ui.svg("path", { d: `M${left + 182} ${legend - 12}h-6v12h6`, fill: "none", stroke: "var(--d-ink)", "stroke-width": 1.3 }), text(left + 190, legend, "one batch"));
        const { useful, padded } = cells(step);
        ui.fill(picture, ui.svg("svg", {
            viewBox: `0 0 348 ${legend + 8}`, role: "img",
            "aria-label": `${step.batches.length} batches of up to ${step.size} requests; ${useful} cells hold tokens, ${padded} are padding`,
        }, nodes));
    }

    /** Reading, arithmetic and the time that follows, for the prompts and for one token each. */
    function drawBars(step) {
        const widest = { prefill: 0, decode: 0 };
        for (const r of ["own", "global", "buckets"]) {
            for (const other of stepsOf(r)) {
                for (const phase of ["prefill", "decode"]) {
                    const t = times(other, phase);
                    widest[phase] = Math.max(widest[phase], t.reading, t.arithmetic, t.time);
                }
            }
        }
        const nodes = [];
        let y = 16;
        for (const [phase, title] of [["prefill", "all prompts"], ["decode", "then one token for each"]]) {
            const t = times(step, phase);
            nodes.push(text(0, y, title, "start", { "font-weight": "bold" }));
            for (const [name, value, color] of [["reading", t.reading, "var(--d-a)"], ["arithmetic", t.arithmetic, "var(--d-b)"], ["time", t.time, "var(--d-ink)"]]) {
                y += 20;
                const width = Math.max(1, (170 * value) / widest[phase]);
                nodes.push(text(76, y, name, "end"), box(84, y - 11, width, 12, color), text(84 + width + 6, y, short(value)));
            }
            y += 34;
        }
        nodes.push(text(0, y - 6, "unit: one reading of the weights", "start", { fill: "var(--d-soft)" }));
        ui.fill(bars, ui.svg("svg", { viewBox: `0 0 300 ${y + 4}`, role: "img", "aria-label": "Reading, arithmetic and time, in readings of the weights" }, nodes));
    }

    function drawNumbers(step) {
        const { useful, padded, share } = cells(step);
        const one = stepsOf(rule)[0];
        const faster = (phase) => `${short(times(one, phase).time / times(step, phase).time)} ×`;
        const row = (name, ...values) => ui.el("tr", {}, ui.el("th", { scope: "row" }, name), values.map((v) => ui.el("td", { style: { whiteSpace: "nowrap" } }, v)));
        const megabytes = (bytes) => `${whole(bytes / 1e6)} MB`;
        const millions = (phase) => `${whole(sum(step.batches, (b) => b[phase].multiply_adds) / 1e6)} M`;
        const passes = step.batches.length;
        const rest = (phase) => megabytes(sum(step.batches, (b) => b[phase].bytes) - passes * model.weight_bytes);
        ui.fill(numbers, ui.el("table", {},
            ui.el("thead", {}, ui.el("tr", {}, ["", "all prompts", "one token each"].map((name) => ui.el("th", { scope: "col" }, name)))),
            ui.el("tbody", {},
                row("passes", passes, passes),
                row("weights read", megabytes(passes * model.weight_bytes), megabytes(passes * model.weight_bytes)),
                row("keys and values read", "–", rest("decode")),
                row("rows computed", whole(useful + padded), trace.requests),
                row("of them padding", `${whole(padded)} (${Math.round(100 - share)} %)`, 0),
                row("multiply-adds", millions("prefill"), millions("decode")),
                row("tokens a second, against batches of 1", faster("prefill"), faster("decode")))));
    }

    function told(step) {
        const { share } = cells(step);
        const decode = times(step, "decode");
        const gain = times(stepsOf(rule)[0], "decode").time / decode.time;
        const passes = step.batches.length === 1 ? "1 pass" : `${step.batches.length} passes`;
        const waits = decode.arithmetic > decode.reading ? "arithmetic" : "memory";
        return `Batches of ${step.size}: ${passes}. Of the prompts' cells ${Math.round(share)} % are useful. One token for each of the `
            + `${trace.requests} costs ${short(decode.time)} readings and waits for ${waits}: ${short(gain)} times the tokens a second of batches of 1.`;
    }

    const stepper = ui.stepper({
        steps: stepsOf(rule),
        label: "Batch size",
        render(i) {
            const step = stepsOf(rule)[i];
            drawQueue(step);
            drawBars(step);
            drawNumbers(step);
            return told(step);
        },
    });
    const again = () => stepper.reset(stepsOf(rule), stepper.index);
    ui.select({
        label: "padded to", options: [["own", "the longest"], ["global", `${trace.max_width}, always`], ["buckets", "the longest, in buckets"]],
        value: rule, change: (value) => { rule = value; again(); },
    });
    ui.select({ label: "requests", options: queues.map((q) => [q.name, q.label]), value: queue, change: (value) => { queue = value; again(); } });
    ui.range({
        label: "machine", min: 1, max: 24, value: balance, show: (value) => `${value} a byte`,
        change: (value) => { balance = value; again(); },
    });

    // The answer is that of the opening: the queue in its order, the machine as it stands there.
    const eight = trace.sizes.indexOf(8);
    const gain = times(stepsOf(rule)[0], "decode").time / times(stepsOf(rule)[eight], "decode").time;
    ui.guess({
        question: "Eight in a batch instead of one, as here: how many times the tokens a second?",
        options: ["1.1", short(gain), "16"],
        answer: 1,
        because: "One reading of the weights serves eight rows. Move the machine to 1 and to 24 a byte: which of the two does the time wait for?",
        done() { stepper.go(eight); },
    });
});
