// The tape of a small graph, forward and backward: values, gradients, visits, and which gradients are wrong in the end.
window.figures.register("autograd", (root, trace, ui) => {
    const BOX = { width: 104, height: 84, gapX: 139, gapY: 132, left: 2, top: 28 };
    const place = ui.el("div");
    root.append(place);
    const show = (number) => (number === null ? "–" : String(number));

    // The steps of a walk, forward and then backward, each with what is known after it and a sentence.
    function told(tape, walk) {
        const name = (i) => tape.lines[i].name;
        const now = {
            values: tape.lines.map(() => null),
            gradients: tape.lines.map(() => null),
            visits: tape.lines.map(() => []),
            at: null, share: null, is_last: false,
        };
        const steps = [];
        const step = (text) => steps.push({ ...structuredClone(now), text });

        tape.lines.forEach((line, i) => {
            now.values[i] = line.value;
            now.at = i;
            const [j, k] = line.inputs;
            step(line.operation === "leaf"
                ? `Forward. ${line.name} = ${line.value} is given: a leaf.`
                : `Forward. ${line.name} = ${name(j)} ${line.operation} ${name(k)} = ${now.values[j]} ${line.operation} ${now.values[k]} = ${line.value}. The tape notes the operation and its operands.`);
        });
        const root = tape.lines.length - 1;
        now.gradients[root] = 1;
        step(`Backward. ${name(root)} changes by 1 when ${name(root)} changes by 1: its gradient is 1.`);

        let visits = 0;
        for (const event of walk.events) {
            if (event.visit) visit(event.visit, ++visits);
            else share(event.share);
        }
        Object.assign(now, { at: null, share: null, is_last: true });
        const wrong = tape.lines.flatMap((line, i) => now.gradients[i] === line.right ? []
            : [`${line.name} has ${show(now.gradients[i] ?? 0)} and should have ${line.right}`]);
        const verdict = wrong.length === 0 ? "All gradients are right" : `Wrong: ${wrong.join(", ")}`;
        step(`Done after ${visits} visits. ${verdict}: ${why(tape, walk, wrong.length === 0)}`);
        return steps;

        function visit({ line, sends }, number) {
            now.visits[line].push(number);
            const isLeaf = tape.lines[line].operation === "leaf";
            const last = steps.at(-1);
            // A leaf that is visited as its share arrives needs no step of its own: it sends nothing.
            if (isLeaf && last.share !== null && last.share.to === line) {
                last.visits = structuredClone(now.visits);
                last.text += ` Visit ${number} is ${name(line)}, a leaf.`;
                return;
            }
            Object.assign(now, { at: line, share: null });
            const times = now.visits[line].length;
            const again = ["", "", ", a second time", ", a third time"][times] ?? `, time ${times}`;
            const what = isLeaf ? "A leaf sends nothing on."
                : walk.order.endsWith("each share") ? `It sends on only what has just come, ${sends}.`
                : `It sends on the gradient that it has now, ${sends}.`;
            step(`Visit ${number}: ${name(line)}${again}. ${what}`);
        }

        function share({ from, to, place, share, gradient }) {
            const before = now.gradients[to];
            const other = tape.lines[from].inputs[1 - place];
            const factor = tape.lines[from].operation === "·" ? `, its gradient times ${name(other)},` : "";
            const what = before === null ? "It is the first share."
                : walk.adds ? `Added: ${before} + ${share} = ${gradient}.` : `It replaces ${before}.`;
            now.gradients[to] = gradient;
            Object.assign(now, { at: to, share: { from, to, place, amount: share } });
            step(`${name(from)} sends ${share}${factor} to ${name(to)}. ${what}`);
        }
    }

    // Why a walk is right or wrong.
    function why(tape, walk, isRight) {
        const uses = (i) => tape.lines.flatMap((line) => line.inputs).filter((input) => input === i).length;
        const isUsedOnce = tape.lines.every((_, i) => uses(i) <= 1);
        const is = (word) => walk.order.includes(word);
        if (isRight && is("topological") && walk.adds) return "each line had all its shares before it sent.";
        if (isRight && isUsedOnce) return "every value is used once, so this walk can not be told from the right one.";
        if (isRight && is("each share")) return "one visit for each path to a line, so it is right and slow.";
        if (isRight) return "on this tape no line has both a short and a long path to it, so nearest first is in time.";
        if (!walk.adds) return "a share was replaced that should have been added to.";
        if (is("nearest")) return "a line sent before its last share had come.";
        return "what had been sent once was sent again with the next share.";
    }

    const textOf = (tape, line) => line.operation === "leaf" ? line.name
        : `${line.name} = ${line.inputs.map((i) => tape.lines[i].name).join(` ${line.operation} `)}`;

    for (const tape of trace.tapes) {
        for (const line of tape.lines) line.text = textOf(tape, line);
        for (const walk of tape.walks) walk.steps = told(tape, walk);
    }

    let tape = trace.tapes[0];
    const run = () => tape.walks.find((w) => w.order === order.value && w.adds === adds.value);

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
        options: [...new Set(tape.walks.map((r) => r.order))],
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
        steps: run().steps,
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
