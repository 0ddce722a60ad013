/*
 * The strip above the timeline: what threads and devices did over the whole run, the part that the
 * timeline looks at as a box that one can drag, the range, and where the search matches.
 *
 *	new Minimap(line) → paint(to) with the timeline; grab(x) → drag(grabbed, x) → drop
 */

const MAP_POINTS = 600;
const MAP_EDGE = 5; /* pixels in which an edge of the box is held */

/* By point of @points over the run, the time of the slices of @lanes in it. */
function activity(lanes, span, points) {
  const sums = new Float64Array(points);
  for (const { start, cum, n } of lanes)
    for (let point = 0, i = 0, before = 0; point < points; point++) {
      const t = span * (point + 1) / points;
      i = lowerBound(start, t, i, n);
      const now = i && cum[i - 1] + Math.min(t - start[i - 1], cum[i] - cum[i - 1]);
      sums[point] += now - before;
      before = now;
    }
  return sums;
}

class Minimap {
  constructor(line) {
    this.line = line;
    this.times = line.times;
  }

  /* What slices of one of @kinds did, as a part of the most; null: there are none. */
  part(kinds) {
    const { tracks, loaded, span } = this.times;
    const lanes = tracks.filter(({ at, slice }) => loaded[at]?.length && kinds.includes(slice))
      .map(({ at }) => loaded[at][0]);
    const sums = activity(lanes, span, MAP_POINTS);
    const most = sums.reduce((a, b) => Math.max(a, b), 0);
    return most ? sums.map((sum) => sum / most) : null;
  }

  /* Rows of the strip: [name, kind of frame for its colour, what it did]. */
  rows() {
    const nr = this.times.nrLoaded();
    if (this.nr !== nr) {
      this.nr = nr;
      const cpu = this.part(['run']) || this.part(['call', 'range']);
      const isThreads = this.times.tracks.some(({ kind }) => kind === 'thread');
      this.parts = [[isThreads ? 'CPU' : 'Slices', 'native', cpu], ['GPU', 'gpu', this.part(['work'])]]
        .filter(([, , of]) => of);
    }
    return this.parts;
  }

  x(t) {
    return GUTTER + t / Math.max(1, this.times.span) * (this.line.width - GUTTER);
  }

  time(x) {
    const part = (x - GUTTER) / Math.max(1, this.line.width - GUTTER);
    return Math.round(Math.max(0, Math.min(1, part)) * this.times.span);
  }

  paint(to) {
    const { line } = this;
    const { palette, range } = line;
    const parts = this.rows();
    const tall = (MAP - 4) / Math.max(1, parts.length);
    const wide = (to.width - GUTTER) / MAP_POINTS;
    to.rect(0, 0, to.width, MAP, palette.paper);
    parts.forEach(([name, kind, of], k) => {
      const floor = 2 + (k + 1) * tall;
      const color = palette.kindColor(KINDS.indexOf(kind));
      of.forEach((part, point) => {
        const high = part > 0 ? Math.max(1, part * (tall - 1)) : 0;
        if (high) to.rect(GUTTER + point * wide, floor - high, wide, high, color);
      });
      to.text(6, floor - tall / 2, `${name}, whole run`, palette.dimText);
    });
    const [from, end] = [this.x(line.t0), this.x(line.t1)];
    if (to.shade) {
      to.shade(GUTTER, 0, from - GUTTER, MAP);
      to.shade(end, 0, to.width - end, MAP);
    }
    to.frame(from, 0, Math.max(4, end - from), MAP - 1, palette.select);
    if (range) {
      const left = this.x(range.from);
      to.rect(left, MAP - 4, Math.max(1, this.x(range.to) - left), 3, palette.match);
    }
    this.ticks = line.ticks(to, 0, 0, this.times.span);
    to.rect(0, MAP, to.width, 1, palette.dim);
  }

  /* What a drag that begins at @x does: moves the box, an edge of it, or draws another one. */
  grab(x) {
    const { line } = this;
    const [from, end] = [this.x(line.t0), this.x(line.t1)];
    const whole = line.t0 <= 0 && line.t1 >= this.times.span;
    const near = [from, end].map((edge) => !whole && Math.abs(x - edge) <= MAP_EDGE);
    return { map: near[1] ? 'to' : near[0] ? 'from' : !whole && x > from && x < end ? 'move'
      : 'new', t: this.time(x), t0: line.t0, t1: line.t1 };
  }

  drag({ map, t, t0, t1 }, x) {
    const to = this.time(x);
    const [a, b] = { from: [to, t1], to: [t0, to], move: [t0 + to - t, t1 + to - t], new: [t, to] }[
      map];
    this.line.look(Math.min(a, b), Math.max(a, b));
  }

  /* A click beside the box brings it there. */
  drop({ map, moved, t, t0, t1 }) {
    if (map === 'new' && !moved) this.line.look(t - (t1 - t0) / 2, t + (t1 - t0) / 2);
  }
}
