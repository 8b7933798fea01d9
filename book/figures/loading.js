// A small safetensors file as bytes, and a reader that compares its claims one after the other. A damaged file can be chosen: the
// reader stops at the check that refuses it. Trace: see lessons/04-loading/examples/trace_loading.rs.
window.figures.register("loading", (root, trace, ui) => {
    const COLUMNS = 8, CELL = 29, LEFT = 44, ROW = 22, TOP = 24;
    const TEXT_LEFT = LEFT + COLUMNS * CELL + 14, LETTER = 12;
    const WIDTH = TEXT_LEFT + COLUMNS * LETTER + 4;
    const MONO = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace";
    const bytesOf = (variant) => variant.bytes.match(/../g).map((pair) => parseInt(pair, 16));
    const whole = bytesOf(trace.variants[0]);
    const within = (at, [begin, end]) => begin <= at && at < end;

    let variant = trace.variants[0];
    let steps;
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

    /** The number in the first eight bytes. */
    function lengthOf(file) {
        return file.slice(0, 8).reduceRight((sum, byte) => sum * 256 + byte, 0);
    }

    /** The ranges of the claims in the header: from a name to its closing brace. */
    function claimRanges(one, file) {
        const text = String.fromCharCode(...file);
        let end = 8;
        return one.claims.map(([name]) => {
            const begin = text.indexOf(`"${name}":`, end);
            end = text.indexOf("}", begin) + 1;
            return [begin, end];
        });
    }

    const needed = ([, , shape]) => 2 * shape.reduce((product, size) => product * size, 1);
    const isWrong = (claim) => needed(claim) !== claim[3][1] - claim[3][0];
    const sortedClaims = (one) => [...one.claims].sort((a, b) => a[3][0] - b[3][0]);

    /** The value that is not finite: its tensor, its index, its text. */
    function badValue(one) {
        const all = one.values.flatMap(([name, values]) => values.map((value, i) => [name, i, value]));
        return all.find(([, , value]) => !Number.isFinite(Number(value)));
    }

    /** The steps of the reader up to the check that refuses the file: what is looked at, how many checks are passed. */
    function stepsOf(one) {
        const file = bytesOf(one), data = 8 + lengthOf(file);
        const claims = claimRanges(one, file);
        const ranges = sortedClaims(one).map(([, , , [from, to]]) => [data + from, Math.min(data + to, file.length)]);
        const end = one.claims.length ? data + sortedClaims(one)[1][3][1] : data;
        const is = (check) => one.refused_by === check;
        const bad = badValue(one);
        const at = {
            file: [],
            length: [[0, 8]],
            fits: is(0) ? [[0, 8]] : [[8, data]],
            json: is(1) ? [[8, data]] : claims,
            names: claims,
            first: ranges.slice(0, 1),
            neighbours: ranges,
            end: end < file.length ? [[end, file.length]] : ranges.slice(1),
            digest: [[0, file.length]],
        };
        if (bad) {
            const tensor = sortedClaims(one).findIndex(([name]) => name === bad[0]);
            const begin = ranges[tensor][0] + 2 * bad[1];
            at.values = [[begin, begin + 2]];
        } else {
            at.values = [[data, file.length]];
        }
        const made = [];
        let passed = 0, claim = 0;
        for (const { kind, check } of trace.steps) {
            const step = { kind, at: at[kind], claim: null, passed, refused_by: null };
            let ends = check;
            if (kind === "claim") {
                step.claim = one.claims[claim];
                step.at = [claims[claim]];
                if (isWrong(step.claim)) ends = 2;
                claim += 1;
            }
            if (ends !== null && is(ends)) step.refused_by = ends;
            else if (ends !== null) passed += 1;
            made.push({ ...step, passed });
            if (step.refused_by !== null) break;
        }
        return made;
    }

    /** The range in which a file differs from the whole one; of the gap, whose offsets differ too, the two bytes of the gap. */
    function changedOf(file) {
        if (variant.id === "gap") return [8 + lengthOf(file) + 8, 8 + lengthOf(file) + 10];
        if (file.length === whole.length && file.every((byte, i) => byte === whole[i])) return [0, 0];
        const least = Math.min(file.length, whole.length);
        let front = 0, back = 0;
        while (front < least && file[front] === whole[front]) front += 1;
        while (back < least - front && file[file.length - 1 - back] === whole[whole.length - 1 - back]) back += 1;
        return [front, file.length - back];
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
        const headerEnd = 8 + lengthOf(all);
        const changed = changedOf(all);
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
            if (within(at, changed)) {
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

    /** The sentence of a step, from the facts of the variant. */
    function told(step) {
        const file = bytes();
        const n = lengthOf(file);
        const data = 8 + n;
        const [first, second] = sortedClaims(variant);
        const refused = step.refused_by !== null;
        const end = refused && variant.error ? ` Refused: ${variant.error}` : "";
        switch (step.kind) {
        case "file": return `A file of ${file.length} bytes. Nothing in it is trusted yet.`;
        case "length": return `The first eight bytes are one number, the low byte first: the header has ${n} bytes.`;
        case "fits": return refused
            ? `${n} is more than the ${file.length - 8} bytes that are left.${end}`
            : `${file.length - 8} bytes are left, ${n} of them are the header, ${file.length - data} are data.`;
        case "json": return refused
            ? `The header is read as JSON.${end}`
            : `The header is a map of ${variant.claims.length} tensors: ${variant.claims.map(([name]) => name).join(" and ")}. Each entry claims a type, a shape, and the range of its bytes, counted from byte ${data}.`;
        case "claim": {
            const [name, type, shape, [from, to]] = step.claim;
            return `${name} is ${type}, 2 bytes a value: ${shape.join(" x ")} x 2 = ${needed(step.claim)} bytes are needed. Its offsets are ${from} and ${to}: ${to - from} bytes${refused ? "." : ", as needed."}${end}`;
        }
        case "names": return refused ? `The two names are equal.${end}` : "Sorted by name: no two neighbours are equal.";
        case "first": return `Sorted by offset, ${first[0]} comes first. It begins at ${first[3][0]}, where the data begins, and ends at ${first[3][1]}.`;
        case "neighbours": return refused
            ? `${second[0]} begins at ${second[3][0]}, and ${first[0]} ends at ${first[3][1]}.${end}`
            : `${second[0]} begins at ${second[3][0]}, where ${first[0]} ends.`;
        case "end": {
            const sum = `The last tensor ends at ${data} + ${second[3][1]} = ${data + second[3][1]}`;
            return refused ? `${sum}, and the file at ${file.length}.${end}` : `${sum}, and so does the file. The header is accepted.`;
        }
        case "values": {
            const shown = variant.values.map(([name, values]) => `${name} = ${values.join(", ")}`).join("; ");
            const bad = badValue(variant);
            return bad
                ? `${shown}. Refused when the values are read: index ${bad[1]} of ${bad[0]} is ${bad[2]}.`
                : `The values are read: ${shown}. All are finite.`;
        }
        default: {
            const found = `The SHA-256 of these bytes begins with ${variant.sha256.slice(0, 8)}`;
            return refused
                ? `${found}, the recorded one with ${trace.variants[0].sha256.slice(0, 8)}. Only this check tells that it is not the right file.`
                : `${found}, as recorded: these are the bytes that were written.`;
        }
        }
    }

    steps = stepsOf(variant);
    ui.select({
        label: "Damage:",
        options: trace.variants.map((one) => [one.id, one.name]),
        value: "whole",
        change(id) {
            variant = trace.variants.find((one) => one.id === id);
            steps = stepsOf(variant);
            stepper.reset(steps, steps.length - 1);
        },
    });
    const stepper = ui.stepper({
        steps,
        label: "Step of the reader",
        render(i) {
            drawBytes(steps[i]);
            drawChecks(steps[i]);
            return told(steps[i]);
        },
    });
});
