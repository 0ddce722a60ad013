/*
 * What one asks first of a run, answered in a line each: which line launches the slowest kernel, what
 * is launched most, where copies come from, which Python line has most CPU time, which steps are slow
 * and why. Made of the trees and tables that other pages show.
 */

const API_CALL = /^(cu|cuda|hip|cl|ze)[A-Z]/;

/*
 * By node: the code that it is below, the nearest line of the program's own Python, whose files are
 * @own, or else of any Python, or else function.
 */
function placesOf(tree, own) {
  const { n, name, names, parent } = tree;
  const places = new Uint32Array(n);
  const ranks = [0]; /* by name, as asked */
  const rank = (id) => (ranks[id] ??= isGlue(names, id, names.text[id]) ? 0
    : KINDS[names.kind[id]] === 'python'
      ? own.includes(names.text[id].replace(/.*\(|:\d+\)$/g, '')) ? 3 : 2
      : GLUE_KINDS.has(KINDS[names.kind[id]]) && !API_CALL.test(names.text[id]) ? 1 : 0);
  for (let i = 1; i < n; i++) {
    const above = places[parent[i]];
    places[i] = rank(name[i]) >= Math.max(1, above && rank(name[above])) ? i : above;
  }
  return places;
}

/* [question, answer, the state that it leads to, details] of a run. */
async function answersOf(app) {
  const { meta, names } = app;
  const rows = (name) => tableOf(meta.tables, name)?.rows || [];
  const answers = [];
  const places = new Map();
  const placeOf = (tree, i) => {
    if (!places.has(tree)) places.set(tree, placesOf(tree, meta.own));
    return places.get(tree)[i];
  };
  const brief = (id) => names.short(id, 60);
  const place = (tree, i) => brief(tree.name[placeOf(tree, i)]);
  /* Of view @view, what weighs most in weight @w of that which key(tree, i) says of nodes. */
  const most = async (view, w, of, key) => {
    const tree = meta.trees.some(({ label }) => label === view) && await app.treeOf(view);
    const at = tree ? tree.weights.findIndex(({ name }) => name === w) : -1;
    if (at < 0) return null;
    const sums = new Map();
    tree[of](at).forEach((x, i) => {
      const text = i && x > 0 && key(tree, i);
      if (!text) return;
      if (!sums.has(text)) sums.set(text, { text, sum: 0, node: i, x: 0 });
      const one = sums.get(text);
      one.sum += x;
      if (x > one.x) Object.assign(one, { x, node: i });
    });
    const [first] = [...sums.values()].sort((a, b) => b.sum - a.sum);
    return first && { ...first, more: sums.size > 1 ? ` and ${sums.size - 1} more` : '',
      all: tree.total(at)[0],
      to: { tab: 'flame', view, w, ops: [], z: [], x: tree.ids(first.node) } };
  };
  /* Work is the outermost of a device's frames, but in a graph. */
  const onDevice = (tree, i) => KINDS[tree.kind(i)] === 'gpu' && !tree.text(i).startsWith('[graph ');
  const isWork = (tree, i) => onDevice(tree, i) && !onDevice(tree, tree.parent[i]);
  const works = (name) => most('gpu', 'time', 'total', (tree, i) => (
    isWork(tree, i) && tree.text(i) === name && place(tree, i)));
  const add = (question, from, answer, details) => (
    from && answers.push([question, answer, from.to, details]));

  const [kernel] = rows('kernels');
  let from = kernel && await works(kernel.kernel);
  add('Slowest kernel', from, `${kernel && brief(names.withText(kernel.kernel)[0])}, launched from ${from?.text}${from?.more}`,
    kernel && `${formatNs(kernel.time_ns)}, ${formatCell(kernel.share, 'percent')} of device ` +
      `time, launches: ${formatCount(kernel.calls)}`);
  from = await most('gpu', 'count', 'total', (tree, i) => (
    isWork(tree, i) && `${brief(tree.name[i])}, launched from ${place(tree, i)}`));
  add('Launched most', from, from?.text, from && `launches: ${formatCount(from.sum)}`);
  const copy = rows('copies').find(({ operation }) => operation === 'copy host to device');
  from = copy && await works(copy.operation);
  add('Copies to the device', from, `${copy && formatWeight(copy.bytes, 'bytes')} from ${
    from?.text}${from?.more}`, copy && `copies: ${formatCount(copy.calls)}, ${formatNs(copy.time_ns)}`);
  from = await most('cpu', 'time', 'own', (tree, i) => {
    const node = placeOf(tree, i);
    return KINDS[tree.kind(node)] === 'python' && place(tree, i);
  });
  add('Python line with most CPU time', from, from?.text, from && `${formatNs(from.sum)}, ${
    formatPercent(from.sum, from.all)}, with the native code that it calls`);
  for (const { step, length_ns, of_median, from_ns, to_ns } of rows('slow_steps').slice(0, 3)) {
    const gap = rows('gaps').find(({ at_ns }) => at_ns >= from_ns && at_ns < to_ns);
    add(`Step ${formatCount(step)}`, { to: app.times && { tab: 'timeline', from: String(from_ns),
      to: String(to_ns), tv: [from_ns, to_ns] } }, gap ? `${gap.device} idle for ${
      formatNs(gap.length_ns)}: its thread ${gap.why}${gap.where && `, in ${gap.where}`}`
      : 'no longer wait of a device than in others', `${formatNs(length_ns)}, ${
      (of_median / 100).toFixed(1)} times the median`);
  }
  return answers;
}
