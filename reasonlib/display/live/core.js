// What every live figure shares: starting, elements, controls, rows of tokens, bars, seeded chance, timing.
//
// Classes begin with rr-live- and look as base.css says. A figure's own script ends with live("name", start).

/** Make an element: make("td", { class: "x", onclick: f, hidden: true }, "text", child, ...). */
const make = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);

/** The same for what stands inside an <svg>. */
const draw = (name, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") element.addEventListener(key.replace(/^on/, ""), value);
    else if (value === null || value === undefined) continue;
    else if (key.startsWith("aria-")) element.setAttribute(key, value); // "false" is a value here
    else if (value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

// Starting ---------------------------------------------------------------------------------------------------

/**
 * Start every figure of this name on the page. `start` gets { root, stage, data, weights, find }: the element of
 * the figure, the one to draw into, what Python gave as data, weights("model") to read weights, and
 * find("part") for the element of class rr-live-part or rr-<name>-part. A figure that cannot start keeps its
 * static picture.
 */
function live(name, start) {
  if (typeof document === "undefined") return; // in a test without a browser
  for (const root of document.querySelectorAll(`.rr-live.rr-${name}:not([data-ready])`)) {
    root.setAttribute("data-ready", "");
    const { data, models } = JSON.parse(root.querySelector("script[type='application/json']").textContent);
    const read = new Map();
    const weights = (model) => {
      if (!read.has(model)) read.set(model, new Weights(models[model]));
      return read.get(model);
    };
    const find = (part) => root.querySelector(`.rr-live-${part},.rr-${name}-${part}`);
    const still = root.querySelector(".rr-live-static");
    const stage = still ? make("div", { class: "rr-live-stage" }) : root;
    if (still) still.before(stage);
    try {
      start({ root, stage, data, weights, find });
      still?.remove();
      for (const part of root.querySelectorAll("[data-scripted]")) part.hidden = false;
    } catch (error) {
      if (still) stage.remove();
      root.append(make("p", { class: "rr-live-failed" }, "This figure could not start in your browser; the picture above was computed beforehand."));
      reportError(error);
    }
  }
}

/** Do it when the browser has nothing else to do, such as a first run that makes the next ones fast. */
const whenIdle = (work) => (globalThis.requestIdleCallback ?? requestAnimationFrame)(() => work());

const BUDGET = 2; // milliseconds of each frame for a long computation; the rest belongs to the page

/**
 * Run a long computation, a generator, for a moment of each frame until it is done, so that the page stays responsive.
 * `shown(done, ms)` is called after each part. It begins in the next frame, when the browser has shown what was pressed.
 * Returns a function that stops it. With `once`, all is done in one go, and now.
 */
function littleByLittle(work, shown, { once = false } = {}) {
  let frame = 0;
  const goOn = () => {
    const began = performance.now();
    let done = false;
    while (!done && (once || performance.now() - began < BUDGET)) ({ done = false } = work.next());
    if (!done) frame = requestAnimationFrame(goOn);
    shown(done, performance.now() - began);
  };
  if (once) goOn();
  else frame = requestAnimationFrame(goOn);
  return () => cancelAnimationFrame(frame);
}

/** What a generator returns, run to its end without a pause. */
function finished(work) {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/** Scroll a box to its end when it is next drawn; at once, the browser would have to lay out the page for it. */
const toTheEnd = (box) => requestAnimationFrame(() => { box.scrollTop = box.scrollHeight; });

/** Run `compute`: its result, and the milliseconds it took. */
function timed(compute) {
  const began = performance.now(), result = compute();
  return { result, ms: performance.now() - began };
}

const took = (ms, verb = "Answered") => `${verb} in your browser in ${ms < 1 ? "less than 1" : Math.round(ms)} ms.`;

// Numbers ----------------------------------------------------------------------------------------------------

const range = (count, of = (number) => number) => Array.from({ length: count }, (_, number) => of(number));
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
const argmax = (values) => values.reduce((best, value, at) => (value > values[best] ? at : best), 0);
/** Positions from the largest value to the smallest. */
const ranked = (values) => Array.from(values, (_, at) => at).sort((a, b) => values[b] - values[a]);
/** The first `count` of these positions, found without sorting all. */
function topOf(values, count) {
  const best = [];
  for (let at = 0; at < values.length; at++) {
    const value = values[at];
    if (best.length === count && !(value > values[best[count - 1]])) continue;
    let place = Math.min(best.length, count - 1);
    for (; place && value > values[best[place - 1]]; place--) best[place] = best[place - 1];
    best[place] = at;
  }
  return best;
}
const sum = (values) => values.reduce((total, value) => total + value, 0);

/** A share as a percentage, with a decimal where it is small or nearly all. */
const percent = (share) => `${(100 * share).toFixed(share < 0.0995 || (share > 0.9949 && share < 0.9995) ? 1 : 0)}\u00a0%`;
const minus = (text) => text.replace("-", "−");
const fixed = (value, digits = 2) => minus(value.toFixed(digits)).replace(/^−(0(\.0*)?)$/, "$1");
/** The start of a long word, as a figure repeats what a reader typed: in full it would push everything else out of sight. */
const shortened = (word, most = 24) => {
  const letters = [...word];
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : word;
};
const quoted = (word) => `“${shortened(word)}”`;
/** The first few of some words, and how many more there are, to be listed. */
const few = (words, say = quoted, most = 6) => [...words.slice(0, most).map((word) => say(word)), ...(words.length > most ? [`${words.length - most} more`] : [])];
const plural = (count, one, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;
const listed = (words) => (words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`);

/** Chance that begins at a seed (mulberry32): the same seed gives the same draws on every machine. */
class Random {
  constructor(seed = 0) {
    this.state = seed >>> 0;
  }

  /** A number from 0 up to 1. */
  next() {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from 0 up to count. */
  integer(count) {
    return Math.floor(this.next() * count);
  }

  /** One of the items, each as likely as its weight says. */
  choice(items, weights = null) {
    if (!weights) return items[this.integer(items.length)];
    let left = this.next() * sum(weights);
    return items[Math.min(items.length - 1, weights.findIndex((weight) => (left -= weight) < 0) >>> 0)];
  }

  shuffle(items) {
    const mixed = [...items];
    for (let last = mixed.length - 1; last > 0; last--) {
      const at = this.integer(last + 1);
      [mixed[last], mixed[at]] = [mixed[at], mixed[last]];
    }
    return mixed;
  }

  /** A draw from the standard normal distribution (Box and Muller 1958). */
  normal() {
    return Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next());
  }
}

// Controls: each has an element and a value ------------------------------------------------------------------

function button(words, press, { main = false, label = null } = {}) {
  const kind = `rr-live-button${main ? " rr-live-main" : ""}`;
  return make("button", { type: "button", class: kind, ...(label && { "aria-label": label }), onclick: press }, words);
}

class Control {
  constructor(input, element) {
    Object.assign(this, { input, element });
  }

  get value() {
    return this.input.value;
  }

  set value(value) {
    this.input.value = value;
  }
}

const labelled = (words, input, note) =>
  make("label", { class: "rr-live-field" }, make("span", { class: "rr-live-name" }, words, note ? make("span", { class: "rr-live-note" }, ` ${note}`) : null), input);

/** A line to type into, or several; `entered` is called on Enter (with Ctrl where there are several lines). */
function field(label, { value = "", lines = 1, placeholder = "", note = "", changed = null, entered = null } = {}) {
  const looks = { spellcheck: "false", autocapitalize: "none", autocomplete: "off", placeholder };
  const input = lines > 1 ? make("textarea", { ...looks, rows: lines }) : make("input", { ...looks, type: "text" });
  input.value = value;
  if (changed) input.addEventListener("input", () => changed(input.value));
  if (entered) {
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing || (lines > 1 && !event.ctrlKey && !event.metaKey)) return;
      event.preventDefault();
      entered(input.value);
    });
  }
  return new Control(input, labelled(label, input, note));
}

/** A menu of { value: words }. */
function menu(label, options, value, changed) {
  const select = make("select", {}, Object.entries(options).map(([key, words]) => make("option", { value: key }, words)));
  select.value = value;
  select.addEventListener("change", () => changed(select.value));
  return new Control(select, labelled(label, select));
}

/** A box to tick; its value is true or false. */
function tick(label, value, changed) {
  const input = make("input", { type: "checkbox" });
  const control = new Control(input, make("label", { class: "rr-live-tick" }, input, make("span", {}, label)));
  Object.defineProperty(control, "value", { get: () => input.checked, set: (on) => { input.checked = on; } });
  control.value = value;
  input.addEventListener("change", () => changed(input.checked));
  return control;
}

let groups = 0;

/** A row of choices of which one holds: radio buttons, drawn as one bar. */
function choices(legend, options, value, changed) {
  const name = `rr-live-${performance.now()}-${groups++}`;
  const inputs = Object.keys(options).map((key) => make("input", { type: "radio", name, value: key, onchange: () => changed(key) }));
  const labels = inputs.map((input) => make("label", {}, input, make("span", {}, options[input.value])));
  const control = new Control(null, make("fieldset", { class: "rr-live-choices" }, make("legend", {}, legend), labels));
  Object.defineProperty(control, "value", {
    get: () => inputs.find((input) => input.checked)?.value,
    set: (key) => { for (const input of inputs) input.checked = input.value === key; },
  });
  control.value = value;
  return control;
}

/** A slider that says its value beside its name; `log` counts in powers of ten. */
class Slider {
  constructor(name, { min, max, step, value, log = false, say = String, note = "" }, changed) {
    Object.assign(this, { log, say });
    this.input = make("input", { type: "range", min: this.inner(min), max: this.inner(max), step, "aria-label": note ? `${name}, ${note}` : name });
    this.output = make("span", { class: "rr-live-value" });
    this.element = make("label", { class: "rr-live-slider" },
      make("span", { class: "rr-live-name" }, make("span", {}, name), this.output), this.input,
      note ? make("span", { class: "rr-live-note" }, note) : null);
    this.value = value;
    this.input.addEventListener("input", () => {
      this.exact = null;
      this.tell();
      changed(this.value);
    });
  }

  inner(value) {
    return this.log ? Math.log10(value) : value;
  }

  get value() {
    if (this.exact !== null) return this.exact; // as it was set, not as the steps of the slider round it
    const inner = Number(this.input.value);
    return this.log ? Number((10 ** inner).toPrecision(6)) : inner;
  }

  set value(value) {
    if (value === this.exact) return; // it stands there
    this.input.value = this.inner(value);
    this.exact = value;
    this.tell();
  }

  tell() {
    const said = this.say(this.value);
    if (said === this.said) return;
    this.output.textContent = this.said = said;
    this.input.setAttribute("aria-valuetext", said);
  }
}

/** One stop for the Tab key in a row of buttons; the arrow keys, Home and End move in it, and `choose` what they reach. */
function roving(container, label, choose) {
  container.setAttribute("role", "toolbar");
  container.setAttribute("aria-label", label);
  container.addEventListener("keydown", (event) => {
    const items = [...container.children], at = items.indexOf(event.target.closest("button"));
    const next = { ArrowLeft: Math.max(at - 1, 0), ArrowRight: Math.min(at + 1, items.length - 1), Home: 0, End: items.length - 1 }[event.key];
    if (at < 0 || next === undefined) return;
    event.preventDefault();
    choose(next);
    container.children[next]?.focus();
  });
  return (chosen) => [...container.children].forEach((item, at) => {
    item.tabIndex = at === chosen ? 0 : -1;
    item.setAttribute("aria-pressed", at === chosen);
  });
}

/** Keys that act in the figure or while the pointer rests on it, never while somebody types: shortcuts(root, { n: next }). */
function shortcuts(root, keys) {
  document.addEventListener("keydown", (event) => {
    if (!root.contains(event.target) && !root.matches(":hover")) return;
    if (event.ctrlKey || event.metaKey || event.altKey || /^(SELECT|INPUT|TEXTAREA)$/.test(event.target.tagName)) return;
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act(event.key);
  });
}

// What is shown ----------------------------------------------------------------------------------------------

/** Where a figure says what happened; screen readers read it out when it changes. */
const announcer = () => make("output", { class: "rr-live-said", "aria-live": "polite" });

/** Say it in an element, unless it says so already: else the browser would lay out the page for nothing. */
const told = (element, text) => { if (element.textContent !== text) element.textContent = text; };

const LOOKS = new WeakMap();

/** Give an element this style, unless it has it already. */
function styled(element, style) {
  if (LOOKS.get(element) === style) return;
  LOOKS.set(element, style);
  element.setAttribute("style", style);
}

/** A list of bars: bars("What it could be", [["garden", 0.9], ["kitchen", 0.1]]). */
const bars = (label, rows) => make("ol", { class: "rr-live-bars", "aria-label": label }, rows.map((row) => bar(...row)));
const bar = (words, share, shown = share.toFixed(2)) => make("li", {}, make("span", {}, words),
  make("span", { class: "rr-live-bar", style: `--share:${share}` }), make("span", {}, shown));

/** Remarks under an answer: what was not understood, what is not in the story. */
const remark = (list, lines) => list.replaceChildren(...lines.filter(Boolean).map((line) => make("li", {}, line)));

/** A cell or a token on the heat colour, as strong as its share. */
const heat = (share) => `--share:${share.toFixed(4)}`;

/** Tokens in a row, of which one is chosen; each is shaded by a share. */
class TokenRow {
  constructor({ label, choose, point = null, parent = make("div") }) {
    this.element = parent;
    this.element.classList.add("rr-live-tokens");
    this.press = roving(this.element, label, (at) => choose(at));
    Object.assign(this, { choose, point, known: [] });
    if (point) this.element.addEventListener("pointerleave", () => point(null));
  }

  /** Show tokens: texts, or { text, unknown, title }. With `keep`, one that stands at its place stays as it looks, to be shaded anew. */
  set(tokens, { keep = false } = {}) {
    const { children } = this.element;
    if (!keep) this.known = [];
    tokens.forEach((token, at) => {
      const { text = token, unknown = false, title = shortened(text) === text ? null : text } = token, known = JSON.stringify([text, unknown, title]);
      if (this.known[at] === known && at < children.length) return;
      this.known[at] = known;
      const one = make("button", {
        type: "button", class: "rr-live-token", title, "aria-label": text.trim() ? null : "space", onclick: () => this.choose(at),
        onpointerenter: (event) => event.pointerType === "mouse" && this.point?.(at),
      }, make("span", unknown ? { class: "rr-live-unknown" } : {}, shortened(text)), make("small"));
      if (at < children.length) children[at].replaceWith(one);
      else this.element.append(one);
    });
    while (children.length > tokens.length) children[tokens.length].remove();
    this.known.length = tokens.length;
  }

  /** Shade every token; `from` is the one that looks. */
  shade(shares, from = -1, shown = (share) => (share >= 0.005 ? share.toFixed(2) : "")) {
    [...this.element.children].forEach((token, at) => {
      styled(token, heat(shares[at]));
      told(token.lastChild, shown(shares[at], at));
      token.classList.toggle("rr-live-looking", at === from);
    });
  }
}
