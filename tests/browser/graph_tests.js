/* The flame graph as it is drawn, pointed at and searched; numbers come from report_known.c. */
'use strict';

const assert = require('node:assert/strict');
const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { test, drawnLabels, app, settle, press, search, matched, nodeOf,
  clickFrame } = require('./tools.js');

test('a report draws all its frames with their exact weights', 'known', {}, async (page) => {
  assert.equal(await app(page, 'app.tree.n'), 13);
  assert.equal(await app(page, 'app.tree.total(0)[0]'), 10000);
  assert.equal(await app(page, 'app.tree.total(1)[0]'), 20);
  assert.deepEqual(await app(page, `app.tree.path(${nodeOf('sys_read')}).map((i) =>
    [app.tree.text(i), app.tree.total(0)[i], app.tree.self[0][i]])`),
  [['app', 10000, 0], ['main (a.py:1)', 10000, 0], ['work', 8000, 0], ['sys_read', 2000, 2000]]);
  const labels = await drawnLabels(page);
  for (const label of ['all · 10.0 µs CPU time, all threads', 'app', 'main (a.py:1)', 'work', 'leaf', 'sys_read'])
    assert.ok(labels.includes(label), `${label} in ${labels}`);
});

test('names are cut by the rules that C has too', 'known', {}, async (page) => {
  const root = join(__dirname, '../..');
  const script = readFileSync(join(root, 'viewer/names.js'), 'utf8');
  const cases = readFileSync(join(root, 'tests/unit/name_forms.txt'), 'utf8').split('\n\n').slice(1)
    .map((text) => text.trimEnd().split('\n').map((line) => line.trim()));
  assert.ok(cases.length > 50);
  const forms = await page.evaluate(([code, names]) => (
    new Function(`${code}; return (names) => names.map(nameForms);`)()(names)),
  [script, cases.map(([name]) => name)]);
  forms.forEach((got, i) => assert.deepEqual(got, cases[i]));
});

test('a kind has one colour in the page and in an SVG', 'known', {}, async (page) => {
  const root = join(__dirname, '../..');
  const script = readFileSync(join(root, 'viewer/palette.js'), 'utf8');
  const svg = readFileSync(join(root, 'tests/golden/svg/kinds.svg'), 'utf8');
  const legend = [...svg.matchAll(/fill="(#\w+)"\/><text[^>]*class="legend">([^<]*)/g)];
  assert.ok(legend.length >= 7, `${legend.length} kinds`);
  const own = await page.evaluate(([code, kinds]) => (new Function(`${code};
    return (kinds) => { KINDS = kinds; const palette = new Palette({ count: 0 }, false);
      return kinds.map((_, k) => palette.kindColor(k)); };`)()(kinds)),
  [script, legend.map(([, , kind]) => kind)]);
  const channels = (color) => color.match(/\w\w/g).map((x) => parseInt(x, 16));
  /* The picture's is in the middle of its shades, the page's of theirs: a rounding apart. */
  legend.forEach(([, color, kind], i) => channels(color).forEach((x, k) => (
    assert.ok(Math.abs(x - channels(own[i])[k]) <= 4, `${kind}: ${color} in SVG, ${own[i]} in the page`))));
});

test('the legend has the kinds that are drawn', 'known', {}, async (page) => {
  const kinds = async () => (await page.locator('.legend-item').allTextContents())
    .map((text) => text.replace(/[\d.]+%$/, ''));
  const all = await kinds();
  assert.ok(all.includes('kernel') && all.includes('python'), `${all}`);
  await clickFrame(page, 'leaf');
  assert.deepEqual(await kinds(), ['native']);
  await press(page, 'Escape', '0');
  assert.deepEqual(await kinds(), all);
});

test('a difference has a legend of its own', 'difference', {}, async (page) => {
  const legend = () => page.locator('.legend-item').allTextContents();
  assert.deepEqual(await legend(), ['gone: −100%', 'less: half, −50%', 'same, or within noise',
    'more: twice, +100%', 'new']);
  await page.locator('[data-value=off]').click();
  await settle(page);
  assert.ok((await legend()).some((text) => /^native/.test(text)), `${await legend()}`);
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
  await app(page, 'app.summary.draw()');
  assert.match(await page.locator('.strip').textContent(), /frames\s*3/i);

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

test('search minds case only on request, and takes bad patterns as text', 'known', {},
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

test('a narrow window and a resize keep the graph', 'sample', {}, async (page) => {
  await page.setViewportSize({ width: 600, height: 500 });
  await settle(page);
  assert.equal(await app(page, 'app.flame.width'),
    await page.locator('.flame-host').first().evaluate((el) => el.clientWidth));
  assert.ok((await drawnLabels(page)).length > 5);
});
