// What the page is about, what of it is looked at, and who wants to know when that changes.

const data = JSON.parse(document.getElementById("data").textContent);
const { points, traces, home } = data;
const lastPoint = points.alpha.length - 1;

/** The model the page comes back to has a table of its own, in full precision. */
const homeName = home.chosen ? "the chosen model" : "the last point";

/** The point looked at; whether its table is that of the home model; the trace pointed at; the abscissa. */
const view = { point: home.point, isHome: true, trace: null, axis: "radius" };
const watchers = [];

/** Call `watcher` now, and with the names of what changed whenever something does. */
const watch = (watcher) => {
  watchers.push(watcher);
  watcher(new Set(Object.keys(view)));
};

const change = (changes) => {
  const changed = new Set(Object.keys(changes).filter((name) => view[name] !== changes[name]));
  if (!changed.size) return;
  Object.assign(view, changes);
  watchers.forEach((watcher) => watcher(changed));
};

/** Look at a point. A refitted model is not on the path: it is only come back to by `goHome`. */
const goTo = (point) => {
  const within = Math.min(Math.max(point, 0), lastPoint);
  change({ point: within, isHome: within === home.point && !home.refitted });
};

const goHome = () => change({ point: home.point, isHome: true });

/** The scaled coefficient of a trace at a point. */
const valueAt = (trace, point) => trace.values[point - trace.first] ?? 0;

const byId = (id) => document.getElementById(id);

/** An element of a name, with properties and children. */
const element = (name, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};
