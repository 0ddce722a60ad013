/*
 * Tables. TopTable lists functions, any number of them: only the rows in the window exist.
 * factTable() lays out a table of facts as it is.
 */

const TABLE_ROW = 28;
const COPY_ROWS = 10000;

class TopTable {
  /* handlers: pick(text, by), open(text, by) on double click or Enter. */
  constructor(host, handlers) {
    this.host = host;
    this.handlers = handlers;
    this.sort = { column: 1, down: true };
    this.chosen = -1;
    this.head = h('div', { class: 'top-head', role: 'row' });
    this.body = h('div', { class: 'top-body', role: 'presentation' });
    this.scroll = h('div', { class: 'top-scroll', tabindex: -1, role: 'rowgroup' }, this.body);
    this.grid = h('div', { class: 'top', role: 'grid', 'aria-label': 'Functions', tabindex: 0,
      onkeydown: (event) => this.key(event) },
      h('div', { role: 'rowgroup' }, this.head), this.scroll);
    host.append(this.grid);
    this.scroll.addEventListener('scroll', () => this.paint(), { passive: true });
    new ResizeObserver(() => this.paint()).observe(this.scroll);
  }

  /* data: {tree, w, root, hits, palette, rows (tableRows)}; ids outside hits are left out. */
  show(data) {
    const { w, hits, rows } = data;
    if ((this.data?.rows.by || 'function') !== rows.by) {
      this.chosen = -1;
      this.sort = { column: rows.by === 'function' ? 1 : 2, down: true };
    }
    this.data = data;
    this.functions = rows.functions;
    const { total } = this.functions;
    const all = !rows.ranged;
    this.ids = this.functions.ids.filter((id) => (!hits || rows.by !== 'function' || hits[id]) &&
      (all || total[w][id] > 0));
    this.columns = this.makeColumns();
    if (this.sort.column >= this.columns.length) this.sort = { column: 1, down: true };
    this.sortRows();
  }

  makeColumns() {
    const { tree, w, root, difference, palette, rows } = this.data;
    const { self, total, frames } = this.functions;
    const columns = [{ title: rows.by[0].toUpperCase() + rows.by.slice(1),
      text: (id) => rows.text[id] }];
    const order = [w, ...tree.weights.keys()].filter((k, at, all) => all.indexOf(k) === at);
    for (const k of order) {
      const { short, unit } = tree.weights[k];
      const whole = tree.total(k)[root];
      if ((!(whole > 0) || isScatter(tree.weights[k])) && k !== w) continue;
      const tracks = TRACK_GROUPS.includes(rows.by);
      if (tracks && !total[k].some((x) => x > 0) && k !== w) continue;
      const run = rows.ranged && !rows.ranged[k] && !tracks ? ' (whole run)' : '';
      const add = (what, column) => columns.push({
        title: `${what} ${short}${run}`, unit, value: (id) => column[id], whole, bar: k === w,
        text: (id) => formatWeightShort(column[id], unit),
      });
      if (k === w) add('Self', self[k]);
      add('Total', total[k]);
    }
    for (const side of rows.sides)
      columns.push({ title: `Total on ${side.label.toUpperCase()}`, unit: 'ns', whole: side.whole,
        value: (id) => side.total[id], text: (id) => formatNs(side.total[id]) });
    const launches = tree.weights.findIndex(({ unit }) => unit === 'launches');
    if (launches >= 0 && tree.weights[w].unit === 'ns' && !rows.ranged
      && total[launches].some(Boolean)) {
      const mean = (id) => (total[launches][id] ? total[w][id] / total[launches][id] : 0);
      columns.push({ title: 'Mean', unit: 'ns', value: mean, text: (id) => formatNs(mean(id)) });
    }
    if (difference) columns.push(...difference.columns(this.functions, tree, palette));
    if (rows.mixes) columns.push(this.mixColumn(rows, palette.dark));
    columns.push({ title: 'Kind', value: (id) => -this.kind(id), words: true,
      text: (id) => KINDS[this.kind(id)] || rows.by });
    columns.push({ title: TRACK_GROUPS.includes(rows.by) ? 'Slices' : 'Frames',
      value: (id) => frames[id], text: (id) => formatCount(frames[id]) });
    return columns;
  }

  /* Why instructions stalled: the largest part that is a stall leads, `issued` is none. */
  mixColumn({ mixes, reasons }, dark) {
    const colors = reasonColors(reasons, dark);
    const parts = (id) => mixes[id] || [];
    const lead = (id) => parts(id).find(([, , sort]) => sort !== 'issued') || parts(id)[0] || [];
    const say = ([part, name]) => (name ? `${name} ${formatPercent(part, 1)}` : '');
    const text = (id) => parts(id).slice(0, 5).map(say).join(', ');
    return { title: 'Stall mix', words: true, text, value: (id) => lead(id)[0] || 0,
      cell: (id) => h('span', { class: 'top-mix', role: 'gridcell', title: text(id),
        'aria-label': text(id) },
      stackedBar(parts(id).map(([part, name]) => [part, colors.get(name)]), 1), say(lead(id))) };
  }

  /* The name that stands for a row. */
  name(id) {
    const { by, first } = this.data.rows;
    return TRACK_GROUPS.includes(by) ? -1 : first ? first[id] : id;
  }

  kind(id) {
    const name = this.name(id);
    return name < 0 ? -1 : this.data.tree.names.kind[name];
  }

  /* The function that is chosen, or undefined. */
  function() {
    const { by } = this.data.rows;
    return (by === 'function' || by === 'kernel') && this.chosen >= 0
      ? this.words(this.chosen) : undefined;
  }

  sortRows() {
    const { column, down } = this.sort;
    const { value } = this.columns[column];
    const sign = down ? -1 : 1;
    const total = this.functions.total[this.data.w];
    /* Ids are in order of names, so they break ties and stand in for the names themselves. */
    this.ids = [...this.ids].sort((a, b) => (value
      ? sign * (value(a) - value(b)) || total[b] - total[a] || a - b : sign * (a - b)));
    this.drawHead();
    this.body.style.height = `${this.ids.length * TABLE_ROW}px`;
    this.grid.setAttribute('aria-rowcount', this.ids.length + 1);
    this.paint();
  }

  drawHead() {
    const rem = this.columns.map(({ bar, cell, words, title }, at) => (
      at ? cell ? 15 : bar ? 9 : words || title.length > 15 ? 8 : 7 : 15));
    this.grid.style.setProperty('--columns',
      rem.map((n, at) => (at ? `${n}rem` : `minmax(${n}rem, 1fr)`)).join(' '));
    this.grid.style.setProperty('--least', `${rem.reduce((a, b) => a + b + 1)}rem`);
    this.head.replaceChildren(...this.columns.map((column, at) => {
      const on = at === this.sort.column;
      return h('span', { role: 'columnheader',
        'aria-sort': on ? (this.sort.down ? 'descending' : 'ascending') : 'none' },
      h('button', { class: on ? 'on' : '', onclick: () => {
        this.sort = { column: at, down: on ? !this.sort.down : at > 0 };
        this.sortRows();
        this.head.children[at].firstChild.focus(); /* it was made anew */
      } }, column.title, on ? (this.sort.down ? ' ↓' : ' ↑') : ''));
    }));
  }

  paint() {
    if (!this.data || !this.scroll.clientHeight) return;
    const first = Math.max(0, Math.floor(this.scroll.scrollTop / TABLE_ROW) - 4);
    const last = Math.min(this.ids.length,
      first + Math.ceil(this.scroll.clientHeight / TABLE_ROW) + 8);
    const rows = [];
    for (let at = first; at < last; at++) rows.push(this.row(at));
    this.body.replaceChildren(...rows);
    if (!this.ids.length)
      this.body.append(h('div', { class: 'empty', role: 'row' }, h('span', { role: 'gridcell' },
        this.data.hits ? 'No function matches the search.'
          : `This view has no rows by ${this.data.rows.by}.`)));
  }

  row(at) {
    const id = this.ids[at];
    const { palette } = this.data;
    const row = h('div', {
      class: id === this.chosen ? 'top-row on' : 'top-row', role: 'row', 'aria-rowindex': at + 2,
      id: `top-row-${at}`, 'aria-selected': id === this.chosen ? 'true' : 'false',
      onclick: () => this.choose(at), ondblclick: () => this.act('open', id),
    });
    row.style.transform = `translateY(${at * TABLE_ROW}px)`;
    this.columns.forEach((column, k) => {
      if (k === 0) {
        const swatch = h('span', { class: 'swatch', title: KINDS[this.kind(id)] });
        const name = this.name(id);
        swatch.style.background = name < 0 ? palette.root : palette.color(name);
        row.append(h('span', { class: 'top-name', role: 'gridcell', title: column.text(id) }, swatch,
          h('span', {}, column.text(id))));
        return;
      }
      if (column.cell) {
        row.append(column.cell(id));
        return;
      }
      const cell = h('span', { class: 'top-number', role: 'gridcell' },
        h('span', {}, column.text(id)));
      if (column.fill) cell.style.background = column.fill(id);
      if (column.bar) {
        const part = column.whole ? column.value(id) / column.whole : 0;
        const bar = h('span', { class: 'top-bar', 'aria-hidden': 'true' });
        bar.style.width = `${Math.min(100, part * 100)}%`;
        cell.prepend(bar);
        cell.append(h('span', { class: 'top-percent' },
          formatPercent(column.value(id), column.whole)));
      }
      row.append(cell);
    });
    return row;
  }

  /* The table for a spreadsheet: plain numbers in the weights' own units. */
  tsv(most = COPY_ROWS, between = '\t', quote = (text) => text) {
    const cell = ({ value, text, words }, id) => (value && !words ? value(id) : quote(text(id)));
    const ids = this.ids.slice(0, most);
    const lines = ids.map((id) => this.columns.map((column) => cell(column, id)).join(between));
    const head = this.columns.map(({ title, unit }) => (unit ? `${title} (${unit})` : title));
    return { text: [head.join(between), ...lines, ''].join('\n'), rows: ids.length };
  }

  /* All rows (RFC 4180). No name is to be a formula. */
  csv() {
    return this.tsv(Infinity, ',', (text) => `"${text.replace(/^[=+\-@]/, "'$&")
      .replace(/"/g, '""')}"`).text;
  }

  /* What means the row's function and no other, or the row's text. */
  words(id) {
    const name = this.name(id);
    return name < 0 ? this.data.rows.text[id] : this.data.tree.names.reference(name);
  }

  act(what, id) {
    const { rows } = this.data;
    this.handlers[what](rows.text[id], rows.by, this.words(id));
  }

  choose(at) {
    this.chosen = this.ids[at];
    this.grid.setAttribute('aria-activedescendant', `top-row-${at}`);
    this.paint();
    this.act('pick', this.chosen);
  }

  key(event) {
    if (this.head.contains(event.target)) return;
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15 }[event.key];
    if (step) {
      const from = this.ids.indexOf(this.chosen);
      const at = Math.max(0, Math.min(this.ids.length - 1, from + step));
      if (!this.ids.length) return;
      const y = at * TABLE_ROW;
      if (y < this.scroll.scrollTop) this.scroll.scrollTop = y;
      if (y + TABLE_ROW > this.scroll.scrollTop + this.scroll.clientHeight)
        this.scroll.scrollTop = y + TABLE_ROW - this.scroll.clientHeight;
      this.choose(at);
    } else if (event.key === 'Enter' && this.chosen >= 0) {
      this.act('open', this.chosen);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}

const FACT_ROWS = 200;

/* Those that are for people. */
function shownColumns(table) {
  return table.columns.filter(({ hidden }) => !hidden);
}

/* A table of facts; a cell whose text is a function's name is a link to it. */
function factTable(table, isName, onname) {
  const rows = table.rows.slice(0, FACT_ROWS);
  const shown = shownColumns(table);
  const numeric = ({ unit }) => unit !== 'text';
  const cell = (value, column) => {
    const text = formatCell(value, column.unit);
    if (!numeric(column) && isName(value))
      return h('td', {}, h('button', {
        class: 'link', title: text, onclick: () => onname(value),
      }, text));
    return h('td', { class: numeric(column) ? 'number' : '' }, text);
  };
  const scroll = h('div', { class: 'card-scroll' });
  /* Keys scroll it where it has to be scrolled. */
  new ResizeObserver(() => {
    scroll.tabIndex = scroll.scrollHeight > scroll.clientHeight
      || scroll.scrollWidth > scroll.clientWidth ? 0 : -1;
  }).observe(scroll);
  scroll.append(h('table', {},
    table.columns.some((column) => column.title)
      && h('thead', {}, h('tr', {}, shown.map((column) => (
        h(column.title ? 'th' : 'td', { scope: column.title ? 'col' : null,
          class: numeric(column) ? 'number' : '' }, column.title))))),
    h('tbody', {}, rows.map((row) => h('tr', {}, shown.map((column) => (
      cell(row[column.key], column))))))));
  return h('section', { class: 'card', 'data-table': table.name },
    h('h2', {}, table.title || table.name),
    table.warning && h('p', { class: 'note warning' }, table.warning),
    table.rows.length > 0 && scroll,
    table.rows.length > rows.length
      && h('p', { class: 'note' }, `${formatCount(table.rows.length - rows.length)} more rows ` +
        'are not shown; aflame report --json prints all of them.'),
    (table.note || !table.rows.length) && h('p', { class: 'note' }, table.note || 'none'));
}
