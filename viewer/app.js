/*
 * The page: holds the state, derives from it which tree is drawn, and tells the parts to show it.
 * Every change goes through update(), so every change is in the address and can be gone back from.
 */

const TABS = [
  { value: 'flame', text: 'Flame graph' },
  { value: 'top', text: 'Functions' },
  { value: 'sandwich', text: 'Sandwich' },
  { value: 'facts', text: 'Run' },
];
const STRIP = ['verdict', 'lost', 'run']; /* tables of facts that are shown above the tabs */
const HEAVY_TREE = 300000; /* above so many frames a note is shown while a tree is made */

class App {
  constructor(meta, names) {
    this.meta = meta;
    this.names = names;
    /* Views are called by their labels, so these must differ. */
    meta.trees.forEach((tree, at) => {
      if (!tree.label || meta.trees.findIndex(({ label }) => label === tree.label) < at)
        tree.label = meta.trees.length > 1 ? `view ${at + 1}` : 'all';
    });
    this.pipelines = meta.trees.map(() => null);
    this.made = new Map();
    this.defaults = { ...DEFAULTS, view: meta.trees[0]?.label || '',
      shape: meta.picture.inverted ? 'icicle' : 'flame',
      dir: meta.picture.reverse ? 'callers' : 'callees' };
    this.state = stateFromHash(location.hash, this.defaults);
    this.dark = window.matchMedia('(prefers-color-scheme: dark)');
    this.palettes = {};
    this.tooltip = new Tooltip();
    this.tooltip.differential = meta.picture.differential;
    this.menu = new Menu();
    this.details = new Details(this);
    this.build();
    this.dark.addEventListener('change', () => this.refresh());
    window.addEventListener('popstate', () => this.fromAddress());
    window.addEventListener('hashchange', () => this.fromAddress());
    document.addEventListener('keydown', (event) => onKey(this, event));
  }

  build() {
    const { meta } = this;
    this.search = h('input', { type: 'search', placeholder: 'Search functions (regex)',
      'aria-label': 'Search', spellcheck: 'false', autocomplete: 'off',
      oninput: () => this.typed(), onkeydown: (event) => this.searchKey(event) });
    this.caseButton = h('button', { type: 'button', class: 'plain', title: 'Match case',
      'aria-label': 'Match case', onclick: () => this.update({ exact: !this.state.exact }) }, 'Aa');
    this.matched = h('output', { class: 'matched', 'aria-live': 'polite' });
    this.previous = this.iconButton('up', 'Previous match (N)', () => this.step(-1));
    this.next = this.iconButton('down', 'Next match (n)', () => this.step(1));
    this.tabs = h('div', { class: 'tabs', role: 'tablist', onkeydown: (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const at = TABS.findIndex((tab) => tab.value === this.state.tab);
      const to = (at + step + TABS.length) % TABS.length;
      this.update({ tab: TABS[to].value }).then(() => this.tabs.children[to].focus());
      event.preventDefault();
      event.stopPropagation();
    } }, TABS.map((tab) => h('button', {
      type: 'button', role: 'tab', id: `tab-${tab.value}`, 'aria-controls': `page-${tab.value}`,
      onclick: () => this.update({ tab: tab.value }) }, tab.text)));
    this.views = segmented('View', meta.trees.map((tree) => ({ value: tree.label,
      text: tree.label || 'all', title: `View (v)` })), (view) => this.update({ view }));
    this.weights = h('span', {});
    this.shapes = segmented('Shape', [
      { value: 'flame', text: 'Flame', title: 'Roots at the bottom (i)' },
      { value: 'icicle', text: 'Icicle', title: 'Roots at the top (i)' },
    ], (shape) => this.update({ shape }));
    this.dirs = segmented('Direction', [
      { value: 'callees', text: 'Top-down', title: 'From callers to callees (r)' },
      { value: 'callers', text: 'Bottom-up', title: 'From where the time is spent to callers (r)' },
    ], (dir) => this.update({ dir }));
    this.orders = segmented('Order', [
      { value: 'name', text: 'A–Z', title: 'Children in order of names (o)' },
      { value: 'heavy', text: 'Heavy first', title: 'Heaviest child first (o)' },
    ], (order) => this.update({ order }));
    this.tools = h('div', { class: 'tools' }, this.views, this.weights);
    this.strip = h('div', { class: 'strip', role: 'list', 'aria-label': 'Run' });
    this.crumbs = h('nav', { class: 'crumbs', 'aria-label': 'Zoom' });
    this.chips = h('div', { class: 'chips' });
    this.legend = h('div', { class: 'legend', role: 'group', 'aria-label': 'Kinds of frames' });
    this.status = h('div', { class: 'status', role: 'status', 'aria-live': 'polite' });
    this.toast = h('div', { class: 'toast', role: 'status', hidden: true });
    this.busy = h('div', { class: 'busy', hidden: true }, 'Working…');
    this.flameHost = h('div', {});
    this.emptyNote = h('p', { class: 'empty over', hidden: true });
    this.callersHost = h('div', {});
    this.calleesHost = h('div', {});
    this.sandwichName = h('h2', { class: 'sandwich-name' });
    this.sandwichFacts = h('p', { class: 'sandwich-facts' });
    this.topHost = h('div', { class: 'page-body' });
    this.topNote = h('p', { class: 'note' });
    this.factsHost = h('div', { class: 'page-body cards' });
    const opButton = (op, key, text) => h('button', { type: 'button', class: 'small',
      title: `${VERBS[op].tip} (${key})`, onclick: () => this.toggleOp(op) }, text);
    this.glueButton = opButton('glue', 'g', 'Hide glue');
    this.foldButton = opButton('fold', 'c', 'Fold recursion');
    const toggle = (key, text, title) => h('button', { type: 'button', class: 'small', title,
      hidden: !meta.picture.differential,
      onclick: () => this.update({ [key]: !this.state[key] }) }, text);
    this.deltaButton = toggle('delta', 'Difference', 'Red grew, blue shrank; off: colours by kind');
    this.normButton = toggle('norm', 'Normalise', 'Compare shares of the total, not amounts');
    this.pages = {
      flame: h('section', { class: 'page flame-page' },
        h('div', { class: 'bar' }, this.shapes, this.dirs, this.orders,
          this.glueButton, this.foldButton,
          this.deltaButton, this.normButton,
          h('span', { class: 'grow' }),
          this.iconButton('save', 'Save this view', (event) => this.saveMenu(event)),
          this.iconButton('panel', 'Details panel (d)',
            () => this.update({ panel: !this.state.panel }))),
        h('div', { class: 'bar thin' }, this.crumbs, this.chips),
        h('div', { class: 'split' }, h('div', { class: 'flame-frame' }, this.flameHost,
          this.emptyNote), this.details.el),
        h('div', { class: 'bar foot' }, this.legend, this.status)),
      top: h('section', { class: 'page' }, h('div', { class: 'bar' }, this.topNote,
        h('span', { class: 'grow' }), h('button', { type: 'button', class: 'small',
          title: 'As tab-separated text, in this order', onclick: () => this.copyTable() },
        icon('copy'), 'Copy table')),
      this.topHost),
      sandwich: h('section', { class: 'page sandwich' }, h('div', { class: 'bar' },
        this.sandwichName, this.sandwichFacts),
      h('div', { class: 'split rows' },
        h('div', { class: 'flame-frame' }, h('span', { class: 'corner' }, 'Callers'),
          this.callersHost),
        h('div', { class: 'flame-frame' }, h('span', { class: 'corner' }, 'Callees'),
          this.calleesHost))),
      facts: h('section', { class: 'page' }, this.factsHost),
    };
    for (const [name, page] of Object.entries(this.pages)) {
      page.id = `page-${name}`;
      page.setAttribute('role', 'tabpanel');
      page.setAttribute('aria-labelledby', `tab-${name}`);
    }
    this.dialog = helpDialog();
    document.body.append(
      h('header', { class: 'head' },
        h('div', { class: 'brand' }, icon('flame'),
          h('h1', { title: meta.title }, meta.title || 'aflame report'),
          meta.subtitle && h('span', { class: 'subtitle', title: meta.subtitle }, meta.subtitle)),
        h('div', { class: 'search', role: 'search' }, icon('search'), this.search, this.matched,
          this.caseButton, this.previous, this.next),
        h('div', { class: 'head-end' },
          this.iconButton('moon', 'Light, dark, as the system (t)', () => this.cycle('theme')),
          h('button', { type: 'button', class: 'plain', title: 'Keys (?)', 'aria-label': 'Keys',
            onclick: () => this.help() }, '?'))),
      this.strip,
      h('div', { class: 'bar main-bar' }, this.tabs, h('span', { class: 'grow' }), this.tools),
      h('main', {}, Object.values(this.pages)), this.dialog, this.toast, this.busy);
    this.flame = new FlameView(this.flameHost, {
      hover: (node, event) => this.hover(this.flame, node, event),
      pick: (node) => this.zoom(node),
      menu: (node, event) => this.frameMenu(this.flame.tree, node, event),
    }, 'Flame graph; the Functions tab lists the same data as a table');
    const sandwichView = (host, label) => {
      const view = new FlameView(host, {
        hover: (node, event) => this.hover(view, node, event),
        pick: (node) => node && this.update({ fn: view.tree.text(node) }),
        menu: (node, event) => this.frameMenu(view.tree, node, event),
      }, label);
      return view;
    };
    this.callers = sandwichView(this.callersHost, 'Callers');
    this.callees = sandwichView(this.calleesHost, 'Callees');
    this.top = new TopTable(this.topHost, {
      pick: (id) => this.searchFor(this.names.text[id], true),
      open: (id) => this.update({ tab: 'sandwich', fn: this.names.text[id] }),
    });
    this.buildFacts();
  }

  iconButton(name, title, onclick) {
    return h('button', { type: 'button', class: 'plain', title, 'aria-label': title, onclick },
      icon(name));
  }

  buildFacts() {
    const isName = (text) => text.length > 1 && this.names.find(text).length > 0;
    const toFlame = (name) => this.update({ tab: 'flame', q: exactly(name), exact: true });
    const cards = (wanted) => h('div', { class: 'cards-column' }, this.meta.facts.filter(wanted)
      .map((table) => factTable(table, isName, toFlame)));
    this.factsHost.append(cards((table) => table.columns.length <= 2),
      cards((table) => table.columns.length > 2));
    if (this.meta.notes) this.factsHost.append(h('p', { class: 'note' }, this.meta.notes));
    if (!this.meta.facts.length)
      this.factsHost.append(h('p', { class: 'empty' }, 'This report has no tables of the run.'));
  }

  /* State */

  /* Change the state; push makes it a step that the browser's Back undoes. */
  async update(patch, push = true) {
    this.state = { ...this.state, ...patch };
    const hash = `#${stateToHash(this.state, this.defaults)}`;
    if (hash !== (location.hash || '#'))
      window.history[push ? 'pushState' : 'replaceState'](null, '', hash);
    await this.refresh();
  }

  async fromAddress() {
    const hash = `#${stateToHash(this.state, this.defaults)}`;
    if ((location.hash || '#') === hash) return;
    this.state = stateFromHash(location.hash, this.defaults);
    await this.refresh();
  }

  /* Trees */

  /*
   * In a difference (two columns, before and after) the colour of node i of this tree: red where
   * it grew, blue where it shrank, grey where it did not or where so few samples tell nothing.
   */
  tint(tree, palette) {
    const wanted = this.meta.picture.differential && this.state.delta;
    if (!wanted || tree.weights.length < 2) return null;
    const before = tree.total(0);
    const after = tree.total(1);
    const scale = this.state.norm && before[0] > 0 ? after[0] / before[0] : 1;
    return (i) => palette.difference(change(before[i], after[i], scale));
  }

  treeIndex() {
    const at = this.meta.trees.findIndex((tree) => tree.label === this.state.view);
    return Math.max(0, at);
  }

  async pipeline() {
    const at = this.treeIndex();
    if (!this.pipelines[at]) {
      const tree = await loadTree(at, this.meta.trees[at], this.names);
      this.pipelines[at] = new Pipeline(tree);
    }
    return this.pipelines[at];
  }

  /* The weight that is drawn: the one asked for, or the first that has any in this tree. */
  weightOf(tree) {
    const asked = tree.weights.findIndex(({ name }) => name === this.state.w);
    if (asked >= 0 && tree.total(asked)[0] > 0) return asked;
    const picture = tree.weights.findIndex(({ name }) => name === this.meta.picture.weight);
    const after = this.meta.picture.differential && tree.weights.length > 1 ? 1 : 0;
    const standard = picture >= 0 ? picture : after;
    if (tree.total(standard)[0] > 0) return standard;
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

  palette() {
    const { theme } = this.state;
    const dark = theme === 'dark' || (theme === 'auto' && this.dark.matches);
    document.documentElement.dataset.theme = dark ? 'dark' : 'light';
    return this.palettes[dark] || (this.palettes[dark] = new Palette(this.names, dark));
  }

  /* Drawing */

  /* Show the state; app.working is done when the last change is on the screen. */
  refresh() {
    this.working = this.draw();
    return this.working;
  }

  async draw() {
    const turn = (this.turn = (this.turn || 0) + 1);
    if (this.meta.trees.length) {
      const pipeline = await this.pipeline();
      if (turn !== this.turn) return;
      if (pipeline.steps[0].tree.n > HEAVY_TREE && this.drawnOnce) await this.showBusy();
      if (turn !== this.turn) return;
      this.base = pipeline.steps[0].tree;
      this.forward = pipeline.run(this.state.ops);
      this.w = this.weightOf(this.base);
      this.tree = this.derive(this.forward, this.w);
      this.root = this.tree.follow(this.state.z);
      this.node = this.tree.follow(this.state.x);
    }
    this.drawPage();
    this.busy.hidden = true;
    this.drawnOnce = true;
  }

  /* Let the browser show the note, but only when what follows may take long. */
  async showBusy() {
    const { ops, dir, order, z } = this.state;
    const key = JSON.stringify([ops, dir, order, this.state.view, dir === 'callers' ? z : 0]);
    if (key === this.busyKey) return;
    this.busyKey = key;
    this.busy.hidden = false;
    await new Promise((done) => { requestAnimationFrame(() => setTimeout(done, 0)); });
  }

  drawPage() {
    const { state, meta } = this;
    const palette = this.palette();
    for (const tab of this.tabs.children) {
      const on = tab.id === `tab-${state.tab}`;
      tab.setAttribute('aria-selected', on);
      tab.tabIndex = on ? 0 : -1;
    }
    for (const [name, page] of Object.entries(this.pages)) page.hidden = name !== state.tab;
    this.tools.hidden = state.tab === 'facts';
    if (!meta.trees.length) {
      this.emptyNote.hidden = false;
      this.emptyNote.textContent = 'This report carries no stacks.';
      return;
    }
    this.views.show(meta.trees[this.treeIndex()].label);
    this.views.hidden = meta.trees.length < 2;
    this.drawWeights();
    this.drawSearch();
    this.drawStrip();
    if (state.tab === 'flame') this.drawFlame(palette);
    else if (state.tab === 'top') this.drawTop(palette);
    else if (state.tab === 'sandwich') this.drawSandwich(palette);
  }

  drawWeights() {
    const options = this.base.weights.map(({ name }, w) => ({ name, w }))
      .filter(({ w }) => w === this.w || this.base.total(w)[0] > 0);
    const list = segmented('Weight', options.map(({ name }) => (
      { value: name, text: name, title: 'What widths mean (w)' })), (w) => this.update({ w }));
    list.show(this.base.weights[this.w].name);
    list.hidden = options.length < 2;
    this.weights.replaceChildren(list);
    this.shownWeights = options.map(({ name }) => name);
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
    this.orders.show(state.order);
    const buttons = [
      [this.deltaButton, state.delta], [this.normButton, state.norm],
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
      'u undoes the last one.' : `There is no ${tree.weights[w].name} in this view.`;
    this.flame.rootLabel = formatWeight(whole, unit);
    this.flame.show({ tree, w, root: this.root, selected: this.node || -1, palette,
      tint: this.tint(tree, palette), hits: this.match && this.match.hits,
      flame: state.shape === 'flame' });
    this.details.show(tree, this.node, this.root, palette);
    this.drawCrumbs();
    this.drawChips();
    this.drawLegend(palette);
    this.sayStatus(this.node || this.root);
  }

  drawCrumbs() {
    const { tree, root } = this;
    const path = tree.path(root);
    const shown = path.length > 4 ? [path[0], -1, ...path.slice(-3)] : path;
    const crumb = (node, text) => h('button', { type: 'button', class: 'crumb', title: text,
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
        h('span', {}, text), h('button', { type: 'button', class: 'plain',
          'aria-label': `Undo: ${text}`,
          onclick: () => this.update({ ops: ops.filter((_, k) => k !== at) }) }, icon('close')));
    }), ops.length ? this.iconButton('undo', 'Undo the last transform (u)',
      () => this.undo()) : '');
  }

  /* The kinds in this view with their share of self weight: a first answer by itself. */
  drawLegend(palette) {
    const { base, w, state } = this;
    const shares = this.memo('legend', [base, w], () => {
      const sum = new Float64Array(KINDS.length);
      const seen = new Uint8Array(KINDS.length);
      for (let i = 1; i < base.n; i++) {
        const kind = this.names.kind[base.name[i]];
        sum[kind] += base.self[w][i];
        seen[kind] = 1;
      }
      return { sum, seen };
    });
    this.legend.replaceChildren(...KINDS.map((kind, k) => {
      if (!shares.seen[k]) return null;
      const swatch = h('span', { class: 'swatch' });
      swatch.style.background = palette.kindColor(k);
      const op = `kind:${kind}`;
      const off = state.ops.includes(op);
      return h('button', { type: 'button', class: off ? 'legend-item off' : 'legend-item',
        'aria-pressed': !off, title: `${off ? 'Show' : 'Hide'} ${kind} frames; the share is self`,
        onclick: () => this.toggleOp(op) }, swatch, kind, h('span', { class: 'share' },
        formatPercent(shares.sum[k], base.total(w)[0])));
    }).filter(Boolean));
  }

  drawTop(palette) {
    const { forward, w, state } = this;
    const root = state.dir === 'callees' ? forward.follow(state.z) : 0;
    this.topNote.textContent = root ? `Functions below ${forward.text(root)}`
      : 'Functions of the whole view; a double click opens callers and callees';
    this.top.show({ tree: forward, w, root, palette,
      hits: this.match && !this.topPicked ? this.match.hits : null });
  }

  drawSandwich(palette) {
    const { forward, w } = this;
    const fn = this.state.fn || this.heaviest();
    const hits = this.memo('fn', [fn], () => nameSet(this.names, this.names.find(fn)));
    const below = this.memo('callees', [forward, hits], () => focusTree(forward, hits));
    const above = this.memo('above', [forward, hits, w], () => (
      callersTree(forward, callPointers(forward, hits), w, [])));
    const total = below.total(w)[0];
    const { unit } = forward.weights[w];
    this.sandwichName.textContent = fn;
    this.sandwichName.title = fn;
    let self = 0;
    for (let i = 1; i < forward.n; i++) if (hits[forward.name[i]]) self += forward.self[w][i];
    this.sandwichFacts.textContent = `${formatWeight(total, unit)} total, ` +
      `${formatWeight(self, unit)} self, ${formatPercent(total, forward.total(w)[0])} of all`;
    const common = { w, selected: -1, palette, hits: this.match && this.match.hits };
    for (const [view, tree, flame] of [[this.callers, above, true], [this.callees, below, false]]) {
      view.rootLabel = formatWeight(total, unit);
      const root = tree.n > 1 ? 1 : 0;
      view.show({ ...common, tree, root, above: root, flame });
    }
  }

  functionsOf(tree) {
    return this.memo('functions', [tree], () => tree.functions(0));
  }

  heaviest() {
    const { ids, self } = this.functionsOf(this.forward);
    const [best] = largest(ids, (id) => self[this.w][id], 1);
    return best ? this.names.text[best.id] : '';
  }

  /* Facts that fit a line: the verdict, what was lost, what ran. */
  drawStrip() {
    const { forward, w, meta } = this;
    const { unit, name } = forward.weights[w];
    const tile = (label, value, kind) => h('div', { class: `tile ${kind || ''}`, role: 'listitem',
      title: `${label}: ${value}` }, h('span', { class: 'tile-label' }, label),
    h('span', { class: 'tile-value' }, value));
    const tiles = STRIP.map((kind) => meta.facts.find((table) => table.name === kind))
      .filter(Boolean).flatMap((table) => {
        if (table.name === 'lost' && !table.rows.length) return [tile('lost', 'nothing')];
        return table.rows.slice(0, 10).map((row) => {
          const [label, ...values] = row.map((x, k) => formatCell(x, table.columns[k].unit));
          return tile(label, values.filter(Boolean).join(' · '), table.name);
        });
      });
    this.strip.replaceChildren(
      tile(`total ${name}`, formatWeight(forward.total(w)[0], unit)),
      tile('frames', formatCount(forward.n - 1)), ...tiles);
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
    const { unit } = tree.weights[w];
    this.status.textContent = `${tree.text(node)} — ${formatWeight(tree.total(w)[node], unit)} ` +
      `(${formatPercent(tree.total(w)[node], tree.total(w)[0])})`;
  }

  say(text) {
    this.toast.textContent = text;
    this.toast.hidden = false;
    clearTimeout(this.toastTimer);
    this.toastTimer = setTimeout(() => { this.toast.hidden = true; }, 1600);
  }

  /* What the user can do */

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
    const { q, z, x } = this.state;
    this.menu.hide();
    if (document.activeElement === this.search) this.search.blur();
    if (q) this.update({ q: '' });
    else if (z.length) this.update({ z: [] });
    else if (x.length) this.update({ x: [] });
  }

  reset() {
    const { tab, view, w, theme, panel } = this.state;
    this.update({ ...this.defaults, tab, view, w, theme, panel });
  }

  arrow(key) {
    const { tree, w, root } = this;
    const total = tree.total(w);
    let node = this.selected();
    const out = (key === 'ArrowUp') === (this.state.shape === 'flame');
    if (key === 'ArrowUp' || key === 'ArrowDown') {
      if (!out) {
        node = tree.parent[node];
      } else {
        let best = -1;
        for (let child = node + 1; child < tree.end[node]; child = tree.end[child])
          if (best < 0 || total[child] > total[best]) best = child;
        if (best < 0) return;
        node = best;
      }
    } else {
      const row = tree.depth[node];
      const step = key === 'ArrowRight' ? 1 : -1;
      let i = node + step;
      const seen = () => tree.depth[i] === row && total[i] > 0;
      while (i > root && i < tree.end[root] && !seen()) i += step;
      if (i <= root || i >= tree.end[root]) return;
      node = i;
    }
    const inside = node >= root && node < tree.end[root];
    this.update({ x: tree.ids(node), z: inside ? this.state.z : tree.ids(node) }, false)
      .then(() => this.flame.reveal(this.node, false));
  }

  typed() {
    this.topPicked = false;
    clearTimeout(this.typing);
    this.typing = setTimeout(() => this.update({ q: this.search.value }, false), 60);
  }

  searchKey(event) {
    if (event.key === 'Enter') {
      clearTimeout(this.typing);
      this.update({ q: this.search.value }, false).then(() => this.step(event.shiftKey ? -1 : 1));
    } else if (event.key === 'Escape') {
      this.search.value = '';
      this.search.blur();
      clearTimeout(this.typing);
      this.update({ q: '' });
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  searchFor(name, picked = false) {
    this.topPicked = picked;
    this.search.value = exactly(name);
    this.update({ q: exactly(name), exact: true });
  }

  /* Go to the next match; zoom to its neighbourhood when it is too narrow to be seen. */
  step(direction) {
    if (!this.match) return;
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

  /* The function that keys act on: what is chosen on the page in front. */
  chosenName() {
    if (this.state.tab === 'sandwich') return this.state.fn || this.heaviest();
    if (this.state.tab === 'top') return this.names.text[this.top.chosen];
    const node = this.selected();
    return node ? this.tree.text(node) : undefined;
  }

  act(key) {
    const name = this.chosenName();
    if (name) frameActions(this, name).find((action) => action.key === key).run();
    else this.say('Select a frame first');
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
      shape: ['flame', 'icicle'], dir: ['callees', 'callers'], order: ['name', 'heavy'],
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
      ...frameActions(this, name),
      { text: 'Copy stack', key: 'y', run: () => copyText(tree.stackText(node)) },
      { text: 'Copy name', run: () => copyText(name) },
    ], event.clientX, event.clientY);
  }

  saveMenu(event) {
    const title = this.meta.title || 'aflame report';
    const file = title.replace(/[^\w.-]+/g, '-').slice(0, 60) || 'flame';
    const box = event.currentTarget.getBoundingClientRect();
    this.menu.show('Save this view as', [
      { text: 'SVG', run: () => download(`${file}.svg`,
        new Blob([this.flame.svg(title)], { type: 'image/svg+xml' })) },
      { text: 'PNG', run: () => this.flame.png((blob) => download(`${file}.png`, blob)) },
    ], box.left, box.bottom + 4);
  }
}

/*
 * How much a weight changed, -1 (gone) to 1 (new). Counts of samples scatter by their square
 * root: a change within three times that is faded in proportion.
 */
function change(before, after, scale) {
  const was = before * scale;
  const most = Math.max(was, after);
  if (!(most > 0)) return 0;
  const scatter = Math.sqrt(before * scale * scale + after);
  return ((after - was) / most) * Math.min(1, Math.abs(after - was) / (3 * scatter));
}

/* A regular expression that matches this name and no other. */
function exactly(name) {
  return `^${name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`;
}
