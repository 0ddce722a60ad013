/* What the user can do: the methods that keys, buttons and menus call. */

class App extends Page {
  constructor(meta, names) {
    super(meta, names);
    document.addEventListener('keydown', (event) => onKey(this, event));
  }

  selected() {
    return this.node || this.root;
  }

  zoom(node) {
    this.tooltip.hide();
    const ids = this.tree.ids(node);
    return this.update({ z: ids, x: ids });
  }

  zoomOut() {
    return this.zoom(this.tree.parent[this.root]);
  }

  escape() {
    const { q, z, x, sl, from, to, panel, tab } = this.state;
    const done = (text, patch) => {
      this.say(text);
      return this.update(patch);
    };
    this.tooltip.hide();
    if (!this.menu.el.hidden) this.menu.hide();
    else if (q) done('Search cleared', { q: '' });
    else if (panel && narrow() && (tab === 'flame' || tab === 'timeline'))
      done('Details closed', { panel: false });
    else if (z.length) done('Zoomed out', { z: [] });
    else if (x.length || sl.length) done('Nothing is selected', { x: [], sl: [] });
    else if (from || to) done('The whole run', { from: '', to: '' });
  }

  setRange(from, to) {
    return this.update({ from: String(from), to: String(to) });
  }

  clearRange() {
    return this.update({ from: '', to: '' });
  }

  reset() {
    const { tab, view, w, theme, panel } = this.state;
    this.update({ ...this.defaults, ...this.opening, tab, view, w, theme, panel });
  }

  arrow(key) {
    const { tree, root } = this;
    const node = nextFrame(this.flame, this.selected(), key);
    if (node < 0) return;
    const inside = node >= root && node < tree.end[root];
    this.update({ x: tree.ids(node), z: inside ? this.state.z : tree.ids(node) }, false)
      .then(() => this.flame.reveal(this.node, false));
  }

  typed() {
    this.topPicked = false;
    clearTimeout(this.typing);
    clearTimeout(this.hearing);
    this.typing = setTimeout(() => this.update({ q: this.search.value }, false), 60);
    this.hearing = setTimeout(() => {
      this.heard.textContent = this.matched.textContent && `${this.matched.textContent} matches`;
    }, 800);
  }

  searchKey(event) {
    if (event.key === 'Enter') {
      clearTimeout(this.typing);
      this.update({ q: this.search.value }, false).then(() => this.step(event.shiftKey ? -1 : 1));
    } else if (event.key === 'Escape') {
      this.search.value = '';
      clearTimeout(this.typing);
      if (this.state.q) this.escape();
      this.leaveSearch();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /* Where keys act on what is in front. */
  leaveSearch() {
    this.search.blur();
    const page = this.pages[this.state.tab];
    page.querySelector('canvas, .top')?.focus();
  }

  searchFor(name, picked = false) {
    this.topPicked = picked;
    this.search.value = exactly(name);
    this.update({ q: exactly(name), exact: true });
  }

  /* Go to the next match; zoom to its neighbourhood when it is too narrow to be seen. */
  step(direction) {
    if (!this.match) return;
    if (this.state.tab === 'timeline') {
      const slice = this.timePages.match(direction);
      if (slice) this.timePages.go(slice);
      else this.say('No match');
      return;
    }
    const { tree, w } = this;
    const node = nextMatch(tree, w, this.match.hits, this.node || (direction > 0 ? 0 : tree.n),
      direction);
    if (node < 0) {
      this.say('No match');
      return;
    }
    const total = tree.total(w);
    const inside = node >= this.root && node < tree.end[this.root];
    let zoom = inside ? this.root : 0;
    if (total[node] * this.flame.width < total[zoom] * 12) {
      zoom = node;
      while (tree.parent[zoom] && total[tree.parent[zoom]] < total[node] * 20)
        zoom = tree.parent[zoom];
    }
    this.update({ tab: 'flame', x: tree.ids(node), z: tree.ids(zoom) }, false)
      .then(() => this.flame.reveal(this.node, false));
  }

  addOp(op) {
    const { ops, z, tab } = this.state;
    const focus = op.startsWith('focus:');
    return this.update({ tab: tab === 'sandwich' || tab === 'facts' ? 'flame' : tab,
      ops: [...ops.filter((other) => other !== op), op], z: focus ? [] : z });
  }

  toggleOp(op) {
    const { ops } = this.state;
    if (ops.includes(op)) this.update({ ops: ops.filter((other) => other !== op) });
    else this.addOp(op);
  }

  keepMatches() {
    if (this.state.q) this.addOp(`keep:${this.state.q}`);
    else this.say('Search first: k keeps the stacks that match');
  }

  undo() {
    this.update({ ops: this.state.ops.slice(0, -1) });
  }

  /* The kernel of this name among those that are there in full, or -1. */
  annotatedAt(name) {
    return this.meta.annotated.findIndex((_, k) => annotatedName(this.meta, k) === name);
  }

  showSource(name) {
    return this.update({ tab: 'source', kernel: name, nth: -1 });
  }

  /* The function that keys act on: what is chosen on the page in front. */
  chosenName() {
    if (this.state.tab === 'sandwich') return this.sandwiched().words;
    if (this.state.tab === 'top') return this.top.function();
    const node = this.selected();
    return node ? this.names.reference(this.tree.name[node]) : undefined;
  }

  act(key) {
    const name = this.chosenName();
    const action = name && frameActions(this, name).find((other) => other.key === key);
    if (action) action.run();
    else this.say(name ? 'There is nothing of the kind for this frame' : 'Select a frame first');
  }

  copyTable() {
    const { text, rows } = this.top.tsv();
    copyText(text);
    this.say(`${formatCount(rows)} rows copied`);
  }

  copyStack() {
    const node = this.selected();
    copyText(this.tree.stackText(node));
    this.say('Stack copied');
  }

  cycle(key) {
    const values = {
      view: this.meta.trees.map((tree) => tree.label), w: this.shownWeights,
      shape: ['flame', 'icicle'], dir: ['callees', 'callers'],
      order: ['name', 'heavy', ...(this.times ? ['time'] : [])],
      theme: ['auto', 'light', 'dark'],
    }[key];
    const now = key === 'w' ? this.base.weights[this.w].name : this.state[key];
    const value = values[(values.indexOf(now) + 1) % values.length];
    if (key === 'theme') this.say(value === 'auto' ? 'Theme of the system' : `Theme: ${value}`);
    this.update({ [key]: value });
  }

  help() {
    if (!this.dialog.open) this.dialog.showModal();
  }

  frameMenu(tree, node, event) {
    this.tooltip.hide();
    if (!node) return;
    const name = tree.text(node);
    this.menu.show(name, [
      ...(tree === this.tree ? [{ text: 'Zoom', key: 'Enter', run: () => this.zoom(node) }] : []),
      ...frameActions(this, this.names.reference(tree.name[node])),
      { text: 'Copy stack', key: 'y', run: () => copyText(tree.stackText(node)) },
      { text: 'Copy name', run: () => copyText(name) },
    ], event.clientX, event.clientY);
  }

  fileName() {
    return (this.meta.title || 'aflame report').replace(/[^\w.-]+/g, '-').slice(0, 60) || 'flame';
  }

  saveMenu(event, picture = this.flame) {
    const title = this.meta.title || 'aflame report';
    const file = this.fileName();
    const box = event.currentTarget.getBoundingClientRect();
    this.menu.show('Save this view as', [
      { text: 'SVG', run: () => download(`${file}.svg`,
        new Blob([picture.svg(title)], { type: 'image/svg+xml' })) },
      { text: 'PNG', run: () => picture.png((blob) => download(`${file}.png`, blob)) },
    ], box.left, box.bottom + 4);
  }
}

/* The frame that an arrow key leads to from @node, or -1. */
function nextFrame({ tree, w, root, flame }, node, key) {
  const total = tree.total(w);
  if (key === 'ArrowUp' || key === 'ArrowDown') {
    if ((key === 'ArrowUp') !== flame) return tree.parent[node];
    let best = -1;
    for (let child = node + 1; child < tree.end[node]; child = tree.end[child])
      if (!tree.isGap(child) && (best < 0 || total[child] > total[best])) best = child;
    return best;
  }
  const step = key === 'ArrowRight' ? 1 : -1;
  const seen = (i) => tree.depth[i] === tree.depth[node] && total[i] > 0 && !tree.isGap(i);
  let i = node + step;
  while (i > root && i < tree.end[root] && !seen(i)) i += step;
  return i <= root || i >= tree.end[root] ? -1 : i;
}
