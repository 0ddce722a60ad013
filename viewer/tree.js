/* The kernel's functions that put a thread to sleep, whatever for. */
const SCHEDULER = /^_*((io_|preempt_)?schedule|cond_resched|bpf_|traceiter_)/;

/*
 * A tree of frames as columns in preorder, node 0 the root. Nodes are indexes; the subtree of i is
 * [i, end[i]). Never changed once made: transforms make new ones.
 */
class Tree {
  constructor(names, weights, depth, name, self) {
    this.names = names;
    this.weights = weights;
    this.n = depth.length;
    this.depth = depth;
    this.name = name;
    this.self = self;
    this.totals = [];
    this.owns = [];
    this.lefts = [];
    this.linkUp();
  }

  linkUp() {
    const { n, depth } = this;
    const parent = new Uint32Array(n);
    const end = new Uint32Array(n);
    for (let i = 1; i < n; i++) {
      let above = i - 1;
      while (depth[above] >= depth[i]) above = parent[above];
      parent[i] = above;
    }
    for (let i = n - 1; i >= 0; i--) {
      if (end[i] === 0) end[i] = i + 1;
      if (i && end[i] > end[parent[i]]) end[parent[i]] = end[i];
    }
    this.parent = parent;
    this.end = end;
    this.nrGaps = 0;
    for (let i = 1; i < n; i++) if (this.isGap(i)) this.nrGaps++;
  }

  /*
   * A gap of a flame chart: own weight of the node above, which stands for the time it was seen.
   * Not so a frame without a name that called something.
   */
  isGap(i) {
    return (this.name[i] < this.names.nrBlank || this.name[i] === this.names.count) && i > 0 &&
      this.end[i] === i + 1;
  }

  /* Own weights by node, those of gaps with the nodes they belong to. */
  own(w) {
    if (!this.nrGaps) return this.self[w];
    if (!this.owns[w]) {
      const own = Float64Array.from(this.self[w]);
      for (let i = 1; i < this.n; i++)
        if (this.isGap(i)) {
          own[this.parent[i]] += own[i];
          own[i] = 0;
        }
      this.owns[w] = own;
    }
    return this.owns[w];
  }

  /*
   * Own weights as functions have them. Every off-CPU path ends in the scheduler and in what the
   * thread waited for: there the time is the own of the program's function that waited, or of the
   * kernel's where there is no program.
   */
  functionOwn(w) {
    const own = this.own(w);
    if (this.weights[w].name !== 'off-cpu') return own;
    if (!this.owns[`f${w}`]) {
      const moved = new Float64Array(this.n);
      for (let i = 1; i < this.n; i++) if (own[i] > 0) moved[this.waiting(i)] += own[i];
      this.owns[`f${w}`] = moved;
    }
    return this.owns[`f${w}`];
  }

  /* The function that waited, on the path that ends at node i. */
  waiting(i) {
    let kernel = 0;
    for (let at = i; at > 0; at = this.parent[at]) {
      const kind = KINDS[this.kind(at)];
      if (kind === 'process') break;
      if (kind === 'mark' && this.text(at) === '--') return i;
      if (kind === 'kernel' && !kernel &&
        !SCHEDULER.test(this.names.text[this.name[at]])) kernel = at;
      if (kind !== 'kernel' && kind !== 'mark') return at;
    }
    return kernel || i;
  }

  /* Totals of weight w, by node. */
  total(w) {
    if (!this.totals[w]) {
      const total = Float64Array.from(this.self[w]);
      const { parent } = this;
      for (let i = this.n - 1; i > 0; i--) total[parent[i]] += total[i];
      this.totals[w] = total;
    }
    return this.totals[w];
  }

  /* Where each box starts, in units of weight w: children side by side from their parent's left. */
  left(w) {
    if (!this.lefts[w]) {
      const total = this.total(w);
      const { parent } = this;
      const left = new Float64Array(this.n);
      const next = new Float64Array(this.n);
      for (let i = 1; i < this.n; i++) {
        const above = parent[i];
        next[i] = left[i] = next[above];
        next[above] += total[i];
      }
      this.lefts[w] = left;
    }
    return this.lefts[w];
  }

  text(i) {
    return i ? this.names.label[this.name[i]] : 'all';
  }

  kind(i) {
    return i ? this.names.kind[this.name[i]] : -1;
  }

  /* Nodes from below the root down to i. */
  path(i) {
    const path = [];
    for (; i; i = this.parent[i]) path.push(i);
    return path.reverse();
  }

  stackText(i) {
    return this.path(i).map((node) => this.text(node)).join('\n');
  }

  /*
   * Names from below the root down to i: a path that survives transforms. In a flame chart siblings
   * share names: the number of those before, times names.count, is added.
   */
  ids(i) {
    return this.path(i).map((node) => {
      let id = this.name[node];
      if (this.inOrder || this.nrGaps)
        for (let child = this.parent[node] + 1; child < node; child = this.end[child])
          if (this.name[child] === this.name[node]) id += this.names.count;
      return id;
    });
  }

  /* The node reached from the root by these names; those that are not there are passed over. */
  follow(ids) {
    const { count } = this.names;
    let node = 0;
    for (const id of ids) {
      let found = node;
      for (let child = node + 1, nth = Math.floor(id / count); child < this.end[node] && nth >= 0;
        child = this.end[child])
        if (this.name[child] === id % count) {
          found = child;
          nth--;
        }
      node = found;
    }
    return node;
  }

  maxDepth(root) {
    let deepest = 0;
    for (let i = root; i < this.end[root]; i++)
      if (this.depth[i] > deepest) deepest = this.depth[i];
    return deepest;
  }

  /* Call visit(i) for the matching nodes in @root's subtree that have no matching node above. */
  outermost(root, hits, visit) {
    for (let i = Math.max(root, 1); i < this.end[root];) {
      if (hits[this.name[i]]) {
        visit(i);
        i = this.end[i];
      } else {
        i++;
      }
    }
  }

  /*
   * Per function: self and total in every weight, and the number of frames. A stack counts once
   * towards a function's total however often it recurs in it. With @group (groupNames) per group.
   */
  functions(root, group = null) {
    const { end } = this;
    const name = group ? this.name.map((id) => group.of[id]) : this.name;
    const count = group ? group.text.length : this.names.count;
    const nrWeights = this.weights.length;
    const frames = new Uint32Array(count);
    const open = new Uint32Array(count);
    const self = this.weights.map(() => new Float64Array(count));
    const total = this.weights.map(() => new Float64Array(count));
    const totals = this.weights.map((_, w) => this.total(w));
    const owns = this.weights.map((_, w) => this.functionOwn(w));
    const stack = [];
    for (let i = Math.max(root, 1); i < end[root]; i++) {
      if (this.isGap(i) || name[i] >= count) continue;
      while (stack.length && i >= end[stack[stack.length - 1]]) open[name[stack.pop()]]--;
      const id = name[i];
      frames[id]++;
      const outer = open[id]++ === 0;
      stack.push(i);
      for (let w = 0; w < nrWeights; w++) {
        self[w][id] += owns[w][i];
        if (outer) total[w][id] += totals[w][i];
      }
    }
    const ids = [];
    for (let id = 0; id < count; id++) if (frames[id]) ids.push(id);
    return { ids, frames, self, total };
  }
}

/*
 * Nodes under a parent by name; finish() makes a Tree of them. With @inOrder it is a flame chart:
 * only neighbours become one, and what a node has itself between its children is a gap among them.
 */
class TreeBuilder {
  constructor(names, weights, most, inOrder) {
    this.names = names;
    this.weights = weights;
    this.n = 1;
    this.parent = new Uint32Array(most + 1);
    this.name = new Uint32Array(most + 1);
    this.self = weights.map(() => new Float64Array(most + 1));
    let slots = 16;
    while (slots < most * 2 && !inOrder) slots *= 2;
    this.slots = new Uint32Array(slots);
    this.last = inOrder && new Uint32Array(most + 1); /* by node: its last child */
  }

  make(parent, name) {
    const { last, self } = this;
    if (last && !last[parent] && self.some((column) => column[parent])) {
      last[parent] = this.n; /* what it had itself so far comes first */
      const gap = this.make(parent, this.names.count);
      for (const column of self) [column[gap], column[parent]] = [column[parent], 0];
    }
    if (last) last[parent] = this.n;
    this.parent[this.n] = parent;
    this.name[this.n] = name;
    return this.n++;
  }

  add(node, w, weight) {
    const inside = this.last && this.last[node];
    this.self[w][inside ? this.child(node, this.names.count) : node] += weight;
  }

  child(parent, name) {
    if (this.last) {
      const node = this.last[parent];
      return node && this.name[node] === name ? node : this.make(parent, name);
    }
    const mask = this.slots.length - 1;
    let at = (Math.imul(parent, 0x9e3779b1) ^ Math.imul(name, 0x85ebca6b)) >>> 0;
    at = (at ^ (at >>> 15)) & mask;
    for (let node; (node = this.slots[at]) !== 0; at = (at + 1) & mask)
      if (this.parent[node] === parent && this.name[node] === name) return node;
    this.slots[at] = this.n;
    return this.make(parent, name);
  }

  /* Children in order of names: a counting sort by name, then threaded lists. */
  finish() {
    const { n, parent, name } = this;
    const start = new Uint32Array(this.names.count + 2);
    for (let i = 1; i < n && !this.last; i++) start[name[i] + 1]++;
    for (let id = 0; id < this.names.count; id++) start[id + 1] += start[id];
    const order = new Uint32Array(n);
    for (let i = 1; i < n; i++) order[this.last ? i - 1 : start[name[i]]++] = i;
    const first = new Uint32Array(n);
    const next = new Uint32Array(n);
    for (let k = n - 2; k >= 0; k--) {
      const i = order[k];
      next[i] = first[parent[i]];
      first[parent[i]] = i;
    }
    const { tree } = preorder(this.names, this.weights, n, parent, name, this.self, first, next);
    tree.inOrder = Boolean(this.last);
    return tree;
  }
}

/* A Tree from child lists; `from` tells which node each came from. */
function preorder(names, weights, n, parent, name, self, first, next) {
  const depth = new Int32Array(n);
  const from = new Uint32Array(n);
  const ids = new Uint32Array(n);
  let node = 0;
  let level = 0;
  for (let at = 0; at < n; at++) {
    depth[at] = level;
    from[at] = node;
    ids[at] = name[node];
    if (first[node]) {
      node = first[node];
      level++;
      continue;
    }
    while (node && !next[node]) {
      node = parent[node];
      level--;
    }
    node = next[node];
  }
  const columns = self.map((column) => {
    const out = new Float64Array(n);
    for (let at = 0; at < n; at++) out[at] = column[from[at]];
    return out;
  });
  return { tree: new Tree(names, weights, depth, ids, columns), from };
}

/* The same tree with the heaviest child first; gaps have no place in that order. */
function heavyFirst(tree, w) {
  const { n, parent, end } = tree;
  const total = tree.total(w);
  const first = new Uint32Array(n);
  const next = new Uint32Array(n);
  for (let i = 0; i < n; i++) {
    if (end[i] === i + 1) continue;
    if (end[i + 1] === end[i] && !tree.nrGaps) {
      first[i] = i + 1;
      continue;
    }
    const kids = [];
    for (let child = i + 1; child < end[i]; child = end[child])
      if (!tree.isGap(child)) kids.push(child);
    if (!kids.length) continue;
    kids.sort((a, b) => total[b] - total[a] || a - b);
    first[i] = kids[0];
    for (let k = 1; k < kids.length; k++) next[kids[k - 1]] = kids[k];
  }
  const own = tree.weights.map((_, k) => tree.own(k));
  const made = preorder(tree.names, tree.weights, n - tree.nrGaps, parent, tree.name, own, first,
    next);
  made.tree.pruned = tree.pruned;
  if (tree.pruned) made.tree.totals = tree.totals.map((t) => t && t.map((_, i) => t[made.from[i]]));
  return made.tree;
}
