// From logits to one token, on real logits: temperature, top-k, top-p, min-p, and the number that decides.
//
// The sliders have many positions, so the page cuts and draws by itself, by the rules of the sampler. Before it shows anything it repeats all
// recorded cases, and stops if the sampler chose another token or kept other ones.
window.figures.register("sampling", (root, trace, ui) => {
    const { stops, pieces } = trace;
    const vocabulary = pieces.length;
    const f32 = Math.fround;
    /** Two shares that lie nearer together are told apart by rounding: the sampler adds in f32 and f64, the page in f64. */
    const NEAR = 2e-6;
    const contexts = trace.contexts.map((context) => {
        const logits = Float32Array.from(context.logits);
        const order = Array.from(logits.keys()).sort((a, b) => logits[b] - logits[a] || a - b);
        return { ...context, logits, order, place: invert(order) };
    });

    function invert(order) {
        const place = new Array(order.length);
        order.forEach((id, i) => { place[id] = i; });
        return place;
    }
    const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

    // --- the rules

    /** The number of a draw: seed, answer and position, mixed one after the other by the finalizer of SplitMix64. */
    function uniform(seed, answer, position) {
        const wrap = (x) => BigInt.asUintN(64, x);
        const mix = (start) => {
            let x = wrap(start + 0x9e3779b97f4a7c15n);
            x = wrap((x ^ (x >> 30n)) * 0xbf58476d1ce4e5b9n);
            x = wrap((x ^ (x >> 27n)) * 0x94d049bb133111ebn);
            return x ^ (x >> 31n);
        };
        const bits = mix(mix(mix(BigInt(seed)) ^ BigInt(answer)) ^ BigInt(position));
        return Number(bits >> 11n) / 2 ** 53;
    }

    /** Logits to shares. Below e^-87 the exponential of lesson 05 is 0. */
    function softmax(context, ids, temperature) {
        const largest = context.logits[context.order[0]];
        const perDegree = f32(1 / f32(temperature));
        const weights = ids.map((id) => {
            const x = f32(f32(context.logits[id] - largest) * perDegree);
            return x < -87 ? 0 : Math.exp(x);
        });
        const mass = sum(weights);
        return weights.map((weight) => weight / mass);
    }

    /** What may be drawn, in the order of the draw, with its shares. `near` says that rounding decides what is kept. */
    function keep(context, { temperature, topK, topP, minP }) {
        if (temperature === 0) return { ids: [context.order[0]], shares: [1], near: false };
        const isFew = topK > 0 && topK < vocabulary;
        const isCut = isFew || topP < 1 || minP > 0;
        // Nothing needs an order where nothing is cut: then the draw walks through the vocabulary as it stands.
        let ids = isFew ? context.order.slice(0, topK) : isCut ? context.order : Array.from(context.logits.keys());
        let shares = softmax(context, ids, temperature);
        let [count, before, near] = [ids.length, 0, false];
        if (topP < 1) {
            const border = f32(topP);
            for (count = 0; count < ids.length && (count === 0 || before < border); count += 1) {
                before += shares[count];
                near = near || Math.abs(before - border) < NEAR * border;
            }
        }
        if (minP > 0) {
            const least = f32(minP) * shares[0];
            near = near || (minP < 1 && shares.slice(0, count).some((share) => Math.abs(share - least) < NEAR * least));
            const below = shares.slice(0, count).findIndex((share) => share < least);
            if (below >= 0) count = below;
        }
        ids = ids.slice(0, count);
        shares = shares.slice(0, count);
        const mass = sum(shares);
        const possible = ids.map((_, i) => i).filter((i) => shares[i] > 0);
        return { ids: possible.map((i) => ids[i]), shares: possible.map((i) => shares[i] / mass), near };
    }

    /** The place on which a number falls, and the interval of its token. */
    function draw(kept, point) {
        let from = 0;
        for (let place = 0; place < kept.ids.length; place += 1) {
            const to = from + kept.shares[place];
            if (to > point || place + 1 === kept.ids.length) return { place, from, to };
            from = to;
        }
        throw new Error("nothing is kept");
    }

    const entropy = (shares) => 0 - sum(shares.map((p) => p * Math.log(p)));

    // --- the page chooses what the sampler chose

    const settingOf = ([temperature, topK, topP, minP, seed, answer]) => ({
        temperature: stops.temperature[temperature], topK: stops.top_k[topK], topP: stops.top_p[topP], minP: stops.min_p[minP], seed, answer,
    });
    for (const [seed, answer, position, point] of trace.draws) {
        if (uniform(seed, answer, position) !== point) throw new Error(`draw ${seed}, ${answer}, ${position}: another number than recorded`);
    }
    /** Whether rounding decides: a border or the draw lies at the edge of a token. */
    const isNear = (kept, point, hit) => kept.near || Math.min(Math.abs(point - hit.from), Math.abs(point - hit.to)) < NEAR;
    for (const recorded of [...trace.steps, ...trace.cases]) {
        const context = contexts[recorded.context];
        const setting = settingOf(recorded.setting);
        const kept = keep(context, setting);
        const point = uniform(setting.seed, setting.answer, context.position);
        const hit = draw(kept, point);
        if (isNear(kept, point, hit)) continue;
        const token = kept.ids[hit.place];
        const isSame = kept.ids.length === recorded.kept && sum(kept.ids) === recorded.ids && token === recorded.token
            && Math.abs(entropy(kept.shares) - recorded.nats) < 2e-4;
        if (!isSame) throw new Error(`text ${recorded.context}, sliders ${recorded.setting}: this page and the sampler disagree`);
    }

    // --- what is said

    const setting = settingOf(stops.first);
    let context = contexts[0];
    let hasTally = false;

    const percent = (share) => `${(100 * share).toFixed(1)} %`;
    const name = (id) => `‹${pieces[id]}›`;
    /** The five states of the distribution: the model's own, then one after each slider. */
    function stages() {
        const off = { temperature: 1, topK: 0, topP: 1, minP: 0 };
        const { temperature, topK, topP, minP } = setting;
        return [off, { ...off, temperature }, { ...off, temperature, topK }, { ...off, temperature, topK, topP }, { temperature, topK, topP, minP }]
            .map((each) => keep(context, each));
    }
    const shareIn = (kept) => {
        const shares = new Map(kept.ids.map((id, i) => [id, kept.shares[i]]));
        return (id) => shares.get(id) || 0;
    };
    function best(kept) {
        const id = context.order[0];
        return `${name(id)} has ${percent(shareIn(kept)(id))}`;
    }
    function told(stage, kept) {
        const isGreedy = setting.temperature === 0;
        const nats = (at) => `Entropy ${entropy(kept[at].shares).toFixed(2)} nats.`;
        if (stage === 0) return `The model's own distribution: ${best(kept[0])}. ${nats(0)}`;
        if (stage === 1) return isGreedy ? `Temperature 0: ${name(context.order[0])} is taken, the likeliest. Nothing is divided by 0.` : `Temperature ${setting.temperature}: ${best(kept[1])}. ${nats(1)}`;
        if (stage === 5) {
            if (isGreedy) return `No draw: ${name(kept[4].ids[0])} is the token, whatever the seed.`;
            const point = uniform(setting.seed, setting.answer, context.position);
            const { place, from, to } = draw(kept[4], point);
            return `Seed ${setting.seed}, answer ${setting.answer}, position ${context.position} give ${point.toFixed(4)}. `
                + `That falls on ${name(kept[4].ids[place])}, which has ${from.toFixed(4)} to ${to.toFixed(4)}.`;
        }
        const [what, value, isOff] = [null, null, ["Top-k", setting.topK, setting.topK === 0], ["Top-p", setting.topP, setting.topP === 1], ["Min-p", setting.minP, setting.minP === 0]][stage];
        const [all, left] = [kept[stage - 1].ids.length, kept[stage].ids.length];
        if (isGreedy) return `${what} has nothing to cut: one token is left.`;
        if (isOff) return `${what} is off: ${all === 1 ? "1 token stays" : `${all} tokens stay`}.`;
        const share = shareIn(kept[stage - 1]);
        return `${what} ${value} keeps ${left} of ${all} ${all === 1 ? "token" : "tokens"}. They had ${percent(sum(kept[stage].ids.map(share)))} together.`;
    }

    // The six steps of the first setting have the recorded numbers of tokens.
    for (const [i, kept] of stages().entries()) {
        if (kept.ids.length !== trace.steps[i].kept) throw new Error(`step ${i}: ${kept.ids.length} tokens on this page, ${trace.steps[i].kept} in the record`);
    }

    // --- what is shown

    const ROWS = 6;
    const soft = (...children) => ui.el("span", { style: { color: "var(--d-soft)" } }, ...children);
    const text = ui.el("p", { style: { margin: "0 0 4px", minHeight: "1.6em" } });
    const bars = ui.el("div", { role: "list", style: { margin: "0 0 6px" } });
    const line = ui.el("div", {});
    const counts = ui.el("p", { style: { margin: "2px 0 0", fontSize: "0.9em" } });
    /** The key of the colours: a swatch as the bars have it, and its meaning. */
    const keyed = (look, words) => ui.el("span", { style: { whiteSpace: "nowrap", marginRight: "1.1em" } },
        ui.el("span", { "aria-hidden": "true", style: { display: "inline-block", height: "11px", width: "20px", boxSizing: "border-box", marginRight: "5px", verticalAlign: "-1px", borderRadius: "2px", ...look } }), words);
    const legend = ui.el("p", { style: { margin: "0 0 4px", fontSize: "0.9em", lineHeight: "1.6" } },
        keyed({ background: "var(--d-a)" }, "can be drawn"), keyed({ border: "1.5px dashed var(--d-soft)" }, "cut off"), keyed({ background: "var(--d-b)" }, "drawn"),
        keyed({ background: "var(--d-ink)", width: "3px", height: "14px" }, "the model's own share"), soft("Bars: 0 to 100 %"));
    root.append(text, legend, bars, line, counts);

    const CUTS = [null, null, "top-k", "top-p", "min-p"];
    /** By which slider a token was cut, up to a stage; null where it is still there. */
    function cutBy(id, shares, stage) {
        for (let at = 2; at <= Math.min(stage, 4); at += 1) if (shares[at](id) === 0 && shares[at - 1](id) > 0) return CUTS[at];
        return null;
    }

    function bar(label, share, own, cut, note, isDrawn) {
        const width = (part) => `${(100 * part).toFixed(2)}%`;
        return ui.el("div", {
            role: "listitem",
            style: {
                display: "grid", gridTemplateColumns: `clamp(5.2em, 18%, 6.5em) 1fr ${hasTally ? "7.4em" : "4.9em"}`, gap: "8px", alignItems: "center", padding: "0 6px",
                border: `1.5px solid ${isDrawn ? "var(--d-b)" : "transparent"}`, borderRadius: "4px", lineHeight: "1.45",
            },
        },
        ui.el("span", { style: { overflowWrap: "anywhere", color: cut ? "var(--d-soft)" : "var(--d-ink)", textDecoration: cut ? "line-through" : "none", fontWeight: isDrawn ? "bold" : "normal" } }, label),
        ui.el("span", { "aria-hidden": "true", style: { position: "relative", height: "13px", background: "var(--d-fill)", boxShadow: "inset 0 0 0 1px var(--d-line)", borderRadius: "3px" } },
            ui.el("span", {
                style: {
                    position: "absolute", left: "0", top: "0", bottom: "0", width: width(share), minWidth: share > 0 ? "2px" : "0", borderRadius: "3px", boxSizing: "border-box",
                    background: cut ? "transparent" : isDrawn ? "var(--d-b)" : "var(--d-a)", border: cut ? "1.5px dashed var(--d-soft)" : "none",
                },
            }),
            ui.el("span", { style: { position: "absolute", left: width(own), top: "-2px", bottom: "-2px", width: "2px", background: "var(--d-ink)", opacity: own > 0.0005 ? "0.85" : "0" } })),
        ui.el("span", { style: { textAlign: "right", whiteSpace: "nowrap", color: cut ? "var(--d-soft)" : "var(--d-ink)" } }, note));
    }

    function drawBars(stage, kept, drawn, tally) {
        const shares = kept.map(shareIn);
        const at = Math.min(stage, 4);
        const shown = context.order.slice(0, ROWS);
        if (drawn !== null && !shown.includes(drawn)) shown.push(drawn);
        // A cut token keeps the outline of the share that it had before the cuts.
        const now = (id) => (cutBy(id, shares, stage) ? shares[1](id) : shares[at](id));
        const rows = shown.map((id) => {
            const cut = cutBy(id, shares, stage);
            const share = shares[at](id);
            const isGone = !cut && share === 0;
            const note = cut ? `cut: ${cut}` : isGone ? "0" : share < 0.0005 ? "< 0.1 %" : percent(share);
            return bar(pieces[id], now(id), shares[0](id), cut, tally && !cut && !isGone ? `${note} · ${tally.get(id) || 0}×` : note, id === drawn);
        });
        const rest = context.order.slice(ROWS).filter((id) => id !== drawn);
        const left = rest.filter((id) => shares[at](id) > 0);
        const share = sum(left.map(shares[at]));
        const others = tally ? sum(rest.map((id) => tally.get(id) || 0)) : 0;
        const isCut = left.length === 0;
        const whole = sum(rest.map(shares[isCut ? 1 : at]));
        rows.push(bar(`${rest.length} more`, whole, sum(rest.map(shares[0])), isCut, isCut ? "none kept" : tally ? `${percent(share)} · ${others}×` : percent(share), false));
        ui.fill(bars, rows);
    }

    /** The kept shares one after the other from 0 to 1, in the order of the draw, and where the number falls. */
    function drawLine(stage, kept, point, hit) {
        const last = kept[Math.min(stage, 4)];
        const parts = [];
        let run = 0;
        const part = (width, id, isHit) => ui.el("span", {
            style: {
                flex: `0 0 ${(100 * width).toFixed(3)}%`, minWidth: "0", overflow: "hidden", textAlign: "center", fontSize: "0.85em", lineHeight: "26px", whiteSpace: "nowrap", boxSizing: "border-box",
                background: isHit ? "var(--d-b-soft)" : id === null ? "var(--d-fill)" : "var(--d-a-soft)", borderRight: id === null ? "none" : "1px solid var(--d-a)", color: "var(--d-ink)",
            },
        }, id !== null && width > 0.07 ? pieces[id] : "");
        last.ids.forEach((id, i) => {
            const share = last.shares[i];
            const isHit = hit !== null && hit.place === i;
            if (share < 0.004 && !isHit) { run += share; return; }
            if (run > 0) parts.push(part(run, null, false));
            run = 0;
            parts.push(part(share, id, isHit));
        });
        if (run > 0) parts.push(part(run, null, false));
        const from = hit === null ? null : point;
        ui.fill(line,
            ui.el("div", { "aria-hidden": "true", style: { position: "relative", padding: "16px 0 18px" } },
                ui.el("div", { style: { display: "flex", border: "1px solid var(--d-a)", borderRadius: "3px", overflow: "hidden", height: "26px" } }, parts),
                from === null ? null : ui.el("span", { style: { position: "absolute", left: `${100 * from}%`, top: "10px", height: "36px", width: "3px", marginLeft: "-1.5px", background: "var(--d-b)" } }),
                from === null ? null : ui.el("span", {
                    style: { position: "absolute", left: `clamp(0%, ${100 * from}%, calc(100% - 3.5em))`, top: "-6px", fontSize: "0.85em", fontWeight: "bold", color: "var(--d-b)", transform: `translateX(${from > 0.12 ? "-50%" : "0"})` },
                }, point.toFixed(4)),
                ["0", "0.5", "1"].map((mark, i) => ui.el("span", { style: { position: "absolute", bottom: "-4px", left: `${50 * i}%`, transform: `translateX(${-50 * i}%)`, fontSize: "0.8em", color: "var(--d-soft)" } }, mark))));
    }

    function tallied(last) {
        const tally = new Map();
        for (let seed = 0; seed < stops.seeds; seed += 1) {
            const id = last.ids[draw(last, uniform(seed, setting.answer, context.position)).place];
            tally.set(id, (tally.get(id) || 0) + 1);
        }
        return tally;
    }

    function show(stage) {
        const kept = stages();
        const last = kept[4];
        const point = uniform(setting.seed, setting.answer, context.position);
        const hit = stage === 5 ? draw(last, point) : null;
        const drawn = hit === null ? null : last.ids[hit.place];
        ui.fill(text, soft(context.prompt), drawn === null ? " …" : [pieces[drawn].startsWith("·") ? " " : null,
            ui.el("mark", { style: { background: "var(--d-b)", color: "var(--d-bg)", padding: "0 3px", margin: "0", borderRadius: "3px" } }, pieces[drawn].replace(/^·/, ""))]);
        drawBars(stage, kept, drawn, hasTally && stage === 5 ? tallied(last) : null);
        drawLine(stage, kept, point, setting.temperature === 0 ? null : hit);
        const now = kept[Math.min(stage, 4)];
        const nats = entropy(now.shares);
        const isAtBorder = hit === null ? now.near : isNear(now, point, hit);
        ui.fill(counts, `${now.ids.length} of ${vocabulary} tokens can be drawn, entropy ${nats.toFixed(2)} nats: as open as ${Math.exp(nats).toFixed(1)} equal tokens. `,
            isAtBorder ? "A border lies within rounding here. " : null, hasTally && stage === 5 ? `n×: how often in ${stops.seeds} seeds.` : null);
        return told(stage, kept);
    }

    // The figure opens on the text after which the model is least sure, with top-p alone, in front of the cut.
    const SURPRISE = contexts.length - 1;
    context = contexts[SURPRISE];
    Object.assign(setting, { temperature: 1, topK: 0, topP: 0.9, minP: 0 });
    const stepper = ui.stepper({ steps: 6, start: 0, label: "Step", render: show });
    const refresh = () => stepper.refresh();
    const numKept = stages()[3].ids.length;
    ui.guess({
        question: `How many of ${vocabulary} tokens does top-p 0.9 keep here?`,
        options: ["9", String(numKept), String(Math.round(0.9 * vocabulary))],
        answer: 1,
        because: "They have 90 % of the share. Now choose the text about the fox and read the number.",
        done() { stepper.go(3); },
    });
    ui.toggle({ label: `${stops.seeds} seeds`, change(on) { hasTally = on; refresh(); } });
    ui.select({
        label: "text",
        options: contexts.map((each, i) => [String(i), `${each.prompt} …`]),
        value: String(SURPRISE),
        change(i) { context = contexts[Number(i)]; refresh(); },
    }).element.style.maxWidth = "21em";
    /** Short, so that three stand in a line. */
    const range = (options) => Object.assign(ui.range(options).element.style, { width: "5.2em" });
    const slider = (label, key, values, shown) => range({
        label, min: 0, max: values.length - 1, value: values.indexOf(setting[key]), show: (at) => shown(values[at]),
        change(at) { setting[key] = values[at]; refresh(); },
    });
    const or = (off, word) => (value) => (value === off ? word : String(value));
    slider("temperature", "temperature", stops.temperature, or(0, "0"));
    slider("top-k", "topK", stops.top_k, or(0, "off"));
    slider("top-p", "topP", stops.top_p, or(1, "off"));
    slider("min-p", "minP", stops.min_p, or(0, "off"));
    range({ label: "seed", min: 0, max: stops.seeds - 1, value: setting.seed, change(seed) { setting.seed = seed; refresh(); } });
    range({ label: "answer", min: 0, max: stops.answers - 1, value: setting.answer, change(answer) { setting.answer = answer; refresh(); } });
});
