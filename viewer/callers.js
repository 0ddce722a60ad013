/*
 * Trees that grow from callee to caller. A stack is a pointer to its last node and a weight;
 * pointers that agree on the names passed so far share a node.
 *
 * Every stack reversed can be far larger than the tree (its nodes share no prefix), so a node
 * whose weight is under @fine of the whole is not opened; the tree is then marked `pruned`. Naming
 * a node in @open (names from the root) opens its subtree against its own weight instead, which
 * is what zooming does. Weights of nodes are exact in either case.
 */

const FULL_STEPS = 1.5e6; /* below so many frames in all stacks nothing is pruned */
const FINE = 5e-5;        /* a twentieth of a pixel's width of a usual window */

/* Every stack with a self weight. */
function stackPointers(tree) {
  const nodes = [];
  const columns = tree.weights.map((_, w) => tree.own(w));
  for (let i = 1; i < tree.n; i++)
    if (columns.some((column) => column[i] > 0)) nodes.push(i);
  return { nodes: Uint32Array.from(nodes), columns };
}

/* The outermost calls of a function with their totals. */
function callPointers(tree, hits) {
  const nodes = [];
  tree.outermost(0, hits, (i) => nodes.push(i));
  return { nodes: Uint32Array.from(nodes), columns: tree.weights.map((_, w) => tree.total(w)) };
}

class Growing {
  constructor(Type) {
    this.data = new Type(1024);
    this.n = 0;
  }

  push(x) {
    if (this.n === this.data.length) {
      const bigger = new this.data.constructor(this.n * 2);
      bigger.set(this.data);
      this.data = bigger;
    }
    this.data[this.n++] = x;
  }

  done() {
    return this.data.slice(0, this.n);
  }
}

function callersTree(tree, pointers, w, open, finest = FINE) {
  const { parent, name, names } = tree;
  const { nodes: source, columns } = pointers;
  const nr = source.length;
  let steps = 0;
  for (let i = 0; i < nr; i++) steps += tree.depth[source[i]];
  const fine = steps > FULL_STEPS || finest !== FINE ? finest : 0;

  const at = Uint32Array.from(source); /* how far each stack has been followed */
  const leaf = Uint32Array.from(source);
  const spare = new Uint32Array(nr);
  const spareLeaf = new Uint32Array(nr);
  const group = new Int32Array(names.count);
  const depth = new Growing(Int32Array);
  const ids = new Growing(Uint32Array);
  const self = columns.map(() => new Growing(Float64Array));
  const total = columns.map(() => new Growing(Float64Array));
  let pruned = false;

  /* Sort [from, to) by the name at[] points to; returns the groups in order of names. */
  const split = (from, to) => {
    const found = [];
    for (let i = from; i < to; i++) if (group[name[at[i]]]++ === 0) found.push(name[at[i]]);
    found.sort((a, b) => a - b);
    let start = from;
    const ranges = found.map((id) => {
      const range = { id, from: start, to: start + group[id] };
      group[id] = start;
      start = range.to;
      return range;
    });
    for (let i = from; i < to; i++) {
      const slot = group[name[at[i]]]++;
      spare[slot] = at[i];
      spareLeaf[slot] = leaf[i];
    }
    for (let i = from; i < to; i++) {
      at[i] = spare[i];
      leaf[i] = spareLeaf[i];
    }
    for (const id of found) group[id] = 0;
    return ranges;
  };

  const todo = [{ id: 0, from: 0, to: nr, level: 0, onPath: true, limit: -1 }];
  while (todo.length) {
    const range = todo.pop();
    let weight = 0;
    columns.forEach((column, k) => {
      let sum = 0;
      for (let i = range.from; i < range.to; i++) sum += column[leaf[i]];
      total[k].push(sum);
      if (k === w) weight = sum;
    });
    depth.push(range.level);
    ids.push(range.id);
    const limit = range.limit < 0 || (range.onPath && range.level === open.length)
      ? weight * fine : range.limit;
    if (range.level && weight < limit && !range.onPath) {
      pruned = true;
      self.forEach((column) => column.push(0));
      continue;
    }
    /* One step towards the root; stacks that end here are the node's own. */
    let live = range.from;
    if (range.level === 0) {
      live = range.from;
      self.forEach((column) => column.push(0));
    } else {
      const own = columns.map(() => 0);
      for (let i = range.from; i < range.to; i++) {
        const up = parent[at[i]];
        if (up) {
          at[i] = up;
          continue;
        }
        columns.forEach((column, k) => { own[k] += column[leaf[i]]; });
        at[i] = at[live];
        const swap = leaf[live];
        leaf[live] = leaf[i];
        leaf[i] = swap;
        live++;
      }
      own.forEach((x, k) => self[k].push(x));
    }
    const ranges = split(live, range.to);
    for (let k = ranges.length - 1; k >= 0; k--)
      todo.push({
        ...ranges[k], level: range.level + 1, limit,
        onPath: range.onPath && open[range.level] === ranges[k].id,
      });
  }

  const made = new Tree(names, tree.weights, depth.done(), ids.done(), self.map((c) => c.done()));
  made.totals = total.map((column) => column.done());
  made.pruned = pruned;
  return made;
}
