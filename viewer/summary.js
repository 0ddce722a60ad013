/*
 * The page that is seen first: what held the run back, what keeps its figures from being right, the
 * first findings in whole sentences (of a run that repeats itself those of its steady part, and the
 * first of the whole run), its phases, what devices and threads did over time, and facts
 * of the run.
 *
 *	new Summary(app) → el; draw() and drawTimes() when the page is in front
 */

const STRIP = ['lost', 'run', 'cost']; /* tables whose rows are tiles of the strip */
const SUMMARY_FINDINGS = 3;
const SUMMARY_ROWS = 12; /* devices and threads over time */
const SUMMARY_POINTS = 200; /* of each of these rows */

class Summary {
  constructor(app) {
    const { meta } = app;
    this.app = app;
    this.strip = h('div', { class: 'strip', role: 'list', 'aria-label': 'Run' });
    this.times = h('section', { class: 'summary-times', hidden: true });
    this.answers = h('section', { class: 'summary-answers', hidden: true });
    this.el = h('div', { class: 'page-body summary' }, this.verdict(),
      h('div', { class: 'summary-warnings' }, warningsOf(meta).map((text) => (
        h('p', { class: 'note warning' }, text)))),
      this.findings(), this.answers, this.phases(), this.times, this.strip);
  }

  section(title, ...kids) {
    return h('section', { class: 'summary-section' }, h('h2', {}, title), ...kids);
  }

  /* The cells of a row as people read them. */
  words(table, row) {
    return shownColumns(table).map(({ key, unit }) => formatCell(row[key], unit));
  }

  /* What held each device back, or how long which command ran. */
  verdict() {
    const { tables } = this.app.meta;
    const verdict = tableOf(tables, 'steady_verdict') || tableOf(tables, 'verdict');
    const table = verdict?.rows.length ? verdict : tableOf(tables, 'run');
    const rows = table === verdict ? verdict?.rows : table?.rows.slice(0, 3);
    return h('dl', { class: 'summary-verdict' }, (rows || []).map((row) => {
      const [label, value] = this.words(table, row);
      return [h('dt', {}, label), h('dd', {}, value)];
    }).flat());
  }

  /* The row of the steady part, if what is of it alone is known; else undefined. */
  steady() {
    const { tables } = this.app.meta;
    return tableOf(tables, 'steady_findings')
      && tableOf(tables, 'phases')?.rows.find(({ phase }) => phase === 'steady');
  }

  findings() {
    const { app } = this;
    const steady = this.steady();
    const whole = tableOf(app.meta.tables, 'findings');
    const table = steady ? tableOf(app.meta.tables, 'steady_findings') : whole;
    if (!table) return null;
    const link = (to, text) => h('a', { href: to, onclick: (event) => app.follow(event) }, text);
    const item = (row) => h('li', { class: 'finding' }, link(row.hash, row.finding),
      row.helps && h('p', { class: 'note' }, `What usually helps: ${row.helps}`),
      row.check && h('p', { class: 'note summary-check' }, h('code', {}, row.check),
        app.iconButton('copy', 'Copy the command that shows this number', () => {
          copyText(row.check);
          app.say('Command copied');
        })));
    const first = table.rows.slice(0, SUMMARY_FINDINGS);
    return this.section(steady ? 'What stands out in the steady part' : 'What stands out',
      first.length ? h('ol', { class: 'summary-findings' }, first.map(item))
        : h('p', { class: 'note' }, table.note || 'Nothing stands out.'),
      table.rows.length > first.length && h('a', { href: '#tab=facts', class: 'summary-all',
        onclick: (event) => app.follow(event) }, `All ${table.rows.length} findings`),
      steady && whole?.rows.length > 0 && h('p', { class: 'note summary-whole' },
        'Of the whole run, with its start: ', link(whole.rows[0].hash, whole.rows[0].finding)));
  }

  /* Each phase is a link: the views of it alone. */
  phases() {
    const { app } = this;
    const table = tableOf(app.meta.tables, 'phases');
    if (!table?.rows.length) return null;
    const cell = (row, key) => formatCell(row[key],
      table.columns.find((column) => column.key === key)?.unit || 'text');
    const steps = (row) => (row.steps > 1
      ? `: ${cell(row, 'steps')} steps of ${cell(row, 'step_ns')}` : '');
    const show = (row) => app.update({ tab: 'flame', from: String(row.from_ns),
      to: String(row.to_ns) });
    return this.section('Phases of the run', h('div', { class: 'summary-phases' },
      table.rows.map((row) => h('button', { class: 'small',
        disabled: !app.times, onclick: () => show(row),
        title: 'Show this part of the run alone' },
      `${row.phase} ${formatNs(row.to_ns - row.from_ns)}${steps(row)}`))));
  }

  /* Tiles that fit a line: the views' total, what was lost, what ran. */
  draw() {
    const { app } = this;
    const tile = (label, value, kind) => h('div', { class: `tile ${kind || ''}`, role: 'listitem',
      title: `${label}: ${value}` }, h('span', { class: 'tile-label' }, label),
    h('span', { class: 'tile-value' }, value));
    const tiles = STRIP.map((name) => tableOf(app.meta.tables, name)).filter(Boolean)
      .flatMap((table) => {
        if (!table.rows.length) return table.note ? [tile(table.name, table.note)] : [];
        return table.rows.slice(0, 10).map((row) => {
          const [label, ...values] = this.words(table, row);
          return tile(label, values.filter(Boolean).join(' · '), table.name);
        });
      });
    const { forward, w } = app;
    if (forward) tiles.unshift(
      tile(`total ${forward.weights[w].name}`,
        formatWeight(forward.total(w)[0], forward.weights[w].unit)),
      tile('frames', formatCount(forward.n - 1 - forward.nrGaps)));
    this.strip.replaceChildren(...tiles);
  }

  /* The devices and threads with the most slices, each with the tracks that are part of it. */
  rows() {
    const { times } = this.app;
    const of = (wanted) => times.tracks.filter(({ kind, parent }) => kind === wanted
      && times.tracks[parent]?.kind !== wanted)
      .map((track) => ({ track, parts: times.partsOf(track) })).filter(({ parts }) => parts.length)
      .sort((a, b) => b.track.all - a.track.all);
    const devices = of('device').slice(0, SUMMARY_ROWS / 2);
    return [...devices, ...of('thread').slice(0, SUMMARY_ROWS - devices.length)];
  }

  /* By point, the time of the row's slices in it: of a point, or of the most if slices overlap. */
  curve(parts) {
    const { times } = this.app;
    const sums = activity(parts.flatMap(({ at }) => times.loaded[at]), times.span, SUMMARY_POINTS);
    const most = Math.max(times.span / SUMMARY_POINTS, ...sums);
    return sums.map((sum) => sum / most);
  }

  async drawAnswers() {
    const { app } = this;
    const answers = await answersOf(app);
    this.answers.replaceChildren(h('h2', {}, 'Common questions'), h('dl', {}, answers.map(
      ([question, answer, patch, details]) => [h('dt', {}, question), h('dd', {}, h('button', {
        class: 'link', disabled: !patch,
        onclick: () => app.update(patch) }, answer), h('span', { class: 'share' }, details))]).flat()));
    this.answers.hidden = !answers.length;
  }

  async drawTimes() {
    const { app } = this;
    if (this.drawn) return;
    this.drawn = true;
    await this.drawAnswers();
    if (!app.times) return;
    const rows = this.rows();
    for (const { parts } of rows) for (const { at } of parts) await app.times.load(at);
    this.times.replaceChildren(h('h2', {}, 'Devices and threads over time'),
      ...rows.map(({ track, parts }) => h('button', { class: 'summary-row',
        title: 'Show in the timeline', onclick: () => app.update({ tab: 'timeline' }) },
      h('span', { class: 'summary-name' }, app.timePages.place(track)),
      area(this.curve(parts), track.kind))));
    this.times.hidden = !rows.length;
  }
}

/* What tables warn of, each once, whatever tables it concerns. */
function warningsOf(meta) {
  return [...new Set(meta.tables.map(({ warning }) => warning).filter(Boolean))];
}

/* A picture of @parts, each between 0 and 1, one after the other. */
function area(parts, kind) {
  const high = (part) => (part > 0 ? Math.max(part, 0.08) : 0); /* the least is seen */
  const points = [...parts].map((part, k) => `V${(1 - high(part)).toFixed(3)}H${k + 1}`).join('');
  return drawing(`M0 1${points}V1z`, { viewBox: `0 0 ${parts.length} 1`,
    preserveAspectRatio: 'none', class: `area ${kind}` });
}
