// Slider, readout, legend and the copy of the call: what steers the rest.

const slider = byId("slider");
slider.max = lastPoint;
slider.addEventListener("input", () => goTo(Number(slider.value)));
byId("before").addEventListener("click", () => goTo(view.point - 1));
byId("after").addEventListener("click", () => goTo(view.point + 1));
byId("home-name").textContent = homeName;
byId("back").addEventListener("click", goHome);

// A penalty of zero has no logarithm.
const axis = byId("axis");
axis.querySelector("[value=alpha]").disabled = withoutLog === points.alpha.length;
axis.value = view.axis;
axis.addEventListener("change", () => change({ axis: axis.value }));

const scoreText = (k) => {
  const { means, errors } = data.scores;
  return errors ? `${short(means[k])} ± ${short(errors[k], 2)}` : short(means[k]);
};
/** What is known of a point, or of the model that was refitted from one. */
const known = (name, k) => (view.isHome && home.refitted ? home.refitted : { [name]: points[name][k] })[name];
const facts = (k) => [
  ["point", `${k + 1} of ${lastPoint + 1}`],
  ["alpha", short(points.alpha[k])],
  [data.norm, short(known("radius", k))],
  ["active", count(known("active", k))],
  [data.share, short(known("r2", k))],
  ...(data.scores ? [[data.scores.criterion, scoreText(k)]] : []),
  ["gap", short(known("gap", k), 3)],
  ["status", known("status", k)],
];

watch((changed) => {
  if (!changed.has("point") && !changed.has("isHome")) return;
  const k = view.point;
  slider.value = k;
  slider.setAttribute("aria-valuetext", `point ${k + 1}, ${points.active[k]} active features`);
  byId("before").disabled = k === 0;
  byId("after").disabled = k === lastPoint;
  byId("back").disabled = view.isHome;
  const cells = facts(k).map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value)));
  byId("readout").replaceChildren(...cells);
});

byId("drawn").textContent =
  traces.length < data.everActive
    ? `The ${count(traces.length)} strongest of ${count(data.everActive)} features that were ever active.`
    : `All ${count(data.everActive)} features that were ever active.`;
if (data.standardized) byId("drawn").textContent += " Coefficients are those of the scaled features.";

// Each name of the legend points at its trace.
labelled.forEach((trace, rank) => {
  const swatch = svgElement("svg", { class: "swatch", viewBox: "0 0 24 8", "aria-hidden": true });
  swatch.append(svgElement("line", { class: lineClass(rank), x1: 1, x2: 23, y1: 4, y2: 4 }));
  const button = element("button", { type: "button" }, swatch, element("span", {}, trace.name));
  button.title = trace.name;
  const point = () => {
    change({ trace });
    coefsChart.show(view.point);
  };
  ["pointerenter", "focus"].forEach((kind) => button.addEventListener(kind, point));
  ["pointerleave", "blur"].forEach((kind) => button.addEventListener(kind, () => coefsChart.hide()));
  byId("legend").append(element("li", {}, button));
});

/** Copy by the clipboard, or by a selection where pages from files may not use it. */
const copyText = async (holder) => {
  try {
    await navigator.clipboard.writeText(holder.textContent);
  } catch {
    getSelection().selectAllChildren(holder);
    document.execCommand("copy");
  }
};
byId("copy").addEventListener("click", async ({ target }) => {
  await copyText(byId("call"));
  target.textContent = "Copied";
  setTimeout(() => (target.textContent = "Copy"), 2_000);
});
