// A chart: axes, cursor, pointer and keys. What is drawn in it, and told about it, is in charts.js.

const svgElement = (name, attributes = {}, text = "") => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
  made.textContent = text;
  return made;
};

/** The d of a line through points; it is broken where one has no place, and one point alone is a dot. */
const lineThrough = (xs, ys) => {
  let pen = "M";
  return xs
    .map((x, k) => {
      if (x === null || ys[k] === null) {
        pen = "M";
        return "";
      }
      const step = `${pen}${x.toFixed(1)} ${ys[k].toFixed(1)}${pen === "M" ? "h0" : ""}`;
      pen = "L";
      return step;
    })
    .join("");
};

/** A map from values between `low` and `high` to pixels between `from` and `to`, null where there is none; its ticks. */
const makeScale = ({ low, high, log = false }, from, to) => {
  const lift = log ? Math.log10 : (value) => value;
  const span = lift(high) - lift(low);
  const isPlaced = (value) => value !== null && (!log || value > 0);
  const scale = (value) => (isPlaced(value) ? from + ((lift(value) - lift(low)) / span) * (to - from) : null);
  scale.ticks = (wanted) => (log ? logTicks : linearTicks)(Math.min(low, high), Math.max(low, high), wanted);
  return scale;
};

/** The range of some numbers, missing ones left out, with room where they are all the same. */
const rangeOf = (values, log = false) => {
  const known = values.filter((value) => value !== null && (!log || value > 0));
  if (!known.length) return log ? { low: 1e-1, high: 1, log } : { low: 0, high: 1, log };
  const low = known.reduce((a, b) => Math.min(a, b));
  const high = known.reduce((a, b) => Math.max(a, b));
  if (low < high) return { low, high, log };
  const room = Math.abs(low) / 2 || 1;
  return log ? { low: low / 2, high: low * 2, log } : { low: low - room, high: low + room, log };
};

/** The range with some room on both sides. */
const widened = ({ low, high, log }, share) => {
  if (log) return { low: low * (low / high) ** share, high: high * (high / low) ** share, log };
  return { low: low - share * (high - low), high: high + share * (high - low), log };
};

const MARGIN = { top: 20, right: 14, bottom: 40, left: 58 };
const withoutLog = points.alpha.filter((alpha) => !(alpha > 0)).length;
const AXES = {
  radius: { label: `${data.norm} of the coefficients`, range: () => rangeOf(points.radius) },
  alpha: {
    label: `alpha, on a log scale${withoutLog ? ` (${count(withoutLog)} at 0 left out)` : ""}`,
    range: () => {
      const { low, high } = rangeOf(points.alpha, true);
      return { low: high, high: low, log: true };
    },
  },
};

class Chart {
  /** `label` is read out; `range` is that of the ordinates; `draw`, `explain` and `step` are told this chart. */
  constructor(figure, { label, keys, height, range, draw, explain, step }) {
    Object.assign(this, { figure, height, range, draw, explain, step });
    this.svg = svgElement("svg", { tabindex: 0, role: "group", "aria-roledescription": "chart" });
    this.svg.setAttribute("aria-label", `${label}. Left and right arrow: points. ${keys ?? ""}`);
    this.tip = element("div", { className: "tip", hidden: true });
    this.tip.setAttribute("role", "status");
    figure.append(this.svg, this.tip);
    this.svg.addEventListener("pointermove", (event) => this.point(event));
    this.svg.addEventListener("pointerleave", () => this.hide());
    this.svg.addEventListener("click", (event) => {
      goTo(this.nearest(this.position(event).x));
      this.point(event); // a finger does not hover
    });
    this.svg.addEventListener("keydown", (event) => this.press(event));
    this.svg.addEventListener("focus", () => this.svg.matches(":focus-visible") && this.show(view.point));
    this.svg.addEventListener("blur", () => this.hide());
    new ResizeObserver(() => this.figure.clientWidth !== this.width && this.redraw()).observe(figure);
    watch((changed) => {
      if (changed.has("axis")) this.redraw();
      else if (changed.has("point") || changed.has("isHome")) this.moveCursor();
    });
  }

  redraw() {
    this.width = this.figure.clientWidth;
    const [right, bottom] = [Math.max(this.width, 200) - MARGIN.right, this.height - MARGIN.bottom];
    Object.assign(this, { right, bottom });
    this.x = makeScale(AXES[view.axis].range(), MARGIN.left, right);
    this.y = makeScale(this.range, bottom, MARGIN.top);
    this.xs = points[view.axis].map(this.x);
    this.svg.setAttribute("viewBox", `0 0 ${right + MARGIN.right} ${this.height}`);
    this.svg.replaceChildren(...this.axes());
    this.placed = this.xs.flatMap((x, k) => (x === null ? [] : [k]));
    const at = this.xs[home.point];
    if (home.chosen) this.add("line", { class: "home-line", x1: at, x2: at, y1: MARGIN.top, y2: bottom });
    this.draw(this);
    this.cursor = this.add("line", { class: "cursor", y1: MARGIN.top, y2: bottom });
    this.dot = this.add("circle", { class: "dot", r: 4, hidden: "" });
    this.moveCursor();
  }

  /** Draw one more mark, unless it has no place. */
  add(name, attributes, text) {
    if (Object.values(attributes).includes(null)) return null;
    const mark = svgElement(name, attributes, text);
    this.svg.append(mark);
    return mark;
  }

  axes() {
    const { right, bottom } = this;
    const across = this.y.ticks(Math.max(3, Math.round((bottom - MARGIN.top) / 36))).flatMap((tick) => [
      svgElement("line", { class: "grid", x1: MARGIN.left, x2: right, y1: this.y(tick), y2: this.y(tick) }),
      svgElement("text", { class: "tick end", x: MARGIN.left - 8, y: this.y(tick) + 4 }, short(tick)),
    ]);
    const along = this.x.ticks(Math.max(3, Math.round((right - MARGIN.left) / 64))).flatMap((tick) => [
      svgElement("line", { class: "axis", x1: this.x(tick), x2: this.x(tick), y1: bottom, y2: bottom + 4 }),
      svgElement("text", { class: "tick middle", x: this.x(tick), y: bottom + 17 }, short(tick)),
    ]);
    const middle = (MARGIN.left + right) / 2;
    return [
      ...across,
      ...along,
      svgElement("line", { class: "axis", x1: MARGIN.left, x2: right, y1: bottom, y2: bottom }),
      svgElement("text", { class: "label middle", x: middle, y: this.height - 4 }, AXES[view.axis].label),
    ];
  }

  moveCursor() {
    const x = this.xs[view.point];
    this.cursor.toggleAttribute("hidden", x === null);
    this.cursor.setAttribute("x1", x ?? 0);
    this.cursor.setAttribute("x2", x ?? 0);
  }

  /** Where an event is, in units of the drawing, which is scaled where its width has just changed. */
  position(event) {
    const box = this.svg.getBoundingClientRect();
    const unit = (this.right + MARGIN.right) / box.width;
    return { x: (event.clientX - box.left) * unit, y: (event.clientY - box.top) * unit };
  }

  nearest(x) {
    const distances = this.placed.map((k) => Math.abs(this.xs[k] - x));
    return this.placed[distances.indexOf(Math.min(...distances))];
  }

  point(event) {
    const at = this.position(event);
    this.show(this.nearest(at.x), at);
  }

  /** Tell about a point, above the chart or, where the chart says so, above the mark it is about. */
  show(k, at = null) {
    const { lines, y, beside } = this.explain(this, k, at);
    this.tip.replaceChildren(...lines.map((line, row) => element(row ? "span" : "b", {}, line)));
    this.tip.hidden = false;
    const [x, width, height] = [this.xs[k] ?? this.right, this.tip.offsetWidth, this.tip.offsetHeight];
    const room = this.right + MARGIN.right - width;
    this.tip.style.left = `${Math.max(0, Math.min(beside ? x + 12 : x - width / 2, room))}px`;
    this.tip.style.top = `${(beside ? Math.max(y - 12, MARGIN.top) : MARGIN.top) - height}px`;
    this.moveDot(k, y);
  }

  moveDot(k, y) {
    this.dot.toggleAttribute("hidden", y === null || this.xs[k] === null);
    this.dot.setAttribute("cx", this.xs[k] ?? 0);
    this.dot.setAttribute("cy", y ?? 0);
  }

  hide() {
    this.tip.hidden = true;
    this.dot.toggleAttribute("hidden", true);
    change({ trace: null });
  }

  press(event) {
    const moves = { ArrowLeft: view.point - 1, ArrowRight: view.point + 1, Home: 0, End: lastPoint };
    if (event.key in moves) goTo(moves[event.key]);
    else if (event.key === "Escape") return this.hide();
    else if (this.step && (event.key === "ArrowUp" || event.key === "ArrowDown")) this.step(event.key === "ArrowUp");
    else return;
    event.preventDefault();
    this.show(view.point);
  }
}
