// The runtime of the interactive figures.
//
// A page holds <figure class="interactive" data-figure="NAME"> with the recorded steps as a list of text. This file takes
// such a figure over when two things have arrived: the trace (figures.trace, written by the builder from NAME.json) and
// the drawing code (figures.register, in NAME.js). Without scripts, or when the drawing code fails, the list stays.
//
// Nothing here loads or stores anything, and nothing moves before the reader presses Play. How to write a figure: book/README.md.
(() => {
    "use strict";

    const SVG = "http://www.w3.org/2000/svg";
    const traces = new Map();
    const drawings = new Map();

    /** Sets attributes: `class`, `style` as an object, `onX` as a listener, `true`/`false` as present/absent. */
    function attributes(node, attrs) {
        for (const [name, value] of Object.entries(attrs || {})) {
            if (value === null || value === undefined || value === false) continue;
            if (name === "style" && typeof value === "object") Object.assign(node.style, value);
            else if (name.startsWith("on") && typeof value === "function") node.addEventListener(name.slice(2), value);
            else node.setAttribute(name, value === true ? "" : String(value));
        }
    }

    /** Children are nodes, texts, numbers or lists of them; null and false are left out. */
    function append(node, children) {
        for (const child of children.flat(Infinity)) {
            if (child === null || child === undefined || child === false) continue;
            node.append(child instanceof Node ? child : String(child));
        }
        return node;
    }

    function el(tag, attrs, ...children) {
        const node = document.createElement(tag);
        attributes(node, attrs);
        return append(node, children);
    }

    function svg(tag, attrs, ...children) {
        const node = document.createElementNS(SVG, tag);
        attributes(node, attrs);
        // The style keeps a picture wide enough on a phone for letters of 14 units to be read.
        if (tag === "svg" && attrs && attrs.viewBox) node.style.setProperty("--units", attrs.viewBox.trim().split(/[\s,]+/)[2]);
        return append(node, children);
    }

    /** Replaces all that a node holds. */
    function fill(node, ...children) {
        node.replaceChildren();
        return append(node, children);
    }

    /** Time for which a step is shown while a figure plays. */
    const PLAY_MS = 1400;

    let counter = 0;
    const freshId = (word) => `figure-${word}-${++counter}`;

    /** What drawing code gets as its third argument. */
    class Ui {
        constructor(figure, parts) {
            this.figure = figure;
            this.parts = parts;
            this.el = el;
            this.svg = svg;
            this.fill = fill;
            /** True when the reader asked for no motion: then change things at once. */
            this.still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
            this.steppers = [];
        }

        /** A part that is folded until the reader opens it. It is made once and filled at each step, so it stays as the reader left it. */
        fold(summary, ...children) {
            return el("details", { class: "figure-fold" }, el("summary", {}, summary), children);
        }

        /** The sentence under the drawing, read aloud when it changes. A stepper sets it by itself. */
        say(text) {
            if (this.parts.text.textContent !== text) this.parts.text.textContent = text;
        }

        /**
         * Buttons, slider and keys over steps 0 to n - 1. `steps` is a number or a list; `render(i)` draws step i and may
         * return its sentence, otherwise `steps[i].text` is said. Returns { index, go(i), reset(steps, at = 0), refresh() }.
         */
        stepper({ steps, render, start = 0, label = "Step" }) {
            const ui = this;
            // Drawn, not typed: few fonts have these signs.
            const button = (path, name, act, more) => el("button", { type: "button", "aria-label": name, title: name, onclick: act, ...more },
                svg("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }, svg("path", { d: path, fill: "currentColor", "fill-rule": "evenodd" })));
            const first = button("M2 2h2.4v12H2z M14 2v12L5 8z", "First step (Home)", () => stepper.go(0));
            const back = button("M12 2v12L3 8z", "Step back (left arrow)", () => stepper.go(stepper.index - 1));
            const next = button("M4 2v12l9-6z", "Next step (right arrow)", () => stepper.go(stepper.index + 1));
            const last = button("M2 2v12l9-6z M11.6 2H14v12h-2.4z", "Last step (End)", () => stepper.go(stepper.count - 1), { class: "figure-last" });
            const icons = ["M8 0a8 8 0 1 0 .01 0z M6 4.4v7.2L11.6 8z", "M3.5 2h3.2v12H3.5z M9.3 2h3.2v12H9.3z"];
            const play = button(icons[0], "Play", () => stepper.play(playing === null));
            let playing = null;
            const slider = el("input", {
                type: "range", min: 0, value: 0, "aria-label": label, "data-keys": "stepper",
                oninput: () => stepper.go(Number(slider.value)),
            });
            const place = el("span", { class: "figure-place", "aria-hidden": "true" });
            const stepper = {
                index: 0,
                count: 0,
                steps,
                go(i) {
                    this.play(false);
                    this.move(i);
                },
                move(i) {
                    const at = Math.max(0, Math.min(this.count - 1, Math.trunc(i) || 0));
                    if (at === this.index) return;
                    this.index = at;
                    this.refresh();
                },
                /** Steps on by itself, from the start if the end is shown; any other button or key stops it. */
                play(on) {
                    if (on === (playing !== null)) return;
                    window.clearInterval(playing);
                    playing = null;
                    if (on) {
                        if (this.index === this.count - 1) this.move(0);
                        playing = window.setInterval(() => {
                            this.move(this.index + 1);
                            if (this.index === this.count - 1) this.play(false);
                        }, PLAY_MS);
                    }
                    play.querySelector("path").setAttribute("d", icons[on ? 1 : 0]);
                    for (const name of ["aria-label", "title"]) play.setAttribute(name, on ? "Pause" : "Play");
                },
                reset(steps, at = 0) {
                    this.play(false);
                    this.steps = steps;
                    this.count = typeof steps === "number" ? steps : steps.length;
                    if (!(this.count > 0)) throw new Error("a stepper needs at least one step");
                    this.index = Math.max(0, Math.min(this.count - 1, at));
                    this.refresh();
                },
                refresh() {
                    const said = render(this.index);
                    const step = typeof this.steps === "number" ? undefined : this.steps[this.index];
                    const text = typeof said === "string" ? said : step && step.text;
                    if (typeof text === "string") ui.say(text);
                    const end = this.count - 1;
                    slider.max = String(end);
                    slider.value = String(this.index);
                    slider.setAttribute("aria-valuetext", `${label} ${this.index + 1} of ${this.count}`);
                    place.textContent = `${this.index + 1} / ${this.count}`;
                    // aria-disabled keeps the focus where it is when the end is reached.
                    for (const b of [first, back]) b.setAttribute("aria-disabled", String(this.index === 0));
                    for (const b of [next, last]) b.setAttribute("aria-disabled", String(this.index === end));
                    ui.figure.dataset.step = String(this.index);
                    ui.figure.dataset.steps = String(this.count);
                },
            };
            this.parts.steps.append(el("div", { class: "figure-stepper", role: "group", "aria-label": label },
                first, back, play, next, last, slider, place));
            this.steppers.push(stepper);
            stepper.reset(steps, start);
            return stepper;
        }

        /**
         * A guess before the answer: a question with a button for each option. The first guess shows `because` in its place
         * and calls `done`, which may step to the answer. `answer` is the index of the right option.
         */
        guess({ question, options, answer, because, done }) {
            const box = el("div", { class: "figure-guess", role: "group", "aria-label": "Guess first" });
            const pick = (i) => {
                fill(box, el("span", { "aria-live": "polite" }, el("strong", {}, i === answer ? "Right. " : `Not ${options[i]}: ${options[answer]}. `), because));
                if (done) done();
            };
            append(box, [el("span", {}, el("strong", {}, "Guess first. "), question),
                el("span", { class: "figure-options" }, options.map((option, i) => el("button", { type: "button", onclick: () => pick(i) }, option)))]);
            this.parts.stage.before(box);
        }

        /** A switch. `change(on)` is called on every change, not at the start. Returns { value }. */
        toggle({ label, value = false, change }) {
            const box = el("input", {
                type: "checkbox", role: "switch", checked: value,
                onchange: () => { handle.value = box.checked; change(box.checked); },
            });
            const handle = { value, element: box };
            this.parts.controls.append(el("label", { class: "figure-toggle" }, box, el("span", {}, label)));
            return handle;
        }

        /** A choice of few. `options` is a list of texts or of [value, text]. Returns { value }. */
        select({ label, options, value, change }) {
            const pairs = options.map((option) => (Array.isArray(option) ? option : [option, option]));
            const handle = { value: value === undefined ? pairs[0][0] : value };
            const box = el("select", {
                onchange: () => { handle.value = pairs[box.selectedIndex][0]; change(handle.value); },
            }, pairs.map(([key, text]) => el("option", { selected: key === handle.value }, text)));
            handle.element = box;
            this.parts.controls.append(el("label", { class: "figure-select" }, el("span", {}, label), box));
            return handle;
        }

        /** A number to move. `show(value)` gives its text. Returns { value }. */
        range({ label, min, max, step = 1, value, show = String, change }) {
            const handle = { value };
            const shown = el("output", {}, show(value));
            const box = el("input", {
                type: "range", min, max, step, value, "aria-valuetext": show(value),
                oninput: () => {
                    handle.value = Number(box.value);
                    shown.textContent = show(handle.value);
                    box.setAttribute("aria-valuetext", show(handle.value));
                    change(handle.value);
                },
            });
            handle.element = box;
            this.parts.controls.append(el("label", { class: "figure-range" }, el("span", {}, label), box, shown));
            return handle;
        }
    }

    /** Arrow keys, Home and End step the figure that has the focus; they never reach the page, which would turn it over. */
    function onKey(event, ui) {
        if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
        const keys = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };
        if (!(event.key in keys)) return;
        event.stopPropagation();
        const target = event.target;
        const isForeign = target.matches("input:not([data-keys]):not([type=checkbox]), select, textarea");
        const stepper = ui.steppers[0];
        if (isForeign || !stepper) return;
        event.preventDefault();
        const by = keys[event.key];
        stepper.go(by === -Infinity ? 0 : by === Infinity ? stepper.count - 1 : stepper.index + by);
    }

    function begin(figure, name) {
        if (figure.dataset.state) return;
        const parts = {
            controls: el("div", { class: "figure-controls" }),
            stage: el("div", { class: "figure-stage" }),
            text: el("p", { class: "figure-text", "aria-live": "polite" }),
            steps: el("div", { class: "figure-steps" }),
        };
        const ui = new Ui(figure, parts);
        const body = el("div", { class: "figure-body" }, parts.controls, parts.stage, parts.text, parts.steps);
        figure.append(body);
        try {
            drawings.get(name)(parts.stage, traces.get(name), ui);
        } catch (error) {
            body.remove();
            figure.dataset.state = "failed";
            console.error(`figure ${name}: ${error && error.stack || error}`);
            return;
        }
        figure.tabIndex = 0;
        figure.addEventListener("keydown", (event) => onKey(event, ui));
        figure.dataset.state = "ready";
    }

    function tryBegin(name) {
        if (!drawings.has(name) || !traces.has(name)) return;
        for (const figure of document.querySelectorAll("figure.interactive")) {
            if (figure.dataset.figure === name) begin(figure, name);
        }
    }

    window.figures = {
        /** Called by NAME.js: how the figure is drawn. */
        register(name, draw) {
            drawings.set(name, draw);
            tryBegin(name);
        },
        /** Called by the file that the builder makes from NAME.json. */
        trace(name, trace) {
            traces.set(name, trace);
            tryBegin(name);
        },
        freshId,
    };
})();
