// The four charts: coefficients, score, active features and gap.

const N_LABELS = 10;
const N_COLOURS = 6;
const labelled = traces.slice(0, N_LABELS);
const rest = traces.slice(N_LABELS);
const lineClass = (rank) => `line colour-${rank % N_COLOURS}${rank < N_COLOURS ? "" : " dashed"}`;

/** A trace as a line from zero to zero, or to the end of the path; nothing is drawn where it is not active. */
const traceLine = (chart, trace) => {
  const start = Math.max(trace.first - 1, 0);
  const stop = Math.min(trace.first + trace.values.length, lastPoint);
  const ys = [];
  for (let k = start; k <= stop; k++) ys.push(chart.y(valueAt(trace, k)));
  return lineThrough(chart.xs.slice(start, stop + 1), ys);
};

const drawCoefs = (chart) => {
  const zero = chart.y(0);
  chart.add("path", { class: "faint", d: rest.map((trace) => traceLine(chart, trace)).join("") });
  chart.add("line", { class: "axis", x1: MARGIN.left, x2: chart.right, y1: zero, y2: zero });
  labelled.forEach((trace, rank) => chart.add("path", { class: lineClass(rank), d: traceLine(chart, trace) }));
  if (home.chosen) chart.add("text", { class: "tick middle marked", x: chart.xs[home.point], y: 14 }, "chosen");
  chart.highlight = chart.add("path", { class: "highlight" });
  markTrace(chart);
};

/** Draw the trace pointed at above all others. */
const markTrace = (chart) => {
  const marked = view.trace !== null;
  chart.svg.classList.toggle("dimmed", marked);
  chart.highlight.setAttribute("d", marked ? traceLine(chart, view.trace) : "");
  const rank = marked ? labelled.indexOf(view.trace) : -1;
  chart.highlight.setAttribute("class", rank < 0 ? "highlight" : `highlight ${lineClass(rank)}`);
};

/** The trace nearest to a place, between the points on either side of it. */
const nearestTrace = (chart, { x, y }) => {
  const last = chart.placed.length - 1;
  const before = Math.max(0, Math.min(chart.placed.findLastIndex((k) => chart.xs[k] < x), last - 1));
  const [left, right] = [chart.placed[before], chart.placed[Math.min(before + 1, last)]];
  const width = chart.xs[right] - chart.xs[left];
  const share = width ? Math.min(Math.max((x - chart.xs[left]) / width, 0), 1) : 0;
  let [best, distance] = [null, Infinity];
  for (const trace of traces) {
    const [from, to] = [valueAt(trace, left), valueAt(trace, right)];
    if (from === 0 && to === 0) continue;
    const away = Math.abs(chart.y(from + share * (to - from)) - y);
    if (away < distance) [best, distance] = [trace, away];
  }
  return best;
};

const explainCoefs = (chart, k, at) => {
  if (at) change({ trace: nearestTrace(chart, at) });
  const { trace } = view;
  if (!trace) return { lines: [`point ${k + 1}`, `${count(points.active[k])} active`], y: null };
  const scaled = valueAt(trace, k);
  const coefficient = `coefficient ${short(scaled * trace.factor, 5)}`;
  const lines = [trace.name, data.standardized ? `${coefficient} (scaled: ${short(scaled, 5)})` : coefficient];
  return { lines: [...lines, `feature ${trace.index} at point ${k + 1}`], y: chart.y(scaled), beside: true };
};

/** Go to the next trace up or down among those active at the point, from the one at the top. */
const stepTrace = (up) => {
  const order = traces.filter((trace) => valueAt(trace, view.point) !== 0);
  order.sort((a, b) => valueAt(b, view.point) - valueAt(a, view.point));
  if (!order.length) return;
  const now = order.indexOf(view.trace);
  const next = now < 0 ? (up ? order.length - 1 : 0) : now + (up ? -1 : 1);
  change({ trace: order[Math.min(Math.max(next, 0), order.length - 1)] });
};

const coefsChart = new Chart(byId("coefs"), {
  label: "Coefficients along the path",
  keys: "Up and down arrow: features.",
  height: 400,
  range: widened(rangeOf([0, ...traces.flatMap((trace) => trace.values)]), 0.04),
  draw: drawCoefs,
  explain: explainCoefs,
  step: stepTrace,
});
watch((changed) => changed.has("trace") && markTrace(coefsChart));

/** A chart of one number per point. */
const curveChart = (id, label, values, { range = rangeOf(values), before = () => {}, note = () => [], best } = {}) => {
  const place = (value) => (range.log && value === 0 ? range.low : value); // zero is at the bottom of a log scale
  return new Chart(byId(id), {
    label,
    height: 240,
    range: widened(range, 0.06),
    draw: (chart) => {
      before(chart);
      const ys = values.map((value) => chart.y(place(value)));
      chart.add("path", { class: "line colour-0", d: lineThrough(chart.xs, ys) });
      if (best !== undefined && !(home.chosen && best === home.point)) {
        chart.add("circle", { class: "best", cx: chart.xs[best], cy: ys[best], r: 5 });
      }
      if (home.chosen && ys[home.point] !== null) {
        chart.add("circle", { class: "chosen", cx: chart.xs[home.point], cy: ys[home.point], r: 5 });
      }
    },
    explain: (chart, k) => ({
      lines: [`point ${k + 1}`, `${label}: ${short(values[k])}`, ...note(k)],
      y: chart.y(place(values[k])),
    }),
  });
};

const { scores } = data;
const notes = [];
if (scores) {
  const { means, errors, folds, best } = scores;
  const edge = (sign) => means.map((mean, k) => (mean === null || errors?.[k] == null ? null : mean + sign * errors[k]));
  const [low, high] = [edge(-1), edge(1)];
  curveChart("score", scores.criterion, means, {
    best,
    range: rangeOf([means, low, high, ...folds].flat()),
    before: (chart) => {
      const known = means.map((_, k) => k).filter((k) => low[k] !== null && chart.xs[k] !== null);
      const outline = [...known.map((k) => [k, high[k]]), ...known.reverse().map((k) => [k, low[k]])];
      const corners = outline.map(([k, value]) => `${chart.xs[k].toFixed(1)},${chart.y(value).toFixed(1)}`);
      chart.add("polygon", { class: "band", points: corners.join(" ") });
      folds.forEach((fold) => chart.add("path", { class: "fold", d: lineThrough(chart.xs, fold.map(chart.y)) }));
    },
    note: (k) => [
      ...(errors ? [`± ${short(errors[k], 3)}, a standard error`] : []),
      ...(folds.length ? [`folds: ${folds.map((fold) => short(fold[k], 3)).join(", ")}`] : []),
      ...(k === best ? ["the best score"] : []),
    ],
  });
  if (home.chosen && best !== home.point) notes.push("Ring: the best score.");
  if (folds.length) notes.push(`Thin lines: ${folds.length} folds.`);
  if (errors) notes.push("Band: one standard error.");
} else {
  curveChart("score", data.share, points.r2);
}
byId("score-note").textContent = notes.join(" ");

curveChart("active", "active features", points.active, { range: rangeOf([0, ...points.active]) });

curveChart("gap", "gap", points.gap, {
  range: rangeOf([...points.gap, data.tolerance], true),
  before: (chart) => {
    if (points.gap.every((gap) => gap === null)) {
      chart.add("text", { class: "label middle", x: (MARGIN.left + chart.right) / 2, y: chart.bottom / 2 }, "not computed");
    }
    if (!data.tolerance) return;
    const y = chart.y(data.tolerance);
    chart.add("line", { class: "tolerance", x1: MARGIN.left, x2: chart.right, y1: y, y2: y });
    chart.add("text", { class: "tick end marked", x: chart.right, y: y - 5 }, `tolerance ${short(data.tolerance)}`);
  },
  note: (k) => [points.status[k]],
});
