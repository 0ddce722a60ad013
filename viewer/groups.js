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
const TRACK_GROUPS = ['thread', 'device', 'stream'];
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

/* What slices weigh by their thread, device or stream, as Tree.functions() has it. */
async function trackRows(app, tree, by) {
  const { times, rangeNow } = app;
  const range = rangeNow || { from: 0, to: times.span };
  const label = app.meta.trees[app.treeIndex()].label;
  const all = !times.tracksOf(label).length;
  const text = [];
  const columns = () => tree.weights.map(() => []);
  const rows = { ids: [], frames: [], self: columns() };
  for (const track of times.tracks) {
    let at = track;
    while (at && at.kind !== by) at = times.tracks[at.parent];
    if (by === 'stream' && track.slice === 'work') at = track;
    if (!at || !track.view || (!all && track.view !== label)) continue;
    const add = (name, lane, nr, weight) => {
      const w = tree.weights.findIndex((other) => other.name === name);
      if (w >= 0) rows.self[w][at.at] += weight;
      rows.frames[at.at] += nr;
    };
    if (rows.frames[at.at] === undefined) {
      rows.ids.push(at.at);
      text[at.at] = at === track && by === 'stream' ? app.timePages.place(at) : at.name;
      rows.frames[at.at] = 0;
      for (const column of rows.self) column[at.at] = 0;
    }
    for (const lane of await times.load(track.at))
      times.within(lane, range, (i, weight, samples) => {
        add(track.weight, lane, 1, weight);
        if (track.slice === 'run') add('samples', lane, 0, samples);
      });
  }
  return { functions: { ...rows, total: rows.self }, text, sides: [] };
}

/* The rows of @tree below @root: {by, ranged, functions, text, first (null: themselves), sides} */
async function tableRows(app, tree, root) {
  const { names, state, times, rangeNow } = app;
  const ranged = rangeNow && (app.base.ranged || []);
  if (times && TRACK_GROUPS.includes(state.group))
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
  return { by, ranged, text: group ? group.text : names.text, first: group && group.first, sides,
    functions: app.memo('rows', [tree, root, group], () => tree.functions(root, group)) };
}
