/*
 * The steps of a run, to look at one after the other: those that the analysis found, or ranges of
 * the program that come back by name on a thread ("step", "iteration 12"). Steps are {from, to: by
 * step, name, track of ranges, steady: the first that is no warm-up}.
 *
 *	new Stepper(pages) → el, steps, now (the one that is looked at, or -1); draw(slice); go(by)
 */

const STEPS_LEAST = 3;

/* What ranges of these names are, whatever their number is. */
function stepName(text) {
  return text.replace(/\d+/g, '#');
}

/* Of ranges: by lane and name those that come back, {name, track, from, to, long (all together)}. */
function repeatedRanges(times) {
  const groups = new Map();
  const keys = new Map(); /* by id of the name */
  times.tracks.forEach((track) => {
    if (track.slice !== 'range') return;
    for (const lane of times.loaded[track.at] || [])
      for (let i = 0; i < lane.n; i++) {
        const id = lane.name[i];
        const long = lane.cum[i + 1] - lane.cum[i];
        if (!long) continue;
        if (!keys.has(id)) keys.set(id, stepName(times.names.label[id]));
        const key = `${track.parent} ${keys.get(id)}`;
        let group = groups.get(key);
        if (!group)
          groups.set(key, group = { key, name: keys.get(id), track, from: [], to: [], long: 0 });
        group.from.push(lane.start[i]);
        group.to.push(lane.start[i] + long);
        group.long += long;
      }
  });
  const found = [...groups.values()].filter(({ from }) => from.length >= STEPS_LEAST);
  for (const group of found) {
    const { from, to } = group;
    const order = from.map((_, i) => i).sort((a, b) => from[a] - from[b]); /* of several lanes */
    Object.assign(group, { from: order.map((i) => from[i]), to: order.map((i) => to[i]) });
  }
  return found;
}

/*
 * The steps: of the slice @chosen, if it is a range that comes back; else those that are known of
 * the run; else the ranges that take most time of those that come back; or null.
 */
function findSteps(times, ranges, chosen) {
  const track = chosen && times.tracks[chosen[0]];
  if (track?.slice === 'range') {
    const name = times.loaded[chosen[0]][chosen[1]].name[chosen[2]];
    const key = `${track.parent} ${stepName(times.names.label[name])}`;
    const same = ranges.find((group) => group.key === key);
    if (same) return same;
  }
  if (times.begins) {
    const { by, steady } = times.steps;
    return { from: times.begins.subarray(0, -1), to: times.begins.subarray(1), steady,
      name: `found by ${by}` };
  }
  return ranges.reduce((best, group) => (group.long > (best?.long || 0) ? group : best), null);
}

class Stepper {
  constructor(pages) {
    Object.assign(this, { pages, now: -1 });
    const button = (text, title, by) => h('button', { class: 'plain', title,
      'aria-label': title, onclick: () => this.go(by) }, text);
    this.text = h('output', { 'aria-live': 'polite' });
    this.el = h('span', { class: 'stepper', role: 'group', 'aria-label': 'Steps', hidden: true },
      button('‹', 'Previous step ([)', -1), this.text, button('›', 'Next step (])', 1));
  }

  draw(slice) {
    const { app, times } = this.pages;
    const ranges = app.memo('ranges', [times.nrLoaded()], () => repeatedRanges(times));
    const steps = this.steps = findSteps(times, ranges, slice);
    const range = app.rangeNow;
    this.el.hidden = !steps;
    this.now = -1;
    if (!steps) return;
    const at = range ? lowerBound(steps.from, range.from, 0, steps.from.length) : -1;
    if (range && steps.from[at] === range.from && steps.to[at] === range.to) this.now = at;
    const n = formatCount(steps.from.length);
    this.text.textContent = this.now < 0 ? `${n} steps` : `Step ${formatCount(this.now + 1)} of ${
      n}${this.now < steps.steady ? ' (warm-up)' : ''}`;
    this.text.title = steps.track ? `Ranges “${steps.name}” of ${this.pages.place(steps.track)}`
      : `Steps of the run, ${steps.name}`;
  }

  /* Look at the next step (1) or the one before (-1), which becomes the range. */
  go(by) {
    const { app, line } = this.pages;
    const { steps, now } = this;
    if (!steps) return;
    const t = app.rangeNow?.from ?? line.t0;
    const next = now >= 0 ? now + by
      : lowerBound(steps.from, t, 0, steps.from.length) - (by < 0 ? 1 : 0);
    const at = Math.max(0, Math.min(steps.from.length - 1, next));
    const [from, to] = [steps.from[at], steps.to[at]];
    app.update({ tv: [from, to], from: String(from), to: String(to) }, false);
  }
}
