// Which request holds which slot at which step: static batches above, joining and leaving at each step below, on the same requests.
//
// Arrivals can be moved anywhere, so the page computes the plans itself, by the two rules below. Before it shows anything it
// computes every run that was recorded from the engine and from lesson 07's plan, and stops when one of them differs.
window.figures.register("continuous-batching", (root, trace, ui) => {
    const NAMES = "ABCDEFGHIJKL";

    // --- the two rules; a seat is { slot, first, last }, steps count from 0

    /** The requests in the order in which they stand in the queue. */
    const inOrder = (run) => run.lengths.map((_, i) => i).sort((a, b) => run.arrivals[a] - run.arrivals[b] || a - b);

    /** The request that waits longest takes a free slot at each step, and frees it after its last token. */
    function continuous(run) {
        const queue = inOrder(run);
        const free = Array.from({ length: run.slots }, (_, slot) => run.slots - 1 - slot);   // the top is taken first
        const seats = [];
        let running = [];
        for (let step = 0; queue.length > 0 || running.length > 0; step += 1) {
            while (free.length > 0 && queue.length > 0 && run.arrivals[queue[0]] <= step) {
                const request = queue.shift();
                seats[request] = { slot: free.pop(), first: step, last: step + run.lengths[request] - 1 };
                running.push(request);
            }
            for (const request of running) if (seats[request].last === step) free.push(seats[request].slot);
            running = running.filter((request) => seats[request].last > step);
        }
        return seats;
    }

    /** Requests that wait when none runs make a batch; none joins or leaves before the longest of it is done. */
    function fixed(run) {
        const queue = inOrder(run);
        const seats = [];
        for (let step = 0; queue.length > 0;) {
            step = Math.max(step, run.arrivals[queue[0]]);
            const first = step;
            for (let slot = 0; slot < run.slots && queue.length > 0 && run.arrivals[queue[0]] <= first; slot += 1) {
                const request = queue.shift();
                seats[request] = { slot, first, last: first + run.lengths[request] - 1 };
                step = Math.max(step, seats[request].last + 1);
            }
        }
        return seats;
    }

    const same = (seats, recorded) => seats.length === recorded.length
        && seats.every((seat, i) => [seat.slot, seat.first, seat.last].every((number, k) => number === recorded[i][k]));
    for (const [i, run] of trace.runs.entries()) {
        if (!same(continuous(run), run.continuous)) throw new Error(`run ${i}: this page and the engine disagree`);
        if (!same(fixed(run), run.static)) throw new Error(`run ${i}: this page and the static plan disagree`);
    }
    const isRecorded = (run) => trace.runs.some((other) => other.slots === run.slots
        && String(other.lengths) === String(run.lengths) && String(other.arrivals) === String(run.arrivals));

    // --- sentences and counts of a plan

    const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
    const stepsOf = (seats) => Math.max(...seats.map((seat) => seat.last)) + 1;
    const waits = (run, seats) => seats.map((seat, i) => seat.first - run.arrivals[i]);
    /** Until when a seat is held: in a batch until its longest is done. */
    const heldUntil = (seats, seat) => Math.max(...seats.filter((other) => other.first === seat.first).map((other) => other.last));
    const waiting = (run, seats, step) => inOrder(run).filter((i) => run.arrivals[i] <= step && step < seats[i].first);

    const list = (requests) => {
        const names = requests.map((i) => NAMES[i]);
        return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;
    };
    const verb = (requests, one, many) => `${list(requests)} ${requests.length === 1 ? one : many}`;
    const found = (seats, is) => seats.map((_, i) => i).filter((i) => is(seats[i]));

    /** What happens in a step, on one side. */
    function happens(run, seats, step, isStatic) {
        if (step >= stepsOf(seats)) return "all done";
        const said = [];
        const joins = found(seats, (seat) => seat.first === step);
        if (joins.length > 0 && isStatic) said.push(verb(joins, "starts", "start"));
        if (joins.length > 0 && !isStatic) said.push(joins.map((i) => `${NAMES[i]} takes slot ${seats[i].slot}`).join(", "));
        const idle = isStatic ? found(seats, (seat) => seat.last < step && step <= heldUntil(seats, seat)) : [];
        if (idle.length > 0) said.push(`${verb(idle, "is done and its row is padding", "are done and their rows are padding")}`);
        const ends = found(seats, (seat) => seat.last === step);
        if (ends.length > 0) said.push(verb(ends, "gets its last token", "get their last tokens"));
        const queue = waiting(run, seats, step);
        if (queue.length > 0) said.push(verb(queue, "waits", "wait"));
        if (said.length > 0) return said.join("; ");
        return found(seats, (seat) => seat.first <= step && step <= seat.last).length > 0 ? "nothing changes" : "no request is there";
    }
    const told = (run, plans, step) => `Step ${step + 1}. Static: ${happens(run, plans.fixed, step, true)}. `
        + `Continuous: ${happens(run, plans.continuous, step, false)}.`;

    // --- what is shown

    let run = { ...trace.runs[0] };
    let plans;
    let followed = null;

    const totals = ui.el("div", { style: { display: "flex", flexWrap: "wrap", gap: "0 1.6em", marginBottom: "6px", fontSize: "0.92em" } });
    const picture = ui.el("div", { style: { overflowX: "auto" } });
    const origin = ui.el("p", { style: { margin: "6px 0 0", color: "var(--d-soft)", fontSize: "0.88em" } });
    const table = ui.el("table", { style: { width: "100%", maxWidth: "560px", borderCollapse: "collapse" } });
    root.append(totals, picture, origin, ui.fold("Follow a request, or move its arrival", table));

    const LEFT = 66;
    const HIGH = 22;
    const LINE = 17;

    function text(x, y, children, more) {
        return ui.svg("text", { x, y, ...more }, children);
    }

    /** One side: heading, the queue of each step, the slots. Returns its nodes and where it ends. */
    function side(top, title, seats, isStatic, step, width) {
        const steps = stepsOf(seats);
        const nodes = [
            text(0, top + 14, title, { style: "font-weight:600" }),
        ];
        const deepest = Math.max(1, ...Array.from({ length: steps }, (_, s) => waiting(run, seats, s).length));
        const queueTop = top + 24;
        nodes.push(text(0, queueTop + 13, "waiting", { style: "fill:var(--d-soft);font-size:13px" }));
        const slotsTop = queueTop + deepest * LINE + 6;
        const pale = (s) => (s <= step ? 1 : 0.45);
        for (let s = 0; s < steps; s += 1) {
            waiting(run, seats, s).forEach((i, deep) => nodes.push(text(LEFT + (s + 0.5) * width, queueTop + 13 + deep * LINE, NAMES[i], {
                "text-anchor": "middle", opacity: pale(s),
                style: i === followed ? "fill:var(--d-b);font-weight:700" : "fill:var(--d-soft)",
            })));
        }
        for (let slot = 0; slot < run.slots; slot += 1) {
            nodes.push(text(0, slotsTop + slot * (HIGH + 4) + 16, `${isStatic ? "row" : "slot"} ${slot}`, { style: "font-size:13px" }));
            nodes.push(ui.svg("path", { d: `M${LEFT} ${slotsTop + slot * (HIGH + 4) + HIGH / 2}h${width * steps}`, stroke: "var(--d-line)", "stroke-dasharray": "2 4" }));
        }
        seats.forEach((seat, i) => {
            const end = isStatic ? heldUntil(seats, seat) : seat.last;
            for (let s = seat.first; s <= end; s += 1) nodes.push(cell(seat, i, s, slotsTop, width, pale(s)));
        });
        return { nodes, end: slotsTop + run.slots * (HIGH + 4) };
    }

    /** One step of one request: dark for its prompt, pale for a token after it, empty for a row that is padding. */
    function cell(seat, request, step, top, width, opacity) {
        const x = LEFT + step * width + 1;
        const y = top + seat.slot * (HIGH + 4);
        const isPrompt = step === seat.first;
        const isIdle = step > seat.last;
        const isPast = opacity === 1;
        const colour = request === followed ? "b" : "a";
        const box = { x, y, width: width - 2, height: HIGH, rx: 3, opacity };
        const under = ui.svg("rect", { ...box, opacity: 1, fill: "var(--d-panel)" });
        if (isIdle) return [under, ui.svg("rect", { ...box, fill: "var(--d-bad-soft)", stroke: "var(--d-bad)", "stroke-dasharray": "3 3" })];
        return [
            under,
            ui.svg("rect", {
                ...box, fill: isPrompt && isPast ? `var(--d-${colour})` : `var(--d-${colour}-soft)`,
                stroke: `var(--d-${colour})`, "stroke-width": isPrompt ? 2.5 : 1,
            }),
            text(x + width / 2 - 1, y + 16, NAMES[request], {
                "text-anchor": "middle", opacity: isPast ? 1 : 0.6,
                style: `font-weight:${isPrompt ? 600 : 400}${isPrompt && isPast ? ";fill:var(--d-bg)" : ""}`,
            }),
        ];
    }

    /** What a side costs, in words. */
    function total(name, seats, isStatic) {
        const held = sum(seats.map((seat) => (isStatic ? heldUntil(seats, seat) : seat.last) - seat.first + 1));
        const wasted = held - sum(run.lengths);
        const mean = sum(waits(run, seats)) / seats.length;
        return ui.el("div", {}, ui.el("strong", {}, `${name}: ${stepsOf(seats)} steps`),
            `, mean wait ${mean.toFixed(1)}, ${wasted} ${wasted === 1 ? "row" : "rows"} wasted`);
    }

    function draw(step) {
        ui.fill(totals, total("Static", plans.fixed, true), total("Continuous", plans.continuous, false));
        const steps = Math.max(stepsOf(plans.fixed), stepsOf(plans.continuous));
        const width = Math.max(20, Math.min(34, Math.floor(620 / steps)));
        const above = side(0, "static", plans.fixed, true, step, width);
        const below = side(above.end + 20, "continuous: join and leave at each step", plans.continuous, false, step, width);
        const wide = Math.max(LEFT + steps * width + 4, 400);
        const high = below.end + 24;
        const axis = Array.from({ length: steps }, (_, s) => text(LEFT + (s + 0.5) * width, high - 6, s + 1, {
            "text-anchor": "middle", style: s === step ? "font-weight:700;font-size:13px" : "fill:var(--d-soft);font-size:13px",
        }));
        ui.fill(picture, ui.svg("svg", {
            viewBox: `0 0 ${wide} ${high}`, role: "img", style: `max-width:${wide * 1.1}px`,
            "aria-label": `Static batches take ${stepsOf(plans.fixed)} steps, continuous batching ${stepsOf(plans.continuous)}`,
        },
        ui.svg("rect", { x: LEFT + step * width, y: 20, width, height: high - 20, rx: 4, fill: "var(--d-fill)", opacity: 0.7 }),
        above.nodes, below.nodes, text(0, high - 6, "step", { style: "fill:var(--d-soft);font-size:13px" }), axis));
        // Where the drawing is wider than its place, the step stays in sight.
        picture.scrollLeft = (picture.scrollWidth * (LEFT + (step + 0.5) * width)) / wide - picture.clientWidth / 2;
    }

    // The requests: a name to follow, a slider to move the arrival, and both waits.
    const rows = [];
    function drawTable() {
        const head = (words, align) => ui.el("th", { style: { textAlign: align, padding: "2px 6px", fontWeight: "600" } }, words);
        const edge = { padding: "2px 6px", border: "none", verticalAlign: "middle" };
        rows.length = 0;
        const body = run.lengths.map((length, i) => {
            const name = ui.el("button", {
                type: "button", title: `Follow request ${NAMES[i]}`, "aria-label": `Request ${NAMES[i]}`,
                onclick: () => { followed = followed === i ? null : i; fillTable(); stepper.refresh(); },
                style: { font: "inherit", fontWeight: "600", minWidth: "2.4em", minHeight: "2.1em", borderRadius: "4px", cursor: "pointer" },
            }, NAMES[i]);
            const slider = ui.el("input", {
                type: "range", min: 1, max: trace.last_arrival + 1, value: run.arrivals[i] + 1, "aria-label": `Request ${NAMES[i]} arrives at step`,
                style: { display: "block", width: "100%", minWidth: "70px", margin: "0", accentColor: "var(--d-a)" },
                oninput: () => move(i, Number(slider.value) - 1),
            });
            const row = { name, slider, at: ui.el("td", { style: { ...edge, width: "2em" } }), fixed: ui.el("td", { style: { ...edge, textAlign: "right" } }),
                continuous: ui.el("td", { style: { ...edge, textAlign: "right" } }) };
            rows.push(row);
            return ui.el("tr", { style: { border: "none", background: "none" } },
                ui.el("td", { style: { ...edge, whiteSpace: "nowrap" } }, name, ` ${length}`),
                ui.el("td", { style: { ...edge, width: "40%" } }, slider), row.at, row.fixed, row.continuous);
        });
        ui.fill(table,
            ui.el("thead", {}, ui.el("tr", { style: { border: "none" } }, head("tokens", "left"), head("arrives at step", "left"), head("", "left"), head("waits, static", "right"), head("waits, cont.", "right"))),
            ui.el("tbody", {}, body));
        fillTable();
    }
    function fillTable() {
        rows.forEach((row, i) => {
            const isFollowed = i === followed;
            row.name.setAttribute("aria-pressed", String(isFollowed));
            Object.assign(row.name.style, {
                color: isFollowed ? "var(--d-bg)" : "var(--d-ink)", background: isFollowed ? "var(--d-b)" : "var(--d-bg)",
                border: `1px solid ${isFollowed ? "var(--d-b)" : "var(--d-line)"}`,
            });
            row.slider.value = String(run.arrivals[i] + 1);
            ui.fill(row.at, run.arrivals[i] + 1);
            ui.fill(row.fixed, waits(run, plans.fixed)[i]);
            ui.fill(row.continuous, waits(run, plans.continuous)[i]);
        });
        const [fewer, more] = [plans.continuous, plans.fixed].map(stepsOf);
        ui.fill(origin, fewer === more ? "The same number of steps. " : `${more} / ${fewer} = ${(more / fewer).toFixed(2)} times as many steps in static batches. `, isRecorded(run)
            ? "Recorded from lesson 07's plan and from the engine."
            : `Computed here by two rules that give all ${trace.runs.length} recorded runs.`);
    }

    function plan() {
        plans = { fixed: fixed(run), continuous: continuous(run) };
        return Math.max(stepsOf(plans.fixed), stepsOf(plans.continuous));
    }
    function show(isNew) {
        const steps = plan();
        if (isNew) followed = null;
        if (isNew) drawTable(); else fillTable();
        stepper.reset(steps, isNew ? 0 : Math.min(stepper.index, steps - 1));
    }
    function move(i, step) {
        run.arrivals = run.arrivals.map((old, k) => (k === i ? step : old));
        arrivals.element.selectedIndex = PATTERNS.length;
        show(false);
    }

    const PATTERNS = trace.patterns;
    const arrive = () => {
        const every = PATTERNS[arrivals.element.selectedIndex];
        if (every) run.arrivals = run.lengths.map((_, i) => i * every.every);
    };
    function mix(i) {
        run.lengths = trace.mixes[Number(i)].lengths;
        if (!PATTERNS[arrivals.element.selectedIndex]) arrivals.element.selectedIndex = 0;
        arrive();
        show(true);
    }
    const stepper = ui.stepper({
        steps: plan(),
        render(step) { draw(step); return told(run, plans, step); },
    });
    const lengths = ui.select({
        label: "lengths",
        options: trace.mixes.map((mix, i) => [String(i), mix.name]),
        change: mix,
    });
    ui.range({ label: "slots", min: 1, max: 4, value: run.slots, change(slots) { run.slots = slots; show(false); } });
    const arrivals = ui.select({
        label: "arrivals",
        options: [...PATTERNS.map((pattern, i) => [String(i), pattern.name]), ["hand", "moved by hand"]],
        change() { arrive(); show(false); },
    });
    drawTable();

    // Eight requests of one length, computed by the same two rules.
    const EQUAL = trace.mixes.findIndex((each) => new Set(each.lengths).size === 1);
    const equal = { ...run, lengths: trace.mixes[EQUAL].lengths, arrivals: trace.mixes[EQUAL].lengths.map(() => 0) };
    const saved = (each) => stepsOf(fixed(each)) - stepsOf(continuous(each));
    const here = saved(run);
    ui.guess({
        question: `Here ${here} of ${stepsOf(plans.fixed)} steps are saved. How many for ${equal.lengths.length} requests of ${equal.lengths[0]} tokens each?`,
        options: [saved(equal), here, 2 * here].map(String),
        answer: 0,
        because: "Requests of one length that begin together end together: no row is free before the batch is done.",
        done() {
            lengths.element.selectedIndex = EQUAL;
            arrivals.element.selectedIndex = 0;
            mix(EQUAL);
        },
    });
});
