// The tables: features of the model looked at, which can be sorted and downloaded, and points.

const featureTable = byId("features");
const featureBody = featureTable.tBodies[0];

/** The rows of the home model as the page came with them: texts of numbers in full precision. */
const homeRows = [...featureBody.rows].map((row) => [...row.cells].map((cell) => cell.dataset.full ?? cell.textContent));

/** A number as it is shown: of six digits. */
const brief = (text) => (text === "-" ? text : String(Number(Number(text).toPrecision(6))));

/** The features of a point of the path, to as many digits as charts need, the strongest first. */
const pointRows = (point) =>
  traces
    .map((trace) => ({ trace, scaled: valueAt(trace, point) }))
    .filter(({ scaled }) => scaled !== 0)
    .sort((a, b) => Math.abs(b.scaled) - Math.abs(a.scaled))
    .map(({ trace, scaled }) => [
      trace.name,
      String(trace.index),
      String(Number((scaled * trace.factor).toPrecision(7))),
      String(scaled),
      ...(data.ratio ? [String(Number(Math.exp(scaled * trace.factor).toPrecision(7)))] : []),
    ]);

const shownRows = () => (view.isHome ? homeRows : pointRows(view.point));
const intercept = () => String(view.isHome ? home.intercept : points.intercept[view.point]);

// Columns and how they are compared: coefficients by their size, which tells how strong they are.
const size = (text) => Math.abs(Number(text)) || 0;
const COMPARE = [
  (a, b) => a.localeCompare(b, "en", { numeric: true }),
  (a, b) => Number(a) - Number(b),
  (a, b) => size(a) - size(b),
  (a, b) => size(a) - size(b),
  (a, b) => Math.abs(Math.log(a)) - Math.abs(Math.log(b)),
];
const order = { column: 3, descending: true };

const sortedRows = () => {
  const sign = order.descending ? -1 : 1;
  return [...shownRows()].sort((a, b) => sign * COMPARE[order.column](a[order.column], b[order.column]));
};

const showFeatures = () => {
  const rows = sortedRows();
  const largest = Math.max(...rows.map((row) => size(row[3])), Number.MIN_VALUE);
  featureBody.replaceChildren(
    ...rows.map((cells) => {
      const texts = cells.map((text, column) => (column < 2 ? text : brief(text)));
      const row = element("tr", {}, ...texts.map((textContent) => element("td", { textContent })));
      row.className = cells[3].startsWith("-") ? "negative" : "positive";
      row.style.setProperty("--share", size(cells[3]) / largest);
      return row;
    }),
  );
  [...featureTable.tHead.rows[0].cells].forEach((cell, column) => {
    if (column !== order.column) cell.removeAttribute("aria-sort");
    else cell.setAttribute("aria-sort", order.descending ? "descending" : "ascending");
  });
};

[...featureTable.tHead.rows[0].cells].forEach((cell, column) => {
  const button = element("button", { type: "button", textContent: cell.textContent });
  button.addEventListener("click", () => {
    order.descending = order.column === column ? !order.descending : column >= 2;
    order.column = column;
    showFeatures();
  });
  cell.replaceChildren(button);
});

// A row points at its trace in the chart.
const traceByIndex = new Map(traces.map((trace) => [String(trace.index), trace]));
featureBody.addEventListener("pointerover", (event) => {
  const index = event.target.closest("tr")?.cells[1].textContent;
  change({ trace: traceByIndex.get(index) ?? null });
});
featureBody.addEventListener("pointerleave", () => change({ trace: null }));

watch((changed) => {
  if (!changed.has("point") && !changed.has("isHome")) return;
  const name = homeName.charAt(0).toUpperCase() + homeName.slice(1);
  byId("model-title").textContent = view.isHome ? name : `Point ${view.point + 1} of ${lastPoint + 1}`;
  byId("intercept").textContent = brief(intercept());
  const missing = view.isHome ? 0 : points.active[view.point] - pointRows(view.point).length;
  byId("left-out").textContent = missing > 0 ? `; ${count(missing)} weaker features are not on this page` : "";
  showFeatures();
});

byId("download").addEventListener("click", () => {
  const lines = [
    ["feature", "index", "coefficient", "scaled_coefficient", ...(data.ratio ? [data.ratio.replace(" ", "_")] : [])],
    ["(intercept)", "", intercept(), "", ...(data.ratio ? [""] : [])],
    ...sortedRows(),
  ].map(csvRow);
  const file = URL.createObjectURL(new Blob([`${lines.join("\n")}\n`], { type: "text/csv" }));
  const name = view.isHome && home.chosen ? "lasso-chosen.csv" : `lasso-point-${view.point + 1}.csv`;
  element("a", { href: file, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(file), 10_000);
});

const pointBody = byId("points").tBodies[0];
if (home.chosen) pointBody.rows[home.point].classList.add("chosen");
pointBody.addEventListener("click", (event) => {
  const row = event.target.closest("tr");
  if (row.classList.contains("chosen")) goHome();
  else goTo(row.sectionRowIndex);
});
watch((changed) => {
  if (!changed.has("point")) return;
  [...pointBody.rows].forEach((row, k) => {
    if (k === view.point) row.setAttribute("aria-current", "true");
    else row.removeAttribute("aria-current");
  });
  // The table is scrolled to the point, the page is not.
  const box = byId("points").parentElement;
  box.scrollTop = pointBody.rows[view.point].offsetTop - box.clientHeight / 2;
});
