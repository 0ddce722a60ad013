/*
 * What the table's rows are: functions, what some of them have in common by their names, or the
 * threads, devices and streams that slices were on; with what CPU and GPU took of each beside each
 * other.
 */

const SOURCE = /(?:^|\()([^\s():]+\.\w+):\d+\)?$/;

/* The key of a function: those of the same key are one row; null: in none. */
const GROUPS = {
  function: null,
  kernel: (text, kind) => (kind === 'gpu' ? text : null),
  file: (text, kind) => SOURCE.exec(text)?.[1] ?? `[${kind}]`,
  line: (text, kind) => SOURCE.exec(text)?.[0].replace(/[()]/g, '') ?? `[${kind}]`,
  module: (text, kind, names, id) => names.moduleOf(id),
  layer: (text, kind) => kind,
};
const TRACK_GROUPS = ['rank', 'thread', 'device', 'stream'];
const NO_GROUP = 0xffffffff;

/* {of: row by name id, text, first: a name of each row} */
function groupNames(names, by) {
  const rows = new Map();
  const group = { of: new Uint32Array(names.count).fill(NO_GROUP), text: [], first: [] };
  for (let id = names.nrBlank; id < names.count; id++) {
    const key = GROUPS[by](names.text[id], KINDS[names.kind[id]], names, id);
    if (key === null) continue;
    if (!rows.has(key)) {
      rows.set(key, group.text.length);
      group.text.push(key);
      group.first.push(id);
    }
    group.of[id] = rows.get(key);
  }
  return group;
}

/* What slices weigh by their rank, thread, device or stream, as Tree.functions() has it. */
async function trackRows(app, tree, by) {
  const { times, rangeNow } = app;
  const range = rangeNow || { from: 0, to: times.span };
  const label = app.meta.trees[app.treeIndex()].label;
  const all = !times.tracksOf(label).length;
  const text = [];
  const columns = () => tree.weights.map(() => []);
  const rows = { ids: [], frames: [], self: columns() };
  const time = {};
  for (const track of times.tracks) {
    const { view } = track;
    let at = track;
    while (at && at.kind !== (by === 'rank' ? 'process' : by)) at = times.tracks[at.parent];
    if (by === 'stream' && track.slice === 'work') at = track;
    if (!at || !view) continue;
    /* Of a rank's processes the first one stands for all. */
    const { rank } = at;
    if (by === 'rank') at = times.tracks.find((one) => one.rank === rank);
    const shown = all || view === label;
    const add = (name, lane, nr, weight) => {
      const w = tree.weights.findIndex((other) => other.name === name);
      if (w >= 0) rows.self[w][at.at] += weight;
      rows.frames[at.at] += nr;
    };
    if (shown && rows.frames[at.at] === undefined) {
      rows.ids.push(at.at);
      text[at.at] = by === 'rank' ? rank
        : at === track && by === 'stream' ? app.timePages.place(at) : at.name;
      rows.frames[at.at] = 0;
      for (const column of rows.self) column[at.at] = 0;
    }
    for (const lane of await times.load(track.at))
      times.within(lane, range, (i, weight, samples) => {
        if (track.weight === 'time' && view !== label)
          (time[view] ||= times.tracks.map(() => 0))[at.at] += weight;
        if (!shown) return;
        add(track.weight, lane, 1, weight);
        if (track.slice === 'run') add('samples', lane, 0, samples);
      });
  }
  return { functions: { ...rows, total: rows.self }, text, sides: Object.entries(time)
    .map(([other, total]) => ({ label: other, total, whole: total.reduce((x, y) => x + y) })) };
}

/*
 * Why the instructions of a row stalled: by row [part of all in column @own, reason, its sort], the
 * largest first; no entry where nothing tells.
 */
function stallMixes(tree, root, group, { rows }, own) {
  const { names, name, parent } = tree;
  const of = [];
  rows.forEach((row, k) => names.find(`[${row.name}]`).forEach((id) => { of[id] = k; }));
  const sums = new Array(names.count);
  const last = new Uint32Array(names.count);
  for (let i = root + 1; i < tree.end[root]; i++) {
    const reason = own[i] ? of[name[i]] : undefined;
    if (reason === undefined) continue;
    for (let up = parent[i]; up && up >= root; up = parent[up]) {
      const row = group ? group.of[name[up]] : name[up];
      if (last[row] === i || row === NO_GROUP) continue; /* once in a stack */
      last[row] = i;
      (sums[row] ||= new Float64Array(rows.length))[reason] += own[i];
    }
  }
  return sums.map((sum) => {
    const all = sum.reduce((x, y) => x + y);
    return rows.map((row, k) => [sum[k] / all, row.name, row.category])
      .filter(([x]) => x).sort(([x], [y]) => y - x);
  });
}

/*
 * The rows of @tree below @root: {by, ranged, functions, text, first (null: themselves), sides,
 * reasons, mixes (falsy: no row has reasons for stalls)}
 */
async function tableRows(app, tree, root) {
  const { names, state, times, rangeNow, reasons, w } = app;
  const ranged = rangeNow && (app.base.ranged || []);
  if (app.trackGroups.includes(state.group))
    return { by: state.group, ranged, ...await trackRows(app, app.base, state.group) };
  const by = GROUPS[state.group] ? state.group : 'function';
  const group = by === 'function' ? null
    : app.memo('group', [by], () => groupNames(names, by));
  const shown = app.meta.trees[app.treeIndex()].label;
  const labels = ['cpu', 'gpu'].filter((label) => label !== shown &&
    app.meta.trees.some((other) => other.label === label && other.weights[0].name === 'time'));
  const inputs = [state.ops.join('\n'), ranged && `${rangeNow.from} ${rangeNow.to}`, group];
  const sides = await Promise.all(labels.map((label) => app.memo(`${label} beside`, inputs,
    async () => {
      const whole = await app.treeOf(label);
      const part = (rangeNow && await times.tree(whole, label, rangeNow)) || whole;
      const other = new Pipeline(part).run(state.ops);
      return { label, total: other.functions(0, group).total[0], whole: other.total(0)[0] };
    })));
  const own = tree.self[tree.weights[w].name === 'samples' ? w : 0];
  const mixes = reasons && app.memo('mixes', [tree, root, group, own], () => (
    stallMixes(tree, root, group, reasons, own)));
  return { by, ranged, text: group ? group.text : names.label, first: group && group.first, sides,
    reasons, mixes: mixes?.some(Boolean) && mixes,
    functions: app.memo('rows', [tree, root, group], () => tree.functions(root, group)) };
}
