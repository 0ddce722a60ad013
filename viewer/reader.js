/*
 * Pictures as text, for screen readers: the content of a canvas element is read and not seen. A
 * flame graph is a tree of the frames around the selected one, which arrow keys walk; what is drawn
 * over time is tables.
 */

const READ_ROWS = 30; /* children of a frame, rows of a table: more nobody listens to */

const sortedIds = (found, also = []) => (
  [...new Set([...found.map(({ id }) => id), ...also])].sort((a, b) => a - b));

/* The heaviest children of @above in their order, and @also, whatever it weighs. */
function readKids(tree, total, above, also) {
  const kids = [];
  for (let i = above + 1; i < tree.end[above]; i = tree.end[i]) if (!tree.isGap(i)) kids.push(i);
  return sortedIds(largest(kids, (i) => total[i], READ_ROWS), also);
}

/* The frames above the selected one, those beside it and those it called, as items of a tree. */
function readTree(view, selected) {
  const { tree, w, root, canvas } = view;
  const total = tree.total(w);
  const at = selected > 0 ? selected : root;
  const items = [];
  const add = (i) => {
    items.push(h('div', { role: 'treeitem', id: `${view.id}-${i}`, 'aria-level': tree.depth[i] + 1,
      'aria-selected': String(i === at) }, `${i ? tree.text(i) : 'all'}, ${
      formatWeight(total[i], tree.weights[w].unit)}, ${formatPercent(total[i], total[0])}`));
  };
  if (at) [0, ...tree.path(at)].slice(0, -1).forEach(add);
  for (const i of at ? readKids(tree, total, tree.parent[at], [at]) : [0]) {
    add(i);
    if (i === at) readKids(tree, total, i).forEach(add);
  }
  canvas.replaceChildren(...items);
  canvas.setAttribute('aria-activedescendant', `${view.id}-${at}`);
}

/* @tables, each [caption, titles, rows of cells], within @canvas. */
function readTables(canvas, tables) {
  canvas.replaceChildren(...tables.map(([caption, titles, rows]) => h('table', {},
    h('caption', {}, caption),
    h('thead', {}, h('tr', {}, titles.map((title) => h('th', { scope: 'col' }, title)))),
    h('tbody', {}, rows.slice(0, READ_ROWS).map(([first, ...cells]) => h('tr', {},
      h('th', { scope: 'row' }, first), cells.map((cell) => h('td', {}, cell))))))));
}

/* The timeline's rows, and the slices around the chosen one in its lane. */
function readLine(pages, slice) {
  const { line, times } = pages;
  const tables = [['Rows of the timeline', ['Row', 'Slices', 'Time in them'],
    line.rows.map(({ track }) => [pages.place(track), formatCount(track.all),
      formatNs((times.loaded[track.at] || []).reduce((sum, { cum, n }) => (
        sum + (cum ? cum[n] : 0)), 0))])]];
  if (slice) {
    const [k, l, i] = slice;
    const first = Math.max(0, i - READ_ROWS / 2);
    const near = Array.from({ length: Math.min(READ_ROWS, times.loaded[k][l].n - first) },
      (_, at) => pages.facts([k, l, first + at]));
    tables.unshift([`Around the chosen slice, on ${near[0].place}`, ['Slice', 'Duration', 'Start'],
      near.map(({ name, long, start }) => [name, formatNs(long),
        formatMoment(start, 1, times.span)])]);
  }
  readTables(line.canvas, tables);
}

/* The heaviest columns of the heat map, in order of time. */
function readHeat({ heat: { heat, canvas } }) {
  const sums = Array.from({ length: heat.columns }, (_, k) => (
    heat.cells.subarray(k * HEAT_ROWS, (k + 1) * HEAT_ROWS).reduce((a, b) => a + b, 0)));
  readTables(canvas, [['Heaviest columns of the heat map', ['Time', 'Weight'],
    sortedIds(largest(sums.keys(), (k) => sums[k], READ_ROWS)).map((k) => [
      formatRange({ from: k * heat.period, to: (k + 1) * heat.period }),
      formatWeight(sums[k], heat.unit)])]]);
}
