/*
 * The heat map of Netflix's FlameScope: time goes up in columns of a second, or another period, and
 * on from one to the next, so that what happens at the same point of every period is a line.
 *
 *	new HeatMap(host, times, handlers) → show({…}) any number of times
 *
 * handlers: hover(cell or -1, event), range(from, to). A cell is a number from 0 on, in order of
 * time.
 */

const HEAT_ROWS = 50;
const HEAT_COLUMNS = 40; /* the period is the longest that gives as many */
const PERIODS = [1e10, 1e9, 1e8, 1e7, 1e6, 1e5, 1e4];
const HEAT_EDGE = { left: 64, bottom: 26, top: 8, right: 12 };
const HEAT_STEPS = 24;

/* Sums by cell of what the slices of these tracks weigh: samples, or time of what devices did. */
function heatCells(times, tracks, period) {
  const each = period / HEAT_ROWS;
  const columns = Math.max(1, Math.ceil(times.span / period));
  const cells = new Float64Array(columns * HEAT_ROWS);
  const all = { from: 0, to: times.span };
  for (const track of tracks)
    for (const lane of times.loaded[track.at])
      times.within(lane, all, (i, weight, samples) => {
        const whole = track.spread ? weight : samples;
        const start = lane.start[i];
        const long = sliceEnd(lane, i) - start;
        let given = 0;
        for (let cell = Math.min(cells.length - 1, Math.floor(start / each)); given < whole;
          cell++) {
          const part = (cell + 1) * each >= start + long || cell + 1 >= cells.length ? whole
            : Math.floor(whole * Math.max(0, (cell + 1) * each - start) / long);
          cells[cell] += part - given;
          given = part;
        }
      });
  return { cells, columns, period, each, most: cells.reduce((a, b) => Math.max(a, b), 0),
    total: cells.reduce((a, b) => a + b, 0), unit: tracks[0]?.spread ? 'ns' : 'samples' };
}

class HeatMap extends Picture {
  constructor(host, times, handlers) {
    super(host, 'Heat map: arrow keys walk its cells, with Shift they choose a range',
      'application');
    Object.assign(this, { times, handlers, size: 11, cursor: -1 });
    const { canvas } = this;
    canvas.addEventListener('pointerdown', (event) => {
      this.anchor = this.cursor = this.cellAt(event);
      if (this.anchor >= 0) canvas.setPointerCapture(event.pointerId);
      this.redraw();
    });
    canvas.addEventListener('pointermove', (event) => {
      const cell = this.cellAt(event);
      if (event.buttons && this.anchor >= 0 && cell >= 0) {
        this.cursor = cell;
        this.redraw();
      }
      handlers.hover(cell, event);
    });
    canvas.addEventListener('pointerup', () => this.choose());
    canvas.addEventListener('mouseleave', (event) => handlers.hover(-1, event));
    canvas.addEventListener('keydown', (event) => this.key(event));
  }

  key(event) {
    const step = { ArrowUp: 1, ArrowDown: -1, ArrowRight: HEAT_ROWS, ArrowLeft: -HEAT_ROWS }[
      event.key];
    if (!step && event.key !== 'Enter') return;
    event.preventDefault();
    event.stopPropagation();
    const to = this.cursor + (step || 0);
    if (to >= 0 && to < this.heat.cells.length) this.cursor = to;
    if (!event.shiftKey || this.anchor < 0) this.anchor = this.cursor;
    if (event.shiftKey || !step) this.choose();
    this.handlers.hover(this.cursor);
    this.redraw();
  }

  /* The cells from the anchor to the cursor are the range. */
  choose() {
    const { anchor, cursor, heat } = this;
    if (!(anchor >= 0) || cursor < 0) return;
    this.handlers.range(Math.min(anchor, cursor) * heat.each,
      Math.min(this.times.span, (Math.max(anchor, cursor) + 1) * heat.each));
  }

  /* view: palette, heat (heatCells), range */
  show(view) {
    if (view.heat !== this.heat) this.anchor = this.cursor = -1;
    Object.assign(this, view);
    this.colors = Array.from({ length: HEAT_STEPS + 1 }, (_, k) => {
      const x = k / HEAT_STEPS;
      return this.palette.dark ? oklch(0.23 + 0.59 * x, 0.005 + 0.165 * Math.sqrt(x), 30 + 50 * x)
        : oklch(0.975 - 0.5 * x, 0.01 + 0.19 * Math.sqrt(x), 70 - 45 * x);
    });
    this.fitHost();
    this.redraw();
  }

  resize() {
    if (this.fitHost() && this.heat) this.paintNow();
  }

  paintNow() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    if (this.heat && this.width)
      this.drawn = this.paintCanvas(this.context, this.ratio, this.height, {});
  }

  exportRows() {
    return { height: this.height };
  }

  place() {
    const { left, top, right, bottom } = HEAT_EDGE;
    return { wide: (this.width - left - right) / this.heat.columns,
      tall: (this.height - top - bottom) / HEAT_ROWS };
  }

  cellAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const { wide, tall } = this.place();
    const column = Math.floor((event.clientX - box.left - HEAT_EDGE.left) / wide);
    const row = Math.floor((this.height - HEAT_EDGE.bottom - (event.clientY - box.top)) / tall);
    const cell = column * HEAT_ROWS + row;
    return row < 0 || row >= HEAT_ROWS || column < 0 || column >= this.heat.columns ||
      cell * this.heat.each >= this.times.span ? -1 : cell;
  }

  paint(to) {
    const { heat, palette, range, anchor, cursor } = this;
    const { wide, tall } = this.place();
    const floor = to.height - HEAT_EDGE.bottom;
    const at = (cell, height, color, draw) => draw(
      HEAT_EDGE.left + Math.floor(cell / HEAT_ROWS) * wide,
      floor - (cell % HEAT_ROWS + height) * tall, Math.max(wide - (wide > 4 ? 1 : 0), to.pixel),
      Math.max(height * tall - (tall > 5 ? 1 : 0), to.pixel), color);
    heat.cells.forEach((x, cell) => {
      if (cell * heat.each < this.times.span)
        at(cell, 1, this.colors[Math.ceil(HEAT_STEPS * Math.sqrt(x / (heat.most || 1)))], to.rect);
    });
    /* What is not in the range pales, column by column. */
    const pale = (from, end) => {
      for (let cell = from; cell < end && to.shade;) {
        const next = Math.min(end, (Math.floor(cell / HEAT_ROWS) + 1) * HEAT_ROWS);
        at(cell, next - cell, null, to.shade);
        cell = next;
      }
    };
    const [from, end] = anchor >= 0 && anchor !== cursor
      ? [Math.min(anchor, cursor), Math.max(anchor, cursor) + 1]
      : range ? [Math.floor(range.from / heat.each), Math.ceil(range.to / heat.each)]
        : [0, heat.cells.length];
    pale(0, from);
    pale(end, heat.cells.length);
    if (cursor >= 0) at(cursor, 1, palette.match, to.frame);
    this.paintAxes(to, floor, wide, tall);
    return heat.cells.length;
  }

  paintAxes(to, floor, wide, tall) {
    const { heat, palette } = this;
    const { period, columns } = heat;
    const every = Math.ceil(80 / wide);
    for (let column = 0; column < columns; column += every)
      to.text(HEAT_EDGE.left + column * wide, floor + 14,
        formatMoment(column * period, every * period, this.times.span), palette.ancestor);
    for (let row = 0; row < HEAT_ROWS; row += 10)
      to.text(6, floor - (row + 0.5) * tall,
        `+${formatMoment(row * heat.each, 10 * heat.each, period)}`, palette.ancestor);
  }
}
