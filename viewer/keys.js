/* The keyboard: one table for what a key does and for the help that `?` shows. */

const KEYS = [
  ['Move', [
    ['↑ ↓', 'row up, row down', null],
    ['← →', 'previous, next frame in the row', null],
    ['Enter', 'zoom into the selected frame', (app) => app.zoom(app.selected())],
    ['Backspace', 'zoom out one frame', (app) => app.zoomOut()],
    ['Esc', 'close what is on top: menu, help, then search, zoom, selection, range',
      (app) => app.escape()],
    ['0', 'all as the page opened', (app) => app.reset()],
  ]],
  ['Find', [
    ['/', 'search (a regular expression)', (app) => app.search.focus()],
    ['n', 'next match', (app) => app.step(1)],
    ['N', 'previous match', (app) => app.step(-1)],
    ['*', 'search for the selected function', (app) => app.act('*')],
  ]],
  ['Selected function', [
    ['f', 'focus: only what is below it', (app) => app.act('f')],
    ['h', 'hide: merge into its callers', (app) => app.act('h')],
    ['x', 'remove the stacks through it', (app) => app.act('x')],
    ['l', 'collapse its library: only what was called of it', (app) => app.act('l')],
    ['s', 'sandwich: callers and callees', (app) => app.act('s')],
    ['a', 'lines and instructions of a sampled kernel', (app) => app.act('a')],
    ['y', 'copy its stack', (app) => app.copyStack()],
  ]],
  ['Timeline', [
    ['a d', 'earlier, later', null],
    ['w s', 'zoom in, out, around the pointer', null],
    ['Ctrl+wheel', 'the same; the wheel alone scrolls', null],
    ['Shift+wheel', 'earlier, later', null],
    ['[ ]', 'previous, next step (← → if no slice is chosen)', null],
    ['m', 'the chosen slice is the range', null],
    ['Alt', 'in a drag: do not stick to the ends of slices', null],
    ['-', 'close, open what the chosen slice is a part of', null],
    ['+', 'open, close the rows of what did little', null],
  ]],
  ['Whole graph', [
    ['g', 'hide interpreter and call glue', (app) => app.toggleOp('glue')],
    ['c', 'fold recursion', (app) => app.toggleOp('fold')],
    ['k', 'keep only stacks that match the search', (app) => app.keepMatches()],
    ['u', 'undo the last transform', (app) => app.undo()],
  ]],
  ['View', [
    ['1 2 … 9', 'the tabs, from left to right', null],
    ['v', 'next view (CPU, GPU, all)', (app) => app.cycle('view')],
    ['w', 'next weight', (app) => app.cycle('w')],
    ['i', 'flame or icicle', (app) => app.cycle('shape')],
    ['r', 'callees or callers upwards', (app) => app.cycle('dir')],
    ['o', 'order by name, weight or time', (app) => app.cycle('order')],
    ['t', 'light, dark, as the system', (app) => app.cycle('theme')],
    ['d', 'details panel', (app) => app.update({ panel: !app.state.panel })],
    ['?', 'this help', (app) => app.help()],
  ]],
];

const KEY_ACTIONS = new Map(KEYS.flatMap(([, list]) => list)
  .filter(([, , run]) => run).map(([key, , run]) => [key === 'Esc' ? 'Escape' : key, run]));

function onKey(app, event) {
  if (app.dialog.open) return; /* the browser closes it */
  const typing = event.target.matches('input, select');
  if ((event.ctrlKey || event.metaKey) && event.key === 'f') {
    event.preventDefault();
    app.search.focus();
    app.search.select();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (typing && event.key !== 'Escape') return;
  const onButton = event.target.matches('a, button');
  if (onButton && (event.key === 'Enter' || event.key === ' ')) return;
  if (app.timePages?.key(event.key)) {
    event.preventDefault();
    return;
  }
  if (!app.tree && !['t', '?', 'Escape'].includes(event.key)) return;
  const tab = app.tabList[Number(event.key) - 1];
  const run = tab ? () => app.update({ tab: tab.value }) : KEY_ACTIONS.get(event.key);
  if (run) run(app);
  else if (event.key.startsWith('Arrow') && app.state.tab === 'flame') app.arrow(event.key);
  else return;
  event.preventDefault();
}

function helpDialog() {
  const dialog = h('dialog', { class: 'help', 'aria-label': 'Keyboard' },
    h('div', { class: 'help-head' }, h('h2', {}, 'Keyboard'),
      h('button', { class: 'plain', 'aria-label': 'Close',
        onclick: () => dialog.close() }, icon('close'))),
    h('div', { class: 'help-body' }, KEYS.map(([title, list]) => h('section', {},
      h('h3', {}, title), h('dl', {}, list.map(([key, text]) => [
        h('dt', {}, key.split(' ').map((k) => h('kbd', {}, k))), h('dd', {}, text)]).flat())))),
    h('p', { class: 'note' }, 'A right click on a frame offers the same. The address of the page ' +
      'holds all that you chose: copy it to share the view.'));
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close();
  });
  return dialog;
}
