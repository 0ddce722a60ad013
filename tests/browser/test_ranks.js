/* See run_ranks. Argument: the folder with few and many: .html, .json (the truth), .ranks (text). */
'use strict';

const assert = require('node:assert/strict');
const { readFileSync } = require('node:fs');
const path = require('node:path');
const { withChromium, withWindow, openReport } = require('./browser.js');
const { test, tests, app, settle, press } = require('./tools.js');

const folder = process.argv[2];
const read = (name) => JSON.parse(readFileSync(path.join(folder, name)));
const tableOf = (name, table) => read(name).tables.find((one) => one.name === table).rows;

/* By view: the weights of all slices on its tracks, and of the tree. */
const sums = (page, from, to) => page.evaluate(async ([a, b]) => {
  const { app: it } = window.aflame;
  const found = {};
  for (const view of ['cpu', 'gpu']) {
    let sum = 0;
    for (const { at } of it.times.tracksOf(view))
      for (const lane of await it.times.load(at))
        it.times.within(lane, { from: a, to: b ?? it.times.span }, (_, weight) => { sum += weight; });
    found[view] = [sum, (await it.treeOf(view)).total(0)[0]];
  }
  return found;
}, [from, to]);

test('the timeline of a set has all ranks on one clock, and adds up to its trees', 'few',
  { hash: '#tab=timeline' }, async (page) => {
    const { cpu, gpu } = await sums(page, 0);
    assert.ok(cpu[1] > 0 && gpu[1] > 0);
    assert.deepEqual([cpu[0], gpu[0]], [cpu[1], gpu[1]]);
    const names = await app(page, `app.times.tracks.filter(({ kind }) => kind === 'process')
      .map(({ name }) => name).sort()`);
    assert.deepEqual(names.map((name) => name.replace(/ · solver.*/, '')),
      [0, 1, 2, 3, 4, 5].map((rank) => `node000${rank < 3 ? 0 : 1} · rank ${rank}`));
    /* All call MPI_Init at one time, on clocks that are far apart. */
    const first = await app(page, `app.times.tracks.filter(({ slice }) => slice === 'call')
      .map(({ at }) => app.times.loaded[at][0].start[0])`);
    assert.equal(first.length, 6);
    assert.ok(Math.max(...first) - Math.min(...first) < 1e6, first.join());
    const away = read('few.json').clocks[1].offset_begin_ns;
    assert.ok(Math.abs(away) > 10e6, `clocks are ${away} ns apart`);
  });

test('a range of a set is of all its ranks', 'few', {}, async (page) => {
  await page.evaluate(() => window.aflame.app.setRange(300e6, 500e6));
  await settle(page);
  const { cpu } = await sums(page, 300e6, 500e6);
  assert.equal(await app(page, `app.base.total(app.base.weights
    .findIndex(({ name }) => name === 'time'))[0]`), cpu[0]);
  assert.ok(cpu[0] > 0 && cpu[0] < cpu[1] / 2);
});

test('the map of ranks names the odd one, and opens a rank', 'few', { hash: '#tab=ranks' },
  async (page) => {
    const [odd] = tableOf('few.ranks', 'odd_ranks');
    assert.equal(odd.rank, 'rank 4');
    assert.match(await page.locator('#page-ranks .note').first().textContent(),
      /^The odd rank: rank 4 more CPU .* sort_badly$/);
    const rows = await app(page, `app.rankPage.map.rows.map(({ label, odd }) => [label, odd])`);
    assert.deepEqual(rows, [0, 1, 2, 3, 4, 5].map((rank) => [`rank ${rank}`, rank === 4]));
    const mostly = await app(page, `app.rankPage.map.rows.map((row) => app.rankPage.mostly(row))`);
    assert.equal(mostly[4], 'CPU');
    /* Drag: a range of time. Click: that rank. */
    const place = await app(page, `(() => { const { picture: p } = app.rankPage;
      const box = p.canvas.getBoundingClientRect(); const { wide, tall } = p.place();
      return { x: box.left + 120, y: box.top + 8 + 4.5 * tall, wide }; })()`);
    await page.mouse.move(place.x + 20.5 * place.wide, place.y);
    await page.mouse.down();
    await page.mouse.move(place.x + 39.5 * place.wide, place.y);
    await page.mouse.up();
    await settle(page);
    const [range, map] = await app(page, '[app.rangeNow, app.rankPage.map]');
    assert.ok(Math.abs(range.from - (map.from + 20 * map.each)) <= 1, JSON.stringify(range));
    assert.ok(Math.abs(range.to - (map.from + 40 * map.each)) <= 1, JSON.stringify(range));
    await page.mouse.click(place.x + 30.5 * place.wide, place.y);
    await settle(page);
    assert.deepEqual(await app(page, '[app.state.tab, app.state.view]'), ['flame', 'rank 4']);
  });

test('keys walk the map of ranks, and it is read as a table', 'few', { hash: '#tab=ranks' },
  async (page) => {
    await page.locator('#page-ranks canvas').focus();
    await press(page, 'ArrowDown', 'ArrowDown', 'ArrowRight');
    assert.match(await page.locator('#page-ranks .status').textContent(), /^rank 1 on node0000: /);
    await press(page, 'Enter');
    assert.deepEqual(await app(page, '[app.state.tab, app.state.view]'), ['flame', 'rank 1']);
    assert.equal(await page.locator('#page-ranks canvas tbody tr').count(), 6);
  });

test('of many ranks some have a timeline, the odd one among them', 'many', { hash: '#tab=timeline' },
  async (page) => {
    const shown = await app(page, `app.times.tracks.filter(({ kind }) => kind === 'process')
      .map(({ rank }) => rank)`);
    assert.equal(new Set(shown).size, 64);
    assert.ok(shown.includes('rank 69'), shown.join());
    assert.match(await app(page, 'app.timePages.notes.textContent'), /64 of 70 ranks/);
    assert.equal(await app(page, 'app.tabList.some(({ value }) => value === "heat")'), false);
    await page.evaluate(() => window.aflame.app.update({ tab: 'ranks' }));
    await settle(page);
    assert.equal(await app(page, 'app.rankPage.map.rows.length'), 70);
  });

withChromium(async (browser) => {
  console.log(`1..${tests.length}`);
  for (const [at, { name, file, options, body }] of tests.entries()) {
    const error = await withWindow(browser, {}, async (window_) => {
      const page = await openReport(window_, path.join(folder, `${file}.html`),
        options.hash ?? '#tab=flame');
      await settle(page);
      await body(page);
      assert.deepEqual(page.problems, []);
    }).catch((caught) => caught);
    console.log(`${error ? 'not ok' : 'ok'} ${at + 1} - ${name}`);
    if (error) console.log(String(error.stack || error).replace(/^/gm, '# '));
    if (error) process.exitCode = 1;
  }
}).catch((error) => {
  console.log(`Bail out! ${String(error.message).split('\n')[0]}`);
  process.exitCode = 1;
});
