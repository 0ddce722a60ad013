/* The flame graph in order of time: what each thread and queue did, one after the other. */

const MOST_BOXES = 3000000;

/*
 * The slices of @whole, the view called @label, that have weight @w within @range (or null) as a
 * flame chart: the same frames with the same totals. Threads follow each other, idle time is not
 * there. Where there is none: text that says why.
 */
async function chartOf(times, whole, label, range, w) {
  const parts = await chartParts(times, whole, label, whole.weights[w].name);
  const visit = (call) => parts.forEach(({ lane, to, byTime }, k) => {
    times.within(lane, range || { from: 0, to: times.span }, (i, weight, samples) => {
      const node = Math.max(0, lane.node[i] - 1);
      const part = byTime ? weight : samples;
      if (part > 0) call(to ? to[node] : node, part, k);
    });
  });
  if (!parts.length) return `Of ${whole.weights[w].name} no order is known`;

  /* How many boxes it takes, and then they. What is open stays so as far as stacks are the same. */
  const { depth, end, parent, name } = whole;
  let most = 0;
  let open = 0;
  let lane = -1;
  const shared = (node, part) => {
    if (part !== lane) open = 0;
    lane = part;
    while (node < open || node >= end[open]) open = parent[open];
    return open;
  };
  visit((node, weight, part) => {
    most += depth[node] - depth[shared(node, part)] + 2;
    open = node;
  });
  if (most > MOST_BOXES) return 'Too many boxes in order of time: choose a range in the timeline';

  const builder = new TreeBuilder(whole.names, whole.weights, most, true);
  const made = new Uint32Array(whole.n); /* by open node */
  lane = -1;
  visit((node, weight, part) => {
    const fresh = part !== lane;
    const from = shared(node, part);
    const path = [];
    for (let at = node; at !== from; at = parent[at]) path.push(at);
    while (path.length) {
      const at = path.pop();
      const join = fresh && KINDS[whole.kind(at)] === 'process'; /* of several threads */
      made[at] = builder[join ? 'child' : 'make'](made[parent[at]], name[at]);
    }
    builder.add(made[node], w, weight);
    open = node;
  });
  return builder.finish();
}

/* The lanes with slices of weight @name, with where nodes of their trees are in @whole. */
async function chartParts(times, whole, label, name) {
  const own = times.tracksOf(label).length;
  const labels = own ? [label] : new Set(times.tracks.map(({ view }) => view).filter(Boolean));
  const parts = [];
  for (const view of labels) {
    const to = own ? null : placesIn(whole, await times.treeOf(view));
    if (!own && !to) return [];
    for (const track of times.tracksOf(view)) {
      const byTime = track.weight === name;
      if (byTime || (name === 'samples' && track.slice === 'run'))
        for (const lane of await times.load(track.at)) parts.push({ lane, to, byTime });
    }
  }
  return parts;
}
