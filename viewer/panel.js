/* What the page shows about one frame: the tooltip, the details panel, the menu of what can be done. */

function frameFacts(tree, node, root) {
  return tree.weights.map(({ short, unit }, w) => {
    const total = tree.total(w);
    return {
      name: short, unit, empty: !(total[0] > 0) || isScatter(tree.weights[w]),
      self: tree.own(w)[node], total: total[node],
      all: total[0], zoom: total[root],
    };
  }).filter((fact) => !fact.empty);
}

class Tooltip {
  constructor() {
    this.el = h('div', { class: 'tooltip', hidden: true, role: 'tooltip' });
  }

  hide() {
    this.el.hidden = true;
  }

  show(tree, node, root, event) {
    const zoomed = root !== 0;
    const kind = KINDS[tree.kind(node)];
    this.place(event,
      h('div', { class: 'tooltip-name' }, tree.text(node)),
      kind ? h('div', { class: 'tooltip-kind' }, kind) : '',
      h('table', {}, h('tr', {}, h('td'), ['total', 'of all', zoomed && 'of zoom', 'self']
        .filter(Boolean).map((t) => h('th', {}, t))),
      frameFacts(tree, node, root).map((fact) => h('tr', {},
        h('th', {}, fact.name), h('td', {}, formatWeight(fact.total, fact.unit)),
        h('td', {}, formatPercent(fact.total, fact.all)),
        zoomed && h('td', {}, formatPercent(Math.min(fact.total, fact.zoom), fact.zoom)),
        h('td', {}, formatWeight(fact.self, fact.unit))))), this.change(tree, node));
  }

  /* Show @content beside the pointer. */
  place(event, ...content) {
    this.el.replaceChildren(...content);
    this.el.hidden = false;
    const { offsetWidth, offsetHeight } = this.el;
    const x = Math.min(event.clientX + 14, window.innerWidth - offsetWidth - 8);
    const below = event.clientY + 18;
    const y = below + offsetHeight > window.innerHeight - 8
      ? event.clientY - offsetHeight - 12 : below;
    this.el.style.transform = `translate(${Math.max(4, x)}px, ${Math.max(4, y)}px)`;
  }
}

/* What can be done with a function, for the panel's buttons and the context menu alike. */
function frameActions(app, words) {
  const ids = app.names.find(words);
  const name = ids.length ? app.names.label[ids[0]] : words;
  const id = ids.find((one) => app.names.inFile[one] > 1);
  const file = id !== undefined && app.names.moduleOf(id);
  return [
    { text: 'Focus', key: 'f', tip: VERBS.focus.tip, run: () => app.addOp(`focus:${words}`) },
    { text: 'Hide', key: 'h', tip: VERBS.hide.tip, run: () => app.addOp(`hide:${words}`) },
    { text: 'Remove', key: 'x', tip: VERBS.drop.tip, run: () => app.addOp(`drop:${words}`) },
    ...(file ? [{ text: 'Collapse', key: 'l', tip: `${VERBS.module.tip} (${file})`,
      run: () => app.addOp(`module:${file}`) }] : []),
    { text: 'Sandwich', key: 's', tip: 'all callers and callees',
      run: () => app.update({ tab: 'sandwich', fn: words }) },
    { text: 'Search', key: '*', tip: 'highlight this function everywhere',
      run: () => app.searchFor(name) },
    ...(app.annotatedAt(name) >= 0 ? [{ text: 'Source', key: 'a',
      tip: 'its lines and instructions, with samples', run: () => app.showSource(name) }] : []),
  ];
}

class Details {
  constructor(app) {
    this.app = app;
    this.el = h('aside', { class: 'details', 'aria-label': 'Selected frame' });
  }

  show(tree, node, root, palette) {
    const { app } = this;
    if (!node) {
      this.showHottest(palette);
      return;
    }
    const name = tree.text(node);
    const words = app.names.reference(tree.name[node]);
    const stack = tree.path(node);
    const swatch = h('span', { class: 'swatch' });
    swatch.style.background = palette.color(tree.name[node]);
    const copy = (text, what) => h('button', { class: 'small', onclick: () => {
      copyText(text);
      app.say(`${what} copied`);
    } }, icon('copy'), `Copy ${what.toLowerCase()}`);
    this.el.replaceChildren(
      h('div', { class: 'details-kind' }, swatch, KINDS[tree.kind(node)] || ''),
      h('h2', { class: 'details-name' }, name),
      h('div', { class: 'details-actions' }, frameActions(app, words).map((action) => (
        h('button', { class: 'small', title: `${action.tip} (${action.key})`,
          onclick: action.run }, action.text))),
      copy(tree.stackText(node), 'Stack'), copy(name, 'Name')),
      h('table', { class: 'details-facts' },
        h('thead', {}, h('tr', {}, h('td'), ['Total', 'Self'].map((t) => h('th', { scope: 'col' }, t)))),
        h('tbody', {}, frameFacts(tree, node, root).map((fact) => [
          h('tr', {}, h('th', { scope: 'row' }, fact.name),
            h('td', {}, formatWeight(fact.total, fact.unit)),
            h('td', {}, formatWeight(fact.self, fact.unit))),
          h('tr', { class: 'sub' }, h('th', { scope: 'row' }, 'of all'),
            h('td', {}, formatPercent(fact.total, fact.all)),
            h('td', {}, formatPercent(fact.self, fact.all))),
        ]).flat())),
      h('h3', {}, `Stack · ${formatCount(stack.length)} frames`),
      h('ol', { class: 'details-stack' }, stack.reverse().slice(0, 400).map((above) => {
        const dot = h('span', { class: 'swatch' });
        dot.style.background = palette.color(tree.name[above]);
        return h('li', { class: above === node ? 'on' : '' }, h('button', {
          title: tree.text(above), onclick: () => app.zoom(above) }, dot, tree.text(above)));
      })));
  }

  /* With nothing selected: what costs most, or changed most, a way in. */
  showHottest(palette) {
    const { app } = this;
    const { forward, w } = app;
    const lists = app.memo('hottest', [forward, w, app.difference], () => hottestLists(app));
    const whole = forward.total(w)[0];
    const { unit } = forward.weights[w];
    const row = ({ id, value }) => {
      const bar = h('span', { class: 'details-bar' });
      bar.style.width = `${Math.min(100, (100 * value) / whole)}%`;
      bar.style.background = palette.color(id);
      return h('li', {}, h('button', { title: app.names.label[id],
        onclick: () => app.searchFor(app.names.label[id]) },
      h('span', { class: 'details-hot-name' }, app.names.short(id)),
      h('span', { class: 'share', title: formatWeight(value, unit) },
        formatPercent(value, whole)), bar));
    };
    this.el.replaceChildren(
      ...lists.filter(({ rows }) => rows.length).flatMap(({ title, rows }) => [
        h('h2', { class: 'details-title' }, title), h('ol', { class: 'details-hot' }, rows.map(row))]),
      h('p', { class: 'note' }, 'Click a frame to zoom in and see it here. ', h('kbd', {}, '?'),
        ' lists the keys.'));
  }
}

function hottestLists(app) {
  const { forward, w, names } = app;
  const { ids, self, total } = app.functionsOf(forward);
  const { name } = forward.weights[w];
  const isGpu = (id) => KINDS[names.kind[id]] === 'gpu';
  if (app.difference) return app.difference.hottest(app.functionsOf(forward));
  return [
    { title: `GPU work by ${name}`, rows: largest(ids, (id) => (isGpu(id) ? total[w][id] : 0), 8) },
    { title: `Most ${name} of their own`,
      rows: largest(ids, (id) => (isGpu(id) ? 0 : self[w][id]), 10) },
  ];
}

/* The @most ids of largest positive value, largest first, without sorting all of them. */
function largest(ids, valueOf, most) {
  const rows = [];
  for (const id of ids) {
    const value = valueOf(id);
    if (!(value > 0) || (rows.length === most && value <= rows[most - 1].value)) continue;
    let at = rows.length;
    while (at > 0 && rows[at - 1].value < value) at--;
    rows.splice(at, 0, { id, value });
    if (rows.length > most) rows.pop();
  }
  return rows;
}

class Menu {
  constructor() {
    this.el = h('div', { class: 'menu', role: 'menu', hidden: true });
    document.addEventListener('pointerdown', (event) => {
      if (!this.el.contains(event.target)) this.hide();
    });
    this.el.addEventListener('keydown', (event) => {
      const items = [...this.el.querySelectorAll('button')];
      const at = items.indexOf(document.activeElement);
      const to = { ArrowDown: at + 1, ArrowUp: at - 1 + items.length, Home: 0,
        End: items.length - 1 }[event.key];
      if (to !== undefined) items[to % items.length].focus();
      else if (event.key === 'Escape' || event.key === 'Tab') this.hide();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  /* The focus goes back to what had it. */
  hide() {
    const inside = this.el.contains(document.activeElement);
    this.el.hidden = true;
    if (inside) this.opener?.focus();
  }

  show(title, actions, x, y) {
    this.opener = document.activeElement;
    this.el.replaceChildren(title && h('div', { class: 'menu-title' }, title),
      ...actions.map((action) => h('button', { role: 'menuitem', title: action.tip,
        onclick: () => {
          this.hide();
          action.run();
        } }, action.text, action.key && h('kbd', {}, action.key))));
    this.el.hidden = false;
    const { offsetWidth, offsetHeight } = this.el;
    this.el.style.transform = `translate(${Math.min(x, window.innerWidth - offsetWidth - 6)}px, ` +
      `${Math.max(4, Math.min(y, window.innerHeight - offsetHeight - 6))}px)`;
    this.el.querySelector('button')?.focus();
  }
}
