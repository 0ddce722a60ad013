/* The parts of the page, made once: what they show is Page's, what they do is App's. */

const TABS = [
  { value: 'summary', text: 'Summary' },
  { value: 'flame', text: 'Flame graph' },
  { value: 'top', text: 'Functions' },
  { value: 'sandwich', text: 'Sandwich' },
  { value: 'timeline', text: 'Timeline' },
  { value: 'heat', text: 'Heat map' },
  { value: 'ranks', text: 'Ranks' },
  { value: 'facts', text: 'Run' },
  { value: 'source', text: 'Source' },
];

class Layout extends Model {
  constructor(meta, names) {
    super(meta, names);
    this.tooltip = new Tooltip();
    this.tooltip.change = (tree, node) => (this.difference ? this.difference.line(tree, node) : '');
    this.menu = new Menu();
    this.details = new Details(this);
    this.annotate = new Annotate(this);
    const bare = !meta.trees.length;
    const without = { summary: !this.hasSummary, flame: bare && this.opening.tab, top: bare,
      sandwich: bare, source: !meta.annotated.length,
      timeline: !meta.time, heat: !meta.time || meta.time.of,
      ranks: !tableOf(meta.tables, 'rank_map')?.rows.length };
    this.tabList = TABS.filter(({ value }) => !without[value]);
    this.timePages = this.times && new TimePages(this);
    this.rankPage = !without.ranks && new RankPage(this, tableOf(meta.tables, 'rank_map'));
    this.summary = new Summary(this);
    this.buildSearch();
    this.buildControls();
    this.buildPages();
    this.buildBody();
    this.buildViews();
    this.buildFacts();
  }

  iconButton(name, title, onclick) {
    return h('button', { class: 'plain', title, 'aria-label': title, onclick },
      icon(name));
  }

  buildSearch() {
    this.search = h('input', { type: 'search', placeholder: 'Search functions (regex)',
      'aria-label': 'Search', spellcheck: 'false', autocomplete: 'off',
      oninput: () => this.typed(), onkeydown: (event) => this.searchKey(event) });
    this.caseButton = h('button', { class: 'plain', title: 'Match case',
      'aria-label': 'Match case', onclick: () => this.update({ exact: !this.state.exact }) }, 'Aa');
    this.matched = h('output', { class: 'matched', 'aria-live': 'off' });
    this.previous = this.iconButton('up', 'Previous match (N)', () => this.step(-1));
    this.next = this.iconButton('down', 'Next match (n)', () => this.step(1));
  }

  buildControls() {
    const { meta } = this;
    this.tabs = h('div', { class: 'tabs', role: 'tablist', onkeydown: (event) => {
      const list = this.tabList;
      const at = list.findIndex((tab) => tab.value === this.state.tab);
      const to = { ArrowRight: (at + 1) % list.length, Home: 0, End: list.length - 1,
        ArrowLeft: (at - 1 + list.length) % list.length }[event.key];
      if (to === undefined) return;
      this.update({ tab: list[to].value }).then(() => this.tabs.children[to].focus());
      event.preventDefault();
      event.stopPropagation();
    } }, this.tabList.map((tab) => h('button', {
      role: 'tab', id: `tab-${tab.value}`, 'aria-controls': `page-${tab.value}`,
      onclick: () => this.update({ tab: tab.value }) }, tab.text)));
    /* Of a set of ranks there are the views of all, and one of each rank. */
    const many = meta.trees.length > 8;
    this.views = (many ? listed : segmented)('View', meta.trees.map((tree) => ({ value: tree.label,
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
      ...(this.times ? [{ value: 'time', text: 'In time',
        title: 'What each thread and queue did, one after the other (o)' }] : []),
    ], (order) => this.update({ order }));
    this.tools = h('div', { class: 'tools' }, this.views, this.weights);
    const opButton = (op, key, text) => h('button', { class: 'small',
      title: `${VERBS[op].tip} (${key})`, onclick: () => this.toggleOp(op) }, text);
    this.glueButton = opButton('glue', 'g', 'Hide glue');
    this.foldButton = opButton('fold', 'c', 'Fold recursion');
    if (meta.picture.differential) {
      this.differenceBar = new DifferenceBar(this, meta.differences);
      this.tools.prepend(this.differenceBar.el);
    }
  }

  buildPages() {
    this.crumbs = h('nav', { class: 'crumbs', 'aria-label': 'Zoom' });
    this.chips = h('div', { class: 'chips' });
    this.legend = h('div', { class: 'legend', role: 'group', 'aria-label': 'Kinds of frames' });
    this.status = h('div', { class: 'status' }); /* the tree in the canvas is read instead */
    this.flameHost = h('div', {});
    this.emptyNote = h('p', { class: 'empty over', hidden: true });
    this.callersHost = h('div', {});
    this.calleesHost = h('div', {});
    this.sandwichName = h('h2', { class: 'sandwich-name' });
    this.sandwichFacts = h('p', { class: 'sandwich-facts' });
    this.topHost = h('div', { class: 'page-body' });
    this.topNote = h('p', { class: 'note' });
    this.groups = h('select', { 'aria-label': 'Rows',
      onchange: () => this.update({ group: this.groups.value }) },
    [...Object.keys(GROUPS), ...this.trackGroups].map((value) => (
      h('option', { value }, `by ${value}`))));
    this.factsHost = h('div', { class: 'page-body cards' });
    this.pages = {
      summary: h('section', { class: 'page' }, this.summary.el),
      flame: h('section', { class: 'page flame-page' },
        h('div', { class: 'bar' }, this.shapes, this.dirs, this.orders,
          this.glueButton, this.foldButton,
          h('span', { class: 'grow' }),
          this.iconButton('save', 'Save this view', (event) => this.saveMenu(event)),
          this.iconButton('panel', 'Details panel (d)',
            () => this.update({ panel: !this.state.panel }))),
        h('div', { class: 'bar thin' }, this.crumbs, this.chips),
        h('div', { class: 'split' }, h('div', { class: 'flame-frame' }, this.flameHost,
          this.emptyNote), this.details.el),
        h('div', { class: 'bar foot' }, this.legend, this.status)),
      top: h('section', { class: 'page' }, h('div', { class: 'bar' }, this.groups, this.topNote,
        h('span', { class: 'grow' }), h('button', { class: 'small',
          title: 'All rows, comma-separated', onclick: () => download(`${this.fileName()}.csv`,
            new Blob([this.top.csv()], { type: 'text/csv' })) }, icon('save'), 'CSV'),
        h('button', { class: 'small',
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
      source: h('section', { class: 'page' }, this.annotate.el),
      ...this.timePages?.pages,
      ...(this.rankPage ? { ranks: this.rankPage.page } : {}),
    };
    for (const [name, page] of Object.entries(this.pages)) {
      page.id = `page-${name}`;
      page.setAttribute('role', 'tabpanel');
      page.setAttribute('aria-labelledby', `tab-${name}`);
    }
  }

  buildBody() {
    const { meta } = this;
    this.toast = h('div', { class: 'toast', 'aria-hidden': 'true', hidden: true });
    this.heard = h('div', { class: 'offscreen', role: 'status' }); /* there before it speaks */
    this.busy = h('div', { class: 'busy', hidden: true }, 'Working…');
    this.dialog = helpDialog();
    document.body.append(
      h('header', {}, h('div', { class: 'head' },
        h('div', { class: 'brand' }, icon('flame'),
          h('h1', { title: meta.title }, meta.title || 'aflame report'),
          meta.subtitle && h('span', { class: 'subtitle', title: meta.subtitle }, meta.subtitle)),
        h('div', { class: 'search', role: 'search' }, icon('search'), this.search, this.matched,
          this.caseButton, this.previous, this.next),
        h('div', { class: 'head-end' },
          this.iconButton('moon', 'Light, dark, as the system (t)', () => this.cycle('theme')),
          h('button', { class: 'plain', title: 'Keys (?)', 'aria-label': 'Keys',
            onclick: () => this.help() }, '?'))),
      h('div', { class: 'bar main-bar' }, this.tabs, h('span', { class: 'grow' }),
        this.timePages?.chip, this.tools)),
      h('main', {}, Object.values(this.pages), this.menu.el, this.tooltip.el), this.dialog, this.toast,
      this.heard, this.busy);
  }

  buildViews() {
    this.flame = new FlameView(this.flameHost, {
      hover: (node, event) => this.hover(this.flame, node, event),
      pick: (node) => this.zoom(node),
      menu: (node, event) => this.frameMenu(this.flame.tree, node, event),
    }, 'Flame graph: arrow keys walk it, Enter zooms');
    const sandwichView = (host, label) => {
      const view = new FlameView(host, {
        hover: (node, event) => this.hover(view, node, event),
        pick: (node) => node && this.update({ fn: this.names.reference(view.tree.name[node]) }),
        menu: (node, event) => this.frameMenu(view.tree, node, event),
      }, label);
      view.canvas.addEventListener('keydown', (event) => {
        const at = view.selected > 0 ? view.selected : view.root;
        const to = event.key.startsWith('Arrow') ? nextFrame(view, at, event.key) : -1;
        if (event.key === 'Enter') view.handlers.pick(at);
        else if (to < 1) return;
        else {
          view.selected = to;
          view.reveal(to, false);
          view.redraw();
          readTree(view, to);
        }
        event.preventDefault();
        event.stopPropagation();
      });
      return view;
    };
    this.callers = sandwichView(this.callersHost, 'Callers');
    this.callees = sandwichView(this.calleesHost, 'Callees');
    this.top = new TopTable(this.topHost, {
      pick: (text, by) => {
        if (by === 'function' || by === 'kernel') this.searchFor(text, true);
      },
      open: (text, by, words) => {
        if (TRACK_GROUPS.includes(by)) this.update({ tab: 'timeline' });
        else if (by === 'function' || by === 'kernel') this.update({ tab: 'sandwich', fn: words });
        else if (by !== 'layer')
          this.update({ tab: 'flame', q: exactly(text).slice(1, -1), exact: true });
      },
    });
  }

  buildFacts() {
    const isName = (text) => text.length > 1 && this.names.find(text).length > 0;
    const toFlame = (name) => this.update({ tab: 'flame', q: exactly(name), exact: true });
    const found = new Map(['findings', 'steady_findings'].flatMap((name) => (
      tableOf(this.meta.tables, name)?.rows || [])).map((row) => [row.finding, row.hash]));
    const pick = (table) => (name) => (found.has(name) ? this.go(found.get(name))
      : table.name === 'stalls' && this.annotatedAt(name) >= 0
        ? this.showSource(name) : toFlame(name));
    const known = (text) => text !== null && (found.has(text) || isName(text) ||
      this.annotatedAt(text) >= 0);
    const cards = (wanted) => h('div', { class: 'cards-column' }, this.meta.tables
      .filter((table) => table.name !== 'rank_map' && wanted(table))
      .map((table) => factTable(table, known, pick(table))));
    this.factsHost.append(cards((table) => shownColumns(table).length <= 2),
      cards((table) => shownColumns(table).length > 2));
    if (this.meta.notes) this.factsHost.append(h('p', { class: 'note' }, this.meta.notes));
    if (!this.meta.tables.length)
      this.factsHost.append(h('p', { class: 'empty' }, 'This report has no tables of the run.'));
  }
}
