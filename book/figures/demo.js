// The smallest figure: a mean that takes in one number a step. Its recorded steps say the same in words.
window.figures.register("demo", (root, trace, ui) => {
    const width = 560, height = 150, gap = width / trace.numbers.length;
    const top = Math.max(...trace.numbers);
    const y = (value) => height - 24 - (value / top) * (height - 48);
    const bars = trace.numbers.map((value, i) =>
        ui.svg("rect", { x: i * gap + 6, y: y(value), width: gap - 12, height: height - 24 - y(value), rx: 3 }));
    const labels = trace.numbers.map((value, i) =>
        ui.svg("text", { x: (i + 0.5) * gap, y: height - 6, "text-anchor": "middle" }, value));
    const line = ui.svg("line", { x1: 0, x2: width, stroke: "var(--d-b)", "stroke-width": 2, "stroke-dasharray": "6 4" });
    root.append(ui.svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Bars and their mean" },
        bars, line, labels));

    ui.stepper({
        steps: trace.steps,
        render(i) {
            bars.forEach((bar, k) => bar.setAttribute("fill", k <= i ? "var(--d-a)" : "var(--d-fill)"));
            line.setAttribute("y1", y(trace.steps[i].mean));
            line.setAttribute("y2", y(trace.steps[i].mean));
        },
    });
});
