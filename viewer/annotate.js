/*
 * Kernels in full: source lines and instructions beside each other, with samples and the reasons for
 * stalls of each. What is shown comes as tables, one blob a kernel (src/render/html/annotate.h).
 *
 *	new Annotate(app) → show(kernel) any number of times
 *
 * A line and its instructions light up together: what is pointed at, and what is chosen by a click
 * or by the arrow keys, with those that the instruction waits for.
 */

/* sort of reason: [hue, chroma], oklch; the reasons of a sort differ in lightness */
const REASON_HUES = {
  issued: [145, 0.12], memory: [25, 0.16], sync: [310, 0.13], execute: [80, 0.13],
  fetch: [220, 0.11], other: [265, 0.015],
};

/* What each reason's part of a bar is painted with. */
function reasonColors({ rows }, dark) {
  const seen = {};
  return new Map(rows.map((row) => {
    const sort = row.category;
    const [hue, chroma] = REASON_HUES[sort] || REASON_HUES.other;
    const nth = (seen[sort] = (seen[sort] || 0) + 1) - 1;
    const step = Math.min(nth, 4) * 0.075;
    return [row.name, oklch(dark ? 0.52 + step : 0.66 + step, chroma, hue + nth * 9)];
  }));
}

/* A bar of parts [value, colour], as wide as they are of @most. */
function stackedBar(parts, most) {
  return h('span', { class: 'annotated-bar' }, parts.map(([value, color]) => {
    const part = h('span', {});
    part.style.width = `${(100 * value) / most}%`;
    if (color) part.style.background = color;
    return part;
  }));
}

function tableOf(tables, name) {
  return tables.find((other) => other.name === name);
}

async function loadAnnotated(index) {
  const { tables } = await loadJson(`af-annotated-${index}`);
  const reasons = tableOf(tables, 'reasons');
  const lines = tableOf(tables, 'lines');
  const insns = tableOf(tables, 'insns');
  const place = (file, number) => `${file}:${number}`;
  const lineOf = new Map(lines.rows.map(({ file, number }, k) => [place(file, number), k]));
  const offsets = new Map(insns.rows.map(({ offset }, k) => [offset, k]));
  return {
    reasons, lines, insns, lineOf, offsets,
    kernel: tableOf(tables, 'kernel').rows,
    /* By instruction: its line, or undefined. */
    line: insns.rows.map(({ file, line }) => (file ? lineOf.get(place(file, line)) : undefined)),
    /* By instruction: those whose results it waits for. */
    waits: insns.rows.map((row) => row.waits.split(' ').filter(Boolean)
      .map((text16) => offsets.get(parseInt(text16, 16))).filter((k) => k !== undefined)),
  };
}

/* The name of annotated kernel @index, for the address and for what is clicked elsewhere. */
function annotatedName(meta, index) {
  return meta.annotated[index].find(({ key }) => key === 'kernel')?.value || '';
}

function hexOffset(offset) {
  return `0x${offset.toString(16).padStart(4, '0')}`;
}

/* One of the two lists: rows that can be pointed at and chosen, by mouse and by keys. */
class AnnotatedPane {
  /* handlers: point(row or -1), choose(row) */
  constructor(label, handlers) {
    this.handlers = handlers;
    this.rows = [];
    this.chosen = -1;
    this.id = `annotated-${label.toLowerCase().replace(/\W/g, '-')}`;
    this.list = h('div', { class: 'annotated-list', role: 'listbox', tabindex: 0, id: this.id,
      'aria-label': label, onkeydown: (event) => this.key(event),
      onmouseleave: () => handlers.point(-1) });
    this.note = h('p', { class: 'note' });
    this.el = h('section', { class: 'annotated-pane' }, h('h3', {}, label), this.list, this.note);
  }

  show(rows, note) {
    this.rows = rows;
    this.chosen = -1;
    rows.forEach((row, k) => {
      row.id = `${this.id}-${k}`;
      row.setAttribute('role', 'option');
      row.setAttribute('aria-selected', 'false');
      row.addEventListener('mouseenter', () => this.handlers.point(k));
      row.addEventListener('click', () => this.handlers.choose(k));
    });
    this.list.replaceChildren(...rows.flatMap((row) => [row.heading, row].filter(Boolean)));
    this.list.removeAttribute('aria-activedescendant');
    this.note.textContent = note || '';
    this.list.scrollTop = 0;
  }

  mark(name, wanted) {
    this.rows.forEach((row, k) => row.classList.toggle(name, wanted.has(k)));
  }

  choose(k) {
    const before = this.rows[this.chosen];
    if (before) before.setAttribute('aria-selected', 'false');
    this.chosen = k;
    if (k < 0) {
      this.list.removeAttribute('aria-activedescendant');
      return;
    }
    this.rows[k].setAttribute('aria-selected', 'true');
    this.list.setAttribute('aria-activedescendant', this.rows[k].id);
  }

  reveal(k) {
    if (this.rows[k]) this.rows[k].scrollIntoView({ block: 'nearest' });
  }

  key(event) {
    const page = 15;
    const last = this.rows.length - 1;
    const to = {
      ArrowDown: this.chosen + 1, ArrowUp: this.chosen - 1, PageDown: this.chosen + page,
      PageUp: this.chosen - page, Home: 0, End: last,
    }[event.key];
    if (to === undefined || last < 0) return;
    this.handlers.choose(Math.max(0, Math.min(last, to)));
    event.preventDefault();
    event.stopPropagation();
  }
}

class Annotate {
  constructor(app) {
    this.app = app;
    this.shown = -1;
    this.loaded = new Map();
    this.kernels = h('nav', { class: 'annotated-kernels', 'aria-label': 'Kernels with samples' });
    this.head = h('div', { class: 'annotated-head' });
    this.legend = h('div', { class: 'legend', role: 'list', 'aria-label': 'Reasons' });
    this.source = new AnnotatedPane('Source', {
      point: (k) => this.point(this.insnsOf(k), new Set([k])),
      choose: (k) => this.chooseLine(k),
    });
    this.code = new AnnotatedPane('Instructions', {
      point: (k) => this.point(new Set([k]), this.linesOf(k)),
      choose: (k) => this.chooseInsn(k),
    });
    this.status = h('div', { class: 'status', role: 'status', 'aria-live': 'polite' });
    this.el = h('div', { class: 'annotated' }, this.kernels, h('div', { class: 'annotated-main' },
      this.head, this.legend, h('div', { class: 'annotated-panes' }, this.source.el, this.code.el),
      h('div', { class: 'bar foot' }, this.status)));
  }

  /* Show kernel @index; a later call overtakes an earlier one. */
  async show(index, palette) {
    const dark = palette.dark;
    const turn = (this.turn = (this.turn || 0) + 1);
    if (index === this.shown && dark === this.dark) return;
    if (!this.loaded.has(index)) this.loaded.set(index, await loadAnnotated(index));
    if (turn !== this.turn) return;
    this.data = this.loaded.get(index);
    this.shown = index;
    this.dark = dark;
    /* The same as in the table of functions. */
    const colors = reasonColors(this.app.reasons || this.data.reasons, dark);
    this.colors = this.data.reasons.rows.map((row) => colors.get(row.name));
    this.drawKernels();
    this.drawHead();
    this.drawLegend();
    this.drawLines();
    this.drawInsns();
    this.status.textContent = '';
  }

  drawKernels() {
    const { meta } = this.app;
    this.kernels.replaceChildren(h('h2', { class: 'annotated-title' }, 'Kernels'), ...meta.annotated.map((facts, k) => {
      const name = annotatedName(meta, k);
      const samples = facts.find(({ key }) => key === 'samples')?.value || '';
      return h('button', { class: k === this.shown ? 'on' : '', title: name,
        'aria-current': k === this.shown && 'true',
        onclick: () => this.app.update({ kernel: annotatedName(meta, k), nth: k }) },
      h('span', { class: 'annotated-name' }, name),
      h('span', { class: 'share' }, samples));
    }), meta.annotatedLeftOut ? h('p', { class: 'note' },
      `${formatCount(meta.annotatedLeftOut)} more are left out here; aflame annotate shows them.`)
      : '');
  }

  drawHead() {
    const name = annotatedName(this.app.meta, this.shown);
    this.head.replaceChildren(h('h2', { class: 'sandwich-name', title: name }, name),
      h('p', { class: 'annotated-facts' }, this.data.kernel
        .filter(({ key }) => key !== 'kernel').map(({ label, value }) => h('span', {},
          h('span', { class: 'share' }, `${label} `), value))));
  }

  /* "long scoreboard: 79.8%. A value … Load earlier …" */
  reasonTip(k) {
    const { reasons } = this.data;
    const row = reasons.rows[k];
    return [`${row.name}: ${formatCell(row.share, 'percent')} of the samples.`,
      row.meaning, row.advice && `To try: ${row.advice}`]
      .filter(Boolean).join('\n');
  }

  drawLegend() {
    const { reasons } = this.data;
    this.legend.hidden = !reasons.rows.length;
    this.legend.replaceChildren(...reasons.rows.map((row, k) => {
      const swatch = h('span', { class: 'swatch' });
      swatch.style.background = this.colors[k];
      return h('span', { class: 'legend-item', role: 'listitem', tabindex: 0,
        title: this.reasonTip(k), onfocus: () => this.say(this.reasonTip(k)),
        onmouseenter: () => this.say(this.reasonTip(k)) }, swatch, row.name,
      h('span', { class: 'share' }, formatCell(row.share, 'percent')));
    }));
  }

  say(text) {
    this.status.textContent = text.replace(/\n/g, ' ');
    this.status.title = text;
  }

  /* A stacked bar of a row's samples, as long as they are of the most of any row. */
  bar(table, row, most) {
    const { reasons } = this.data;
    const samples = row.samples;
    const first = table.columns.length - reasons.rows.length; /* of a CPU there are no reasons */
    const parts = table.columns.slice(first).map(({ key }, k) => [row[key], k])
      .filter(([value]) => value > 0);
    const reported = parts.reduce((sum, [value]) => sum + value, 0);
    const bar = stackedBar([...parts.map(([value, k]) => [value, this.colors[k]]),
      ...(reported < samples ? [[samples - reported]] : [])], most);
    bar.title = parts.sort(([a], [b]) => b - a).slice(0, 5).map(([value, k]) => (
      `${reasons.rows[k].name} ${formatPercent(value, samples)}: ` +
      `${reasons.rows[k].meaning}`)).join('\n');
    return bar;
  }

  most(table) {
    return table.rows.reduce((most, row) => Math.max(most, row.samples), 1);
  }

  share(table, row) {
    const samples = row.samples;
    return h('span', { class: 'annotated-share', title: samples
      ? `${formatCount(samples)} samples, ${formatNs(row.time_ns)}` : null },
    samples ? formatCell(row.share, 'percent') : '');
  }

  drawLines() {
    const { lines } = this.data;
    const most = this.most(lines);
    let file = null;
    let before = 0;
    this.source.show(lines.rows.map((row) => {
      const el = h('div', { class: row.rank ? 'annotated-row' : 'annotated-row cold' },
        this.share(lines, row), this.bar(lines, row, most),
        h('span', { class: 'annotated-number' }, row.number),
        h('code', { title: row.function && `in ${row.function}` }, row.source));
      if (row.file !== file) {
        el.heading = h('div', { class: 'annotated-file', role: 'presentation',
          title: row.file }, row.file);
      } else if (row.number !== before + 1) {
        el.heading = h('div', { class: 'annotated-gap', role: 'presentation' }, '…');
      }
      file = row.file;
      before = row.number;
      return el;
    }), lines.rows.length ? lines.note : 'No source lines are known of this kernel.');
  }

  drawInsns() {
    const { insns } = this.data;
    const most = this.most(insns);
    let before = null;
    this.code.show(insns.rows.map((row) => {
      const el = h('div', { class: row.rank ? 'annotated-row' : 'annotated-row cold' },
        this.share(insns, row), this.bar(insns, row, most),
        h('span', { class: 'annotated-number' }, hexOffset(row.offset)),
        h('code', { title: row.inlined || null }, row.text));
      if (before !== null && row.offset - before > 16)
        el.heading = h('div', { class: 'annotated-gap', role: 'presentation' }, '…');
      before = row.offset;
      return el;
    }), insns.note);
  }

  insnsOf(line) {
    return new Set(this.data.line.map((at, k) => (at === line ? k : -1)).filter((k) => k >= 0));
  }

  linesOf(insn) {
    const line = this.data.line[insn];
    return new Set(line === undefined ? [] : [line]);
  }

  point(insns, lines) {
    this.code.mark('near', insns);
    this.source.mark('near', lines);
  }

  mark(insns, lines, waits) {
    this.code.mark('on', insns);
    this.source.mark('on', lines);
    this.code.mark('awaited', new Set(waits));
  }

  chooseLine(k) {
    const { lines } = this.data;
    const insns = this.insnsOf(k);
    const row = lines.rows[k];
    this.source.choose(k);
    this.code.choose(-1);
    this.mark(insns, new Set([k]), []);
    this.source.reveal(k);
    const hottest = [...insns].reduce((best, i) => (best < 0 ||
      this.rank(i) < this.rank(best) ? i : best), -1);
    this.code.reveal(hottest);
    this.say(`Line ${row.number}: ${formatCount(row.samples)} samples, ` +
      `${formatCount(row.with_inlined)} with what is inlined there; ` +
      `${formatCount(insns.size)} instructions`);
  }

  rank(insn) {
    return this.data.insns.rows[insn].rank || Infinity;
  }

  chooseInsn(k) {
    const { insns } = this.data;
    const row = insns.rows[k];
    const waits = this.data.waits[k];
    this.code.choose(k);
    this.source.choose(-1);
    this.mark(new Set([k]), this.linesOf(k), waits);
    this.code.reveal(k);
    for (const line of this.linesOf(k)) this.source.reveal(line);
    const awaited = waits.map((at) => `${hexOffset(insns.rows[at].offset)} ` +
      `${insns.rows[at].text}`).join(', ');
    this.say([`${hexOffset(row.offset)} ${row.text}`,
      row.inlined, awaited && `waits for ${awaited}`].filter(Boolean).join(' — '));
  }
}
