/*
 * What one asks first of a run, answered in a line each: which line launches the slowest kernel, what
 * is launched most, where copies come from, which Python line has most CPU time, which steps are slow
 * and why. Made of the trees and tables that other pages show.
 */

const API_CALL = /^(cu|cuda|hip|cl|ze)[A-Z]|^_?cuda/;

/* The node of the program's own code that node @i is below: the nearest line of Python or function. */
function placeOf(tree, i) {
  let native = 0;
  for (let at = tree.parent[i]; at; at = tree.parent[at]) {
    const kind = KINDS[tree.kind(at)];
    if (kind === 'python') return at;
    const id = tree.name[at];
    const text = tree.names.text[id];
    if (!native && GLUE_KINDS.has(kind) && !API_CALL.test(text) && !isGlue(tree.names, id, text))
      native = at;
  }
  return native;
}

/* By key(i) of its nodes: what @column sums up to there; a list, the largest first. */
function placeSums(tree, column, key) {
  const sums = new Map();
  for (let i = 1; i < tree.n; i++) {
    const what = column[i] > 0 && key(i);
    if (!what) continue;
    if (!sums.has(what)) sums.set(what, { what, sum: 0, most: 0, node: i });
    const one = sums.get(what);
    one.sum += column[i];
    if (column[i] > one.most) Object.assign(one, { most: column[i], node: i });
  }
  return [...sums.values()].sort((a, b) => b.sum - a.sum);
}

/* [question, answer, what it leads to (of the state), details] of a run. */
async function answersOf(app) {
  const { meta, names } = app;
  const row = (name, is = () => true) => tableOf(meta.tables, name)?.rows.find(is);
  const answers = [];
  const tree = async (label) => meta.trees.some((one) => one.label === label) && app.treeOf(label);
  const column = (of, name) => of && of.weights.findIndex((weight) => weight.name === name);
  const at = (of, node) => names.label[of.name[node]];
  const show = (view, of, node, w) => ({ tab: 'flame', view, w, ops: [], z: [], x: of.ids(node) });
  const gpu = await tree('gpu');
  const time = column(gpu, 'time');
  /* Work is the outermost of a device's frames. */
  const isWork = (i) => KINDS[gpu.kind(i)] === 'gpu' && KINDS[gpu.kind(gpu.parent[i])] !== 'gpu';
  const from = (name, w = time) => {
    const [first, ...rest] = placeSums(gpu, gpu.total(w), (i) => (
      isWork(i) && gpu.text(i) === name ? gpu.name[placeOf(gpu, i)] : 0));
    if (!first) return ['', null];
    return [`from ${names.label[first.what]}${rest.length ? ` and ${rest.length} more` : ''}`,
      show('gpu', gpu, first.node, gpu.weights[w].name)];
  };
  const kernel = gpu && time >= 0 && row('kernels');
  if (kernel) {
    const [place, link] = from(kernel.kernel);
    answers.push(['Slowest kernel', `${kernel.kernel}, launched ${place}`, link,
      `${formatNs(kernel.time_ns)}, ${formatCell(kernel.share, 'percent')} of device time, ${
        formatCount(kernel.calls)} launches`]);
  }
  const count = column(gpu, 'count');
  if (gpu && count >= 0) {
    const [most] = placeSums(gpu, gpu.total(count), (i) => isWork(i)
      && `${gpu.text(i)}, launched from ${at(gpu, placeOf(gpu, i))}`);
    if (most) answers.push(['Launched most', most.what, show('gpu', gpu, most.node, 'count'),
      `${formatCount(most.sum)} times`]);
  }
  const copy = gpu && time >= 0 && row('copies', ({ operation }) => /host to device/.test(operation));
  if (copy) {
    const [place, link] = from(copy.operation);
    answers.push(['Copies to the device', `${formatWeight(copy.bytes, 'bytes')} ${place}`, link,
      `${formatCount(copy.calls)} copies, ${formatNs(copy.time_ns)}`]);
  }
  const cpu = await tree('cpu');
  const used = column(cpu, 'time');
  if (cpu && used >= 0) {
    const [most] = placeSums(cpu, cpu.own(used), (i) => {
      const node = KINDS[cpu.kind(i)] === 'python' ? i : placeOf(cpu, i);
      return KINDS[cpu.kind(node)] === 'python' && cpu.name[node];
    });
    if (most) answers.push(['Python line with most CPU time', names.label[most.what],
      show('cpu', cpu, most.node, 'time'), `${formatNs(most.sum)}, ${
        formatPercent(most.sum, cpu.total(used)[0])}, with the native code that it calls`]);
  }
  const gaps = tableOf(meta.tables, 'gaps')?.rows || [];
  for (const { step, length_ns, of_median, from_ns, to_ns } of
    tableOf(meta.tables, 'slow_steps')?.rows.slice(0, 3) || []) {
    const gap = gaps.find(({ at_ns }) => at_ns >= from_ns && at_ns < to_ns);
    answers.push([`Step ${formatCount(step)}`, gap ? `${gap.device} idle for ${
      formatNs(gap.length_ns)}: its thread ${gap.why}${gap.where && `, in ${gap.where}`}`
      : 'as busy as others', { tab: 'timeline', from: String(from_ns), to: String(to_ns),
      tv: [from_ns, to_ns] }, `${formatNs(length_ns)}, ${
      (of_median / 100).toFixed(1)} times the median`]);
  }
  return answers;
}
