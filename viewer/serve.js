/*
 * A page of `aflame serve`: which part of the run it shows, how far the whole is read, and whether
 * the trace is still the one that it was made of. meta.served, from src/cmd/serve/page.c:
 *
 *	{trace: id of the recording, whole, small: is that all that will come?, from, to, span: ns,
 *	 bytes: of the trace, part: of from to to, about, processes, streams, lost: events,
 *	 bin: ns, bins: bytes that were written in each}
 */

const ASK_MS = 1000;
const ASK_SELDOM_MS = 5000;
const MANY = 1000; /* processes */

const NEWS = {
  replaced: 'The trace was recorded again since this page was made. What is shown here is the ' +
    'recording before: ',
  live: 'The trace is being recorded again. What is shown here is the recording before: ',
  gone: 'The trace was removed, or cannot be read any more. What is shown here is as it was: ',
};

class Served {
  constructor(served) {
    this.served = served;
    this.alert = h('p', { class: 'served-alert', role: 'alert', hidden: true });
    this.rest = h('span', { class: 'served-rest', role: 'status' });
    this.el = h('section', { class: 'served', 'aria-label': 'What is shown of the run' },
      this.alert);
    if (!served.small) this.build();
    if (served.processes >= MANY) this.el.append(h('p', {}, `The run has ${
      formatCount(served.processes)} processes: the Functions tab groups them (by process), the ` +
      'Run tab lists them, and the Timeline takes some seconds to open.'));
    document.body.prepend(this.el);
    this.ask();
  }

  sentence() {
    const { whole, from, to, span, bytes, part, processes, lost } = this.served;
    const of = `${formatBytes(bytes)} from ${formatCount(processes)} process${
      processes === 1 ? '' : 'es'}`;
    return (whole ? `This is the whole run: ${formatNs(span)}, ${of}.`
      : `This is a part of the run: ${formatNs(from)} to ${formatNs(to)} of ${formatNs(span)}, ` +
        `about ${formatBytes(part)} of ${of}. All figures below are of this part.`) +
      (lost ? ` ${formatCount(lost)} events of the run were lost.` : '');
  }

  build() {
    const { from, to, whole } = this.served;
    const field = (label, ns) => h('input', { class: 'served-time', 'aria-label': label,
      value: String(ns / 1e9), inputmode: 'decimal', size: 9,
      onkeydown: (event) => { if (event.key === 'Enter') this.load(); event.stopPropagation(); } });
    this.from = field('From, in seconds', from);
    this.to = field('To, in seconds', to);
    this.cost = h('span', { class: 'served-rest' });
    this.el.append(h('p', {}, this.sentence(), ' ', whole ? '' : this.rest), this.overview(),
      h('div', { class: 'served-choice' }, 'From', this.from, 'to', this.to, 's', h('button', {
        class: 'small', title: 'Show this part of the run alone',
        onclick: () => this.load() }, 'Load'), this.cost));
  }

  /* How much was written when; a drag over it chooses a part. */
  overview() {
    const { bins, bin, span, from, to } = this.served;
    const most = Math.max(...bins, 1);
    const width = span / bin;
    const bars = bins.map((value, i) => `M${i} 20V${20 - (20 * value) / most}h.9V20z`).join('');
    const mark = h('div', { class: 'served-mark' });
    const place = (a, b) => {
      mark.style.left = `${(100 * a) / span}%`;
      mark.style.width = `${(100 * (b - a)) / span}%`;
    };
    const el = h('div', { class: 'served-bars', title: 'Bytes recorded over the run: drag to ' +
      'choose a part' }, drawing(bars, { viewBox: `0 0 ${width} 20`, preserveAspectRatio: 'none' }),
    mark);
    const time = ({ clientX }) => {
      const box = el.getBoundingClientRect();
      return Math.round(span * Math.min(1, Math.max(0, (clientX - box.left) / box.width)));
    };
    el.addEventListener('pointerdown', (event) => {
      this.began = time(event);
      el.setPointerCapture(event.pointerId);
    });
    el.addEventListener('pointermove', (event) => {
      if (this.began === undefined) return;
      const ends = [this.began, time(event)].sort((a, b) => a - b);
      place(...ends);
      this.choose(...ends);
    });
    el.addEventListener('pointerup', () => { this.began = undefined; });
    place(from, to);
    return el;
  }

  choose(from, to) {
    const { bins, bin } = this.served;
    const sum = bins.reduce((all, value, i) => (
      all + (value * Math.max(0, Math.min(to, (i + 1) * bin) - Math.max(from, i * bin))) / bin), 0);
    this.from.value = String(from / 1e9);
    this.to.value = String(to / 1e9);
    this.cost.textContent = `about ${formatBytes(Math.round(sum))}`;
  }

  load() {
    const [from, to] = [this.from.value.trim(), this.to.value.trim()];
    if (Number(to) > Number(from)) location.assign(`./?from=${from}&to=${to}`);
    else this.cost.textContent = 'The end must be after the beginning: seconds, such as 1.5';
  }

  async ask() {
    let wait = ASK_SELDOM_MS;
    try {
      const answer = await fetch(`state?trace=${encodeURIComponent(this.served.trace)}`);
      if (answer.status === 403) this.say('This page\'s token is no longer good: open the link ' +
        'that `aflame serve` printed.');
      else wait = this.show(await answer.json());
    } catch {
      this.say('The server does not answer: `aflame serve` has ended, or its port is not ' +
        'forwarded any more. What is here stays; no other part can be loaded.');
    }
    setTimeout(() => this.ask(), wait);
  }

  say(...text) {
    this.alert.replaceChildren(...text);
    this.alert.hidden = !text.length;
  }

  link(text, to) {
    return h('a', { href: to }, text);
  }

  /* Returns when to ask again. */
  show({ now, whole, percent, what }) {
    if (now !== 'same') this.say(NEWS[now], this.link('load it anew', './'), '.');
    else this.say();
    if (this.served.whole) return ASK_SELDOM_MS;
    this.rest.replaceChildren(...(now !== 'same' ? [] : {
      none: [this.link('Read the whole run', './?whole')],
      runs: [`The whole run is being read: ${what}, ${percent} %.`],
      done: ['The whole run is read: ', this.link('show it', './?whole'), '.'],
      failed: [`The whole run cannot be shown: ${what}. Choose a part of it below.`],
    }[whole]));
    return whole === 'runs' ? ASK_MS : ASK_SELDOM_MS;
  }
}
