// Questions that the page checks by itself. The data are the folded answers of the question; see tools/questions.py.
document.querySelectorAll(".rr-question:not([data-ready])").forEach((form) => {
  form.dataset.ready = "";
  const said = form.querySelector(".rr-said");
  const kind = form.dataset.kind;
  const options = [...form.querySelectorAll("[data-option]")];
  const boxes = [...form.querySelectorAll("input")];
  form.querySelectorAll("button[hidden]").forEach((button) => (button.hidden = false));

  // Say whether it is right, then what stands below for this answer.
  function say(right, line, words) {
    const mark = document.createElement("strong");
    mark.textContent = words ?? (right ? "✓ Right. " : "✗ Not quite. ");
    said.replaceChildren(mark);
    if (line) said.append(...[...line.childNodes].map((node) => node.cloneNode(true)));
    said.classList.toggle("rr-right", right);
    said.classList.toggle("rr-wrong", !right);
  }
  const feedback = (option) => option?.querySelector(".rr-feedback");
  const isRight = (option) => option.hasAttribute("data-right");

  function choose() {
    const box = boxes.find((each) => each.checked);
    if (!box) return say(false, null, "Choose an answer first.");
    const option = options[box.value];
    say(isRight(option), feedback(option));
  }

  function several() {
    const wrong = boxes.filter((box) => box.checked !== isRight(options[box.value]));
    if (!wrong.length) return say(true, null, "✓ Right, these and no others.");
    const chosen = wrong.find((box) => box.checked);
    if (chosen) return say(false, feedback(options[chosen.value]), "✗ One too many. ");
    say(false, null, `✗ ${wrong.length === 1 ? "One is" : wrong.length + " are"} still missing.`);
  }

  // What a typed number can mean: digits of any width, a sign, a gap or a comma between thousands, a decimal point or comma, the unit behind it.
  function readings(typed) {
    const unit = form.querySelector(".rr-typed > span")?.textContent.trim();
    let text = typed.normalize("NFKC").replace(/[−–]/g, "-").trim();
    if (unit && text.endsWith(unit)) text = text.slice(0, -unit.length).trim();
    text = text.replace(/^([-+])\s+/, "$1").replace(/(\d)[\s'’](?=\d{3}(?!\d))/g, "$1");
    const found = [text];
    if (/^[-+]?\d{1,3}(,\d{3})+(\.\d*)?$/.test(text)) found.push(text.replace(/,/g, ""));
    if (/^[^.,]*,[^.,]*$/.test(text)) found.push(text.replace(",", "."));
    return found.filter((each) => /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(each)).map(Number).filter(Number.isFinite);
  }

  function number() {
    const values = readings(boxes[0].value);
    if (!values.length) return say(false, null, "Type a number, such as 0.25.");
    const slack = (at) => Math.max(Number(form.dataset.tolerance), 1e-9 * Math.abs(at));
    const fits = (option) => values.some((value) => Math.abs(value - Number(option.dataset.number)) <= slack(Number(option.dataset.number)));
    const fitting = options.filter(fits), option = fitting.find(isRight) ?? fitting[0];
    say(Boolean(option) && isRight(option), feedback(option));
  }

  const steps = form.querySelector(".rr-steps");
  function order() {
    const rows = [...steps.children];
    const first = rows.findIndex((row, at) => Number(row.dataset.step) !== at);
    if (first < 0) return say(true, form.querySelector("details > .rr-feedback"));
    say(false, null, first ? `✗ The first ${first === 1 ? "step is" : first + " steps are"} right. What comes next?` : "✗ Something else comes first.");
  }

  // Every step moves by its own buttons, and by dragging.
  function move(row, by) {
    const rows = [...steps.children], to = rows.indexOf(row) + by;
    if (to < 0 || to >= rows.length) return;
    by < 0 ? rows[to].before(row) : rows[to].after(row);
    label();
  }
  function label() {
    [...steps.children].forEach((row, at, rows) => {
      const name = row.querySelector("span").textContent;
      row.querySelectorAll("button").forEach((button) => {
        const up = button.dataset.by < 0;
        button.setAttribute("aria-label", `Move ${up ? "up" : "down"}: ${name}, now ${at + 1} of ${rows.length}`);
        button.setAttribute("aria-disabled", up ? at === 0 : at === rows.length - 1);
      });
    });
  }
  if (steps) {
    let dragged = null;
    [...steps.children].forEach((row) => {
      const pair = document.createElement("span");
      pair.className = "rr-moves";
      for (const [by, sign] of [[-1, "↑"], [1, "↓"]]) {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = sign;
        button.dataset.by = by;
        button.addEventListener("click", () => (move(row, by), button.focus()));
        pair.append(button);
      }
      row.append(pair);
      row.draggable = true;
      row.addEventListener("dragstart", () => (dragged = row));
      row.addEventListener("dragover", (event) => {
        if (!dragged) return;
        event.preventDefault();
        const rows = [...steps.children];
        if (dragged !== row) rows.indexOf(dragged) < rows.indexOf(row) ? row.after(dragged) : row.before(dragged);
      });
      row.addEventListener("dragend", () => ((dragged = null), label()));
    });
    label();
  }

  const check = { choose, several, number, order }[kind];
  form.addEventListener("submit", (event) => (event.preventDefault(), check()));
  if (kind === "choose") form.addEventListener("change", choose);
});
