/* Numbers as people read them. */

function scaled(value, steps) {
  for (const [size, unit] of steps)
    if (value >= size) {
      const x = value / size;
      return `${x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2)} ${unit}`;
    }
  return null;
}

const STEPS_NS = [[6e10, 'min'], [1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];
const STEPS_BYTES = [[2 ** 40, 'TiB'], [2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB']];

function formatNs(value) {
  return scaled(value, STEPS_NS) || '0 ns';
}

/* Folded text may count in fractions; of a great number they are not worth the room. */
function formatCount(value) {
  return value.toLocaleString('en-US', { maximumFractionDigits: value < 1000 ? 2 : 0 });
}

function formatBytes(value) {
  return scaled(value, STEPS_BYTES) || `${formatCount(value)} B`;
}

/* A weight's value in its own unit. */
function formatWeight(value, unit) {
  if (unit === 'ns') return formatNs(value);
  if (unit === 'bytes') return formatBytes(value);
  return `${formatCount(value)} ${unit}`;
}

/* A counter's value in its unit, which may be a rate: "1.50 MiB/s", "61.7 %". */
function formatCounted(value, unit) {
  const [, of, rate] = /^(.*?)(\/s)?$/.exec(unit);
  if (of === 'bytes') return formatBytes(value) + (rate || '');
  const digits = value < 10 ? 3 : value < 100 ? 2 : 1;
  const text = value.toLocaleString('en-US', { maximumFractionDigits: value < 1000 ? digits : 0 });
  return unit ? `${text} ${unit}` : text;
}

/* That of a track, which may be memory. */
function formatCounter(value, { per, unit }) {
  return per ? formatCounted(value, unit) : formatWeight(value, unit);
}

/* The same with the time's name: "1.20 s CPU time, all threads". */
function formatTitled(value, { unit, title }) {
  return formatWeight(value, unit) + (unit === 'ns' && title.includes(',') ? ` ${title}` : '');
}

/* The same where the column's head already says the unit. */
function formatWeightShort(value, unit) {
  if (unit === 'ns' || unit === 'bytes') return formatWeight(value, unit);
  return formatCount(value);
}

function formatPercent(part, whole) {
  if (!whole) return '0%';
  const percent = (100 * part) / whole;
  if (percent === 0) return '0%';
  if (percent < 0.01) return '<0.01%';
  return `${percent >= 99.95 ? percent.toFixed(0) : percent.toFixed(percent < 10 ? 2 : 1)}%`;
}

/* A cell of a table; cells are text or, for the other units, numbers; null: not known. */
function formatCell(value, unit) {
  if (value === null) return '';
  if (unit === 'text') return value;
  if (unit === 'ns') return formatNs(value);
  if (unit === 'bytes') return formatBytes(value);
  if (unit === 'percent') return `${value.toFixed(Math.round(value * 100) % 10 ? 2 : 1)}%`;
  return formatCount(value);
}
