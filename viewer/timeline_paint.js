/*
 * How the timeline is drawn: a row a track, slices as boxes, counters as curves, the time in which
 * a device did nothing marked in its heading. What shares a pixel is drawn once, in the colour of a
 * long one and as strong as the pixel is busy: found by steps that double, so that millions of
 * slices cost no more than the window has pixels.
 */

const GUTTER = 200;
const MAP = 36; /* the strip on top: minimap.js */
const AXIS = 26;
const TOP = MAP + AXIS;
const LEVEL = 17;
const HEADING = 21;
const CURVE = 30;
const SHADE = 4; /* steps of how busy a pixel is */
const IDLE = ['#f2b65a', '#7d5a1c'];
const HUES_OF_SLICES = { range: [300, 0.08], lost: [28, 0.2], overhead: [28, 0.1] };

/* A moment, in a unit for times up to @most, as exact as @step asks. */
function formatMoment(t, step, most) {
  const [unit, name] = most >= 1e9 ? [1e9, 's'] : most >= 1e6 ? [1e6, 'ms'] : [1e3, 'µs'];
  const digits = Math.max(0, Math.ceil(Math.log10(unit / step)));
  return `${(t / unit).toFixed(Math.min(9, digits))} ${name}`;
}

/* To the nanosecond: "1.234,567,890 s". */
function formatExact(t) {
  const text = String(Math.round(t)).padStart(10, '0');
  return `${formatCount(Number(text.slice(0, -9)))}.${
    text.slice(-9).replace(/\d{3}(?=\d)/g, '$&,')} s`;
}

function formatExactRange({ from, to }) {
  return `from ${formatExact(from)} to ${formatExact(to)}, ${formatCount(to - from)} ns`;
}

function formatRange({ from, to }) {
  const step = (to - from) / 200;
  return `${formatMoment(from, step, to)} – ${formatMoment(to, step, to)}`;
}

/* What devices did nothing in: a lane of the time between the slices of all @lanes. */
function idleLane(lanes) {
  let busy = [[], []];
  for (const lane of lanes) {
    const merged = [[], []];
    let last = -1;
    const put = (from, to) => {
      if (last >= 0 && from <= merged[1][last]) {
        if (to > merged[1][last]) merged[1][last] = to;
      } else {
        merged[0].push(from);
        merged[1].push(to);
        last++;
      }
    };
    let k = 0;
    for (let i = 0; i < lane.n; i++) {
      for (; k < busy[0].length && busy[0][k] <= lane.start[i]; k++) put(busy[0][k], busy[1][k]);
      put(lane.start[i], sliceEnd(lane, i));
    }
    for (; k < busy[0].length; k++) put(busy[0][k], busy[1][k]);
    busy = merged;
  }
  const n = Math.max(0, busy[0].length - 1);
  const start = Float64Array.from(busy[1].slice(0, n));
  const cum = new Float64Array(n + 1);
  for (let i = 0; i < n; i++) cum[i + 1] = cum[i] + busy[0][i + 1] - start[i];
  return { n, start, cum, idle: true };
}

class TimelinePicture extends Picture {
  constructor(host, times) {
    super(host, 'Timeline: arrow keys walk slices and rows, a d w s pan and zoom, [ ] go to steps',
      'application');
    Object.assign(this, { times, size: 11, rows: [], idle: new Map(), mixed: new Map() });
    this.t0 = 0;
    this.t1 = Math.max(1, times.span);
    this.map = new Minimap(this);
    this.pointed = { linked: [] }; /* what the pointer is over: slice, linked */
  }

  /*
   * view: palette, hits (by name, or null), shut (set of tracks that are closed, of folds open),
   * range, selected, linked
   */
  show(view) {
    Object.assign(this, view);
    this.mixed.clear();
    this.hued = {};
    this.fitHost();
    this.layout();
    this.redraw();
  }

  resize() {
    if (this.fitHost() && this.palette) this.paintNow();
  }

  layout() {
    const { tracks } = this.times;
    this.rows = [];
    let y = TOP;
    const visit = (k, indent) => {
      const track = tracks[k];
      if (!track.all) return;
      const shut = this.shut.has(k) !== (track.kind === 'fold');
      const levels = shut ? Math.min(1, track.depth) : track.depth;
      const height = track.kind === 'counter' ? CURVE
        : Math.max(track.kind === 'row' ? 0 : HEADING, levels * LEVEL + 3);
      this.rows.push({ track, indent, y, height, shut });
      y += height;
      if (!shut) track.kids.forEach((kid) => visit(kid, indent + 1));
    };
    this.times.roots.forEach((k) => visit(k, 0));
    this.tall = y + 4;
    this.sizer.style.height = `${Math.max(0, this.tall - this.host.clientHeight)}px`;
  }

  /* The tracks of the rows that one sees. */
  inSight() {
    const { scrollTop } = this.host;
    return this.rows.filter(({ y, height }) => y + height > scrollTop &&
      y < scrollTop + (this.height || 0)).map(({ track }) => track);
  }

  /* Nanoseconds a pixel. */
  scale(width = this.width) {
    return (this.t1 - this.t0) / Math.max(1, width - GUTTER);
  }

  /* What is drawn in a row: its lanes, or the idle time of a device. */
  lanes({ track, shut }) {
    const { times, idle } = this;
    const lanes = times.loaded[track.at] || [];
    if (track.kind !== 'device') return shut ? lanes.slice(0, 1) : lanes;
    const works = track.kids.filter((kid) => times.tracks[kid].slice === 'work');
    if (!works.length || !works.every((kid) => times.loaded[kid])) return lanes;
    if (!idle.has(track.at))
      idle.set(track.at, idleLane(works.flatMap((kid) => times.loaded[kid])));
    return [idle.get(track.at)];
  }

  /* Boxes into the pixels of an image, which is faster than to draw them; the rest over it. */
  paintNow() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    if (!this.width || !this.palette) return;
    const { canvas, context, ratio } = this;
    const wide = canvas.width;
    if (this.image?.width !== wide || this.image.height !== canvas.height) {
      this.image = context.createImageData(wide, canvas.height);
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.colors = new Map();
    }
    const { pixels, colors } = this;
    pixels.fill(this.pixel(this.palette.paper));
    const over = [];
    const later = (what) => (...args) => over.push([what, args]);
    this.drawn = this.paint({
      width: this.width, height: this.height, pixel: 1 / ratio, scroll: this.host.scrollTop,
      rect: (x, y, w, hgt, color) => {
        const left = Math.max(0, Math.round(x * ratio));
        const right = Math.min(wide, Math.max(left + 1, Math.round((x + w) * ratio)));
        const bottom = Math.min(canvas.height, Math.round((y + hgt) * ratio));
        const value = colors.get(color) || this.pixel(color);
        for (let row = Math.max(0, Math.round(y * ratio)); row < bottom; row++)
          pixels.fill(value, row * wide + left, row * wide + right);
      },
      text: later('text'), frame: later('frame'), line: later('line'), shade: later('shade'),
    });
    context.putImageData(this.image, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const strokes = this.strokes(context);
    for (const [what, args] of over) strokes[what](...args);
  }

  pixel(color) {
    const value = parseInt(color.slice(1), 16);
    const pixel = (0xff000000 | (value & 255) << 16 | (value & 0xff00) | value >> 16) >>> 0;
    this.colors.set(color, pixel);
    return pixel;
  }

  /* @color on paper, in SHADE steps of strength. */
  mix(color, part) {
    if (!this.mixed.has(color)) {
      const parse = (text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
      const paper = parse(this.palette.paper);
      this.mixed.set(color, Array.from({ length: SHADE + 1 }, (_, k) => `#${parse(color)
        .map((x, c) => Math.round(paper[c] + (x - paper[c]) * (0.4 + 0.6 * k / SHADE))
          .toString(16).padStart(2, '0')).join('')}`));
    }
    return this.mixed.get(color)[Math.round(Math.min(1, part) * SHADE)];
  }

  color(lane, i) {
    const { palette } = this;
    const [hue, chroma] = HUES_OF_SLICES[lane.slice] || [];
    if (lane.idle) return IDLE[palette.dark ? 1 : 0];
    if (hue === undefined) return palette.color(lane.name[i]);
    const light = (palette.dark ? 0.42 : 0.76) + lane.name[i] % 5 * 0.03;
    return this.hued[`${hue} ${light}`] ||= oklch(light, chroma, hue + lane.name[i] % 3 * 10);
  }

  texts(lane, i) {
    if (lane.idle) return [`idle ${formatNs(lane.cum[i + 1] - lane.cum[i])}`];
    return this.times.names.forms(lane.name[i]);
  }

  exportRows() {
    return { height: Math.min(this.tall, 8000), scroll: 0 };
  }

  paint(all) {
    const { palette } = this;
    const places = new Map();
    const to = { ...all, text: (x, y, ...rest) => { if (y > TOP) all.text(x, y, ...rest); } };
    let nr = 0;
    for (const row of this.rows) {
      const y = row.y - to.scroll;
      const { kind } = row.track;
      places.set(row.track.at, y);
      if (y + row.height < TOP || y > to.height) continue;
      const heading = kind !== 'row' && kind !== 'counter';
      const wide = kind === 'process' || kind === 'fold';
      if (wide) to.rect(0, y, to.width, row.height, palette.root);
      this.lanes(row).forEach((lane, l) => {
        nr += lane.value ? this.paintCurve(to, lane, y, row.track)
          : this.paintLane(to, lane, y + 1 + l * LEVEL, LEVEL - 1);
      });
      to.rect(0, y, GUTTER - 1, row.height, heading ? palette.root : palette.paper);
      if (!wide) to.rect(GUTTER - 1, y, 1, row.height, palette.dim);
      const mark = row.track.kids.length || row.track.depth > 1 ? (row.shut ? '▸ ' : '▾ ') : '';
      const x = 6 + 12 * row.indent;
      to.text(x, y + Math.min(row.height, HEADING) / 2 + 1,
        this.fit(mark + row.track.name, (wide ? to.width : GUTTER) - x - 8), palette.text);
    }
    this.paintMarks(to, places);
    this.map.paint(all);
    this.paintAxis(all);
    return nr;
  }

  paintLane(to, lane, y, height) {
    const { t0, t1, palette, hits } = this;
    const { start, cum, n } = lane;
    const scale = this.scale(to.width);
    const pixel = to.pixel * scale;
    const found = hits && !lane.idle ? this.found(lane) : null;
    let nr = 0;
    let run = null; /* pixels of a colour side by side */
    const flush = () => {
      if (run) to.rect(run.x, y, run.end - run.x, height, run.color);
      run = null;
    };
    for (let i = firstAfter(lane, t0); i < n && start[i] < t1; nr++) {
      let end = start[i] + cum[i + 1] - cum[i];
      if (end - start[i] >= 2 * pixel) {
        flush();
        const x = GUTTER + Math.max(0, (start[i] - t0) / scale);
        const w = GUTTER + (Math.min(end, t1) - t0) / scale - x;
        const hit = found && found[i + 1] > found[i];
        to.rect(x, y, Math.max(to.pixel, w - (w > 3 ? 1 : 0)), height, !found ? this.color(lane, i)
          : hit ? palette.match : palette.dim);
        if (w > 26) {
          const label = this.fitName(this.texts(lane, i), w - 7);
          if (label) to.text(x + 4, y + height / 2 + 1, label, !found ? palette.text
            : hit ? palette.matchText : palette.dimText);
        }
        i++;
        continue;
      }
      const column = Math.max(0, Math.floor((start[i] - t0) / pixel));
      let j = lowerBound(start, t0 + (column + 1) * pixel, i + 1, n);
      if (j > i + 1 && cum[j] - cum[j - 1] >= 2 * pixel) j--;
      let color;
      if (found) {
        color = found[j] > found[i] ? palette.match : palette.dim;
      } else {
        let best = i;
        for (let k = 1; k < 8; k++) {
          const other = i + Math.floor((j - i) * k / 8);
          if (cum[other + 1] - cum[other] > cum[best + 1] - cum[best]) best = other;
        }
        color = this.mix(this.color(lane, best), cum[j] > cum[i] ? (cum[j] - cum[i]) / pixel : 1);
      }
      if (lane.idle && cum[j] - cum[i] < pixel / 8) {
        i = j;
        continue;
      }
      const x = GUTTER + column * to.pixel;
      if (!run || run.color !== color || run.end < x - to.pixel / 2) {
        flush();
        run = { x, color };
      }
      run.end = x + to.pixel;
      i = j;
    }
    flush();
    return nr;
  }

  /* How many slices before each match the search: whether one in a pixel does costs no loop. */
  found(lane) {
    if (lane.hits !== this.hits) {
      lane.found = new Uint32Array(lane.n + 1);
      for (let i = 0; i < lane.n; i++)
        lane.found[i + 1] = lane.found[i] + this.hits[lane.name[i]];
      lane.hits = this.hits;
    }
    return lane.found;
  }

  paintCurve(to, lane, y, track) {
    const { start, value, n } = lane;
    const scale = this.scale(to.width);
    const pixel = to.pixel * scale;
    lane.most ||= value.reduce((most, x) => (x > most ? x : most), track.per ? 0 : 1) || 1;
    const color = this.mix(this.palette.kindColor(KINDS.indexOf('gpu')), 0.6);
    let nr = 0;
    for (let i = Math.max(0, lowerBound(start, this.t0, 0, n) - 1); i < n && start[i] < this.t1;
      nr++) {
      const column = Math.max(0, Math.floor((start[i] - this.t0) / pixel));
      const j = lowerBound(start, this.t0 + (column + 1) * pixel, i + 1, n);
      const end = j < n ? Math.ceil((Math.min(start[j], this.t1) - this.t0) / pixel)
        : (this.t1 - this.t0) / pixel;
      let most = -1; /* a gap has no value */
      for (let k = i; k < Math.min(j, i + 64); k++) if (value[k] > most) most = value[k];
      if (value[j - 1] > most) most = value[j - 1];
      i = j;
      if (most < 0) continue;
      /* A counter of the trace is seen where it is 0. */
      const tall = Math.max((CURVE - 4) * most / lane.most, track.per ? to.pixel : 0);
      const wide = Number.isNaN(value[j - 1]) ? 1 : end - column;
      to.rect(GUTTER + column * to.pixel, y + CURVE - 1 - tall, wide * to.pixel, tall, color);
    }
    to.text(GUTTER + 4, y + 8, `≤ ${formatCounter(lane.most, track)}`, this.palette.dimText);
    return nr;
  }

  /* The range, what is chosen, and arrows to what belongs to it. */
  paintMarks(to, places) {
    const { palette, drag } = this;
    const scale = this.scale(to.width);
    const x = (t) => Math.max(GUTTER, Math.min(to.width, GUTTER + (t - this.t0) / scale));
    const range = drag?.range || this.range;
    if (range && to.shade) {
      to.shade(GUTTER, TOP, x(range.from) - GUTTER, to.height);
      to.shade(x(range.to), TOP, to.width - x(range.to), to.height);
    }
    /* Where a slice is; of one in a closed row, where that is. */
    const box = ([k, l, i]) => {
      const lane = this.times.loaded[k]?.[l];
      const shown = [k, ...this.times.above(k)].find((track) => places.has(track));
      if (!lane || shown === undefined) return null;
      const left = x(lane.start[i]);
      const y = places.get(shown) + 1 + (shown === k && !this.shut.has(k) ? l * LEVEL : 0);
      return { left, right: Math.max(left + 2, x(sliceEnd(lane, i))), y, in: y > TOP - LEVEL,
        middle: Math.max(TOP, y + LEVEL / 2) };
    };
    this.arrows = [];
    const { pointed, selected } = this;
    for (const { slice, linked } of [{ slice: selected, linked: this.linked }, pointed]) {
      const mine = slice && box(slice);
      if (!mine) continue;
      if (mine.in) to.frame(mine.left, mine.y, mine.right - mine.left, LEVEL - 1, palette.select);
      for (const other of linked.map(box).filter(Boolean)) {
        const [from, end] = other.left < mine.left ? [other, mine] : [mine, other];
        this.arrows.push([(from.left + from.right) / 2, from.middle, end.left, end.middle]);
      }
    }
    for (const [x1, y1, x2, y2] of this.arrows) {
      to.line(x1, y1, x2, y2, palette.match);
      to.rect(x2 - 3, y2 - 3, 6, 6, palette.match);
    }
  }

  /*
   * Draw where in [from, end) slices that match the search begin, or go on; tells how many ticks
   * these are.
   */
  ticks(to, y, from, end) {
    const seen = new Set();
    const each = 2 * (end - from) / Math.max(1, to.width - GUTTER);
    for (const lane of this.hits ? this.times.loaded.flat() : []) {
      const found = lane?.name && this.found(lane);
      if (!found || !found[lane.n]) continue;
      for (let i = firstAfter(lane, from); i < lane.n;) {
        i = lowerBound(found, found[i] + 1, i, lane.n + 1) - 1; /* the next that matches */
        if (i >= lane.n || lane.start[i] >= end) break;
        const part = Math.max(0, Math.floor((lane.start[i] - from) / each));
        seen.add(part);
        i = lowerBound(lane.start, from + (part + 1) * each, i + 1, lane.n);
      }
    }
    for (const part of seen) to.rect(GUTTER + part * 2, y, 2, 6, this.palette.match);
    return seen.size;
  }

  paintAxis(to) {
    const { t0, t1, palette } = this;
    const scale = this.scale(to.width);
    to.rect(0, MAP + 1, to.width, AXIS - 1, palette.paper);
    to.rect(0, TOP - 1, to.width, 1, palette.dim);
    const least = scale * 90;
    const ten = 10 ** Math.floor(Math.log10(least));
    const step = Math.max(1, [1, 2, 5, 10].find((k) => k * ten >= least) * ten);
    for (let t = Math.ceil(t0 / step) * step; t < t1; t += step) {
      const x = GUTTER + (t - t0) / scale;
      to.rect(x, TOP - 7, 1, 6, palette.ancestor);
      to.text(x + 3, TOP - AXIS / 2, formatMoment(t, step, t1), palette.ancestor);
    }
    if (this.range) {
      const from = GUTTER + Math.max(0, (this.range.from - t0) / scale);
      const end = GUTTER + Math.min(to.width - GUTTER, (this.range.to - t0) / scale);
      if (end > from) to.rect(from, TOP - 4, end - from, 3, palette.match);
    }
    this.nrTicks = this.ticks(to, MAP + 1, t0, t1);
    to.rect(0, MAP + 1, GUTTER - 1, AXIS - 2, palette.paper);
  }
}
