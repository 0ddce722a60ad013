/*
 * The report in a real browser. Arguments: the folder with known.html, annotated.html, timed.html,
 * sample.html, hostile.html, difference.html, compared.html, chart.html, empty.html and cpu.html
 * (20,000 frames).
 * Prints TAP. Numbers come from report_maker.c. SCREENSHOTS names a folder for a picture of each
 * test's end.
 */
'use strict';

const assert = require('node:assert/strict');
const path = require('node:path');
const { withChromium, withWindow, openReport } = require('./browser.js');

const folder = process.argv[2];
const tests = [];
const test = (name, file, options, body) => tests.push({ name, file, options, body });

/* Text of all labels drawn on the canvas of the flame graph in one painting. */
const drawnLabels = (page) => page.evaluate(() => {
  const { flame } = window.aflame.app;
  const labels = [];
  flame.paint({ width: flame.width, height: flame.height, pixel: 1, y: (d) => flame.y(d),
    rect() {}, frame() {}, text: (x, y, text) => labels.push(text) });
  return labels;
});
const app = (page, expression) => page.evaluate(`(() => { const app = window.aflame.app;
  return ${expression}; })()`);
const settle = (page) => page.evaluate(() => new Promise((done) => {
  setTimeout(() => window.aflame.app.working.then(() => requestAnimationFrame(done)), 90);
}));
const press = async (page, ...keys) => {
  for (const key of keys) await page.keyboard.press(key);
  await settle(page);
};
const search = async (page, text) => {
  await press(page, '/');
  await page.keyboard.type(text);
  await settle(page);
};
const matched = (page) => page.locator('.matched').textContent();
const nodeOf = (name) => '[...Array(app.tree.n).keys()]' +
  `.find((i) => app.tree.text(i) === '${name}')`;
/* Click the middle of a frame, as drawn. */
const clickFrame = async (page, name, options) => {
  const place = await app(page, `(() => { const box = app.flame.canvas.getBoundingClientRect();
    const p = app.flame.placeOf(${nodeOf(name)});
    return { x: box.left + p.x + p.width / 2, y: box.top + p.y + 10 }; })()`);
  await page.mouse.click(place.x, place.y, options);
  await settle(page);
};

test('a report draws all its frames with their exact weights', 'known', {}, async (page) => {
  assert.equal(await app(page, 'app.tree.n'), 13);
  assert.equal(await app(page, 'app.tree.total(0)[0]'), 10000);
  assert.equal(await app(page, 'app.tree.total(1)[0]'), 20);
  assert.deepEqual(await app(page, `app.tree.path(${nodeOf('sys_read')}).map((i) =>
    [app.tree.text(i), app.tree.total(0)[i], app.tree.self[0][i]])`),
  [['app', 10000, 0], ['main (a.py:1)', 10000, 0], ['work', 8000, 0], ['sys_read', 2000, 2000]]);
  const labels = await drawnLabels(page);
  for (const label of ['all · 10.0 µs', 'app', 'main (a.py:1)', 'work', 'leaf', 'sys_read'])
    assert.ok(labels.includes(label), `${label} in ${labels}`);
});

test('a flame chart has gaps where a function runs itself', 'chart', {}, async (page) => {
  const labels = await drawnLabels(page);
  assert.deepEqual(labels.sort(), ['a', 'all · 5 samples', 'b', 'c']);
  assert.deepEqual(await app(page, '[0.1, 0.4, 0.6].map((x) => app.tree.text(app.flame.nodeIn(2, x)))'),
    ['b', undefined, 'c']);
  assert.deepEqual(await app(page, `(() => { const f = app.tree.functions(0);
    return f.ids.map((id) => [app.tree.names.text[id], f.self[0][id], f.total[0][id]]); })()`),
  [['a', 1, 5], ['b', 1.5, 1.5], ['c', 2.5, 2.5]]);
});

test('gaps of a flame chart are no frames', 'chart', {}, async (page) => {
  const kinds = async () => (await page.locator('.legend-item').allTextContents()).sort();
  const boxes = () => app(page, `[...Array(app.tree.n).keys()].slice(1).map((i) =>
    [app.tree.stackText(i).replaceAll('\\n', ';'), app.tree.total(0)[i]])`);
  assert.deepEqual(await kinds(), ['native80.0%', 'python20.0%']);
  assert.match(await page.locator('.strip').innerText(), /frames\s*3/i);

  /* b and c have nothing between them; up from a, the heavier child is a frame. */
  await press(page, 'ArrowUp', 'ArrowUp', 'ArrowLeft');
  assert.equal(await app(page, 'app.tree.text(app.node)'), 'b');
  assert.equal(await app(page, `app.details.el.querySelector('.details-facts').innerText
    .includes('1.5')`), true);
  await press(page, 'ArrowDown');
  assert.deepEqual(await app(page, 'app.tree.own(0)[app.node]'), 1);
  await press(page, 'Escape');
  await search(page, '^');
  await page.keyboard.press('Enter');
  await settle(page);
  assert.equal(await matched(page), '100%');
  await page.locator('.search input').fill('^$');
  await settle(page);
  assert.equal(await matched(page), '0%');
  await page.locator('.search input').fill('');
  await page.locator('.search input').blur();
  await settle(page);

  await press(page, 'r');
  assert.deepEqual(await boxes(), [['a', 1], ['b', 1.5], ['b;a', 1.5], ['c', 2.5], ['c;a', 2.5]]);
  await press(page, 'r', 'o');
  assert.deepEqual(await boxes(), [['a', 5], ['a;c', 2.5], ['a;b', 1.5]]);
  assert.deepEqual(await app(page, '[app.tree.own(0)[1], app.tree.total(0)[0]]'), [1, 5]);
  await page.evaluate(() => window.aflame.app.toggleOp('kind:native'));
  await settle(page);
  assert.deepEqual(await boxes(), [['a', 5]]);
});

test('the canvas is as wide as a frame is heavy', 'known', {}, async (page) => {
  const widths = await app(page, `[${nodeOf('work')}, ${nodeOf('idle')}].map((i) =>
    app.flame.placeOf(i).width / app.flame.width)`);
  assert.ok(Math.abs(widths[0] - 0.8) < 1e-9 && Math.abs(widths[1] - 0.1) < 1e-9, `${widths}`);
  const inside = await app(page, `(() => { const p = app.flame.placeOf(${nodeOf('work')});
    const row = app.flame.context.getImageData(0, p.y + 3, app.flame.width, 1).data;
    const at = (x) => [...row.slice(4 * Math.round(x), 4 * Math.round(x) + 4)].join();
    return [at(p.x + 2), at(p.x + p.width - 4), at(p.x + p.width + 4)]; })()`);
  assert.equal(inside[0], inside[1]);
  assert.notEqual(inside[1], inside[2]);
});

test('a click zooms, Escape and Back return', 'known', {}, async (page) => {
  await clickFrame(page, 'work');
  assert.equal(await app(page, 'app.tree.text(app.root)'), 'work');
  assert.match(await page.evaluate('location.hash'), /z=[\d.]+/);
  assert.match(await page.locator('.crumbs').innerText(), /work/);
  assert.match(await page.locator('.details').innerText(), /8.00 µs/);
  await page.goBack();
  await settle(page);
  assert.equal(await app(page, 'app.root'), 0);
  await page.goForward();
  await settle(page);
  assert.equal(await app(page, 'app.tree.text(app.root)'), 'work');
  await press(page, 'Escape');
  assert.equal(await app(page, 'app.root'), 0);
});

test('hovering tells self, total and share', 'known', {}, async (page) => {
  await clickFrame(page, 'work');
  const box = await app(page, `(() => { const b = app.flame.canvas.getBoundingClientRect();
    const p = app.flame.placeOf(${nodeOf('sys_read')});
    return { x: b.left + p.x + 9, y: b.top + p.y + 9 }; })()`);
  await page.mouse.move(box.x, box.y);
  const text = await page.locator('.tooltip').innerText();
  for (const part of ['sys_read', 'kernel', '2.00 µs', '20.0%', '25.0%'])
    assert.ok(text.includes(part), `${part} in ${text}`);
});

test('nested matches count once', 'known', {}, async (page) => {
  await search(page, 'work|leaf');
  assert.equal(await matched(page), '90.0%');
  await page.locator('.search input').fill('^rec$');
  await settle(page);
  assert.equal(await matched(page), '10.0%');
});

test('search minds case only when told, and takes bad patterns as text', 'known', {},
  async (page) => {
    await search(page, 'WORK');
    assert.equal(await matched(page), '80.0%');
    await page.locator('button[aria-label="Match case"]').click();
    await settle(page);
    assert.equal(await matched(page), '0%');
    await page.locator('.search input').fill('(a.py:1');
    await settle(page);
    assert.equal(await matched(page), 'as text: 100%');
  });

test('next and previous match walk the frames that match', 'known', {}, async (page) => {
  await search(page, 'leaf');
  await page.keyboard.press('Enter');
  await settle(page);
  const first = await app(page, 'app.tree.stackText(app.node)');
  await page.locator('.search input').blur();
  await press(page, 'n');
  const second = await app(page, 'app.tree.stackText(app.node)');
  assert.notEqual(first, second);
  assert.ok(first.endsWith('leaf') && second.endsWith('leaf'));
  await press(page, 'N');
  assert.equal(await app(page, 'app.tree.stackText(app.node)'), first);
});

test('the keyboard moves through the frames', 'known', {}, async (page) => {
  await press(page, 'ArrowUp', 'ArrowUp', 'ArrowUp');
  assert.equal(await app(page, 'app.tree.text(app.node)'), 'work');
  await press(page, 'ArrowLeft');
  assert.equal(await app(page, 'app.tree.text(app.node)'), 'rec');
  await press(page, 'Enter');
  assert.equal(await app(page, 'app.tree.text(app.root)'), 'rec');
  await press(page, 'Backspace');
  assert.equal(await app(page, 'app.tree.text(app.root)'), 'main (a.py:1)');
  await press(page, '0');
  assert.equal(await app(page, 'app.root'), 0);
  await press(page, '?');
  assert.ok(await page.locator('dialog.help').isVisible());
});

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

test('heavy first puts the heaviest child at the left', 'sample', {}, async (page) => {
  const before = await app(page, '[app.tree.n, app.tree.total(0)[0]]');
  await press(page, 'o');
  assert.deepEqual(await app(page, '[app.tree.n, app.tree.total(0)[0]]'), before);
  assert.equal(await app(page, `(() => { let bad = 0; const t = app.tree.total(0);
    for (let i = 0; i < app.tree.n; i++)
      for (let c = i + 1, before = Infinity; c < app.tree.end[i]; c = app.tree.end[c]) {
        if (t[c] > before) bad++;
        before = t[c];
      }
    return bad; })()`), 0);
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
  assert.equal(await app(page, 'app.tree.n'), 13);
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
    document.querySelector('.bar .segmented[aria-label=Weight]').innerText)), /time\s+count/);
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
    assert.deepEqual(await weights(), ['time', 'samples', 'off-cpu']);
    assert.deepEqual(await self(), [['work', 6000, 6000]]);
    await page.locator('[aria-label="Weight"] button', { hasText: 'off-cpu' }).click();
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

test('columns for programs, and those without anything, are not shown', 'waits',
  { hash: '#tab=facts' }, async (page) => {
    const table = page.locator('[data-table="processes"]');
    assert.deepEqual(await table.locator('th').allTextContents(), ['Process', 'Blocked']);
    assert.deepEqual(await table.locator('td').allTextContents(), ['  app [7]', '4.00 µs']);
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
  await press(page, '0', '1');
  assert.equal(await app(page, 'app.tree.n'), 13);
});

test('functions: recursion counts once, sorting, search filters, row leads to the graph', 'known',
  {}, async (page) => {
    await press(page, '2');
    const cells = (name) => page.locator('.top-row', { hasText: name }).first()
      .locator('[role=cell]').allInnerTexts();
    const rec = (await cells('rec')).map((text) => text.replace(/\s+/g, ' '));
    assert.deepEqual(rec.slice(0, 3), ['rec', '0 ns 0%', '1.00 µs 10.0%']);
    assert.equal(rec[rec.length - 1], '3');
    const first = () => page.locator('.top-row [role=cell]').first().innerText();
    assert.equal(await first(), 'leaf');
    await page.locator('.top-head button', { hasText: 'Function' }).click();
    assert.equal(await first(), '_PyEval_EvalFrameDefault');
    await search(page, 'sys_');
    assert.equal(await page.locator('.top-row').count(), 1);
    await page.locator('.top-row').click();
    await settle(page);
    assert.equal(await app(page, 'app.state.q'), '^sys_read$');
    assert.equal(await matched(page), '20.0%');
  });

test('a table of many functions holds only the rows in sight', 'cpu', {}, async (page) => {
  await press(page, '2');
  const rows = await page.locator('.top-row').count();
  assert.ok(rows > 10 && rows < 80, `${rows} rows`);
  await page.locator('.top-scroll').evaluate((el) => { el.scrollTop = el.scrollHeight; });
  await settle(page);
  const last = await page.locator('.top-row').last().getAttribute('aria-rowindex');
  assert.equal(await page.locator('.top').getAttribute('aria-rowcount'), last);
});

test('sandwich shows the callers above and the callees below', 'known', {}, async (page) => {
  await clickFrame(page, 'work');
  await press(page, 's');
  const names = (view) => app(page, `[...Array(app.${view}.tree.n).keys()].slice(1).map((i) =>
    app.${view}.tree.text(i) + ' ' + app.${view}.tree.total(0)[i])`);
  assert.deepEqual(await names('callers'), ['work 8000', 'main (a.py:1) 8000', 'app 8000']);
  assert.deepEqual(await names('callees'), ['work 8000', 'leaf 6000', 'sys_read 2000']);
});

test('run facts and losses are shown, names in them lead to the graph', 'known', {},
  async (page) => {
    const strip = await page.locator('.strip').innerText();
    for (const part of ['GPU (81.4 % busy)', 'python train.py --steps 40', 'samples lost', '12'])
      assert.ok(strip.includes(part), `${part} in ${strip}`);
    await press(page, '4');
    const text = await page.locator('#page-facts').innerText();
    for (const part of ['Where GPU time went', '9.12 s', '45.18%', '3,840', '48.0 GiB',
      'its ring buffer was full'])
      assert.ok(text.includes(part), `${part} in ${text}`);
  });

test('hostile names are text', 'hostile', {}, async (page) => {
  assert.equal(await app(page, 'app.tree.n'), 11);
  assert.equal(await app(page, 'app.tree.total(0)[0]'), 1045);
  const names = await app(page, 'app.names.text.slice()');
  for (const name of ['</script><script>window.pwned=1</script>', '__proto__', 'constructor',
    'two␊lines␉and␛[31m red␡', 'bad utf-8 \ufffd\ufffd\ufffd(',
    'line\u2028separator \ufffdreversed'])
    assert.ok(names.includes(name), `${name} in ${JSON.stringify(names)}`);
  for (const key of ['2', '3', '4', '1']) await press(page, key);
  await clickFrame(page, '<!--<script>');
  await press(page, 's', '1', 'h', 'u');
  await page.locator('canvas').first().hover();
  assert.equal(await page.evaluate('window.pwned'), undefined);
  assert.equal(await page.locator('body b, body img, body h2 script').count(), 0);
  assert.equal(await page.title(), '</title><script>window.pwned=1</script>');
});

test('an injected script does not run', 'known', { expectProblems: /Content Security Policy/ },
  async (page) => {
    await page.evaluate(() => {
      const script = document.createElement('script');
      script.textContent = 'window.pwned = 1';
      document.body.append(script);
    });
    assert.equal(await page.evaluate('window.pwned'), undefined);
    assert.equal(await page.evaluate(() => fetch('data:,x').then(() => 'loaded', () => 'refused')),
      'refused');
  });

test('a difference is red where it grew, blue where it shrank, grey within noise', 'difference', {},
  async (page) => {
    const colors = await app(page, `(() => { const tint = app.tint(app.tree, app.palette());
      return Object.fromEntries([...Array(app.tree.n).keys()].slice(1).map((i) =>
        [app.tree.text(i), tint(i).match(/[0-9a-f]{2}/g).map((x) => parseInt(x, 16))])); })()`);
    const redder = ([r, , b]) => r - b;
    assert.ok(redder(colors.grew) > 60 && redder(colors.fresh) > 60, JSON.stringify(colors));
    assert.ok(redder(colors.shrank) < -60 && redder(colors.gone) < -60, JSON.stringify(colors));
    assert.equal(redder(colors.same), 0);
    assert.equal(redder(colors.noise), 0);
    assert.equal(await app(page, 'app.tree.weights[app.w].name'), 'after');
    assert.ok(!(await drawnLabels(page)).includes('gone'));
    await press(page, 'w');
    assert.ok((await drawnLabels(page)).includes('gone'));
  });

/* By a function's name its change, as the page has it: own and whole. */
const changes = (page) => app(page, `(() => { const { ids, self, total } =
  app.functionsOf(app.forward); const d = app.difference;
  return Object.fromEntries(ids.map((id) => [app.names.text[id],
    [d.of(self, id), d.of(total, id)]])); })()`);

test('a difference is that of aflame diff', 'compared', {}, async (page) => {
  const { columns, rows } = await app(page,
    "app.meta.facts.find((table) => table.name === 'functions')");
  const at = (title) => columns.findIndex((column) => column.title === title);
  const page1 = await changes(page);
  assert.deepEqual(Object.keys(page1).sort(), rows.map((row) => row[0]).sort());
  for (const row of rows)
    for (const [k, what] of ['Self', 'Total'].entries()) {
      const { before, after, size, noise, text } = page1[row[0]][k];
      assert.deepEqual([before, after, size, Math.round(noise), text],
        [row[at(`${what} before`)], row[at(`${what} after`)], row[at(`${what} change`)],
          row[at(`${what} noise`)], row[at(what)]], `${what} of ${row[0]}`);
    }
  assert.equal(page1.gemm[0].noise, 0);
  assert.equal(Math.round(page1.grew[1].noise), Math.round(3 * Math.sqrt(500 + 1605) * 1000));
});

test('a difference is normalised, by itself or with what was called', 'compared', {},
  async (page) => {
    const { grew, same, deep } = await changes(page);
    assert.deepEqual([grew[0].size, same[0].size, deep[0].size], [1100000, 395000, 200000]);
    await page.locator('button[data-value=step]').click();
    await settle(page);
    const steps = await changes(page);
    assert.deepEqual([steps.grew[0].size, steps.same[0].text], [600000, 'within noise']);
    assert.equal(steps.new[1].before, 2 * 1070000);
    assert.match(page.url(), /norm=step/);
    await page.locator('button[data-value=total]').click();
    await settle(page);
    assert.equal((await changes(page)).new[1].size, 0);
    const tints = () => app(page, `(() => { const tint = app.tint(app.tree, app.palette());
      const at = (name) => [...Array(app.tree.n).keys()].find((i) => app.tree.text(i) === name);
      return ['main', 'fresh', 'same'].map((name) => tint(at(name))); })()`);
    const whole = await tints();
    await page.locator('button[data-value=self]').click();
    await settle(page);
    const own = await tints();
    assert.equal(own[0], own[1]);
    assert.notEqual(whole[0], whole[1]);
    await page.locator('button[data-value=off]').click();
    await settle(page);
    assert.equal(await app(page, 'app.tint(app.tree, app.palette())'), null);
  });

test('what is new and what vanished is seen alone', 'compared', {}, async (page) => {
  const stacks = () => app(page, `[...Array(app.tree.n).keys()].slice(1)
    .filter((i) => app.tree.self.some((column) => column[i] > 0))
    .map((i) => [app.tree.stackText(i).replaceAll('\\n', ';'), app.tree.total(app.w)[i]])`);
  await page.locator('button', { hasText: 'Vanished' }).click();
  await settle(page);
  assert.deepEqual(await stacks(), [['new;main;gone;deep', 100000]]);
  assert.ok((await drawnLabels(page)).includes('gone'));
  await page.locator('button', { hasText: /^New$/ }).click();
  await settle(page);
  assert.deepEqual(await stacks(),
    [['new;main;fresh;deep', 300000], ['new;main;grew;same', 5000]]);
  assert.equal(await app(page, 'app.tree.weights[app.w].name'), 'after');
  await page.locator('button', { hasText: /^New$/ }).click();
  await settle(page);
  assert.equal((await stacks()).length, 7);
  await press(page, '2');
  assert.deepEqual(await page.locator('.top-head button').allTextContents(), ['Function',
    'Self after ↓', 'Total after', 'Total before', 'Self change', 'Total change', 'Change', 'Kind',
    'Frames']);
  await page.locator('.top-head button', { hasText: 'Self change' }).click();
  assert.match(await page.locator('.top-row').first().innerText(), /^grew/);
});

test('a report without stacks says so', 'empty', {}, async (page) => {
  assert.match(await page.locator('main').innerText(), /no stacks/);
});

test('dark follows the system and can be chosen', 'known', { dark: true }, async (page) => {
  const ground = () => page.evaluate(() => (
    getComputedStyle(document.documentElement).backgroundColor));
  const dark = await ground();
  assert.equal(await page.evaluate('document.documentElement.dataset.theme'), 'dark');
  await press(page, 't');
  assert.equal(await page.evaluate('document.documentElement.dataset.theme'), 'light');
  assert.notEqual(await ground(), dark);
  const pixel = await app(page, '[...app.flame.context.getImageData(5, 5, 1, 1).data].join()');
  assert.equal(pixel, '255,255,255,255');
});

test('saving gives an SVG with every frame in view', 'known', {}, async (page) => {
  const svg = await app(page, "app.flame.svg('a <b> & \"c\"')");
  const counted = await page.evaluate((text) => {
    const doc = new DOMParser().parseFromString(text, 'image/svg+xml');
    return [doc.querySelectorAll('parsererror').length, doc.querySelectorAll('rect').length,
      doc.querySelector('title').textContent];
  }, svg);
  assert.deepEqual(counted, [0, 12, 'a <b> & "c"']); /* paper, and 11 frames that have time */
});

test('saving gives a PNG in the colours of the page, at twice its size', 'known', {},
  async (page) => {
    const [wide, seen, wanted] = await page.evaluate(async () => {
      const { flame } = window.aflame.app;
      const picture = await createImageBitmap(await new Promise((done) => { flame.png(done); }));
      const colours = (canvas, x) => {
        const { data } = canvas.getContext('2d').getImageData(x, 0, 1, canvas.height);
        const found = new Set();
        for (let i = 0; i < data.length; i += 4) found.add([...data.slice(i, i + 3)].join());
        return found;
      };
      const copy = document.createElement('canvas');
      copy.width = picture.width;
      copy.height = picture.height;
      copy.getContext('2d').drawImage(picture, 0, 0);
      const saved = colours(copy, 2);
      return [picture.width / flame.width, saved.size,
        [...colours(flame.canvas, 2)].every((colour) => saved.has(colour))];
    });
    assert.equal(wide, 2);
    assert.ok(seen > 3, `${seen} colours`);
    assert.ok(wanted);
  });

test('copying gives the stack, outermost first', 'known', { permissions: true }, async (page) => {
  await clickFrame(page, 'sys_read');
  await press(page, 'y');
  assert.equal(await page.evaluate('navigator.clipboard.readText()'),
    'app\nmain (a.py:1)\nwork\nsys_read');
});

test('the table of functions is copied as numbers', 'known', { permissions: true },
  async (page) => {
    await press(page, '2');
    await page.locator('button', { hasText: 'Copy table' }).click();
    const lines = (await page.evaluate('navigator.clipboard.readText()')).split('\n');
    assert.equal(lines[0], 'Function\tSelf time (ns)\tTotal time (ns)\tTotal samples (samples)\t' +
      'Total on GPU (ns)\tKind\tFrames');
    assert.equal(lines[1], 'leaf\t7000\t7000\t7\t0\tnative\t2');
  });

test('keys act on the function of the page in front', 'known', {}, async (page) => {
  await press(page, '2');
  await page.locator('.top-row', { hasText: 'idle' }).click();
  await press(page, 'x');
  assert.deepEqual(await app(page, 'app.state.ops'), ['drop:idle']);
  assert.equal(await app(page, 'app.tree.total(0)[0]'), 9000);
  await press(page, 's', 'f');
  assert.deepEqual(await app(page, 'app.state.ops'), ['drop:idle', 'focus:idle']);
});

test('a narrow window and a resize keep the graph', 'sample', {}, async (page) => {
  await page.setViewportSize({ width: 600, height: 500 });
  await settle(page);
  assert.equal(await app(page, 'app.flame.width'),
    await page.locator('.flame-host').first().evaluate((el) => el.clientWidth));
  assert.ok((await drawnLabels(page)).length > 5);
});

require('./annotate_tests.js')({ test, app, settle, press, clickFrame });
require('./time_tests.js')({ test, app, settle, press, openReport });
require('./chart_tests.js')({ test, app, settle, press });
require('./job_tests.js')({ test, app, settle });

/* The page as a test leaves it, for people to look at. */
const shotOf = (name) => path.join(process.env.SCREENSHOTS,
  `${name.replace(/\W+/g, '-').slice(0, 80)}.png`);

async function run(browser, { name, file, options, body }) {
  const path_ = path.join(folder, `${file}.html`);
  const context = { colorScheme: options.dark ? 'dark' : 'light',
    permissions: options.permissions ? ['clipboard-read', 'clipboard-write'] : [] };
  await withWindow(browser, context, async (window_) => {
    const page = await openReport(window_, path_, options.hash || '');
    await body(page, window_, path_);
    if (process.env.SCREENSHOTS) await page.screenshot({ path: shotOf(name) });
    if (options.expectProblems) assert.match(page.problems.join('\n'), options.expectProblems);
    else assert.deepEqual(page.problems, []);
  });
}

withChromium(async (browser) => {
  let failed = 0;
  const wanted = tests.filter(({ name }) => name.includes(process.argv[3] || ''));
  console.log(`1..${wanted.length}`);
  for (const [at, one] of wanted.entries()) {
    let error;
    await run(browser, one).catch((caught) => { error = caught; });
    console.log(`${error ? 'not ok' : 'ok'} ${at + 1} - ${one.name}`);
    if (error) console.log(String(error.stack || error).replace(/^/gm, '# '));
    if (error) failed++;
  }
  process.exitCode = failed ? 1 : 0;
}).catch((error) => {
  console.log(`Bail out! ${String(error.message).split('\n')[0]}`);
  process.exitCode = 1;
});
