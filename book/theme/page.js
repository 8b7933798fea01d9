// What the book adds to mdBook's own scripts: a table of contents that opens by keyboard, arrow keys that stay with what they
// scroll, and a search that shows the glossary first and the notes for teachers last.
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

    // Inside the text the arrows scroll a code block or move a control; only elsewhere they turn the page.
    const main = document.querySelector("main");
    main.addEventListener("keydown", (event) => {
        if (event.target !== main && event.key.startsWith("Arrow")) event.stopPropagation();
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
