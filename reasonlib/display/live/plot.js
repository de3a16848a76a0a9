// Plots that a reader can touch: axes, lines, marks and handles to drag. They come with modules=("plot",).

const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8d49f2", "#73683f"]; // as in reasonlib.display.plotting
const DASHES = ["", "7 3", "2 2.5", "7 3 2 3", "12 3", "4 2 1 2 1 2"];
const MARKS = ["circle", "square", "up", "diamond", "down", "cross"];

const plain = (value) => Math.abs(value) < 1e5 ? minus(String(Number(value.toPrecision(6)))) : rounded(value).replace(".0·", "·");
const raised = (power) => String(power).replace(/./g, (digit) => (digit === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]));

/** A number for a reader: three digits that matter, powers of ten where it is very large or small. */
function rounded(value, digits = 3) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "–" : value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (size < 1e-12) return "0";
  if (size >= 1e4 || size < 1e-3) {
    const power = Math.floor(Math.log10(size) + 1e-9);
    return minus((value / 10 ** power).toFixed(1)) + "·10" + raised(power);
  }
  const places = clamp(digits - 1 - Math.floor(Math.log10(size)), 0, digits);
  return minus(value.toFixed(places));
}

/** A number of pixels, to a tenth: several times as fast as toFixed. */
const tenths = (value) => Math.round(10 * value) / 10;

/** A mark's outline around the origin, about `size` across. */
function markPath(kind, size = 5) {
  const s = size;
  return {
    circle: `M${-s} 0a${s} ${s} 0 1 0 ${2 * s} 0a${s} ${s} 0 1 0 ${-2 * s} 0z`,
    square: `M${-0.9 * s} ${-0.9 * s}h${1.8 * s}v${1.8 * s}h${-1.8 * s}z`,
    up: `M0 ${-1.15 * s}L${1.1 * s} ${0.85 * s}H${-1.1 * s}z`,
    diamond: `M0 ${-1.25 * s}L${1.25 * s} 0L0 ${1.25 * s}L${-1.25 * s} 0z`,
    down: `M0 ${1.15 * s}L${1.1 * s} ${-0.85 * s}H${-1.1 * s}z`,
    cross: `M${-s / 2.6} ${-s}h${s / 1.3}v${s - s / 2.6}h${s - s / 2.6}v${s / 1.3}h${-(s - s / 2.6)}v${s - s / 2.6}h${-s / 1.3}v${-(s - s / 2.6)}h${-(s - s / 2.6)}v${-s / 1.3}h${s - s / 2.6}z`,
  }[kind];
}

/** A short piece of a line, as a key. */
function swatch(number, mark = true) {
  const key = draw("svg", { class: "rr-live-swatch", viewBox: "0 0 30 14", "aria-hidden": "true" },
    draw("path", { d: "M1 7H29", stroke: COLOURS[number], "stroke-width": 2.5, "stroke-dasharray": DASHES[number] }));
  if (mark) key.append(draw("path", { d: markPath(MARKS[number], 4.6), transform: "translate(15 7)", fill: COLOURS[number] }));
  return key;
}

/** Round numbers between two ends. */
function ticks(low, high, about = 5) {
  const raw = (high - low) / about, power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 2.5, 5, 10].find((size) => size * power >= raw * 0.999) ?? 10);
  const first = Math.ceil(low / step - 1e-9), last = Math.floor(high / step + 1e-9);
  return range(Math.max(0, last - first + 1), (number) => Number(((first + number) * step).toPrecision(10)));
}

/**
 * Make a group show these parts, each [name, attributes, text]. Elements that stand there already are used again, and only
 * attributes that changed are set: a browser styles and lays out new elements from nothing.
 */
function redo(group, parts) {
  parts.forEach(([name, attributes, text = ""], at) => {
    const there = group.children[at];
    if (there?.localName !== name || !there.given) {
      const fresh = draw(name, attributes, text);
      fresh.given = attributes;
      if (there) there.replaceWith(fresh);
      else group.append(fresh);
      return;
    }
    for (const [key, value] of Object.entries(attributes)) if (there.given[key] !== value) there.setAttribute(key, value);
    for (const key of Object.keys(there.given)) if (!(key in attributes)) there.removeAttribute(key);
    there.given = attributes;
    told(there, text);
  });
  while (group.children.length > parts.length) group.lastChild.remove();
}

/** A place to draw, with axes; it takes the width it gets, so that letters keep their size. */
class Plot {
  constructor({ label, x, y, height, xTitle = "", yTitle = "", logY = false, left = 40, bottom = 34, top = 20, right = 10, bare = false }) {
    Object.assign(this, { x, y, height, xTitle, yTitle, logY, left, bottom, top, right, bare, width: 320 });
    this.back = draw("g", { "aria-hidden": "true" });
    this.inner = draw("svg", { overflow: "hidden", "aria-hidden": "true" });
    this.front = draw("g");
    this.svg = draw("svg", { class: "rr-live-plot", role: "group", "aria-label": label }, this.back, this.inner, this.front);
    this.element = make("div", { class: "rr-live-plot-host" }, this.svg);
  }

  /** Take the width of the page; true if it changed. */
  measure() {
    const width = Math.round(this.element.clientWidth) || this.width;
    const changed = width !== this.width;
    this.width = width;
    this.tall = typeof this.height === "function" ? this.height(width) : this.height;
    return changed;
  }

  get across() {
    return this.width - this.left - this.right;
  }

  get up() {
    return this.tall - this.top - this.bottom;
  }

  X(value) {
    return this.left + ((value - this.x[0]) / (this.x[1] - this.x[0])) * this.across;
  }

  Y(value) {
    const [low, high] = this.logY ? this.y.map(Math.log10) : this.y;
    const at = this.logY ? Math.log10(Math.max(value, 1e-300)) : value;
    return this.top + this.up - ((at - low) / (high - low)) * this.up;
  }

  unX(pixel) {
    return this.x[0] + ((pixel - this.left) / this.across) * (this.x[1] - this.x[0]);
  }

  unY(pixel) {
    return this.y[0] + ((this.top + this.up - pixel) / this.up) * (this.y[1] - this.y[0]);
  }

  /** Where a pointer is, in the plot's own numbers. */
  under(event) {
    const box = this.svg.getBoundingClientRect(), scale = this.width / box.width;
    return [this.unX((event.clientX - box.left) * scale), this.unY((event.clientY - box.top) * scale)];
  }

  /** Draw the axes and set the size; what a figure draws goes to `inner` (cut at the frame) and `front`. */
  axes({ xTicks, yTicks, xSay = plain, ySay = plain } = {}) {
    if (!this.tall) this.measure();
    const { left, top, across, up, tall, width } = this;
    if (!this.bare) {
      xTicks ??= ticks(...this.x, Math.max(2, across / 75));
      yTicks ??= this.logY ? powers(...this.y, Math.max(2, up / 34)) : ticks(...this.y, Math.max(2, up / 42));
    }
    const asked = JSON.stringify([width, tall, this.x, this.y, this.logY, this.xTitle, this.yTitle, xTicks?.map((at) => [at, xSay(at)]), yTicks?.map((at) => [at, ySay(at)])]);
    if (asked === this.asked) return; // as they stand
    this.asked = asked;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${tall}`);
    for (const [key, value] of Object.entries({ x: left, y: top, width: across, height: up, viewBox: `${left} ${top} ${across} ${up}` })) {
      this.inner.setAttribute(key, value);
    }
    const parts = [];
    const floor = top + up;
    if (!this.bare) {
      for (const at of yTicks) {
        const y = this.Y(at);
        parts.push(["path", { class: "rr-live-grid", d: `M${left} ${y}H${left + across}` }],
          ["text", { x: left - 6, y: y + 4, "text-anchor": "end" }, this.logY ? "10" + raised(Math.round(Math.log10(at))) : ySay(at)]);
      }
      for (const at of xTicks) {
        const x = this.X(at);
        parts.push(["path", { class: "rr-live-tickmark", d: `M${x} ${floor}v4` }], ["text", { x, y: floor + 16, "text-anchor": "middle" }, xSay(at)]);
      }
      parts.push(["path", { class: "rr-live-axis", d: `M${left} ${floor}H${left + across}` }]);
    }
    if (this.yTitle) parts.push(["text", { class: "rr-live-plot-title", x: 0, y: 11 }, this.yTitle]);
    if (this.xTitle) parts.push(["text", { class: "rr-live-plot-title", x: left + across, y: tall - 3, "text-anchor": "end" }, this.xTitle]);
    redo(this.back, parts);
  }

  /** A path through points in the plot's numbers; where one is not finite the pen is lifted. */
  path(xs, ys) {
    const { left, top, up, logY } = this, [first, last] = this.x, [low, high] = logY ? this.y.map(Math.log10) : this.y;
    const wide = this.across / (last - first), tall = up / (high - low);
    let text = "", pen = "M";
    for (let i = 0; i < xs.length; i += 1) {
      if (!Number.isFinite(ys[i]) || !Number.isFinite(xs[i])) {
        pen = "M";
        continue;
      }
      const y = top + up - ((logY ? Math.log10(Math.max(ys[i], 1e-300)) : ys[i]) - low) * tall;
      text += pen + tenths(left + (xs[i] - first) * wide) + " " + tenths(clamp(y, -2e3, 4e3));
      pen = "L";
    }
    return text;
  }
}

/** Powers of ten between two ends, at most `most` of them. */
function powers(low, high, most) {
  const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
  const step = Math.max(1, Math.ceil((last - first) / most));
  return range(Math.floor((last - first) / step) + 1, (number) => 10 ** (first + number * step));
}

/** Something to drag in a plot, by pointer or by the arrow keys. It is a slider to who cannot see it. */
class Handle {
  constructor(plot, { label, axes = "x", get, set, say, step, mark = "circle", size = 8, colour = "", ends }) {
    Object.assign(this, { plot, axes, get, set, say, step, ends });
    this.element = draw("g", { class: "rr-live-handle", role: "slider", tabindex: 0, "aria-label": label },
      draw("circle", { r: 22, class: "rr-live-touch" }),
      draw("circle", { r: size + 6, class: "rr-live-halo" }),
      draw("path", { d: markPath(mark, size), class: "rr-live-knob", ...(colour ? { style: `fill:${colour}` } : {}) }));
    if (axes === "y") this.element.setAttribute("aria-orientation", "vertical");
    plot.front.append(this.element);
    this.element.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      this.element.focus({ preventScroll: true });
      this.element.setPointerCapture(event.pointerId);
      this.element.classList.add("rr-live-held");
    });
    this.element.addEventListener("pointermove", (event) => {
      if (this.element.hasPointerCapture(event.pointerId)) this.move(...plot.under(event));
    });
    for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) {
      this.element.addEventListener(end, () => this.element.classList.remove("rr-live-held"));
    }
    this.element.addEventListener("keydown", (event) => {
      const [x, y] = this.get(), by = this.step * (event.shiftKey ? 10 : 1);
      const to = { ArrowLeft: [x - by, y], ArrowRight: [x + by, y], ArrowUp: [x, y + by], ArrowDown: [x, y - by] }[event.key];
      if (!to) return;
      if (axes === "x" && event.key === "ArrowUp") to[0] += by;
      if (axes === "x" && event.key === "ArrowDown") to[0] -= by;
      event.preventDefault();
      this.move(...to);
    });
  }

  move(x, y) {
    const [[left, right], [low, high]] = this.ends();
    this.set(clamp(x, left, right), clamp(y, low, high));
  }

  /** Put it where its number is. */
  place(pixelX, pixelY) {
    const [x, y] = this.get(), [[left, right], [low, high]] = this.ends(), up = this.axes === "y";
    const now = {
      transform: `translate(${(pixelX ?? this.plot.X(x)).toFixed(1)} ${(pixelY ?? this.plot.Y(y)).toFixed(1)})`,
      "aria-valuemin": up ? low : left, "aria-valuemax": up ? high : right, "aria-valuenow": Number((up ? y : x).toFixed(3)), "aria-valuetext": this.say(),
    };
    for (const [key, value] of Object.entries(now)) if (this.given?.[key] !== value) this.element.setAttribute(key, value);
    this.given = now;
  }
}

/** Draw again when the figure's width changes, and now. */
function redrawn(element, redraw) {
  let width = null;
  if (typeof ResizeObserver === "function") {
    new ResizeObserver(([{ contentRect }]) => {
      if (contentRect.width === width) return; // only its height changed
      width = contentRect.width;
      redraw();
    }).observe(element);
  }
  redraw();
}
