/* What each part of the page shows, drawn from what the model computed. */

const HEAVY_TREE = 300000; /* above so many frames a note is shown while a tree is made */

class Page extends Layout {
  constructor(meta, names) {
    super(meta, names);
    this.dark = window.matchMedia('(prefers-color-scheme: dark)');
    this.dark.addEventListener('change', () => this.refresh());
    this.palettes = {};
  }

  palette() {
    const { theme } = this.state;
    const dark = theme === 'dark' || (theme === 'auto' && this.dark.matches);
    document.documentElement.dataset.theme = dark ? 'dark' : 'light';
    return this.palettes[dark] || (this.palettes[dark] = new Palette(this.names, dark));
  }

  /* Show the state; app.working is done when the last change is on the screen. */
  refresh() {
    this.working = this.draw().catch((error) => {
      this.busy.hidden = true;
      failed(error);
      throw error;
    });
    return this.working;
  }

  async draw() {
    if (this.state.tab === 'summary') this.drawTabs(); /* its words need no tree */
    if (!await this.compute()) return;
    this.drawPage();
    this.busy.hidden = true;
    await this.annotating;
    await this.timing;
  }

  /* Before long work on @tree: let the browser show a note, if a tree has to be made. */
  async announce(tree) {
    const { ops, dir, order, z, view } = this.state;
    const key = JSON.stringify([ops, dir, order, view, dir === 'callers' ? z : 0]);
    const first = this.busyKey === undefined;
    if (key === this.busyKey) return;
    this.busyKey = key;
    if (first || tree.n < HEAVY_TREE) return;
    this.busy.hidden = false;
    await new Promise((done) => { requestAnimationFrame(() => setTimeout(done, 0)); });
  }

  drawTabs() {
    const { state } = this;
    for (const tab of this.tabs.children) {
      const on = tab.id === `tab-${state.tab}`;
      tab.setAttribute('aria-selected', on);
      tab.tabIndex = on ? 0 : -1;
      if (on && this.tabs.scrollWidth > this.tabs.clientWidth)
        tab.scrollIntoView({ block: 'nearest', inline: 'center' });
    }
    for (const [name, page] of Object.entries(this.pages)) page.hidden = name !== state.tab;
    this.tools.hidden = ['summary', 'facts', 'source', 'timeline', 'heat', 'ranks'].includes(state.tab);
  }

  drawPage() {
    const { state, meta } = this;
    const palette = this.palette();
    this.drawTabs();
    if (state.tab === 'source') this.drawSource(palette);
    if (state.tab === 'summary') this.summary.draw();
    if (!meta.trees.length) {
      this.emptyNote.hidden = false;
      this.emptyNote.textContent = 'This report carries no stacks.';
      this.timing = this.timePages?.draw(palette);
      return;
    }
    this.views.show(meta.trees[this.treeIndex()].label);
    this.views.hidden = meta.trees.length < 2;
    this.drawWeights();
    this.drawSearch();
    this.timing = this.timePages?.draw(palette);
    if (state.tab === 'ranks') this.rankPage?.draw(palette);
    if (state.tab === 'flame') this.drawFlame(palette);
    else if (state.tab === 'top') this.timing = this.drawTop(palette);
    else if (state.tab === 'sandwich') this.drawSandwich(palette);
    else if (state.tab === 'summary') this.timing = this.summary.drawTimes();
  }

  /* Of several kernels of one name the address says which. */
  drawSource(palette) {
    const { meta, state } = this;
    const nth = meta.annotated[state.nth] && annotatedName(meta, state.nth) === state.kernel
      ? state.nth : this.annotatedAt(state.kernel);
    if (meta.annotated.length) this.annotating = this.annotate.show(Math.max(0, nth), palette);
  }

  drawWeights() {
    const options = this.base.weights.map(({ name, title, short }, w) => ({ name, title, short, w }))
      .filter(({ w }) => w === this.w || (this.base.total(w)[0] > 0
        && !isScatter(this.base.weights[w])));
    if (this.difference) this.differenceBar.show(this.state, this.difference);
    const names = options.map(({ name }) => name);
    if (names.join() !== this.shownWeights?.join()) /* else the focus may be in there */
      this.weights.replaceChildren(segmented('Weight', options.map(({ name, title, short }) => (
        { value: name, text: short, title: `Widths: ${title} (w)` })), (w) => this.update({ w })));
    this.shownWeights = names;
    this.weights.firstChild.show(this.base.weights[this.w].name);
    this.weights.firstChild.hidden = options.length < 2;
  }

  drawSearch() {
    const { q, exact } = this.state;
    if (document.activeElement !== this.search) this.search.value = q;
    this.caseButton.classList.toggle('on', exact);
    this.caseButton.setAttribute('aria-pressed', exact);
    this.match = q ? this.memo('match', [q, exact], () => matchNames(this.names, q, exact)) : null;
    this.previous.disabled = this.next.disabled = !q;
    this.matched.textContent = '';
    if (!q) return;
    /* In a pruned tree matches may hide in closed nodes; the forward tree has the same stacks. */
    const tree = this.tree.pruned && !this.root ? this.forward : this.tree;
    const weight = this.memo('matched', [tree, this.w, this.root, this.match], () => (
      matchedWeight(tree, this.w, this.root, this.match.hits)));
    const whole = tree.total(this.w)[this.root];
    this.matched.textContent = `${this.match.literal ? 'as text: ' : ''}` +
      `${tree.pruned ? '≥ ' : ''}` +
      `${formatPercent(weight, whole)}${this.root ? ' of zoom' : ''}`;
    this.matched.title = `${formatWeight(weight, tree.weights[this.w].unit)} in stacks with a ` +
      `match; ${formatCount(this.match.nr)} functions match`;
  }

  drawFlame(palette) {
    const { tree, w, state } = this;
    const { unit } = tree.weights[w];
    this.shapes.show(state.shape);
    this.dirs.show(state.dir);
    this.orders.show(this.chart?.run || state.order !== 'time' ? state.order : 'name');
    const why = !this.chart?.run && this.chart;
    if (why && why !== this.why) this.say(why);
    this.why = why;
    const buttons = [
      [this.glueButton, state.ops.includes('glue')], [this.foldButton, state.ops.includes('fold')],
    ];
    for (const [button, on] of buttons) {
      button.classList.toggle('on', on);
      button.setAttribute('aria-pressed', on);
    }
    this.details.el.hidden = !state.panel;
    const whole = tree.total(w)[0];
    this.emptyNote.hidden = whole > 0;
    this.emptyNote.textContent = state.ops.length ? 'Nothing is left after these transforms; ' +
      'u undoes the last one.' : `There is no ${tree.weights[w].short} in this ${
      this.rangeNow ? 'range' : 'view'}.`;
    this.flame.rootLabel = formatTitled(whole, tree.weights[w]);
    this.flame.show({ tree, w, root: this.root, selected: this.node || -1, palette,
      tint: this.tint(tree, palette), hits: this.match && this.match.hits,
      flame: state.shape === 'flame' });
    this.details.show(tree, this.node, this.root, palette);
    this.drawCrumbs();
    this.drawChips();
    this.drawLegend(palette);
    readTree(this.flame, this.node);
    this.sayStatus(this.node || this.root);
  }

  drawCrumbs() {
    const { tree, root } = this;
    const path = tree.path(root);
    const shown = path.length > 4 ? [path[0], -1, ...path.slice(-3)] : path;
    const crumb = (node, text) => h('button', { class: 'crumb', title: text,
      onclick: () => this.zoom(node) }, text);
    this.crumbs.replaceChildren(crumb(0, 'all'), ...shown.map((node) => (
      node < 0 ? h('span', { class: 'crumb-gap' }, `… ${path.length - 4} …`)
        : crumb(node, this.names.short(tree.name[node])))),
    tree.pruned ? h('span', { class: 'crumb-note',
      title: 'Weights are exact; only the callers of such small boxes are left out' },
    `callers of less than ${100 * FINE}% open when you zoom in`) : '');
  }

  drawChips() {
    const { ops } = this.state;
    this.chips.replaceChildren(...ops.map((op, at) => {
      const { verb, argument } = parseOp(op);
      const text = argument ? `${VERBS[verb].text} ${argument}` : VERBS[verb].text;
      return h('span', { class: 'chip', title: `${text}: ${VERBS[verb].tip}` },
        h('span', {}, text), h('button', { class: 'plain',
          'aria-label': `Undo: ${text}`,
          onclick: () => this.update({ ops: ops.filter((_, k) => k !== at) }) }, icon('close')));
    }), ops.length ? this.iconButton('undo', 'Undo the last transform (u)',
      () => this.undo()) : '');
  }

  /* What the colours of a difference mean. */
  differenceLegend(palette) {
    const time = this.base.weights[this.w].unit === 'ns';
    const [less, more] = time ? ['faster', 'slower'] : ['less', 'more'];
    return [[-1, 'gone: −100%'], [-0.5, `${less}: half, −50%`], [0, 'same, or within noise'],
      [0.5, `${more}: twice, +100%`], [1, 'new']].map(([part, text]) => {
      const swatch = h('span', { class: 'swatch' });
      swatch.style.background = palette.difference(part);
      return h('span', { class: 'legend-item', title: this.state.delta === 'self'
        ? 'of the function itself' : 'of the function and all that it called' }, swatch, text);
    });
  }

  /* The kinds that are drawn, and those hidden, with their share of self weight in this view. */
  drawLegend(palette) {
    const { base, w, state, tree, root } = this;
    if (this.difference && state.delta !== 'off') {
      this.legend.replaceChildren(...this.differenceLegend(palette));
      return;
    }
    const drawn = this.memo('drawn kinds', [tree, w, root], () => {
      const seen = new Uint8Array(KINDS.length);
      for (let i = Math.max(root, 1); i < tree.end[root]; i++)
        if (!tree.isGap(i) && tree.total(w)[i]) seen[this.names.kind[tree.name[i]]] = 1;
      return seen;
    });
    const shares = this.memo('legend', [base, w], () => {
      const sum = new Float64Array(KINDS.length);
      const own = base.functionOwn(w);
      for (let i = 1; i < base.n; i++) {
        if (base.isGap(i)) continue;
        sum[this.names.kind[base.name[i]]] += own[i];
      }
      return sum;
    });
    this.legend.replaceChildren(...KINDS.map((kind, k) => {
      const op = `kind:${kind}`;
      const off = state.ops.includes(op);
      if (!drawn[k] && !off) return null;
      const swatch = h('span', { class: 'swatch' });
      swatch.style.background = palette.kindColor(k);
      return h('button', { class: off ? 'legend-item off' : 'legend-item',
        'aria-pressed': !off, title: `${off ? 'Show' : 'Hide'} ${kind} frames; the share is self`,
        onclick: () => this.toggleOp(op) }, swatch, kind, h('span', { class: 'share' },
        formatPercent(shares[k], base.total(w)[0])));
    }).filter(Boolean));
  }

  async drawTop(palette) {
    const { forward, w, state, turn } = this;
    const root = state.dir === 'callees' ? forward.follow(state.z) : 0;
    const rows = await tableRows(this, forward, root);
    if (turn !== this.turn) return;
    this.groups.value = rows.by;
    this.topNote.textContent = root ? `Functions below ${forward.text(root)}`
      : rows.by === 'function' ? `Functions of the whole ${this.rangeNow ? 'range' : 'view'}; a ` +
        'double click opens callers and callees' : '';
    this.top.show({ tree: forward, w, root, rows, palette, difference: this.difference,
      hits: this.match && !this.topPicked ? this.match.hits : null });
  }

  drawSandwich(palette) {
    const { forward, w } = this;
    const { words: fn, ids, others } = this.sandwiched();
    const hits = this.memo('fn', [fn], () => nameSet(this.names, ids));
    const below = this.memo('callees', [forward, hits], () => focusTree(forward, hits));
    const above = this.memo('above', [forward, hits, w], () => (
      callersTree(forward, callPointers(forward, hits), w, [])));
    const total = below.total(w)[0];
    const { unit } = forward.weights[w];
    this.sandwichName.textContent = fn;
    this.sandwichName.title = fn;
    const own = forward.functionOwn(w);
    let self = 0;
    for (let i = 1; i < forward.n; i++) if (hits[forward.name[i]]) self += own[i];
    this.sandwichFacts.textContent = `${formatWeight(total, unit)} total, ` +
      `${formatWeight(self, unit)} self, ${formatPercent(total, forward.total(w)[0])} of all` +
      (others.length ? ` · not ${others.join(', ')}` : '');
    const common = { w, selected: -1, palette, hits: this.match && this.match.hits };
    for (const [view, tree, flame] of [[this.callers, above, true], [this.callees, below, false]]) {
      view.rootLabel = formatTitled(total, forward.weights[w]);
      const root = tree.n > 1 ? 1 : 0;
      view.show({ ...common, tree, root, above: root, flame });
      readTree(view, root);
    }
  }

  follow(event) {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.go(event.currentTarget.hash);
  }

  /* Where a link leads, as the user likes it to look. */
  go(hash) {
    const { theme, panel, shape, order } = this.state;
    const defaults = { ...this.defaults, shape, order };
    return this.update({ ...stateFromHash(hash, defaults), theme, panel });
  }

  hover(view, node, event) {
    if (node < 0 || !event || !this.menu.el.hidden) {
      this.tooltip.hide();
      return;
    }
    this.tooltip.show(view.tree, node, view.root, event);
  }

  sayStatus(node) {
    const { tree, w } = this;
    const text = `${tree.text(node)} — ${formatTitled(tree.total(w)[node], tree.weights[w])} ` +
      `(${formatPercent(tree.total(w)[node], tree.total(w)[0])})`;
    if (this.status.textContent !== text) this.status.textContent = text;
  }

  say(text) {
    this.heard.textContent = text;
    this.toast.textContent = text;
    this.toast.hidden = false;
    clearTimeout(this.toastTimer);
    this.toastTimer = setTimeout(() => { this.toast.hidden = true; }, 1600);
  }
}
