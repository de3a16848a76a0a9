(() => {
  "use strict";
  const table = document.getElementById("rr-scoreboard");
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const count = document.getElementById("rr-count");
  const bar = document.getElementById("rr-filters");
  const chosen = {};

  const show = () => {
    let shown = 0;
    for (const row of rows) {
      const words = (chosen.words || "").toLowerCase();
      const fits = ["topic", "verdict", "kind"].every((key) => !chosen[key] || row.dataset[key] === chosen[key]);
      row.hidden = !(fits && (!words || row.textContent.toLowerCase().includes(words)));
      shown += !row.hidden;
    }
    count.textContent = shown === rows.length ? `${shown} claims` : `${shown} of ${rows.length} claims`;
  };

  const field = (label, control) => {
    const holder = document.createElement("label");
    holder.append(label, control);
    bar.append(holder);
  };

  for (const [key, label] of [["topic", "Topic"], ["verdict", "Verdict"], ["kind", "Data"]]) {
    const select = document.createElement("select");
    select.append(new Option("all", ""));
    for (const value of [...new Set(rows.map((row) => row.dataset[key]).filter(Boolean))].sort()) {
      select.append(new Option(value, value));
    }
    select.addEventListener("change", () => { chosen[key] = select.value; show(); });
    field(label, select);
  }
  const words = document.createElement("input");
  words.type = "search";
  words.placeholder = "words in a claim";
  words.addEventListener("input", () => { chosen.words = words.value; show(); });
  field("Search", words);

  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const value = (row) => row.cells[column].dataset.order;
      const compare = (a, b) => {
        const x = value(a), y = value(b);
        if (!x || !y) return (x ? 0 : 1) - (y ? 0 : 1);  // what has no value stands last either way
        const order = isNaN(x) || isNaN(y) ? x.localeCompare(y) : x - y;
        return up ? order : -order;
      };
      body.append(...rows.sort(compare));
    });
  });

  const jump = () => {
    const row = location.hash.startsWith("#claim-") && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (row) { row.hidden = false; row.classList.add("rr-here"); row.scrollIntoView({ block: "center" }); }
  };
  window.addEventListener("hashchange", jump);
  jump();
})();
