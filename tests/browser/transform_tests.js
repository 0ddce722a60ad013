/* What is made of the tree: callers, hidden frames, views; and the address that says so. */
'use strict';

const assert = require('node:assert/strict');
const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { openReport } = require('./browser.js');
const { test, drawnLabels, app, settle, press, tab, search, nodeOf, clickFrame } = require('./tools.js');

test('bottom-up keeps all weight and every weight column', 'known', {}, async (page) => {
  await press(page, 'r');
  assert.deepEqual(await app(page, '[app.tree.total(0)[0], app.tree.total(1)[0]]'), [10000, 20]);
  assert.deepEqual(await app(page, `[...Array(app.tree.n).keys()].filter((i) =>
    app.tree.depth[i] === 1).map((i) => [app.tree.text(i), app.tree.total(0)[i]])`),
  [['glued', 0], ['idle', 1000], ['leaf', 7000], ['sys_read', 2000]]);
  assert.deepEqual(await app(page, `app.tree.path(app.tree.follow(['leaf', 'work', 'main (a.py:1)',
    'app'].map((name) => app.names.find(name)[0]))).map((i) => app.tree.total(0)[i])`),
  [7000, 6000, 6000, 6000]);
});

test('bottom-up of many stacks agrees with the functions table', 'cpu', {}, async (page) => {
  await press(page, 'r');
  const wrong = await app(page, `(() => {
    const f = app.forward.functions(0);
    let wrong = 0, sum = 0;
    for (let i = 1; i < app.tree.n; i++) if (app.tree.depth[i] === 1) {
      sum += app.tree.total(0)[i];
      if (app.tree.total(0)[i] !== f.self[0][app.tree.name[i]]) wrong++;
    }
    return [wrong, sum - app.forward.total(0)[0]]; })()`);
  assert.deepEqual(wrong, [0, 0]);
});

test('a bottom-up tree opened piece by piece loses no weight', 'cpu', {}, async (page) => {
  const result = await page.evaluate(() => {
    const { app } = window.aflame;
    const { callersTree, stackPointers } = window.aflame.parts;
    const tree = app.forward;
    const whole = callersTree(tree, stackPointers(tree), 0, [], 0);
    const closed = callersTree(tree, stackPointers(tree), 0, [], 0.002);
    const size = (t, ids) => t.end[t.follow(ids)] - t.follow(ids);
    let shut = 1;
    while (size(closed, closed.ids(shut)) > 1 || size(whole, closed.ids(shut)) === 1) shut++;
    const path = closed.ids(shut);
    const open = callersTree(tree, stackPointers(tree), 0, path, 0.002);
    const node = open.follow(path);
    return { full: whole.pruned, closed: closed.pruned, fewer: closed.n < whole.n,
      totals: [whole, closed, open].map((t) => t.total(0)[0] - tree.total(0)[0]),
      same: open.total(0)[node] - whole.total(0)[whole.follow(path)],
      grew: size(open, path) > 1 };
  });
  assert.deepEqual(result, { full: false, closed: true, fewer: true, totals: [0, 0, 0], same: 0,
    grew: true });
});

test('hide, remove, focus and undo', 'known', {}, async (page) => {
  await clickFrame(page, 'work');
  await press(page, 'h');
  assert.equal(await app(page, nodeOf('work')), undefined);
  assert.equal(await app(page, 'app.tree.total(0)[0]'), 10000);
  await press(page, 'u', '0');
  await clickFrame(page, 'work');
  await press(page, 'x');
  assert.equal(await app(page, 'app.tree.total(0)[0]'), 2000);
  await press(page, 'u', '0');
  await clickFrame(page, 'work');
  await press(page, 'f');
  assert.deepEqual(await app(page, '[app.tree.text(1), app.tree.total(0)[0], app.tree.n]'),
    ['work', 8000, 4]);
  await press(page, 'u');
  assert.equal(await app(page, 'app.tree.n'), 12, 'as the page opens, without the interpreter');
  await press(page, 'u');
  assert.equal(await app(page, 'app.tree.n'), 13);
});

test('glue is what C takes for glue', 'known', {}, async (page) => {
  const root = join(__dirname, '../..');
  const script = ['palette', 'transforms'].map((name) => (
    readFileSync(join(root, `viewer/${name}.js`), 'utf8'))).join('\n');
  const cases = readFileSync(join(root, 'tests/unit/glue.txt'), 'utf8').split('\n')
    .filter((line) => line && line[0] !== '#').map((line) => {
      const [, kind, verdict, text, file] = /^(\S+) (\S+) ([^\t]*)\t?(.*)$/.exec(line);
      return { kind, verdict, text, module: file.replace(/^.*\//, '') };
    });
  assert.ok(cases.length > 40);
  const verdicts = await page.evaluate(([code, list]) => (new Function(`${code};
    return (list) => list.map(({ kind, text, module }) => {
      KINDS = [kind];
      return isGlue({ kind: [0], moduleOf: () => module }, 0, text) ? 'glue' : 'kept';
    });`)()(list)), [script, cases]);
  cases.forEach((one, i) => assert.equal(verdicts[i], one.verdict, one.text));
});

test('glue hides, recursion folds, kinds hide, and no weight is lost', 'known', {},
  async (page) => {
    await press(page, 'g');
    assert.equal(await app(page, nodeOf('_PyEval_EvalFrameDefault')), undefined);
    assert.equal(await app(page, 'app.tree.total(1)[0]'), 20);
    await press(page, 'c');
    assert.equal(await app(page, `[...Array(app.tree.n).keys()].filter((i) =>
      app.tree.text(i) === 'rec').length`), 1);
    await page.locator('.legend-item', { hasText: 'kernel' }).click();
    await settle(page);
    assert.equal(await app(page, nodeOf('sys_read')), undefined);
    assert.equal(await app(page, `app.tree.self[0][${nodeOf('work')}]`), 2000);
    assert.equal(await page.locator('.chip').count(), 3);
  });

test('what a library calls of itself collapses', 'known', {}, async (page) => {
  await app(page, `app.update({ x: app.tree.ids(${nodeOf('work')}) })`);
  await press(page, 'l');
  assert.equal(await app(page, 'app.tree.n'), 8);
  assert.equal(await app(page, `app.tree.self[0][${nodeOf('work')}]`), 6000);
  assert.equal(await app(page, `app.tree.self[0][${nodeOf('rec')}]`), 1000);
  assert.equal(await app(page, 'app.tree.total(0)[0]'), 10000);
  assert.match(await page.locator('.chip').innerText(), /libwork\.so/);
  await press(page, 'u');
  assert.equal(await app(page, 'app.tree.n'), 13);
});

test('k keeps the stacks that match', 'known', {}, async (page) => {
  await search(page, 'sys_');
  await page.locator('.search input').blur();
  await press(page, 'k');
  assert.equal(await app(page, 'app.tree.total(0)[0]'), 2000);
  assert.deepEqual(await app(page, 'app.tree.stackText(app.tree.n - 1).split("\\n")'),
    ['app', 'main (a.py:1)', 'work', 'sys_read']);
});

test('views and weights switch, and empty weights are not offered', 'known', {}, async (page) => {
  await press(page, 'w');
  assert.equal(await app(page, 'app.tree.weights[app.w].name'), 'samples');
  await press(page, 'v');
  assert.equal(await app(page, 'app.state.view'), 'gpu');
  assert.match(await page.locator('.details, .flame-frame').first().evaluate(() => (
    document.querySelector('.bar .segmented[aria-label=Weight]').innerText)), /device time\s+count/);
  await page.locator('[data-value=count]').click();
  await settle(page);
  assert.equal(await app(page, 'app.tree.total(app.w)[0]'), 3);
});

test('off-CPU time is a weight, and the own of the function that waited', 'waits', {},
  async (page) => {
    const weights = async () => (await page.locator('[aria-label="Weight"] button')
      .allTextContents());
    const self = () => app(page, `(() => { const f = app.forward.functions(0);
      const w = app.w;
      return f.ids.filter((id) => f.self[w][id] > 0)
        .map((id) => [app.names.text[id], f.self[w][id], f.total[w][id]]); })()`);
    assert.deepEqual(await weights(), ['CPU time', 'samples', 'off-CPU time']);
    assert.deepEqual(await self(), [['work', 6000, 6000]]);
    await page.locator('[aria-label="Weight"] button', { hasText: 'off-CPU time' }).click();
    await settle(page);
    assert.match(await page.evaluate('location.hash'), /w=off-cpu/);
    assert.ok((await drawnLabels(page)).includes('[sleeping]'));
    assert.deepEqual(await self(), [['kswapd', 500, 500], ['take', 4500, 4500]]);
    const kinds = await page.locator('.legend-item').allTextContents();
    assert.ok(kinds.includes('native90.0%') && kinds.includes('kernel10.0%'), `${kinds}`);

    /* The view of wakers has weights of its own; where time went on CPUs is not among them. */
    await press(page, 'v');
    assert.deepEqual(await weights(), ['off-cpu', 'count']);
    assert.equal(await app(page, 'app.tree.total(app.w)[0]'), 5000);
    assert.deepEqual(await self(), [['[waker not recorded]', 1000, 1000], ['feeder', 4000, 4000]]);
    assert.equal(await app(page, `app.tree.stackText(${nodeOf('feeder')}).replaceAll('\\n', ';')`),
      'app;main;take;[sleeping];--;wake_up;put;feeder');
  });

test('the address alone brings the same view back', 'known', {}, async (page, context, file) => {
  await press(page, 'i', 'o', 'g', 'w');
  await clickFrame(page, 'glued');
  await search(page, 'leaf');
  const hash = await page.evaluate('location.hash');
  const shown = 'JSON.stringify([app.state, app.tree.n, app.tree.text(app.root)])';
  const before = await app(page, shown);
  const again = await openReport(context, file, hash);
  assert.equal(await app(again, shown), before);
  assert.equal(await again.locator('.search input').inputValue(), 'leaf');
  assert.deepEqual(again.problems, []);
});

test('nonsense in the address does no harm', 'known', { hash: '#tab=nope&view=nope&w=nope' +
  '&z=9.x.-1.99999&o=nope%3Ax&o=focus%3Anope&shape=nope&dir=nope&theme=%3Cb%3E&q=((' },
async (page) => {
  await press(page, '0');
  await tab(page, 'flame');
  assert.equal(await app(page, 'app.tree.n'), 12);
});

test('keys act on the function of the page in front', 'known', {}, async (page) => {
  await tab(page, 'top');
  await page.locator('.top-row', { hasText: 'idle' }).click();
  await press(page, 'x');
  assert.deepEqual(await app(page, 'app.state.ops'), ['drop:idle']);
  assert.equal(await app(page, 'app.tree.total(0)[0]'), 9000);
  await press(page, 's', 'f');
  assert.deepEqual(await app(page, 'app.state.ops'), ['drop:idle', 'focus:idle']);
});
