/*
 * What the user chose, all of it in the page's address, so that a link shows the same picture:
 *
 *	tab, view (tree's label), w (weight's name), shape (flame|icicle), dir (callees|callers),
 *	order (name|heavy|time), z (zoom, name ids joined by dots), x (selection, the same), q (search),
 *	case, o (one a transform), fn (the sandwich's function), theme, panel,
 *	kernel and nth (its name and place in the list of the tab of sources),
 *	delta and norm (of a difference: what colours go by, what is made the same),
 *	from and to (the range of time, ns since the start), tv (what the timeline looks at),
 *	sl (its slice: track, lane, index), shut (its closed tracks), heat (what the heat map is of),
 *	period (ns in a column of it), group (what rows of the table are)
 */

/* Where no two things fit beside each other, as report.css has it. */
const narrow = () => window.matchMedia('(max-width: 900px)').matches;

const DEFAULTS = {
  tab: 'flame', kernel: '', nth: -1, view: '', w: '', shape: 'flame', dir: 'callees',
  order: 'name', z: [], x: [], q: '',
  exact: false, ops: [], fn: '', theme: 'auto', panel: !narrow(), delta: 'inclusive',
  norm: '', from: '', to: '', tv: [], sl: [], shut: [], heat: '', period: '', group: 'function',
};

function stateToHash(state, defaults) {
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(state)) {
    if (key === 'ops') for (const op of value) params.append('o', op);
    else if (Array.isArray(value)) value.length && params.set(key, value.join('.'));
    else if (typeof value === 'boolean') value !== defaults[key] && params.set(key, value ? 1 : 0);
    else if (value !== defaults[key]) params.set(key, value);
  }
  return params.toString();
}

function stateFromHash(hash, defaults) {
  const params = new URLSearchParams(hash.replace(/^#/, ''));
  const state = { ...defaults };
  for (const [key, standard] of Object.entries(defaults)) {
    if (key === 'ops') state.ops = params.getAll('o').filter((op) => VERBS[parseOp(op).verb]);
    else if (!params.has(key)) continue;
    else if (Array.isArray(standard))
      state[key] = params.get(key).split('.').map(Number).filter(Number.isInteger);
    else if (typeof standard === 'boolean') state[key] = params.get(key) === '1';
    else state[key] = params.get(key);
  }
  return state;
}
