// The walker over cache lines: a matrix of 8 x 8 numbers, read in four orders through a cache of a few lines.
// The trace says for each read which lines the cache holds and which of their numbers were used since they came.
window.figures.register("layout", (root, trace, ui) => {
    const { side, line } = trace;
    const cell = 24;
    const walks = [
        ["rows", "row by row"],
        ["columns", "column by column"],
        ["blocks", "by blocks of 4 x 4"],
        ["step", "every fourth number"],
    ];
    let walk = trace.runs[0].walk;
    let room = trace.runs[0].cache;
    const run = () => trace.runs.find((r) => r.walk === walk && r.cache === room);
    const stepsOf = (r) => (r.steps.length > 0 ? r.steps : trace.steps);

    const view = ui.el("p", { style: { margin: "0 0 0.4em" } });
    const picture = ui.el("div", { style: { maxWidth: "480px", margin: "0 auto" } });
    const counts = ui.el("div");
    root.append(view, picture, ui.fold("The numbers", counts));

    const text = (x, y, content, anchor = "start") =>
        ui.svg("text", { x, y, "text-anchor": anchor, style: { fontSize: "12.5px" } }, content);

    /** A number as a box: white when it is only in memory, grey when it is in the cache, blue when it was used there. */
    function box(x, y, width, height, state) {
        const fill = { memory: "var(--d-bg)", cached: "var(--d-fill)", used: "var(--d-a-soft)" }[state];
        const stroke = state === "used" ? "var(--d-a)" : "var(--d-line)";
        return ui.svg("rect", { x, y, width, height, fill, stroke });
    }

    /** The number that is read: a ring for a hit, a cross for a miss. */
    function mark(x, y, size, hit) {
        const common = { fill: "none", "stroke-width": 2, stroke: hit ? "var(--d-good)" : "var(--d-bad)" };
        const frame = ui.svg("rect", { x, y, width: size, height: size, ...common });
        if (hit) return [frame, ui.svg("circle", { cx: x + size / 2, cy: y + size / 2, r: size / 2 - 2, ...common })];
        return [frame, ui.svg("path", { d: `M${x} ${y}l${size} ${size}M${x + size} ${y}l${-size} ${size}`, ...common, "stroke-opacity": 0.55 })];
    }

    function draw(step) {
        const held = new Map(step.cache);
        const state = (place) => {
            const used = held.get(Math.floor(place / line));
            return used === undefined ? "memory" : used[place % line] ? "used" : "cached";
        };
        const nodes = [];

        // The matrix, as the reader of rows and columns thinks of it.
        const [left, top] = [6, 26];
        nodes.push(text(left, 16, `the matrix, ${side} x ${side}`));
        for (let place = 0; place < side * side; place++) {
            const x = left + (place % side) * cell, y = top + Math.floor(place / side) * cell;
            nodes.push(box(x, y, cell, cell, state(place)), text(x + cell / 2, y + 16.5, place, "middle"));
        }
        for (let x = 0; x <= side; x += line) {
            nodes.push(ui.svg("line", { x1: left + x * cell, x2: left + x * cell, y1: top, y2: top + side * cell, stroke: "var(--d-soft)", "stroke-width": 2 }));
        }
        if (step.place !== null) {
            nodes.push(mark(left + (step.place % side) * cell, top + Math.floor(step.place / side) * cell, cell, step.hit));
        }

        // The cache, the line used last on top.
        const [from, label] = [306, 298];
        nodes.push(text(from + line * cell, 16, `the cache, ${room} lines`, "end"));
        for (let slot = 0; slot < room; slot++) {
            const y = top + slot * cell;
            const entry = step.cache[slot];
            if (!entry) {
                nodes.push(ui.svg("rect", { x: from, y, width: line * cell, height: cell, fill: "none", stroke: "var(--d-line)", "stroke-dasharray": "3 3" }));
                continue;
            }
            nodes.push(text(label, y + 16.5, `line ${entry[0]}`, "end"));
            entry[1].forEach((used, i) => {
                nodes.push(box(from + i * cell, y, cell, cell, used ? "used" : "cached"),
                    text(from + (i + 0.5) * cell, y + 16.5, entry[0] * line + i, "middle"));
            });
            if (step.place !== null && entry[0] === Math.floor(step.place / line)) {
                nodes.push(mark(from + (step.place % line) * cell, y, cell, step.hit));
            }
        }

        // Memory, as it lies: sixteen lines, one behind the other.
        const strip = top + side * cell + 40, width = 5.8, gap = 2;
        nodes.push(text(left, strip - 10, "memory, first place to last"));
        for (let place = 0; place < side * side; place++) {
            const x = left + place * width + Math.floor(place / line) * gap;
            const bar = box(x, strip, width, 14, state(place));
            if (state(place) === "used") bar.setAttribute("fill", "var(--d-a)");
            nodes.push(bar);
            if (place === step.place) {
                const color = step.hit ? "var(--d-good)" : "var(--d-bad)";
                nodes.push(ui.svg("path", { d: `M${x + width / 2} ${strip + 16}l6 10h-12z`, fill: color }));
            }
        }

        const happened = step.place === null ? "" : `; place ${step.place} is read, a ${step.hit ? "hit" : "miss"}`;
        ui.fill(picture, ui.svg("svg", {
            viewBox: "0 0 420 300", role: "img",
            "aria-label": `Matrix, cache and memory; the cache holds lines ${step.cache.map(([l]) => l).join(", ") || "none"}${happened}`,
        }, nodes));
    }

    function count(step) {
        const fetched = step.lines * line * 4, used = step.reads * 4;
        const cells = [
            ["reads", step.reads], ["hits", step.reads - step.lines], ["misses = lines fetched", step.lines],
            ["bytes fetched", fetched], ["of them used", fetched ? `${used} (${Math.round((100 * used) / fetched)} %)` : "0"],
        ];
        ui.fill(counts, ui.el("table", {},
            ui.el("thead", {}, ui.el("tr", {}, cells.map(([name]) => ui.el("th", { scope: "col" }, name)))),
            ui.el("tbody", {}, ui.el("tr", {}, cells.map(([, value]) => ui.el("td", { style: { whiteSpace: "nowrap" } }, value))))));
    }

    /** What is read in a step, and what the cache does, in words. */
    function sentence(i) {
        const { shape, strides, cache: room } = run();
        const step = stepsOf(run())[i];
        const title = {
            rows: "Row by row", columns: "Column by column", blocks: "Column by column inside blocks of 4 x 4", step: "Every fourth number",
        }[walk];
        if (i === 0) {
            return `${title}: a view with shape [${shape.join(", ")}] and strides [${strides.join(", ")}]. The matrix has ${side * side} numbers ` +
                `in ${(side * side) / line} lines of four; the cache has room for ${room} lines and is empty.`;
        }
        if (step.place === null) {
            const fetched = step.lines * line * 4, used = step.reads * 4;
            return `Done: ${step.reads} reads, ${step.reads - step.lines} hits, ${step.lines} lines fetched. ` +
                `${fetched} bytes came and ${used} were used: ${Math.floor((100 * used) / fetched)} %.`;
        }
        const outcome = step.hit ? "A hit: the line is there." : "A miss: the line is fetched, 16 bytes.";
        const gone = step.gone ? ` Line ${step.gone[0]} had to go, ${step.gone[1]} of its ${line} numbers used.` : "";
        return `Read ${step.reads}: row ${Math.floor(step.place / side)}, column ${step.place % side} lies at place ${step.place}, ` +
            `in line ${Math.floor(step.place / line)}. ${outcome}${gone}`;
    }

    const stepper = ui.stepper({
        steps: stepsOf(run()),
        label: "Read",
        render(i) {
            const { shape, strides } = run();
            const step = stepsOf(run())[i];
            ui.fill(view, `shape [${shape.join(", ")}], strides [${strides.join(", ")}]. `,
                "Plain: only in memory. Grey: in the cache. Blue: used since it came. Ring: hit. Cross: miss.");
            draw(step);
            count(step);
            return sentence(i);
        },
    });
    const again = () => stepper.reset(stepsOf(run()), stepper.index);
    ui.select({ label: "Read", options: walks, value: walk, change: (value) => { walk = value; again(); } });
    ui.select({
        label: "Cache", options: [["6", "6 lines"], ["8", "8 lines"]], value: String(room),
        change: (value) => { room = Number(value); again(); },
    });
});
