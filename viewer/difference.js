/*
 * Two sides compared: columns 0 and 1 of a tree are before and after, 2 and 3 how much of each
 * scatters, as src/analyse/difference/difference.h has it: in units of a quantum of variance. A change
 * beyond three standard deviations is sure; without columns 2 and 3, counts are those of samples.
 */

const NORMS = { none: ['As recorded', 'Amounts as they were recorded'],
  total: ['Shares', 'Shares of the total: before is made as much as after'],
  wall: ['Time', 'As if both had been recorded for the same time'],
  step: ['Steps', 'As if both had as many steps'] };
const SIDES = { new: ['New', 'after', 'there was nothing of before'],
  vanished: ['Vanished', 'before', 'there is nothing of after'] };

/* Paths of which side @other has nothing. */
function oneSided(tree, other) {
  const none = tree.total(other);
  const bare = new Tree(tree.names, tree.weights, tree.depth, tree.name,
    tree.self.map((column) => column.map((x, i) => (none[i] > 0 ? 0 : x))));
  const kept = [bare.total(0), bare.total(1)];
  return rebuild(bare, (i, above, builder) => (
    kept[0][i] + kept[1][i] > 0 ? builder.child(above, tree.name[i]) : NOWHERE));
}

for (const [verb, [, , tip]] of Object.entries(SIDES))
  VERBS[verb] = { text: `only ${verb}`, tip: `only paths of which ${tip}`,
    make: (tree) => oneSided(tree, verb === 'new' ? 0 : 1) };

const isScatter = (weight) => weight.name.startsWith('scatter ');

class Difference {
  constructor(meta, norm) {
    this.meta = meta;
    this.norm = meta.scales[norm] ? norm : meta.by;
    this.scale = meta.scales[this.norm];
  }

  /* The change of item i of @columns. */
  of(columns, i) {
    const { scale, meta: { quantum } } = this;
    const [was, after] = [columns[0][i], columns[1][i]];
    const before = scale === 1 ? was : Math.round(was * scale);
    const size = after - before;
    const scatter = (side) => (columns[side + 2] || columns[side])[i] * quantum[side];
    const noise = 3 * Math.sqrt(scale * scale * scatter(0) + scatter(1));
    const sure = Math.abs(size) > noise;
    const kind = !was && after ? 'new' : was && !after ? 'vanished' : size > 0 ? 'grew'
      : size < 0 ? 'shrank' : 'same';
    return { before, after, size, noise, sure, text: sure || !size ? kind : 'within noise' };
  }

  /* -1 (vanished) to 1 (new), 0 where it may be chance. */
  part({ before, after, size, sure }) {
    return sure ? size / Math.max(before, after) : 0;
  }

  columnsOf(tree, self) {
    return tree.weights.map((_, w) => (self ? tree.own(w) : tree.total(w)));
  }

  tint(tree, palette, by) {
    if (by === 'off') return null;
    const columns = this.columnsOf(tree, by === 'self');
    return (i) => palette.difference(this.part(this.of(columns, i)));
  }

  signed({ size }, unit, format = formatWeight) {
    return `${size > 0 ? '+' : size < 0 ? '−' : '±'}${format(Math.abs(size), unit)}`;
  }

  line(tree, node) {
    const { unit } = tree.weights[1];
    const [all, own] = [false, true].map((self) => this.of(this.columnsOf(tree, self), node));
    const text = (c) => `${this.signed(c, unit)}${c.before && c.after && c.size
      ? ` (${formatPercent(Math.abs(c.size), c.before)})` : ''} ${c.text}`;
    return h('div', { class: 'tooltip-delta' }, `${text(all)} · own ${text(own)}`);
  }

  /* For the table of functions. */
  columns({ self, total }, tree, palette) {
    const { unit } = tree.weights[1];
    const column = (title, of) => ({ title, unit, value: (id) => this.of(of, id).size,
      text: (id) => this.signed(this.of(of, id), unit, formatWeightShort),
      fill: (id) => palette.difference(this.part(this.of(of, id))) });
    const own = (id) => (this.of(self, id).size ? self : total);
    return [column('Self change', self), column('Total change', total),
      { title: 'Change', words: true, value: (id) => Math.abs(this.part(this.of(own(id), id))),
        text: (id) => this.of(own(id), id).text }];
  }

  /* What changed most by itself, for the panel. */
  hottest({ ids, self }) {
    const grew = (sign) => (id) => {
      const change = this.of(self, id);
      return change.sure ? sign * change.size : 0;
    };
    return [{ title: 'Grew most by themselves', rows: largest(ids, grew(1), 8) },
      { title: 'Shrank most by themselves', rows: largest(ids, grew(-1), 8) }];
  }
}

/* What is chosen of a difference: the controls, none on other pages. */
class DifferenceBar {
  constructor(app, differences) {
    this.el = h('span', { class: 'tools' });
    this.by = segmented('Difference', [
      { value: 'inclusive', text: 'Inclusive', title: 'Red grew, blue shrank, with all it called' },
      { value: 'self', text: 'Self', title: 'Red grew, blue shrank, by itself' },
      { value: 'off', text: 'Off', title: 'Colours by kind' },
    ], (delta) => app.update({ delta }));
    const norms = Object.keys(NORMS).filter((norm) => (
      differences.some(({ scales }) => scales[norm])));
    this.norms = segmented('Normalise', norms.map((norm) => (
      { value: norm, text: NORMS[norm][0], title: NORMS[norm][1] })),
    (norm) => app.update({ norm }));
    this.norms.hidden = norms.length < 2;
    this.sides = Object.keys(SIDES).map((verb) => h('button', { class: 'small',
      title: VERBS[verb].tip, onclick: () => this.toggle(app, verb) }, SIDES[verb][0]));
    this.el.append(this.by, this.norms, ...this.sides);
  }

  toggle(app, verb) {
    const { ops } = app.state;
    const rest = ops.filter((op) => !SIDES[op]);
    const on = !ops.includes(verb);
    app.update({ ops: on ? [...rest, verb] : rest, w: on ? SIDES[verb][1] : '', z: [], x: [] });
  }

  show({ delta, ops }, difference) {
    this.by.show(delta);
    this.norms.show(difference.norm);
    Object.keys(SIDES).forEach((verb, k) => {
      this.sides[k].classList.toggle('on', ops.includes(verb));
      this.sides[k].setAttribute('aria-pressed', ops.includes(verb));
    });
  }
}
