/*
 * The tabs of time: what the timeline and the heat map show of the app's state, and the notes on
 * the range that all other views follow.
 *
 *	new TimePages(app) → pages, chip (elements); draw(palette) on every change of state
 */

const LOADED_AT_ONCE = 4;

class TimePages {
  constructor(app) {
    this.app = app;
    this.times = app.times;
    const select = (slice) => app.update({ sl: slice || [] }, false);
    const range = (from, to) => app.setRange(Math.floor(from), Math.ceil(to));
    this.lineHost = h('div', {});
    this.heatHost = h('div', {});
    this.line = new Timeline(this.lineHost, this.times, {
      hover: (slice, event, counter) => this.hover(slice, event, counter),
      pick: select,
      range,
      toggle: (k) => this.toggle(k),
      moved: (t0, t1) => this.moved(t0, t1),
      measured: (part, event) => this.measured(part, event),
    });
    this.heat = new HeatMap(this.heatHost, this.times, {
      hover: (cell, event) => this.hoverCell(cell, event), range,
    });
    this.build(select);
  }

  build(select) {
    const { app } = this;
    this.select = select;
    this.chip = h('div', { class: 'chip range', role: 'status', hidden: true });
    this.panel = h('aside', { class: 'details', 'aria-label': 'Selected slice' });
    this.status = h('div', { class: 'status', role: 'status', 'aria-live': 'polite' });
    this.heatStatus = h('div', { class: 'status', role: 'status', 'aria-live': 'polite' });
    this.notes = h('span', { class: 'note' }, this.missing());
    this.found = h('output', { class: 'matched', 'aria-live': 'polite' });
    this.stepper = new Stepper(this);
    const button = (text, title, onclick) => h('button', { class: 'small', title,
      onclick }, text);
    const save = (picture) => app.iconButton('save', 'Save this view',
      (event) => app.saveMenu(event, picture));
    this.rangeButton = button('Zoom to range', 'Look at the range alone', () => {
      const { from, to } = app.rangeNow;
      this.line.look(from, to);
    });
    this.what = h('select', { 'aria-label': 'Of what',
      onchange: () => app.update({ heat: this.what.value }) });
    this.periods = segmented('Column', PERIODS.filter((p) => this.times.span > p * 2 &&
      this.times.span / p < 4000).map((p) => ({ value: p, text: formatMoment(p, p, p),
      title: 'Time in a column' })), (period) => app.update({ period: String(period) }));
    this.pages = {
      timeline: h('section', { class: 'page' }, h('div', { class: 'bar' },
        button('Whole run', 'See all of it', () => this.line.look(0, this.times.span)),
        this.rangeButton, this.stepper.el, this.found, this.notes, h('span', { class: 'grow' }),
        save(this.line),
        app.iconButton('panel', 'Details panel', () => app.update({ panel: !app.state.panel }))),
      h('div', { class: 'split' }, h('div', { class: 'flame-frame' }, this.lineHost), this.panel),
      h('div', { class: 'bar foot' }, this.status)),
      heat: h('section', { class: 'page' }, h('div', { class: 'bar' }, this.what, this.periods,
        h('span', { class: 'note' }, 'Drag over cells to choose a range'),
        h('span', { class: 'grow' }), save(this.heat)),
      h('div', { class: 'split' }, h('div', { class: 'flame-frame' }, this.heatHost)),
      h('div', { class: 'bar foot' }, this.heatStatus)),
    };
  }

  toggle(k) {
    const { shut } = this.app.state;
    this.app.update({ shut: shut.includes(k) ? shut.filter((x) => x !== k) : [...shut, k] }, false);
  }

  /* What the timeline does not have. */
  missing() {
    const { merged, left_out: out, of, tracks } = this.times;
    const ranks = new Set(tracks.filter(({ kind }) => kind === 'process').map(({ rank }) => rank));
    return [of > ranks.size && `the timeline has ${ranks.size} of ${formatCount(of)} ranks, odd ones first; ` +
      '--rank N makes a page of another',
    merged && `${formatCount(merged)} short slices are joined with their neighbours`,
      out && `${formatCount(out)} slices are left out`].filter(Boolean).join('; ');
  }

  async draw(palette) {
    const { app } = this;
    const { tab } = app.state;
    this.drawChip();
    if (tab !== 'timeline' && tab !== 'heat') return;
    this.palette = palette;
    if (tab === 'heat') {
      const wanted = this.heatTracks();
      await this.loadAll(wanted, tab);
      if (app.state.tab === tab) this.drawHeat(wanted);
      return;
    }
    await this.times.loadSteps();
    if (this.times.tracks.some((track) => !this.times.loaded[track.at])) {
      /* What is in sight comes first: of thousands of tracks the others take their time. */
      this.showLine([]);
      await this.loadAll(this.line.inSight(), tab);
      if (app.state.tab === tab) await this.drawLine();
      await this.loadAll(this.times.tracks, tab);
    }
    if (app.state.tab === tab) await this.drawLine();
  }

  /* In the order of the tracks, showing what is there at times. */
  async loadAll(wanted, tab) {
    const tracks = wanted.filter((track) => !this.times.loaded[track.at]);
    let shown = performance.now();
    for (let k = 0; k < tracks.length; k += LOADED_AT_ONCE) {
      await Promise.all(tracks.slice(k, k + LOADED_AT_ONCE).map(({ at }) => this.times.load(at)));
      if (performance.now() - shown < 200) continue;
      if (tab === 'timeline' && this.app.state.tab === tab) this.showLine([]);
      await new Promise((done) => { setTimeout(done, 0); });
      shown = performance.now();
    }
  }

  drawChip() {
    const { app } = this;
    const range = app.rangeNow;
    this.chip.hidden = !range;
    if (!range) return;
    const whole = app.state.tab === 'facts' || app.state.tab === 'source';
    const { ranged } = app.base || {};
    const note = whole ? ' · this page is of the whole run'
      : !ranged ? ' · this view has no times: the whole run'
        : !ranged[app.w] ? ` · ${app.base.weights[app.w].name} is of the whole run` : '';
    const spread = ranged && this.times.tracksOf(app.state.view).some((track) => track.spread);
    this.chip.title = `${spread ? 'Time of devices is exact by execution; below a kernel it is ' +
      'split as in the whole run' : 'All views are of this part of the run'}: ${
      formatExactRange(range)}`;
    const text = `${formatRange(range)} (${formatNs(range.to - range.from)})${note}`;
    if (this.chip.textContent === text) return; /* nothing to read aloud again */
    this.chip.replaceChildren(h('span', {}, text), h('button', { class: 'plain',
      'aria-label': 'The whole run', title: 'The whole run (Esc)',
      onclick: () => app.clearRange() }, icon('close')));
  }

  /* The slice that the address names, or null. */
  slice() {
    const [k, l, i] = this.app.state.sl;
    const lane = this.times.loaded[k]?.[l];
    return lane && lane.name && i >= 0 && i < lane.n ? [k, l, i] : null;
  }

  showLine(linked) {
    const { app } = this;
    const { shut, tv } = app.state;
    const view = tv.join();
    if (view !== this.seen) {
      this.line.t0 = 0;
      this.line.t1 = Math.max(1, this.times.span);
      if (tv.length === 2 && tv[0] < tv[1]) this.line.look(tv[0], tv[1]);
      this.seen = view;
    }
    this.line.show({ palette: this.palette, hits: app.match && app.match.hits, linked,
      shut: new Set(shut), range: app.rangeNow, selected: this.slice() });
  }

  async drawLine() {
    const { app } = this;
    const slice = this.slice();
    this.panel.hidden = !app.state.panel;
    this.rangeButton.disabled = !app.rangeNow;
    const linked = slice ? linkedSlices(this.times, slice) : [];
    this.showLine(linked);
    readLine(this, slice);
    this.drawFound();
    this.stepper.draw(slice);
    const range = app.rangeNow;
    this.status.textContent = slice ? this.describe(slice)
      : range ? `Range ${formatExactRange(range)}`
        : `${formatCount(this.times.tracks.reduce((sum, track) => sum + track.n, 0))} slices in ${
          formatNs(this.times.span)}`;
    await this.drawPanel(slice, linked);
  }

  /* How many slices match the search, and their time, in the range if one is chosen. */
  drawFound() {
    const { app, times } = this;
    const range = app.rangeNow || { from: 0, to: times.span + 1 };
    const { nr, long } = app.match ? app.memo('found',
      [app.match, range.from, range.to, times.nrLoaded()], () => this.sumFound(range)) : {};
    this.found.textContent = app.match ? `${formatCount(nr)} ${nr === 1 ? 'slice' : 'slices'}, ${
      formatNs(long)}` : '';
    this.found.title = `Slices that match the search${app.rangeNow ? ' in the range' : ''}`;
  }

  sumFound({ from, to }) {
    const { hits } = this.app.match;
    let [nr, long] = [0, 0];
    for (const lane of this.times.loaded.flat())
      for (let i = lane.name ? firstAfter(lane, from) : lane.n; i < lane.n && lane.start[i] < to;
        i++) {
        if (!hits[lane.name[i]]) continue;
        nr++;
        long += Math.min(to, sliceEnd(lane, i)) - Math.max(from, lane.start[i]);
      }
    return { nr, long };
  }

  /* A second later than the last move the address says where we look. */
  moved(t0, t1) {
    clearTimeout(this.moving);
    this.moving = setTimeout(() => {
      const whole = t0 <= 0 && t1 >= this.times.span;
      const tv = whole ? [] : [Math.floor(t0), Math.ceil(t1)];
      this.seen = tv.join();
      if (this.app.state.tab === 'timeline' && this.app.state.tv.join() !== this.seen)
        this.app.update({ tv }, false);
    }, 300);
  }

  facts([k, l, i]) {
    const lane = this.times.loaded[k][l];
    const track = this.times.tracks[k];
    const above = this.times.tracks[track.parent];
    return {
      name: this.times.names.label[lane.name[i]], color: this.line.color(lane, i),
      start: lane.start[i], long: lane.cum[i + 1] - lane.cum[i], track,
      place: above ? `${above.name} · ${track.name}` : track.name,
      samples: lane.samples ? lane.samples[i] : 1, node: lane.node ? lane.node[i] - 1 : -1,
    };
  }

  when(start, long) {
    return `${formatNs(long)} at ${formatMoment(start, Math.max(1, long / 100), this.times.span)}`;
  }

  describe(slice) {
    const { name, start, long, place } = this.facts(slice);
    return `${name} — ${this.when(start, long)}, ${place}`;
  }

  hover(slice, event, counter) {
    const { tooltip } = this.app;
    this.line.point(slice, slice ? linkedSlices(this.times, slice) : []);
    if (counter) {
      const { track, value, from } = counter;
      tooltip.place(event, h('div', { class: 'tooltip-name' }, formatCounter(value, track)),
        h('div', { class: 'tooltip-kind' }, track.name),
        `since ${formatMoment(from, Math.max(1, this.line.scale()), this.times.span)}`);
      return;
    }
    if (!slice) {
      tooltip.hide();
      return;
    }
    const { name, start, long, place } = this.facts(slice);
    tooltip.place(event, h('div', { class: 'tooltip-name' }, name),
      h('div', { class: 'tooltip-kind' }, place), this.when(start, long));
  }

  /* While a range is chosen. */
  measured(part, event) {
    this.app.tooltip.place(event, h('div', { class: 'tooltip-name' },
      `${formatCount(part.to - part.from)} ns`), h('div', { class: 'tooltip-kind' },
      `${formatExact(part.from)} – ${formatExact(part.to)}`));
  }

  /* The range, exactly. */
  rangeFacts(row) {
    const { app } = this;
    const range = app.rangeNow;
    return range ? [h('h3', {}, 'Range'), h('table', { class: 'details-facts range-facts' },
      h('tbody', {}, row('from', formatExact(range.from)), row('to', formatExact(range.to)),
        row('length', `${formatCount(range.to - range.from)} ns`))),
    h('div', { class: 'details-actions' }, h('button', { class: 'small',
      onclick: () => {
        copyText(formatExactRange(range));
        app.say('Range copied');
      } }, icon('copy'), 'Copy'))] : [];
  }

  async drawPanel(slice, linked) {
    const { app, palette } = this;
    const row = (label, value) => h('tr', {}, h('th', { scope: 'row' }, label), h('td', {}, value));
    if (!slice) {
      this.panel.replaceChildren(h('p', { class: 'note' }, 'Click a slice to see it here. Drag ' +
        'to choose a range: all views are then of that range. Its ends stick to slices; Alt ' +
        'prevents that. Ctrl and the wheel zoom, Shift pans.'), ...this.rangeFacts(row));
      return;
    }
    const { name, start, long, place, track, samples, node, color } = this.facts(slice);
    const tree = track.stacks && node > 0 ? await app.treeOf(track.stacks) : null;
    if (this.slice()?.join() !== slice.join()) return;
    const swatch = (color) => {
      const el = h('span', { class: 'swatch' });
      el.style.background = color;
      return el;
    };
    const button = (text, onclick) => (
      h('button', { class: 'small', onclick }, text));
    const toFlame = (frame) => app.update({ tab: 'flame', view: track.stacks, dir: 'callees',
      ops: [], z: tree.ids(frame), x: tree.ids(frame) });
    const list = (title, items) => items.length > 0 && [h('h3', {}, title),
      h('ol', { class: 'details-stack' }, items.map(([text, color, onclick]) => h('li', {},
        h('button', { title: text, onclick }, swatch(color), text))))];
    this.panel.replaceChildren(...[
      h('div', { class: 'details-kind' }, swatch(color), track.slice),
      h('h2', { class: 'details-name' }, name),
      h('div', { class: 'details-actions' },
        button('Zoom', () => this.line.look(start - long * 0.1, start + long * 1.1)),
        long > 0 && button('As range', () => app.setRange(start, start + long)),
        tree && button('Flame graph', () => toFlame(node)),
        button('Search', () => app.searchFor(name))),
      h('table', { class: 'details-facts' }, h('tbody', {}, row('duration', formatNs(long)),
        row('exactly', `${formatCount(long)} ns`),
        row('start', formatMoment(start, 1, this.times.span)), row('on', place),
        this.times.real > 0 && row('clock', new Date((this.times.real + start) / 1e6)
          .toISOString().replace('T', ' ')),
        track.slice === 'run' && row('samples', formatCount(samples)))),
      this.rangeFacts(row),
      list('Arrows', linked.map((other) => [this.describe(other),
        this.facts(other).color, () => this.go(other)])),
      tree && list(`Stack · ${formatCount(tree.depth[node])} frames`, tree.path(node).reverse()
        .map((frame) => [tree.text(frame), palette.color(tree.name[frame]), () => toFlame(frame)])),
    ].flat().filter(Boolean));
  }

  go(slice) {
    this.line.reveal(slice);
    const above = [slice[0], ...this.times.above(slice[0])];
    const shut = this.app.state.shut.filter((k) => !above.includes(k));
    return this.app.update({ sl: slice, shut: [...shut, ...above.filter((k) => this.folds()
      .includes(k))] }, false).then(() => this.line.reveal(slice));
  }

  /* The rows of what did little. */
  folds() {
    return this.times.tracks.filter(({ kind }) => kind === 'fold').map(({ at }) => at);
  }

  /* Opens all of them, or closes them. */
  toggleFolds() {
    const { shut } = this.app.state;
    const folds = this.folds();
    const others = shut.filter((k) => !folds.includes(k));
    this.app.update({ shut: others.length < shut.length ? others : [...shut, ...folds] }, false);
  }

  /* The slice after (1) or before (-1) the chosen one that matches the search, or null. */
  match(step) {
    const { hits } = this.app.match;
    const chosen = this.slice();
    const from = chosen ? this.facts(chosen).start : step > 0 ? -1 : Infinity;
    let best = null;
    let when = step * Infinity;
    this.times.loaded.forEach((lanes, k) => lanes.forEach((lane, l) => {
      if (!lane.name) return;
      let i = lowerBound(lane.start, from, 0, lane.n);
      i = step > 0 ? (lane.start[i] === from ? i + 1 : i) : i - 1;
      while (i >= 0 && i < lane.n && !hits[lane.name[i]]) i += step;
      if (i >= 0 && i < lane.n && (when - lane.start[i]) * step > 0) {
        best = [k, l, i];
        when = lane.start[i];
      }
    }));
    return best;
  }

  /* A key in the timeline; tells whether it means something there. */
  key(key) {
    const { line } = this;
    const moves = {
      a: () => line.steer(-0.2), d: () => line.steer(0.2), w: () => line.steer(0, 0.7),
      s: () => line.steer(0, 1 / 0.7), 0: () => line.look(0, this.times.span),
      '[': () => this.stepper.go(-1), ']': () => this.stepper.go(1), '+': () => this.toggleFolds(),
      ArrowLeft: () => this.side(-1), ArrowRight: () => this.side(1),
      ArrowUp: () => this.walk(-1, 0), ArrowDown: () => this.walk(1, 0),
      Enter: () => this.slice() && this.go(this.slice()),
      '-': () => this.toggle(Math.max(0,
        this.times.tracks[this.app.state.sl[0] || 0]?.parent || 0)),
      m: () => {
        const { start, long } = this.slice() ? this.facts(this.slice()) : {};
        if (long) this.app.setRange(start, start + long);
      },
    };
    if (this.app.state.tab !== 'timeline' || !moves[key]) return false;
    this.app.tooltip.hide();
    moves[key]();
    return true;
  }

  /* To the next slice or the one before; if none is chosen, to a step. */
  side(by) {
    if (!this.slice() && this.stepper.steps) this.stepper.go(by);
    else this.walk(0, by);
  }

  /* From the chosen slice to the next in its lane, or to one at that time in the next lane. */
  walk(down, on) {
    const { line } = this;
    const lanes = line.rows.flatMap((row) => line.lanes(row).map((lane, l) => ({ lane,
      slice: [row.track.at, l] }))).filter(({ lane }) => lane.name && lane.n);
    if (!lanes.length) return;
    const chosen = this.slice();
    const at = chosen ? lanes.findIndex(({ slice }) => slice[0] === chosen[0] &&
      slice[1] === chosen[1]) : -1;
    const { lane, slice } = lanes[Math.max(0, Math.min(lanes.length - 1, at + down))];
    const t = chosen ? this.facts(chosen).start : line.t0;
    const i = at < 0 || down ? firstAfter(lane, t) : chosen[2] + on;
    this.go([...slice, Math.max(0, Math.min(lane.n - 1, i))]);
  }

  /* heat map */

  /* What it can be of: a view, or of that view a device or thread. */
  choices() {
    const { tracks } = this.times;
    const views = [...new Set(tracks.filter(({ n, view }) => n && view).map(({ view }) => view))];
    return this.app.memo('heats', [], () => views.flatMap((view) => {
      const parts = tracks.map((track) => ({ value: `${view}/${track.at}`,
        text: `${view}: ${this.place(track)}`,
        tracks: this.times.partsOf(track).filter((part) => part.view === view) }))
        .filter((part) => part.tracks.length);
      return [{ value: view, text: `${view}: all`, tracks: this.times.tracksOf(view) }, ...parts];
    }));
  }

  place(track) {
    const above = this.times.tracks[track.parent];
    return above && above.kind !== 'process' ? `${above.name} · ${track.name}` : track.name;
  }

  heatTracks() {
    const choices = this.choices();
    if (!this.what.length)
      this.what.append(...choices.map(({ value, text }) => h('option', { value }, text)));
    const choice = choices.find(({ value }) => value === this.app.state.heat) || choices[0];
    this.what.value = choice?.value;
    return choice ? choice.tracks : [];
  }

  drawHeat(tracks) {
    const { app } = this;
    const asked = Number(app.state.period);
    const period = PERIODS.includes(asked) && this.times.span / asked < 4000 ? asked
      : PERIODS.find((p) => this.times.span / p >= HEAT_COLUMNS) || PERIODS[PERIODS.length - 1];
    const heat = app.memo('heat', [this.what.value, period], () => (
      heatCells(this.times, tracks, period)));
    this.periods.show(period);
    this.heat.show({ palette: this.palette, heat, range: app.rangeNow });
    readHeat(this);
    this.sayHeat();
  }

  sayHeat() {
    const { heat, cursor } = this.heat;
    const weight = (x) => formatWeight(x, heat.unit);
    this.heatStatus.textContent = `${cursor < 0 ? '' : `${this.cell(cursor).join(' at ')} — `}${
      weight(heat.total)}, at most ${weight(heat.most)} in ${formatNs(heat.each)}`;
  }

  cell(at) {
    const { heat } = this.heat;
    return [formatWeight(heat.cells[at], heat.unit),
      formatRange({ from: at * heat.each, to: (at + 1) * heat.each })];
  }

  hoverCell(cell, event) {
    this.app.tooltip.hide();
    if (!event) this.sayHeat();
    else if (cell >= 0) {
      const [what, when] = this.cell(cell);
      this.app.tooltip.place(event, h('div', { class: 'tooltip-name' }, what), when);
    }
  }
}
