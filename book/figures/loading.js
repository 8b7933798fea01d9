// A small safetensors file as bytes, and a reader that compares its claims one after the other. A damaged file can be chosen: the
// reader stops where it notices. Trace: see lessons/04-loading/examples/trace_loading.rs.
window.figures.register("loading", (root, trace, ui) => {
    const COLUMNS = 8, CELL = 29, LEFT = 44, ROW = 22, TOP = 24;
    const TEXT_LEFT = LEFT + COLUMNS * CELL + 14, LETTER = 12;
    const WIDTH = TEXT_LEFT + COLUMNS * LETTER + 4;
    const MONO = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace";
    const bytesOf = (variant) => variant.bytes.match(/../g).map((pair) => parseInt(pair, 16));
    const whole = bytesOf(trace.variants[0]);
    const within = (at, [begin, end]) => begin <= at && at < end;

    let variant = trace.variants[0];
    const bytes = () => bytesOf(variant);
    const hex = ui.el("div", { style: { flex: "1 1 20em", maxWidth: "31em", minWidth: "0" } });
    const checks = ui.el("ol", { style: { flex: "1 1 16em", margin: "0", paddingInlineStart: "1.6em", listStyle: "none" } });
    const legend = ui.el("p", { style: { flexBasis: "100%", margin: "0", fontSize: "0.9em" } },
        word("var(--d-a)", "length"), " · ", word("var(--d-ink)", "header"), " · ", word("var(--d-good)", "data"),
        " · framed: looked at now · ", word("var(--d-bad)", "underlined", "underline"), ": changed by the damage · dashed: missing");
    root.append(ui.el("div", { style: { display: "flex", flexWrap: "wrap", gap: "0.8em 1.6em" } }, hex, checks, legend));

    function word(color, text, decoration = "none") {
        return ui.el("strong", { style: { color, textDecoration: decoration } }, text);
    }

    /** Length, header or data: by the first eight bytes, if they can be followed. */
    function tone(at, headerEnd) {
        if (at < 8) return "var(--d-a)";
        return at < headerEnd ? "var(--d-ink)" : "var(--d-good)";
    }

    function drawBytes(step) {
        const all = bytes();
        const cells = Math.max(all.length, whole.length);
        const rows = Math.ceil(cells / COLUMNS);
        const length = all.slice(0, 8).reduceRight((sum, byte) => sum * 256 + byte, 0);
        const headerEnd = 8 + length;
        const nodes = [
            ui.svg("text", { x: LEFT + 2, y: 14, style: "fill: var(--d-soft); font-size: 13px" }, "bytes, hexadecimal"),
            ui.svg("text", { x: TEXT_LEFT, y: 14, style: "fill: var(--d-soft); font-size: 13px" }, "as text"),
        ];
        for (let row = 0; row < rows; row++) {
            const y = TOP + row * ROW;
            nodes.push(ui.svg("text", { x: LEFT - 10, y: y + 16, "text-anchor": "end", style: "fill: var(--d-soft); font-size: 13px" }, row * COLUMNS));
        }
        for (let at = 0; at < cells; at++) {
            const x = LEFT + (at % COLUMNS) * CELL, y = TOP + Math.floor(at / COLUMNS) * ROW;
            const letterX = TEXT_LEFT + (at % COLUMNS) * LETTER;
            if (at >= all.length) {
                nodes.push(ui.svg("rect", { x: x + 3, y: y + 3, width: CELL - 6, height: ROW - 6, fill: "none", stroke: "var(--d-bad)", "stroke-dasharray": "3 3" }));
                continue;
            }
            if (step.at.some((range) => within(at, range))) {
                nodes.push(frame(at, x, y, step.at));
                nodes.push(ui.svg("rect", { x: letterX - 1, y: y + 1, width: LETTER, height: ROW - 2, fill: "var(--d-b-soft, #fbe6cf)" }));
            }
            const style = `fill: ${tone(at, headerEnd)}; font-family: ${MONO}; font-size: 14px`;
            const code = all[at];
            const letter = code > 32 && code < 127 ? String.fromCharCode(code) : "·";
            nodes.push(ui.svg("text", { x: x + CELL / 2, y: y + 16, "text-anchor": "middle", style }, code.toString(16).padStart(2, "0")));
            nodes.push(ui.svg("text", { x: letterX + LETTER / 2 - 1, y: y + 16, "text-anchor": "middle", style }, letter));
            if (within(at, variant.changed)) {
                nodes.push(ui.svg("line", { x1: x + 5, x2: x + CELL - 5, y1: y + 20, y2: y + 20, stroke: "var(--d-bad)", "stroke-width": 2.5 }));
            }
        }
        const label = `${all.length} bytes in rows of ${COLUMNS}: ${variant.name === trace.variants[0].name ? "the whole file" : variant.name}`;
        ui.fill(hex, ui.svg("svg", { viewBox: `0 0 ${WIDTH} ${TOP + rows * ROW + 4}`, role: "img", "aria-label": label }, nodes));
    }

    /** The background of one cell, with lines where the framed range has its border. */
    function frame(at, x, y, ranges) {
        const inRange = (other) => ranges.some((range) => within(at, range) && within(other, range));
        const column = at % COLUMNS;
        const sides = [
            !inRange(at - COLUMNS) && [x, y, x + CELL, y],
            !inRange(at + COLUMNS) && [x, y + ROW, x + CELL, y + ROW],
            (column === 0 || !inRange(at - 1)) && [x, y, x, y + ROW],
            (column === COLUMNS - 1 || !inRange(at + 1)) && [x + CELL, y, x + CELL, y + ROW],
        ];
        return ui.svg("g", {},
            ui.svg("rect", { x, y, width: CELL, height: ROW, fill: "var(--d-b-soft, #fbe6cf)" }),
            sides.filter(Boolean).map(([x1, y1, x2, y2]) => ui.svg("line", { x1, y1, x2, y2, stroke: "var(--d-b)", "stroke-width": 2 })));
    }

    function drawChecks(step) {
        ui.fill(checks, trace.checks.map((check, k) => {
            const state = k < step.passed ? "passed" : k === step.refused_by ? "refused" : step.refused_by === null ? "to come" : "not reached";
            const [mark, color] = { passed: ["✓", "var(--d-good)"], refused: ["✗", "var(--d-bad)"] }[state] || ["·", "var(--d-soft)"];
            return ui.el("li", { style: { color: state === "passed" || state === "refused" ? "inherit" : "var(--d-soft)", fontWeight: state === "refused" ? "700" : "400" } },
                ui.el("span", { "aria-hidden": "true", style: { color, display: "inline-block", width: "1.3em", marginInlineStart: "-1.3em" } }, mark),
                check, ui.el("span", { style: { fontSize: "0.85em", color: "var(--d-soft)" } }, state === "refused" ? " (refused here)" : ""));
        }));
    }

    ui.select({
        label: "Damage:",
        options: trace.variants.map((one) => [one.id, one.name]),
        value: "whole",
        change(id) {
            variant = trace.variants.find((one) => one.id === id);
            stepper.reset(variant.steps, variant.steps.length - 1);
        },
    });
    const stepper = ui.stepper({
        steps: variant.steps,
        label: "Step of the reader",
        render(i) {
            drawBytes(variant.steps[i]);
            drawChecks(variant.steps[i]);
        },
    });
});
