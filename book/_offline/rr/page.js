// What is wider than the page scrolls by itself: with the keyboard too, and with a sign that there is more.
(() => {
  const BOXES = [
    ".rr-scroll", ".pst-scrollable-table-container", ".rr-claims", ".rr-hops", ".rr-wide-table",
    ".cell_output .text_html:has(> div > table.dataframe)", "div.highlight > pre",
  ].map((each) => `article ${each}`).join(", ");
  const LINES = 3, WIDEST = 24; // of a cell: lines, where a wider one is all it takes, and its width in letters' heights

  // Cells of many short lines get the width that three lines need; all are measured before any is changed.
  function widen(boxes) {
    const cells = boxes.flatMap((box) => (box.matches("pre") ? [] : [...box.querySelectorAll("th, td")])).map((cell) => {
      if (parseFloat(cell.style.minWidth) >= WIDEST || !cell.checkVisibility() || cell.querySelector("ul, ol, details, svg, table, p + p, br, div, small")) return null;
      const style = getComputedStyle(cell), size = parseFloat(style.fontSize), line = parseFloat(style.lineHeight) || 1.5 * size;
      const text = document.createRange();
      text.selectNodeContents(cell);
      return text.getBoundingClientRect().height < (LINES + 0.5) * line ? null : { cell, text, size };
    }).filter(Boolean);
    if (!cells.length) return false;
    for (const { cell } of cells) cell.style.whiteSpace = "nowrap";
    for (const each of cells) each.width = each.text.getBoundingClientRect().width;
    for (const { cell, size, width } of cells) {
      cell.style.whiteSpace = "";
      cell.style.minWidth = `${Math.min(WIDEST, Math.max((1.2 * width) / LINES / size + 2, 1.3 * (parseFloat(cell.style.minWidth) || 0)))}em`;
      cell.style.maxWidth = "none"; // of a first column too
    }
    return true;
  }

  const room = (box) => box.scrollWidth - box.clientWidth;

  function cue(box) {
    box.classList.toggle("rr-more", box.scrollLeft < room(box) - 2);
  }

  // A size changes with the window, when something is unfolded, and when a section comes near and is laid out. All
  // that changed at once is measured together, once the browser has drawn it.
  const changed = new Set();
  const sizes = new ResizeObserver((entries) => {
    if (!changed.size) requestAnimationFrame(measure);
    for (const { target } of entries) changed.add(target.closest(BOXES));
  });

  function measure() {
    const boxes = [...changed];
    changed.clear();
    for (const box of boxes) box.classList.remove("rr-wide", "rr-more"); // a wide table's first column is narrower
    for (let round = 0; round < 8 && widen(boxes); round++); // wider cells leave others less
    const rooms = boxes.map(room);
    boxes.forEach((box, i) => {
      box.classList.toggle("rr-wide", rooms[i] > 2);
      if (rooms[i] > 0) box.tabIndex = 0; // a pixel too is something that only a pointer could scroll
      else if (!box.hasAttribute("role")) box.removeAttribute("tabindex");
    });
    boxes.forEach(cue);
  }

  function watch() {
    sizes.disconnect(); // what is observed anew is measured anew
    for (const box of document.querySelectorAll(BOXES)) {
      for (const part of [box, ...box.children]) sizes.observe(part);
    }
  }
  addEventListener("load", watch);
  document.fonts.addEventListener("loadingdone", watch); // letters of another width in a line that fills its box
  document.addEventListener("scroll", ({ target }) => target.matches?.(BOXES) && cue(target), { capture: true, passive: true });
})();
