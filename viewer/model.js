/*
 * The report's data and state, without a page: which trees there are, what the user chose, and the
 * tree that follows from both. Every change goes through update(), so every change is in the
 * address and can be gone back from.
 *
 *	Model ← Layout (the parts of the page) ← Page (what they show) ← App (what keys and clicks do)
 */

const SUMMARY_TABLES = ['verdict', 'findings', 'run']; /* a report of these has a summary */

class Model {
  constructor(meta, names) {
    this.meta = meta;
    this.names = names;
    /* Views are called by their labels, so these must differ. */
    meta.trees.forEach((tree, at) => {
      if (!tree.label || meta.trees.findIndex(({ label }) => label === tree.label) < at)
        tree.label = meta.trees.length > 1 ? `view ${at + 1}` : 'all';
    });
    const devices = names.kind.includes(KINDS.indexOf('gpu'));
    for (const { label, weights } of meta.trees)
      for (const weight of weights) {
        weight.title = weightTitle(weight.name, label, devices, meta.wall);
        [weight.short] = weight.title.split(',');
      }
    this.reasons = tableOf(meta.tables, 'reasons');
    this.pipelines = meta.trees.map(() => null);
    this.made = new Map();
    this.defaults = { ...DEFAULTS, view: meta.trees[0]?.label || '',
      shape: meta.picture.inverted ? 'icicle' : 'flame',
      dir: meta.picture.reverse ? 'callers' : 'callees',
      order: meta.picture.chart && meta.time ? 'time' : 'name',
      delta: meta.differences[0]?.self ? 'self' : 'inclusive' };
    this.hasSummary = !meta.picture.differential
      && SUMMARY_TABLES.some((name) => tableOf(meta.tables, name));
    /* What the user wrote comes first: the root on top, its heaviest part left, no interpreter. */
    this.opening = this.hasSummary
      ? { tab: 'summary', shape: 'icicle', order: 'heavy', ops: ['glue'] }
      : meta.trees.length ? {} /* else what there is: slices, or tables */
        : meta.time ? { tab: 'timeline' } : meta.tables.length ? { tab: 'facts' } : {};
    this.state = this.addressed();
    this.times = meta.time ? new Times(meta.time, names, (label) => this.treeOf(label)) : null;
    this.trackGroups = meta.time ? TRACK_GROUPS.slice(meta.time.ranks ? 0 : 1) : [];
    window.addEventListener('popstate', () => this.fromAddress());
    window.addEventListener('hashchange', () => this.fromAddress());
  }

  /* The state of the page's address: of a bare one it is how the page opens. */
  addressed() {
    const state = stateFromHash(location.hash, this.defaults);
    return location.hash.length < 2 ? { ...state, ...this.opening } : state;
  }

  address() {
    const hash = `#${stateToHash(this.state, this.defaults)}`;
    if (!this.opening.tab) return hash;
    const first = stateToHash({ ...this.defaults, ...this.opening }, this.defaults);
    return hash === `#${first}` ? '#' : hash === '#' ? '#tab=flame' : hash;
  }

  /* Change the state; push makes it a step that the browser's Back undoes. */
  async update(patch, push = true) {
    this.state = { ...this.state, ...patch };
    const hash = this.address();
    if (hash !== (location.hash || '#'))
      window.history[push ? 'pushState' : 'replaceState'](null, '', hash);
    await this.refresh();
  }

  async fromAddress() {
    if ((location.hash || '#') === this.address()) return;
    this.state = this.addressed();
    await this.refresh();
  }

  /* The colour of node i of this tree in a difference; else null. */
  tint(tree, palette) {
    return this.difference ? this.difference.tint(tree, palette, this.state.delta) : null;
  }

  treeIndex() {
    const at = this.meta.trees.findIndex((tree) => tree.label === this.state.view);
    return Math.max(0, at);
  }

  async whole(at) {
    const load = async () => new Pipeline(await loadTree(at, this.meta.trees[at], this.names));
    return (this.pipelines[at] ||= load());
  }

  /* The tree of the view called @label, as of the whole run. */
  async treeOf(label) {
    const at = this.meta.trees.findIndex((tree) => tree.label === label);
    return (await this.whole(at)).steps[0].tree;
  }

  /* Of the range that is chosen, where its view has slices; else of the whole run. */
  async pipeline() {
    const at = this.treeIndex();
    const whole = await this.whole(at);
    this.rangeNow = this.times && this.times.range(this.state);
    const key = this.rangeNow && [at, this.rangeNow.from, this.rangeNow.to].join();
    if (!key) return whole;
    if (this.ranged?.key !== key) {
      const tree = await this.times.tree(whole.steps[0].tree, this.meta.trees[at].label,
        this.rangeNow);
      this.ranged = { key, pipeline: tree ? new Pipeline(tree) : whole };
    }
    return this.ranged.pipeline;
  }

  /* In order of time, if that is asked for: that pipeline, or why there is none. */
  async charted() {
    const { base, w, rangeNow, state } = this; /* as they are now: others may come meanwhile */
    if (state.order !== 'time' || !this.times) return null;
    if (state.dir !== 'callees') return 'In order of time is top-down';
    const at = this.treeIndex();
    const key = [at, w, rangeNow?.from, rangeNow?.to].join();
    if (this.inTime?.key !== key) {
      const { tree } = (await this.whole(at)).steps[0];
      const { label } = this.meta.trees[at];
      let made = await chartOf(this.times, tree, label, rangeNow, w);
      /* A view of two others may count once what both have. */
      if (made.total && made.total(w)[0] > base.total(w)[0])
        made = `Of ${label} no order is known`;
      this.inTime = { key, chart: made instanceof Tree ? new Pipeline(made) : made };
    }
    return this.inTime.key === key ? this.inTime.chart : null;
  }

  /* The weight that is drawn: the one asked for, or the first that has any in this tree. */
  weightOf(tree) {
    const asked = tree.weights.findIndex(({ name }) => name === this.state.w);
    if (asked >= 0 && tree.total(asked)[0] > 0) return asked;
    const picture = tree.weights.findIndex(({ name }) => name === this.meta.picture.weight);
    const after = this.meta.picture.differential && tree.weights.length > 1 ? 1 : 0;
    const standard = picture >= 0 ? picture : after;
    if (tree.total(standard)[0] > 0) return standard;
    const first = this.meta.order.map((word) => tree.weights.findIndex(({ name }) => name === word))
      .find((w) => w >= 0 && tree.total(w)[0] > 0);
    if (first !== undefined) return first;
    return Math.max(0, tree.weights.findIndex((_, w) => tree.total(w)[0] > 0));
  }

  /* The last result of make() for this slot, made anew when one of its inputs changed. */
  memo(slot, inputs, make) {
    const old = this.made.get(slot);
    if (old && old.inputs.every((input, k) => input === inputs[k])) return old.value;
    const value = make();
    this.made.set(slot, { inputs, value });
    return value;
  }

  /* The tree to draw for the state. */
  derive(forward, w) {
    const { dir, order, z } = this.state;
    if (this.chart?.run) return this.chart.run(this.state.ops);
    let tree = forward;
    if (dir === 'callers') {
      const full = this.memo('callers', [tree, w], () => (
        callersTree(tree, stackPointers(tree), w, [])));
      /* A tree with small nodes left closed is made again around the node zoomed into. */
      tree = full.pruned && z.length ? this.memo('zoomed', [tree, w, z.join()], () => (
        callersTree(tree, stackPointers(tree), w, z))) : full;
    }
    return order === 'heavy' ? this.memo('heavy', [tree, w], () => heavyFirst(tree, w)) : tree;
  }

  /* Make what is drawn from the state: false when a later call has overtaken this one. */
  async compute() {
    const turn = (this.turn = (this.turn || 0) + 1);
    if (!this.meta.trees.length) {
      this.rangeNow = this.times?.range(this.state);
      return true;
    }
    const pipeline = await this.pipeline();
    if (turn === this.turn) await this.announce(pipeline.steps[0].tree);
    if (turn !== this.turn) return false;
    this.base = pipeline.steps[0].tree;
    this.difference = this.meta.picture.differential && this.base.weights.length > 1
      ? this.memo('difference', [this.treeIndex(), this.state.norm], () => (
        new Difference(this.meta.differences[this.treeIndex()], this.state.norm))) : null;
    /* The summary has no graph: what that would be made of can wait. */
    const plain = this.state.tab === 'summary';
    this.forward = pipeline.run(plain ? [] : this.state.ops);
    this.w = this.weightOf((await this.whole(this.treeIndex())).steps[0].tree);
    const chart = await this.charted();
    if (turn !== this.turn) return false;
    this.chart = chart;
    this.tree = plain ? this.forward : this.derive(this.forward, this.w);
    this.root = this.tree.follow(this.state.z);
    this.node = this.tree.follow(this.state.x);
    return true;
  }

  functionsOf(tree) {
    return this.memo('functions', [tree], () => tree.functions(0));
  }

  /* The function of the sandwich; of a name of several, the one that weighs most here. */
  sandwiched() {
    const words = this.state.fn || this.heaviest();
    const { names } = this;
    const ids = names.find(words);
    const functions = ids.filter((id, at) => !ids.slice(0, at).some((one) => names.same(one, id)));
    if (functions.length < 2) return { words, ids, others: [] };
    const all = (id) => ids.filter((one) => names.same(one, id));
    const weight = (id) => matchedWeight(this.forward, this.w, 0, nameSet(names, all(id)));
    const [best, ...rest] = this.memo('namesakes', [this.forward, this.w, words], () => (
      functions.map((id) => [id, weight(id)]).sort(([, a], [, b]) => b - a).map(([id]) => id)));
    return { words: names.reference(best), ids: all(best),
      others: rest.map((id) => names.reference(id)) };
  }

  heaviest() {
    const { ids, self, total } = this.functionsOf(this.forward);
    /* Of a kernel all of it, as its time is that of its instructions. */
    const [best] = largest(ids, (id) => ({ gpu: total, 'gpu instruction': [] }[
      KINDS[this.names.kind[id]]] || self)[this.w]?.[id] || 0, 1);
    return best ? this.names.reference(best.id) : '';
  }
}

/* The name of a weight for people, who ask whose time it is; src/analyse/query has the same words. */
function weightTitle(name, view, devices, wall) {
  if (view === 'wakers') return name;
  if (name === 'off-cpu') return 'off-CPU time, all threads';
  if (name === 'alloc') return 'bytes allocated';
  if (name === 'live') return 'bytes allocated and not freed';
  if (wall && name === 'time' && view === 'cpu') return 'wall-clock time, all threads';
  return name === 'time' ? { cpu: 'CPU time, all threads', gpu: 'device time, all queues',
    idle: 'idle time, all devices', all: devices ? 'CPU and device time, all threads and queues'
      : 'CPU time, all threads' }[view] || name : name;
}

/* A regular expression that matches this name and no other. */
function exactly(name) {
  return `^${name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`;
}
