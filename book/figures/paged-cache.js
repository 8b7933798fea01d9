// The block map: what every block holds, which tables name it, and in which order the free ones lie, after each thing that happened to the blocks.
//
// Nothing is computed here. The states were recorded while lesson 08's engine ran over the blocks; the page checks that they fit together.
window.figures.register("paged-cache", (root, trace, ui) => {
    const NAMES = "ABCDEFGH";
    const KINDS = ["join", "wait", "hit", "share", "allocate", "copy", "write", "publish", "evict", "free", "cancel"];
    const STATES = { absent: "not here yet", waiting: "waits", running: "", done: "is done", cancelled: "was cancelled" };

    // --- a frame as the page reads it

    /** The tables that name a block, as [request, place in its table]. */
    const holders = (frame, block) => frame.tables.flatMap(([, blocks], request) => {
        const place = blocks.indexOf(block);
        return place < 0 ? [] : [[request, place]];
    });
    for (const scenario of trace.scenarios) {
        for (const [i, frame] of scenario.frames.entries()) {
            frame.blocks.forEach((_, block) => {
                const isFree = frame.free.includes(block);
                if (isFree !== (holders(frame, block).length === 0)) throw new Error(`${scenario.name}, ${i}: block ${block} is free and held, or neither`);
            });
        }
    }

    // --- what a frame says: the trace holds states, the sentences are made from what changed

    const listed = (blocks) => `block${blocks.length === 1 ? "" : "s"} ${blocks.length > 1 ? `${blocks.slice(0, -1).join(", ")} and ${blocks.at(-1)}` : blocks[0]}`;
    const counted = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;

    function tell(frame, before, scenario) {
        const who = NAMES[frame.request];
        const [, table, len, reserved] = frame.tables[frame.request];
        const [, oldTable, oldLen] = before ? before.tables[frame.request] : [null, [], 0];
        const said = [];
        const kinds = [];
        const marked = new Set();
        const taken = table.filter((block) => !oldTable.includes(block));
        const shared = taken.filter((block) => holders(frame, block).length > 1 || !before.free.includes(block) || frame.blocks[block][1] > 0 && frame.blocks[block][0]);
        const fresh = taken.filter((block) => !shared.includes(block));
        const lost = before ? fresh.filter((block) => before.blocks[block][0] && !frame.blocks[block][0]) : [];
        const note = (kind, sentence, blocks = []) => { kinds.push(kind); said.push(sentence); blocks.forEach((block) => marked.add(block)); };
        if (frame.event === "start") {
            said.push(`${frame.blocks.length} blocks, with room for ${trace.block_size} tokens each. All are on the free list; block ${frame.free[0]} is handed out next.`);
        } else if (frame.event === "wait") {
            note("wait", `${who} waits: memory has no room for it now. ${counted(frame.available, "free block")} ${frame.available === 1 ? "is" : "are"} not reserved.`);
        } else if (frame.event === "join") {
            note("join", `${who} joins; ${counted(reserved, "block")} ${reserved === 1 ? "is" : "are"} enough for its prompt and all tokens that it may get.`);
            if (shared.length > 0) note("share", `It shares ${listed(shared)}: ${counted(len, "token")} need no computing.`, shared);
            if (shared.length > 0 && frame.copies.length === 0) kinds.push("hit");
            if (fresh.length > 0) note("allocate", `It takes ${listed(fresh)} from the front of the free list.`, fresh);
            const copy = frame.copies.find(([, to]) => fresh.includes(to));
            if (copy) note("copy", `It will write into the block that holds the end of the prompt, so block ${copy[0]} is copied to block ${copy[1]} first.`, copy);
        } else if (frame.event === "grow") {
            note("allocate", `The text of ${who} reaches the next block: it takes ${listed(fresh)}.`, fresh);
        } else if (frame.event === "write") {
            const touched = [...new Set(Array.from({ length: len - oldLen }, (_, i) => table[Math.floor((oldLen + i) / trace.block_size)]))];
            const word = trace.words[frame.blocks[touched[0]][2][oldLen % trace.block_size]];
            note("write", len - oldLen === 1
                ? `${who} writes “${word}” at position ${oldLen}: block ${touched[0]}, place ${oldLen % trace.block_size}.`
                : `${who} writes ${len - oldLen} tokens into ${listed(touched)}.`, touched);
            for (const block of touched) {
                const [name, kept] = frame.blocks[block];
                if (name && !before.blocks[block][0]) note("publish", `Block ${block} is full: it is published as ${name}.`);
                else if (!name && kept === trace.block_size && scenario.frames.some((other) => other.blocks.some(([known]) => known))) {
                    said.push(`Block ${block} is full too, but its content is published already, and that block keeps the name.`);
                }
            }
        } else {
            const isCancel = frame.event === "cancel";
            const freed = oldTable.filter((block) => frame.free.includes(block));
            const kept = oldTable.filter((block) => !frame.free.includes(block));
            if (isCancel) kinds.push("cancel");
            if (oldTable.length === 0) said.push(`${who} is cancelled. It holds no block, so none comes back.`);
            else note("free", `${who} ${isCancel ? "is cancelled in the middle of its text" : "is done"}.`, oldTable);
            if (freed.length > 0) said.push(`At the end of the free list: ${listed([...freed].reverse())}${freed.length > 1 ? ", the last one of the text first" : ""}.`);
            if (kept.length > 0) said.push(`Other requests still hold ${listed(kept)}.`);
        }
        for (const block of lost) note("evict", `Block ${block} was still known as ${before.blocks[block][0]}; that name is forgotten.`);
        return { ...frame, text: said.join(" "), kinds, marked: [...marked] };
    }
    for (const each of trace.scenarios) each.frames = each.frames.map((frame, i) => tell(frame, each.frames[i - 1], each));

    let scenario = trace.scenarios[0];

    const about = ui.el("p", { style: { margin: "0 0 8px", color: "var(--d-soft)", fontSize: "0.9em" } });
    const marks = ui.el("div", { style: { display: "flex", flexWrap: "wrap", gap: "5px", marginBottom: "10px" } });
    const map = ui.el("div");
    const side = ui.el("div");
    const total = ui.el("summary", { style: { cursor: "pointer", fontSize: "0.9em" } });
    root.append(about, marks, map, ui.el("details", { style: { margin: "6px 0 0" } }, total, side));

    // --- the map

    /** On a phone four cards in a row can be read whole. */
    const COLUMNS = window.matchMedia("(max-width: 560px)").matches ? 4 : 8;
    const WIDE = 78;
    const GAP = 8;
    const LINE = 18;
    const HIGH = 24 + LINE * trace.block_size + 38;
    const WIDTH = COLUMNS * WIDE + (COLUMNS - 1) * GAP;

    const text = (x, y, words, more) => ui.svg("text", { x, y, ...more, style: `font-size:13px;${more && more.style || ""}` }, words);
    const SOFT = "fill:var(--d-soft);";

    /** One block: its number and count, its places, the tables that name it, the name of its content. */
    function card(frame, id) {
        const [name, kept, tokens] = frame.blocks[id];
        const held = holders(frame, id);
        const isHeld = held.length > 0;
        const isMarked = frame.marked.includes(id);
        const x = (id % COLUMNS) * (WIDE + GAP) + 1;
        const y = Math.floor(id / COLUMNS) * (HIGH + GAP) + 2;
        const colour = isHeld ? "a" : name ? "good" : "";
        const nodes = [ui.svg("rect", {
            x, y, width: WIDE - 2, height: HIGH - 2, rx: 5, fill: "var(--d-bg)",
            stroke: isMarked ? "var(--d-b)" : colour ? `var(--d-${colour})` : "var(--d-line)",
            "stroke-width": isMarked ? 3 : 1.2, "stroke-dasharray": isHeld || isMarked ? null : "4 3",
        })];
        nodes.push(text(x + 7, y + 18, id, { style: "font-size:15px;font-weight:700" }));
        nodes.push(text(x + WIDE - 8, y + 17, isHeld ? `×${held.length}` : "free", { "text-anchor": "end", style: held.length > 1 ? "font-weight:700" : SOFT }));
        tokens.forEach((token, place) => {
            const top = y + 23 + place * LINE;
            const counts = place < kept;
            nodes.push(ui.svg("rect", {
                x: x + 5, y: top, width: WIDE - 12, height: LINE - 2, rx: 2,
                fill: counts ? `var(--d-${colour || "fill"}-soft)` : "none", stroke: counts ? "none" : "var(--d-line)", "stroke-dasharray": counts ? null : "2 3",
            }));
            if (token >= 0) nodes.push(text(x + 10, top + 13, trace.words[token], { style: counts ? "" : `${SOFT}font-style:italic;text-decoration:line-through` }));
        });
        const foot = y + 24 + LINE * trace.block_size;
        nodes.push(text(x + 7, foot + 13, held.map(([request, place]) => `${NAMES[request]}${place}`).join(" "), { style: "fill:var(--d-a);font-weight:600" }));
        if (name) nodes.push(text(x + 7, foot + 29, `= ${name}`, { style: "fill:var(--d-good);font-weight:600" }));
        return nodes;
    }

    /** The free list, from left to right as it will be handed out. */
    function freeList(frame, top) {
        const nodes = [text(1, top + 14, frame.free.length > 0 ? "free list, handed out from the left" : "free list: empty", { style: SOFT })];
        const each = 42;
        frame.free.forEach((block, i) => {
            const name = frame.blocks[block][0];
            const x = i * each + 1;
            nodes.push(ui.svg("rect", {
                x, y: top + 22, width: 30, height: 24, rx: 4, "stroke-width": 1.2,
                fill: name ? "var(--d-good-soft)" : "var(--d-bg)", stroke: name ? "var(--d-good)" : "var(--d-soft)", "stroke-dasharray": name ? null : "4 3",
            }));
            nodes.push(text(x + 15, top + 39, block, { "text-anchor": "middle" }));
            if (i + 1 < frame.free.length) nodes.push(ui.svg("path", { d: `M${x + 32} ${top + 34}h8m-3 -3l3 3l-3 3`, fill: "none", stroke: "var(--d-soft)", "stroke-width": 1.3 }));
        });
        return nodes;
    }

    function drawMap(frame) {
        const rows = Math.ceil(frame.blocks.length / COLUMNS);
        const top = rows * (HIGH + GAP) + 2;
        ui.fill(map, ui.svg("svg", {
            viewBox: `-1 0 ${WIDTH + 2} ${top + 50}`, role: "img",
            "aria-label": `${frame.blocks.length} blocks, ${frame.free.length} of them free`,
        }, frame.blocks.map((_, id) => card(frame, id)), freeList(frame, top)));
    }

    // --- the requests and their tables

    /** A table entry: a block's number, or a block that is reserved. */
    function entry(content, isTaken) {
        return ui.el("span", {
            style: {
                display: "inline-block", minWidth: "1.9em", padding: "1px 0", marginRight: "3px", textAlign: "center", borderRadius: "4px",
                border: isTaken ? "1px solid var(--d-a)" : "1px dashed var(--d-soft)", background: isTaken ? "var(--d-a-soft)" : "none",
            },
        }, content);
    }

    function request(frame, i) {
        const [state, blocks, len, reserved] = frame.tables[i];
        const isPresent = state === "running";
        const kept = `${len} ${len === 1 ? "position" : "positions"} kept`;
        const first = trace.block_size - (len % trace.block_size || trace.block_size);
        const room = blocks.length * trace.block_size - len;
        const wasted = blocks.length > 0 && room > 0 && first < trace.block_size ? `, ${room} free in its blocks` : "";
        return ui.el("div", { style: { padding: "5px 0", borderTop: "1px solid var(--d-line)" } },
            ui.el("div", { style: { display: "flex", gap: "8px", alignItems: "baseline", minHeight: "1.9em" } },
                ui.el("strong", { style: { width: "1.1em" } }, NAMES[i]),
                isPresent ? ui.el("span", {}, blocks.map((block) => entry(block, true)), Array.from({ length: Math.max(0, reserved - blocks.length) }, () => entry("·", false)))
                    : ui.el("span", { style: { color: "var(--d-soft)" } }, STATES[state])),
            ui.el("div", { style: { fontSize: "0.85em", color: "var(--d-soft)", paddingLeft: "calc(1.1em + 8px)", overflowWrap: "anywhere" } },
                isPresent ? `${kept}${wasted}` : `“${scenario.prompts[i]}”`));
    }

    function drawSide(frame) {
        const held = frame.blocks.map((_, id) => id).filter((id) => !frame.free.includes(id));
        const room = held.length * trace.block_size;
        const kept = held.reduce((sum, id) => sum + frame.blocks[id][1], 0);
        const use = room > 0 ? `, ${kept} of ${room} positions in use` : "";
        ui.fill(total, `Tables. ${held.length} ${held.length === 1 ? "block" : "blocks"} held${use}; ${frame.free.length} free, ${frame.available} not reserved.`);
        ui.fill(side, frame.tables.map((_, i) => request(frame, i)));
    }

    /** What this scenario knows how to do; what it does now stands out. */
    function drawMarks(frame) {
        const known = KINDS.filter((kind) => scenario.frames.some((other) => other.kinds.includes(kind)));
        ui.fill(marks, known.map((kind) => {
            const isNow = frame.kinds.includes(kind);
            return ui.el("span", {
                style: {
                    padding: "0 8px", borderRadius: "10px", fontSize: "0.85em", lineHeight: "1.6",
                    border: `1px solid var(--d-${isNow ? "b" : "line"})`, fontWeight: isNow ? "700" : "400",
                    color: isNow ? "var(--d-bg)" : "var(--d-soft)", background: isNow ? "var(--d-b)" : "none",
                },
            }, kind);
        }));
    }

    // The figure opens on what blocks make possible: in front of the request that begins as an earlier one did.
    const shared = Math.max(0, trace.scenarios.findIndex((other) => other.name === "shared prefix"));
    scenario = trace.scenarios[shared];
    const hit = scenario.frames.findIndex((frame) => frame.kinds.includes("hit"));
    const stepper = ui.stepper({
        steps: scenario.frames,
        start: Math.max(0, hit - 1),
        render(i) {
            const frame = scenario.frames[i];
            ui.fill(about, scenario.about);
            drawMarks(frame);
            drawMap(frame);
            drawSide(frame);
            return frame.text;
        },
    });
    ui.select({
        label: "scenario",
        options: trace.scenarios.map((other, i) => [String(i), other.name]),
        value: String(shared),
        change(i) { scenario = trace.scenarios[Number(i)]; stepper.reset(scenario.frames); },
    });
    if (hit > 0) {
        const { request, tables } = scenario.frames[hit];
        const found = tables[request][2] / trace.block_size;
        ui.guess({
            question: `${NAMES[request]} asks “${scenario.prompts[request]}”. How many blocks need no computing?`,
            options: ["0", String(found), "all of its blocks"],
            answer: 1,
            because: "They hold the same beginning. Its other tokens follow another text, so they are computed.",
            done() { stepper.go(hit); },
        });
    }
});
