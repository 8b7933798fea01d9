// What else the model could have said: at each token the five best candidates, and the text that each of them leads to.
window.figures.register("generation", (root, trace, ui) => {
    const runs = [trace, ...trace.others];
    let run = trace;
    let taken = 0; // the candidate whose way is shown; 0 is the one that the loop takes

    const percent = (p) => (p >= 1 ? `${Math.round(p)} %` : p >= 0.01 ? `${p.toFixed(2)} %` : "< 0.01 %");
    const block = (children, style) => ui.el("div", { style: { margin: "0 0 12px", ...style } }, children);
    const soft = (text) => ui.el("span", { style: { color: "var(--d-soft)" } }, text);

    const text = block([], { lineHeight: "1.7", minHeight: "3.4em" });
    const table = block([]);
    const after = block([], { lineHeight: "1.7", minHeight: "5.1em", borderLeft: "3px solid var(--d-b)", paddingLeft: "10px" });
    const work = block([], { margin: "0" });
    root.append(text, table, after, work);

    // The text so far, and the token that is chosen now.
    function drawText(at) {
        const before = run.steps.slice(0, at).map((step) => step.said).join("");
        const said = run.steps[at].said;
        ui.fill(text, soft(run.prompt), before, said.startsWith(" ") ? " " : null,
            ui.el("mark", { style: { background: "var(--d-a)", color: "var(--d-bg)", padding: "0 2px", margin: "0", borderRadius: "3px" } },
                said.trim() || "(end of text)"));
    }

    // One button a candidate: its piece, a bar as long as its share, the share.
    function drawCandidates(at, focus) {
        const rows = run.steps[at].candidates.map((candidate, k) => ui.el("button", {
            type: "button",
            "aria-pressed": String(k === taken),
            onclick: () => { taken = k; drawCandidates(at, k); drawAfter(at); ui.say(told(at)); },
            style: {
                display: "grid", gridTemplateColumns: "minmax(5.5em, 8em) 1fr 4.8em", gap: "8px", alignItems: "center",
                width: "100%", padding: "5px 8px", margin: "0 0 4px", font: "inherit", textAlign: "left", cursor: "pointer",
                color: "var(--d-ink)", background: k === taken ? "var(--d-fill)" : "transparent",
                border: `1px solid ${k === taken ? "var(--d-ink)" : "var(--d-line)"}`, borderRadius: "4px",
            },
        },
        ui.el("span", { style: { fontWeight: k === 0 ? "bold" : "normal", overflowWrap: "anywhere" } }, candidate.piece),
        ui.el("span", { "aria-hidden": "true", style: { background: "var(--d-line)", height: "10px", borderRadius: "5px", overflow: "hidden" } },
            ui.el("span", {
                style: {
                    display: "block", height: "100%", minWidth: "2px", width: `${candidate.percent}%`,
                    background: k === 0 ? "var(--d-a)" : "var(--d-b)",
                },
            })),
        ui.el("span", { style: { textAlign: "right" } }, percent(candidate.percent))));
        ui.fill(table, rows);
        if (focus !== undefined) rows[focus].focus();
    }

    // Where the shown candidate leads.
    function drawAfter(at) {
        const candidate = run.steps[at].candidates[taken];
        const ends = candidate.ends ? "”, and the text ends." : "…”";
        ui.fill(after, soft(taken === 0 ? "The loop takes the first: " : `Had it taken ‹${candidate.piece}›: `),
            "“", candidate.then.trim(), ends);
    }

    function drawWork(at) {
        const step = run.steps[at];
        const needed = run.prompt_tokens + at;
        ui.fill(work, soft(`This token: ${step.rows} rows computed. So far: ${step.rows_so_far} rows, of which ${needed} are different.`));
    }

    function told(at) {
        const step = run.steps[at];
        const candidate = step.candidates[taken];
        if (taken === 0) {
            const [best, second] = step.candidates;
            return `${step.rows} rows are computed for one token. ‹${best.piece}› has a probability of ${percent(best.percent)}, ‹${second.piece}› follows with ${percent(second.percent)}.`;
        }
        return `Number ${taken + 1} instead, ‹${candidate.piece}› with ${percent(candidate.percent)}: “${candidate.then.trim()}${candidate.ends ? "”, and the text ends." : "…”"}`;
    }

    const stepper = ui.stepper({
        steps: trace.steps,
        label: "Token",
        render(at) {
            taken = 0;
            drawText(at);
            drawCandidates(at);
            drawAfter(at);
            drawWork(at);
            return told(at);
        },
    });
    ui.select({
        label: "beginning",
        options: runs.map((r, i) => [String(i), r.prompt]),
        change(i) { run = runs[Number(i)]; stepper.reset(run.steps); },
    });
});
