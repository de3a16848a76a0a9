// What is wider than the page scrolls by itself: with the keyboard too, and with a sign that there is more.
(() => {
  const BOXES = [
    ".rr-scroll", ".pst-scrollable-table-container", ".rr-claims", ".rr-hops", ".rr-wide-table",
    ".cell_output .text_html:has(> div > table.dataframe)", "div.highlight > pre",
  ].map((each) => `article ${each}`).join(", ");
  const LINES = 3; // of a cell, at most, where a wider one is all it takes

  // A cell of many short lines gets the width that three lines need.
  function widen(table) {
    for (const cell of table.querySelectorAll("th, td")) {
      if (cell.style.minWidth || cell.querySelector("ul, ol, details, svg, table, p + p, br, div, small")) continue;
      const style = getComputedStyle(cell), line = parseFloat(style.lineHeight) || 1.5 * parseFloat(style.fontSize);
      const inner = cell.clientHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom);
      const range = document.createRange();
      range.selectNodeContents(cell);
      const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.bottom / line))).size;
      if (inner < (LINES + 0.5) * line || lines <= LINES) continue;
      const width = [...range.getClientRects()].reduce((sum, box) => sum + box.width, 0);
      cell.style.minWidth = `${Math.min(24, (1.15 * width) / LINES / parseFloat(style.fontSize) + 2)}em`;
    }
  }

  function mark(box) {
    const room = box.scrollWidth - box.clientWidth;
    box.classList.toggle("rr-wide", room > 2);
    box.classList.toggle("rr-more", room > 2 && box.scrollLeft < room - 2);
    if (room > 0) box.tabIndex = 0; // a pixel too is something that only a pointer could scroll
    else if (!box.hasAttribute("role")) box.removeAttribute("tabindex");
  }

  function all() {
    const boxes = [...document.querySelectorAll(BOXES)];
    boxes.forEach((box) => box.matches("pre") || box.querySelectorAll("table").forEach(widen));
    boxes.forEach((box) => {
      if (!box.dataset.rrMarked) {
        box.dataset.rrMarked = "";
        box.addEventListener("scroll", () => mark(box), { passive: true });
      }
      mark(box);
    });
  }
  addEventListener("load", () => document.fonts.ready.then(all));
  addEventListener("resize", all);
  addEventListener("toggle", all, true); // what was folded has a size now
})();
