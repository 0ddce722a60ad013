/*
 * The map of a set: a row for each rank, time from left to right. A cell has the colour of the kind
 * that took most of its time, and is as strong as that kind's share (analyse/ranks/ranks.h).
 *
 *	new RankPage(app, table) → page (an element); draw(palette) on every change of state
 */

const RANK_KINDS = [['CPU', [46, 139, 87]], ['device', [136, 68, 187]],
  ['disk or lock', [204, 51, 34]], ['MPI', [217, 164, 0]], ['waiting', [150, 160, 172]],
  ['waiting for a CPU', [58, 159, 191]]];
const RANK_SHARES = 9;
const RANK_SIGNS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz01';
const RANK_EDGE = { left: 120, bottom: 26, top: 8, right: 12 };
const RANK_ROW = { least: 4, most: 20, text: 12 };

/* Rows of {label, host, odd, group, cells: by bin 1 + the place in RANK_SIGNS, or 0}. */
function rankMap({ rows, note }) {
  const [{ from_ns: from, each_ns: each }] = rows;
  return { from, each, note, rows: rows.map(({ rank, host, odd, group, bins }) => ({
    label: rank, host, odd: odd > 0, group,
    cells: Uint8Array.from(bins, (sign) => RANK_SIGNS.indexOf(sign) + 1) })),
  bins: rows.reduce((most, { bins }) => Math.max(most, bins.length), 0) };
}

class RankMap extends Picture {
  constructor(host, map, handlers) {
    super(host, 'Ranks over time: arrow keys walk the map, Enter shows a rank', 'application');
    Object.assign(this, { map, handlers, size: 11, cursor: null, anchor: null });
    const { canvas } = this;
    canvas.addEventListener('pointerdown', (event) => {
      this.anchor = this.cursor = this.cellAt(event);
      if (this.anchor) canvas.setPointerCapture(event.pointerId);
      this.redraw();
    });
    canvas.addEventListener('pointermove', (event) => {
      const cell = this.cellAt(event);
      if (event.buttons && this.anchor && cell) {
        this.cursor = cell;
        this.redraw();
      }
      handlers.hover(cell, event);
    });
    canvas.addEventListener('pointerup', () => this.choose());
    canvas.addEventListener('mouseleave', (event) => handlers.hover(null, event));
    canvas.addEventListener('keydown', (event) => this.key(event));
    host.addEventListener('scroll', () => this.redraw());
  }

  key(event) {
    const [down, on] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1],
      ArrowRight: [0, 1] }[event.key] || [0, 0];
    if (!down && !on && event.key !== 'Enter') return;
    event.preventDefault();
    event.stopPropagation();
    const { row, bin } = this.cursor || { row: -down, bin: -on };
    const within = (x, n) => Math.max(0, Math.min(n - 1, x));
    this.cursor = { row: within(row + down, this.map.rows.length),
      bin: within(bin + on, this.map.bins) };
    if (!event.shiftKey || !this.anchor) this.anchor = this.cursor;
    if (event.shiftKey) this.choose();
    if (event.key === 'Enter') this.handlers.open(this.map.rows[this.cursor.row]);
    this.handlers.hover(this.cursor);
    this.redraw();
  }

  /* A click shows the rank; the bins from the anchor to the cursor are the range. */
  choose() {
    const { anchor, cursor, map } = this;
    if (!anchor || !cursor) return;
    const [a, b] = [anchor.bin, cursor.bin].sort((x, y) => x - y);
    if (a === b) this.handlers.open(map.rows[cursor.row]);
    else this.handlers.range(map.from + a * map.each, map.from + (b + 1) * map.each);
  }

  /* view: palette, range */
  show(view) {
    Object.assign(this, view);
    const paper = this.palette.dark ? [20, 22, 27] : [255, 255, 255];
    this.colors = RANK_KINDS.flatMap(([, color]) => Array.from({ length: RANK_SHARES }, (_, k) => (
      `#${color.map((x, at) => Math.round(paper[at] + (x - paper[at]) * (k + 2) / (RANK_SHARES + 1))
        .toString(16).padStart(2, '0')).join('')}`)));
    this.fitHost();
    this.redraw();
  }

  resize() {
    if (this.fitHost() && this.palette) this.paintNow();
  }

  /* Rows are as tall as there is room for. */
  place() {
    const { left, top, right, bottom } = RANK_EDGE;
    const room = (this.height - top - bottom) / this.map.rows.length;
    const tall = Math.max(RANK_ROW.least, Math.min(RANK_ROW.most, Math.floor(room)));
    return { tall, wide: (this.width - left - right) / this.map.bins,
      all: top + tall * this.map.rows.length + bottom };
  }

  paintNow() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    if (!this.palette || !this.width) return;
    this.sizer.style.height = `${Math.max(0, this.place().all - this.height)}px`;
    this.drawn = this.paintCanvas(this.context, this.ratio, this.height,
      { down: this.host.scrollTop });
  }

  exportRows() {
    return { height: this.place().all, down: 0 };
  }

  cellAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const { wide, tall } = this.place();
    const row = Math.floor((event.clientY - box.top + this.host.scrollTop - RANK_EDGE.top) / tall);
    const bin = Math.max(0, Math.floor((event.clientX - box.left - RANK_EDGE.left) / wide));
    return row < 0 || row >= this.map.rows.length || bin >= this.map.bins ? null : { row, bin };
  }

  paint(to) {
    const { map, palette, range, cursor } = this;
    const { wide, tall } = this.place();
    const { left, top } = RANK_EDGE;
    const each = Math.ceil(RANK_ROW.text / tall); /* rows to a name */
    let boxes = 0;
    map.rows.forEach(({ label, odd, cells }, row) => {
      const y = top + row * tall - to.down;
      if (y + tall < 0 || y > to.height) return;
      for (let bin = 0, next; bin < cells.length; bin = next) {
        for (next = bin + 1; cells[next] === cells[bin]; next++);
        if (!cells[bin]) continue;
        to.rect(left + bin * wide, y, (next - bin) * wide, tall - (tall > 5 ? 1 : 0),
          this.colors[cells[bin] - 1]);
        boxes++;
      }
      const near = map.rows.slice(Math.max(0, row - each + 1), row + each);
      if (odd || (row % each === 0 && !near.some((other) => other.odd)))
        to.text(6, y + tall / 2, this.fit(`${odd ? '▶ ' : ''}${label}`, left - 12),
          odd ? palette.match : palette.text);
    });
    /* What is not in the range pales. */
    const height = tall * map.rows.length;
    const at = (ns) => left + Math.max(0, Math.min(map.bins, (ns - map.from) / map.each)) * wide;
    if (range && to.shade) {
      to.shade(left, top - to.down, at(range.from) - left, height);
      to.shade(at(range.to), top - to.down, left + map.bins * wide - at(range.to), height);
    }
    if (cursor)
      to.frame(left + cursor.bin * wide, top + cursor.row * tall - to.down, Math.max(wide, 3), tall,
        palette.match);
    const every = Math.ceil(80 / wide);
    const span = map.bins * map.each;
    for (let bin = 0; bin < map.bins; bin += every)
      to.text(left + bin * wide, top + height + 14 - to.down,
        formatMoment(map.from + bin * map.each, every * map.each, map.from + span),
        palette.ancestor);
    return boxes;
  }
}

class RankPage {
  constructor(app, table) {
    this.app = app;
    this.map = rankMap(table);
    const host = h('div', {});
    this.picture = new RankMap(host, this.map, {
      hover: (cell, event) => this.hover(cell, event),
      open: (row) => this.open(row.label),
      range: (from, to) => app.times && app.setRange(Math.max(0, Math.floor(from)), Math.ceil(to)),
    });
    this.status = h('div', { class: 'status', role: 'status', 'aria-live': 'polite' });
    this.page = h('section', { class: 'page' },
      h('div', { class: 'bar' }, this.odd(), h('span', { class: 'grow' }), app.iconButton('save',
        'Save this view', (event) => app.saveMenu(event, this.picture))),
      h('div', { class: 'split' }, h('div', { class: 'flame-frame' }, host)),
      h('div', { class: 'bar foot' }, h('div', { class: 'legend' }, RANK_KINDS.map(([name, rgb]) => {
        const swatch = h('span', { class: 'swatch' });
        swatch.style.background = `rgb(${rgb.join()})`;
        return h('span', { class: 'legend-item' }, swatch, name);
      })), this.status));
    readTables(this.picture.canvas, [['Ranks over time', ['Rank', 'Host', 'Group', 'Mostly'],
      this.map.rows.map((row) => [`${row.label}${row.odd ? ', odd' : ''}`, row.host,
        String(row.group), this.mostly(row)])]]);
  }

  /* The odd ranks by name, and what makes them odd. */
  odd() {
    const rows = tableOf(this.app.meta.tables, 'odd_ranks')?.rows || [];
    if (!rows.length) return h('span', { class: 'note' }, 'No rank is odd');
    return h('span', { class: 'note' }, rows.length > 1 ? 'Odd ranks: ' : 'The odd rank: ',
      rows.slice(0, 4).map((row, k) => [k ? '; ' : '', h('button', { class: 'small',
        title: row.full_path, onclick: () => this.open(row.rank) }, row.rank),
      ` ${row.kind} ${formatNs(row.has_ns)}, typical ${formatNs(row.typical_ns)}, in ${row.path}`])
        .flat(), rows.length > 4 ? `; ${rows.length - 4} more` : '');
  }

  /* The kind of most of its bins. */
  mostly({ cells }) {
    const sums = RANK_KINDS.map(() => 0);
    cells.forEach((cell) => { if (cell) sums[Math.floor((cell - 1) / RANK_SHARES)]++; });
    const most = Math.max(...sums);
    return most ? RANK_KINDS[sums.indexOf(most)][0] : 'nothing';
  }

  /* The views of that rank, if the page has them. */
  open(label) {
    const { app } = this;
    if (app.meta.trees.some((tree) => tree.label === label))
      app.update({ tab: 'flame', view: label, ops: [], z: [], x: [] });
    else app.say(`This page has no stacks of ${label} alone: aflame flame --rank N`);
  }

  text({ row, bin }) {
    const { map } = this;
    const { label, host, cells } = map.rows[row];
    const cell = cells[bin];
    const what = cell ? `${RANK_KINDS[Math.floor((cell - 1) / RANK_SHARES)][0]}, about ${
      Math.round((((cell - 1) % RANK_SHARES) / (RANK_SHARES - 1)) * 100)}%` : 'next to nothing';
    const from = map.from + bin * map.each;
    return [`${label} on ${host}: ${what}`, formatRange({ from, to: from + map.each })];
  }

  hover(cell, event) {
    this.app.tooltip.hide();
    if (!cell) return;
    const [what, when] = this.text(cell);
    if (event) this.app.tooltip.place(event, h('div', { class: 'tooltip-name' }, what), when);
    else this.status.textContent = `${what}, ${when}`;
  }

  draw(palette) {
    const { map, app } = this;
    this.picture.show({ palette, range: app.rangeNow });
    this.status.textContent = [`${formatCount(map.rows.length)} ranks`,
      `a cell is ${formatNs(map.each)}`, map.note].filter(Boolean).join(' · ');
  }
}
