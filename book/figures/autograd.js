// The tape of a small graph, forward and backward: values, gradients, visits, and which gradients are wrong in the end.
window.figures.register("autograd", (root, trace, ui) => {
    const BOX = { width: 104, height: 84, gapX: 139, gapY: 132, left: 2, top: 28 };
    const place = ui.el("div");
    root.append(place);
    const show = (number) => (number === null ? "–" : String(number));

    let tape = trace.tapes[0];
    const run = () => tape.runs.find((r) => r.order === order.value && r.adds === adds.value);

    ui.select({
        label: "tape",
        options: trace.tapes.map((t) => t.title),
        change(title) {
            tape = trace.tapes.find((t) => t.title === title);
            stepper.reset(run().steps);
        },
    });
    const order = ui.select({
        label: "order of visits",
        options: [...new Set(tape.runs.map((r) => r.order))],
        change: () => stepper.reset(run().steps),
    });
    const adds = ui.toggle({
        label: "+= (off: =)",
        value: true,
        change: () => stepper.reset(run().steps),
    });

    const at = (line) => ({
        x: BOX.left + line.column * BOX.gapX,
        y: BOX.top + line.row * BOX.gapY,
    });

    // An arrow from an operand to the line that uses it; two uses of one operand bend apart, and a long one bends round.
    function path(from, to, index, isDouble) {
        const a = at(from), b = at(to);
        const mid = BOX.height / 2;
        const shift = isDouble ? (index === 0 ? -18 : 18) : 0;
        const start = { x: a.x + BOX.width, y: a.y + mid + shift };
        const end = { x: b.x - 3, y: b.y + mid + shift };
        const middle = { x: (start.x + end.x) / 2, y: (start.y + end.y) / 2 };
        return { d: `M ${start.x} ${start.y} L ${end.x} ${end.y}`, middle };
    }

    function edges(step) {
        return tape.lines.map((line, to) => line.inputs.map((from, index) => {
            const isDouble = line.inputs[0] === line.inputs[1];
            const { d, middle } = path(tape.lines[from], line, index, isDouble);
            const share = step.share;
            const isActive = share !== null && share.from === to && share.to === from && share.place === index;
            const isKnown = step.values[to] !== null;
            return [
                ui.svg("path", {
                    d, fill: "none",
                    stroke: isActive ? "var(--d-b)" : isKnown ? "var(--d-soft)" : "var(--d-line)",
                    "stroke-width": isActive ? 3.5 : 1.5,
                    "stroke-dasharray": isKnown ? "none" : "4 4",
                    "marker-end": isActive ? "none" : "url(#autograd-arrow)",
                    "marker-start": isActive ? "url(#autograd-back)" : "none",
                }),
                isActive && ui.svg("g", {},
                    ui.svg("rect", { x: middle.x - 17, y: middle.y - 13, width: 34, height: 26, rx: 13, fill: "var(--d-b)" }),
                    ui.svg("text", { x: middle.x, y: middle.y + 5.5, "text-anchor": "middle", style: { fill: "var(--d-bg)", fontSize: "16px", fontWeight: "bold" } }, show(share.amount))),
            ];
        }));
    }

    function box(line, i, step) {
        const { x, y } = at(line);
        const value = step.values[i], gradient = step.gradients[i];
        const isAt = step.at === i;
        const isWrong = step.is_last && gradient !== line.right;
        const frame = step.is_last ? (isWrong ? "var(--d-bad)" : "var(--d-good)") : isAt ? "var(--d-a)" : "var(--d-line)";
        const fill = step.is_last ? (isWrong ? "var(--d-bad-soft)" : "var(--d-good-soft)") : isAt ? "var(--d-a-soft)" : "var(--d-bg)";
        const text = (dy, words, style = {}) => ui.svg("text", { x: x + 9, y: y + dy, style: { fontSize: "16px", ...style } }, words);
        const verdict = !step.is_last ? "" : isWrong ? " ✗" : " ✓";
        const visits = step.visits[i];
        return ui.svg("g", {},
            ui.svg("rect", { x, y, width: BOX.width, height: BOX.height, rx: 7, fill, stroke: frame, "stroke-width": isAt || step.is_last ? 2.5 : 1.5 }),
            text(22, line.text, { fontWeight: "bold" }),
            text(46, `value ${show(value)}`),
            text(71, `grad ${show(gradient)}${verdict}`),
            visits.length > 0 && ui.svg("text", { x: x + BOX.width / 2, y: y - 8, "text-anchor": "middle", style: { fontSize: "15px", fill: "var(--d-soft)" } },
                visits.length > 3 ? `${visits.length} visits` : `visit ${visits.join(", ")}`),
            isWrong && text(BOX.height + 19, `should be ${show(line.right)}`, { fill: "var(--d-bad)" }));
    }

    const marker = (id, orient) => ui.svg("marker", { id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, markerUnits: "userSpaceOnUse", orient },
        ui.svg("path", { d: "M 0 0 L 8 4 L 0 8 z", fill: id === "autograd-back" ? "var(--d-b)" : "var(--d-soft)" }));

    const stepper = ui.stepper({
        steps: trace.steps,
        render(i) {
            const step = run().steps[i];
            const rows = 1 + Math.max(...tape.lines.map((line) => line.row));
            const columns = 1 + Math.max(...tape.lines.map((line) => line.column));
            const height = BOX.top + (rows - 1) * BOX.gapY + BOX.height + 26;
            const width = 2 * BOX.left + (columns - 1) * BOX.gapX + BOX.width;
            ui.fill(place, ui.svg("svg", { viewBox: `0 0 ${width} ${height}`, style: { maxWidth: `${1.2 * width}px` }, role: "img", "aria-label": `The tape: ${tape.title}` },
                ui.svg("defs", {}, marker("autograd-arrow", "auto"), marker("autograd-back", "auto-start-reverse")),
                edges(step), tape.lines.map((line, k) => box(line, k, step))));
        },
    });
});
