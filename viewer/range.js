/*
 * Time: the slices of the run on their tracks, decoded when first asked for, and the tree of a part
 * of the run made of those within it.
 *
 *	new Times(meta.time, names, treeOf) → await load(track) → loaded[track]; tree(whole, …)
 *
 * A lane is what lies side by side on a track, as columns: {n, start, name, node (1 + that of the
 * tree of its stacks, or 0), weight (null: the duration), samples (null: 1 each), flow (or 0)}, and
 * cum, n + 1 of them: the sum of durations before, so that the busy part of a pixel costs no loop.
 * A counter's lane has value instead, NaN where a gap begins. See src/render/html/time.h.
 */

/* The first of @column that is @t or later, in [from, n): near ones are found soonest. */
function lowerBound(column, t, from, n) {
  let low = from;
  let step = 1;
  while (low + step < n && column[low + step] < t) {
    low += step;
    step *= 2;
  }
  let high = Math.min(n, low + step);
  if (low < n && column[low] >= t) return low;
  while (low + 1 < high) {
    const middle = (low + high) >>> 1;
    if (column[middle] < t) low = middle;
    else high = middle;
  }
  return high;
}

/* The first slice of a lane that ends after @t or begins at it. */
function firstAfter(lane, t) {
  const i = lowerBound(lane.start, t, 0, lane.n);
  return i > 0 && sliceEnd(lane, i - 1) > t ? i - 1 : i;
}

function sliceEnd({ start, cum }, i) {
  return start[i] + cum[i + 1] - cum[i];
}

/* Slices of a track, up to @deepest of them one within the other, as one lane a level. */
function lanesOf(columns, durations, deepest) {
  const { start } = columns;
  const n = start.length;
  const level = new Uint8Array(deepest > 1 ? n : 0);
  const place = new Uint32Array(level.length); /* in its lane */
  const sizes = deepest > 1 ? [] : [n];
  const ends = [];
  for (let i = 0, deep = 0; i < level.length; i++) {
    while (deep > 0 && ends[deep - 1] <= start[i]) deep--;
    level[i] = deep;
    place[i] = sizes[deep] = (sizes[deep] ?? -1) + 1;
    ends[deep++] = start[i] + durations[i];
  }
  if (deepest > 1) sizes.forEach((last, l) => { sizes[l] = last + 1; });
  const lanes = sizes.map((size) => ({ n: size, cum: new Float64Array(size + 1) }));
  const split = (column) => {
    if (!column || lanes.length === 1) return lanes.map(() => column);
    const parts = sizes.map((size) => new column.constructor(size));
    for (let i = 0; i < n; i++) parts[level[i]][place[i]] = column[i];
    return parts;
  };
  for (const [key, column] of Object.entries(columns))
    split(column).forEach((part, l) => { lanes[l][key] = part; });
  split(durations).forEach((part, l) => {
    const { cum } = lanes[l];
    for (let i = 0; i < part.length; i++) cum[i + 1] = cum[i] + part[i];
  });
  return lanes;
}

class Times {
  /* treeOf(label): promises the tree that a view of this label has as a whole. */
  constructor(time, names, treeOf) {
    Object.assign(this, time, { names, treeOf });
    this.loads = [];
    this.loaded = []; /* lanes by track */
    this.views = new Map();
    this.tracks.forEach((track, k) => {
      track.kids = [];
      track.all = track.n; /* slices on it and below it */
      track.at = k;
      if (track.kind === 'thread') track.name += ` ${track.tid}`;
    });
    for (const track of [...this.tracks].reverse()) {
      const above = this.tracks[track.parent];
      if (!above) continue;
      above.kids.unshift(track.at);
      above.all += track.all;
    }
    this.roots = foldTracks(this.tracks);
  }

  nrLoaded() {
    return this.loaded.reduce((nr) => nr + 1, 0);
  }

  /* What a track is a part of, as it is shown: the innermost first. */
  above(k) {
    const up = this.tracks[k].under ?? this.tracks[k].parent;
    return up < 0 ? [] : [up, ...this.above(up)];
  }

  /* Where the steps of the run begin, and at last where the last one ends: in `begins`. */
  async loadSteps() {
    if (!this.steps || this.begins) return;
    const [bytes] = await inflateScript('af-steps');
    const begins = readVarints(bytes, new Float64Array(this.steps.n + 1));
    for (let i = 1; i < begins.length; i++) begins[i] += begins[i - 1];
    this.begins = begins;
  }

  load(k) {
    return (this.loads[k] ||= this.decode(k));
  }

  async decode(k) {
    const { n, kind, slice, stacks, depth, per } = this.tracks[k];
    if (!n) return (this.loaded[k] = []);
    const [starts, second, ...rest] = await inflateScript(`af-time-${k}`);
    const read = (bytes, Type) => (
      bytes && bytes.length ? readVarints(bytes, new Type(n)) : null);
    const start = read(starts, Float64Array);
    for (let i = 1; i < n; i++) start[i] += start[i - 1];
    const numbers = read(second, Float64Array);
    if (kind === 'counter') {
      for (let i = 0, value = 0; i < n; i++) numbers[i] = value += signed(numbers[i]);
      if (per) numbers.forEach((x, i) => { numbers[i] = x ? (x - 1) / per : NaN; });
      return (this.loaded[k] = [{ n, start, value: numbers }]);
    }
    const [name, node, weight, samples, flow] = rest.map((bytes, at) => (
      read(bytes, at < 2 ? Uint32Array : Float64Array)));
    if (flow)
      for (let i = 0, id = 0; i < n; i++) if (flow[i]) flow[i] = id += signed(flow[i] - 1);
    const tree = name ? null : await this.treeOf(stacks);
    this.loaded[k] = lanesOf({ start, node, weight, samples, flow,
      name: name || node.map((at) => tree.name[Math.max(0, at - 1)]) }, numbers, depth);
    for (const lane of this.loaded[k]) lane.slice = slice;
    return this.loaded[k];
  }

  /* What of the run is asked for, or null for all of it; cut to the run. */
  range({ from, to }) {
    const a = Math.max(0, Number(from) || 0);
    const b = to === '' ? this.span : Math.min(this.span, Number(to) || 0);
    return (from !== '' || to !== '') && a < b ? { from: a, to: b } : null;
  }

  /* The track and those below it, as far as they have slices that weigh in a view. */
  partsOf(track) {
    const below = track.kids.flatMap((k) => this.partsOf(this.tracks[k]));
    return track.n && track.view ? [track, ...below] : below;
  }

  tracksOf(view) {
    return this.tracks.filter((track) => track.n && track.view === view);
  }

  /*
   * Call add(i, weight, count) for the slices of @lane within @range. One that reaches out of it
   * has a part in proportion, but works are launches where they began; parts of neighbouring ranges
   * add up to the whole.
   */
  within(lane, { from, to }, add) {
    const { start, cum, weight, samples, n, slice } = lane;
    const last = to >= this.span ? Infinity : to;
    for (let i = from > 0 ? firstAfter(lane, from) : 0; i < n && start[i] < last; i++) {
      const long = cum[i + 1] - cum[i];
      const whole = weight ? weight[i] : long;
      const nr = samples ? samples[i] : 1;
      if (start[i] >= from && start[i] + long <= last) {
        add(i, whole, nr);
      } else {
        const a = Math.max(0, from - start[i]);
        const b = Math.min(long, to - start[i]);
        const part = (all) => (all === long ? b - a
          : Math.floor(all * (b / long)) - Math.floor(all * (a / long)));
        add(i, part(whole), slice !== 'work' ? part(nr) : a ? 0 : nr);
      }
    }
  }

  /*
   * The tree of @label with weights of @range only, or null when its view has no slices. Those
   * that slices do not have stay those of the whole run; `ranged` has the others.
   */
  async tree(whole, label, range) {
    const tracks = this.tracksOf(label);
    if (!tracks.length) return this.together(whole, range);
    await Promise.all(tracks.map(({ at }) => this.load(at)));
    const index = (name) => whole.weights.findIndex((weight) => weight.name === name);
    const fresh = (columns, w) => (columns[w] ||= new Float64Array(whole.n));
    const own = [];
    const spread = [];
    const s = index('samples');
    /* Where all launches are works with times. */
    const c = index('count');
    let launches = 0;
    for (const { at, slice } of tracks)
      for (const { samples, n } of slice === 'work' ? this.loaded[at] : [])
        launches += samples ? samples.reduce((sum, x) => sum + x) : n;
    const of = { run: s, work: c >= 0 && launches === whole.total(c)[0] ? c : -1 };
    for (const track of tracks) {
      const w = index(track.weight);
      if (w < 0) continue;
      const sums = fresh(track.spread ? spread : own, w);
      const counts = of[track.slice] >= 0 ? fresh(own, of[track.slice]) : null;
      for (const lane of this.loaded[track.at])
        this.within(lane, range, (i, weight, nr) => {
          const node = Math.max(0, lane.node[i] - 1);
          sums[node] += weight;
          if (counts) counts[node] += nr;
        });
    }
    spread.forEach((got, w) => {
      const root = this.executed(whole, label, tracks);
      spreadOver(root, whole.self[w], whole.self[w], got, fresh(own, w));
      if (s >= 0 && s !== w) spreadOver(root, whole.self[w], whole.self[s], got, fresh(own, s));
    });
    return own.length ? rangedTree(whole, own) : null;
  }

  /* The same of a view that is others put together, as far as it is: weights that add up to its. */
  async together(whole, range) {
    const labels = [...new Set(this.tracks.map(({ view }) => view).filter(Boolean))];
    const own = [];
    const sums = whole.weights.map(() => 0);
    for (const label of labels) {
      const from = await this.treeOf(label);
      const tree = await this.tree(from, label, range);
      const to = tree && placesIn(whole, tree);
      if (!to) return null;
      tree.weights.forEach(({ name }, k) => {
        const w = whole.weights.findIndex((weight) => weight.name === name);
        if (w < 0 || (!tree.ranged[k] && tree.total(k)[0] > 0)) return;
        own[w] ||= new Float64Array(whole.n);
        sums[w] += from.total(k)[0];
        tree.self[k].forEach((x, i) => { own[w][to[i]] += x; });
      });
    }
    const sure = own.map((column, w) => (sums[w] && sums[w] === whole.total(w)[0] ? column : null));
    return sure.some(Boolean) ? rangedTree(whole, sure) : null;
  }

  /* By node: the node itself or its nearest ancestor that executions name; -1 for none. */
  executed(tree, label, tracks) {
    if (!this.views.has(label)) {
      const root = new Int32Array(tree.n).fill(-1);
      for (const track of tracks)
        if (track.spread)
          for (const { node } of this.loaded[track.at])
            for (const k of node) root[Math.max(0, k - 1)] = 0;
      for (let i = 1; i < tree.n; i++) root[i] = root[i] < 0 ? root[tree.parent[i]] : i;
      this.views.set(label, root);
    }
    return this.views.get(label);
  }
}

/* @whole with these columns of self, where there are any. */
function rangedTree(whole, ranged) {
  return Object.assign(Object.create(Tree.prototype), whole, { ranged, totals: [], owns: [],
    lefts: [], self: whole.self.map((column, w) => ranged[w] || column) });
}

/* By node of @tree: the node of @whole with the same path, or null when one has none there. */
function placesIn(whole, tree) {
  const to = new Uint32Array(tree.n);
  const last = new Uint32Array(whole.n); /* by node: the child that was found last */
  const find = (above, name, child) => {
    while (child < whole.end[above] && whole.name[child] !== name) child = whole.end[child];
    return child < whole.end[above] ? child : 0;
  };
  for (let i = 1; i < tree.n; i++) {
    const above = to[tree.parent[i]];
    to[i] = find(above, tree.name[i], last[above] || above + 1) ||
      find(above, tree.name[i], above + 1);
    if (!to[i]) return null;
    last[above] = to[i];
  }
  return to;
}

/*
 * Spread the time of executions in a range over the nodes below theirs, in the proportions of the
 * whole run: an instruction is known only as a share of its kernel. Of each node's @column, @out
 * gets the fraction that @got is of the kernel's @base, rounded so that the sums are exact.
 * @root: by node, the node that the executions name, or -1.
 */
function spreadOver(root, base, column, got, out) {
  const mass = new Float64Array(root.length);
  const share = new Float64Array(root.length);
  const given = new Float64Array(root.length);
  root.forEach((o, i) => { if (o >= 0) mass[o] += base[i]; });
  root.forEach((o, i) => {
    if (o < 0 || !got[o]) return;
    share[o] += column[i];
    const part = mass[o] === got[o] ? share[o]
      : mass[o] > 0 ? Math.floor(got[o] * (share[o] / mass[o])) : column === base ? got[o] : 0;
    out[i] += part - given[o];
    given[o] = part;
  });
}
