// What the book adds to mdBook's own scripts: a first Tab past the table of contents, which opens by keyboard too, arrow keys
// that stay with what they scroll, and a search that shows the glossary first and the notes for teachers last.
(() => {
    "use strict";

    // The button of the table of contents is a label: the Tab key passes it, and no role allows its aria attributes.
    const toggle = document.getElementById("mdbook-sidebar-toggle");
    toggle.setAttribute("role", "button");
    toggle.tabIndex = 0;
    toggle.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        toggle.click();
    });

    // The table of contents scrolls to the current chapter, and from there Chromium looks for the first stop of the Tab key. The
    // first stop is the link to the text, unless the reader has pressed or clicked something or came to an anchor.
    const begin = (event) => {
        for (const name of ["keydown", "pointerdown"]) document.removeEventListener(name, begin, true);
        if (event.key !== "Tab" || event.shiftKey || window.location.hash || document.activeElement !== document.body) return;
        event.preventDefault();
        document.querySelector(".skip-link").focus();
    };
    for (const name of ["keydown", "pointerdown"]) document.addEventListener(name, begin, true);

    // Inside the text the arrows scroll a code block or move a control; only elsewhere they turn the page.
    const main = document.querySelector("main");
    main.addEventListener("keydown", (event) => {
        if (event.target !== main && event.key.startsWith("Arrow")) event.stopPropagation();
    });

    // On a phone the map is wider than its frame: the stage of this chapter is scrolled into sight.
    const map = document.querySelector(".breadcrumb");
    if (map) map.addEventListener("toggle", () => {
        const [frame, stage] = [map.querySelector(".here > div"), map.querySelector(".now rect")].map((node) => node.getBoundingClientRect());
        map.querySelector(".here > div").scrollLeft += stage.left + stage.width / 2 - frame.left - frame.width / 2;
    });

    // In the order of their score, but the best part of the glossary first and the notes for teachers last.
    if (window.elasticlunr) {
        const { search } = window.elasticlunr.Index.prototype;
        window.elasticlunr.Index.prototype.search = function inOrder(...given) {
            const found = search.apply(this, given);
            const isOf = (part) => (result) => result.doc.breadcrumbs.startsWith(part);
            const term = found.find(isOf("Glossary"));
            const place = (result) => (result === term ? 0 : isOf("For teachers")(result) ? 2 : 1);
            return found.sort((a, b) => place(a) - place(b) || b.score - a.score);
        };
    }
})();
