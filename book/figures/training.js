// A vocabulary that grows: pairs are counted, one is joined, again and again. The rule for ties can be turned round.
window.figures.register("training", (root, trace, ui) => {
    const texts = [...new Map(trace.runs.map((run) => [run.text, run.name]))];
    let run = trace.runs[0];

    const label = (text) => ui.el("div", { style: { color: "var(--d-soft)", fontSize: "0.85em", margin: "0 0 4px" } }, text);
    const section = (minHeight) => ui.el("div", { style: { margin: "0 0 14px", minHeight } });
    const words = section("4.5em"), pairs = section("0"), made = section("4.5em");
    root.append(words, pairs, made);

    const mono = { fontFamily: "var(--mono-font, monospace)", whiteSpace: "pre" };

    // A piece in its box. `kind`: "next" is half of the pair that wins, "new" was joined just now, else plain.
    function piece(text, kind) {
        const edge = kind === "next" ? "2px dashed var(--d-b)" : kind === "new" ? "2px solid var(--d-a)" : "1px solid var(--d-line)";
        return ui.el("span", {
            style: {
                ...mono, border: edge, borderRadius: "4px", padding: kind ? "0 3px" : "1px 4px", margin: "0 1px",
                background: kind === "new" ? "var(--d-a-soft, var(--d-fill))" : "var(--d-bg)",
            },
        }, text);
    }

    // The places of a word at which the winning pair stands, from left to right, no piece used twice.
    function placesOf(pieces, pair) {
        const places = new Set();
        for (let k = 0; pair && k + 1 < pieces.length; k++) {
            if (pieces[k] === pair[0] && pieces[k + 1] === pair[1]) {
                places.add(k).add(k + 1);
                k++;
            }
        }
        return places;
    }

    function drawWords(step) {
        const pair = step.chosen === null ? null : step.pairs[step.chosen];
        const fresh = step.chosen === null && step.made.length ? step.made[step.made.length - 1][1] : null;
        ui.fill(words, label(`The text, ${step.num_tokens} tokens`), ui.el("div", { style: { display: "flex", flexWrap: "wrap", gap: "6px 18px" } },
            step.words.map(([pieces, count]) => {
                const places = placesOf(pieces, pair);
                return ui.el("span", { style: { display: "inline-block", lineHeight: "1.9" } },
                    pieces.map((text, k) => piece(text, places.has(k) ? "next" : text === fresh ? "new" : "")),
                    ui.el("span", { style: { color: "var(--d-soft)", whiteSpace: "nowrap" } }, ` × ${count}`));
            })));
    }

    // One row a pair: its two pieces, a bar as long as its count, the count, and a word for those that share the first place.
    function drawPairs(step) {
        if (step.chosen === null) {
            ui.fill(pairs);
            return;
        }
        const most = step.pairs[0][2];
        const rest = step.num_pairs - step.pairs.length;
        ui.fill(pairs, label(`Neighbours, counted: ${step.num_pairs} different pairs`),
            step.pairs.map(([left, right, count], k) => ui.el("div", {
                style: {
                    display: "grid", gridTemplateColumns: "minmax(7em, 10em) 1fr 1.8em 3.6em", gap: "8px", alignItems: "center",
                    padding: "2px 0", fontWeight: k === step.chosen ? "bold" : "normal",
                },
            },
            ui.el("span", { style: { overflowWrap: "anywhere" } }, piece(left, k === step.chosen ? "next" : ""), piece(right, k === step.chosen ? "next" : "")),
            ui.el("span", { "aria-hidden": "true", style: { background: "var(--d-fill)", height: "10px", borderRadius: "5px", overflow: "hidden" } },
                ui.el("span", { style: { display: "block", height: "100%", width: `${(100 * count) / most}%`, background: k === step.chosen ? "var(--d-b)" : "var(--d-soft)" } })),
            ui.el("span", { style: { textAlign: "right" } }, count),
            ui.el("span", { style: { color: "var(--d-soft)", fontWeight: "normal" } },
                k === step.chosen ? "joined" : count === most ? "tie" : ""))),
            rest > 0 ? ui.el("div", { style: { color: "var(--d-soft)" } }, `and ${rest} more`) : null);
    }

    function drawMade(step) {
        const joined = step.made.map(([id, text], k) => ui.el("span", { style: { display: "inline-block", margin: "0 10px 4px 0", whiteSpace: "nowrap" } },
            ui.el("span", { style: { color: "var(--d-soft)" } }, `${id} `),
            piece(text, step.chosen === null && k === step.made.length - 1 ? "new" : "")));
        ui.fill(made, label(`The vocabulary: 256 bytes and ${step.made.length} joined ${step.made.length === 1 ? "piece" : "pieces"}`),
            joined.length ? joined : ui.el("span", { style: { color: "var(--d-soft)" } }, "none yet"));
    }

    /** What was counted or joined in a step, in words. */
    function sentence(at) {
        const step = run.steps[at];
        const times = (n) => (n === 1 ? "once" : n === 2 ? "twice" : `${n} times`);
        if (step.chosen !== null) {
            const [left, right, count] = step.pairs[step.chosen];
            const pair = `${left} + ${right}`;
            return step.num_first === 1
                ? `Count: ${pair} stands in the text ${times(count)}, more often than any other pair.`
                : `Count: a tie, ${step.num_first} pairs stand in the text ${times(count)} each. Of equals the ${run.ties} pair of ids wins: ` +
                    `${pair}, ids ${step.ids[0]} and ${step.ids[1]}.`;
        }
        const before = run.steps[at - 1];
        const [left, right] = before.pairs[before.chosen];
        const [id, piece] = step.made[step.made.length - 1];
        return `Join: ${left} + ${right} becomes the piece ${piece}, id ${id}. The text has ${step.num_tokens} tokens instead of ${before.num_tokens}.`;
    }

    const stepper = ui.stepper({
        steps: run.steps,
        label: "Step",
        render(at) {
            const step = run.steps[at];
            drawWords(step);
            drawPairs(step);
            drawMade(step);
            return sentence(at);
        },
    });

    // A change of the rule stays at the step, so that the two vocabularies can be compared.
    function show(at) {
        run = trace.runs.find((r) => r.text === text.value && r.ties === (larger.value ? "larger" : "smaller"));
        stepper.reset(run.steps, at);
    }
    const text = ui.select({ label: "Text", options: texts, change: () => show(0) });
    const larger = ui.toggle({ label: "of equals, join the larger pair", change: () => show(stepper.index) });
});
