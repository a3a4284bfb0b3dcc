// Numbers as text, and texts as cells of a CSV file.

/** A number for reading, of some significant digits; a dash where it is missing. */
const short = (value, digits = 4) => {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) {
    return value.toExponential(digits - 2).replace(/\.?0+e/, "e").replace("e+", "e");
  }
  return String(Number(value.toPrecision(digits)));
};

/** A count with its thousands apart. */
const count = (value) => value.toLocaleString("en");

/** A row of a CSV file; quotes around what would not be one cell, and none that a spreadsheet takes for a formula. */
const csvRow = (cells) =>
  cells
    .map((cell) => (/^[=+\-@\t\r]/.test(cell) && isNaN(cell) ? `'${cell}` : String(cell)))
    .map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell))
    .join(",");

/** Steps of 1, 2 or 5 times a power of ten between two numbers: `wanted` of them, or some more. */
const linearTicks = (low, high, wanted) => {
  const power = 10 ** Math.floor(Math.log10((high - low) / wanted));
  const step = [1, 2, 5, 10].map((mantissa) => mantissa * power).find((size) => (high - low) / size <= wanted);
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) ticks.push(k * step);
  return ticks;
};

/** Powers of ten between two numbers, as many as wanted; with their 2 and 5 fold, or 3 fold, where they are few. */
const logTicks = (low, high, wanted) => {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const powers = Array.from({ length: last - first + 1 }, (_, k) => first + k);
  const within = (ticks) => ticks.filter((tick) => tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9));
  for (const mantissas of [[1, 2, 5], [1, 3]]) {
    const fine = within(powers.flatMap((power) => mantissas.map((mantissa) => Number(`${mantissa}e${power}`))));
    if (fine.length <= wanted) return fine;
  }
  const stride = Math.ceil(within(powers.map((power) => Number(`1e${power}`))).length / wanted);
  return within(powers.filter((power) => power % stride === 0).map((power) => Number(`1e${power}`)));
};
