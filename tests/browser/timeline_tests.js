/*
 * The timeline of several processes: order and folds, arrows, wheel and keys, the strip on top,
 * marks of the search, exact ranges, steps. Numbers come from report_busy.c.
 */
'use strict';

const assert = require('node:assert/strict');

const MS = 1e6;
/* The k-th gemm and the k-th range. */
const gemm = (k) => [100000001 + k * 600 * MS, 600000124 + k * 600 * MS];
const iteration = (k) => [10000007 + k * 480 * MS, 410000016 + k * 480 * MS];

module.exports = ({ test, app, settle, press, search, placeOf, drag, windowOf }) => {
  const timeline = { hash: '#tab=timeline' };
  const rows = (page) => app(page, `app.timePages.line.rows.map(({ track, indent }) => (
    ' '.repeat(indent) + track.name))`);
  const status = (page) => page.locator('#page-timeline .status').textContent();
  const range = (page) => app(page, 'app.rangeNow && [app.rangeNow.from, app.rangeNow.to]');
  const shown = (page, name) => page.evaluate((wanted) => window.aflame.app.timePages.line.rows
    .some(({ track }) => track.name === wanted), name);
  const panel = (page) => page.locator('[aria-label="Selected slice"]').innerText();
  /* Where in the window the strip has moment @t. */
  const onMap = (page, t) => page.evaluate((at) => {
    const { line } = window.aflame.app.timePages;
    const box = line.canvas.getBoundingClientRect();
    return { x: box.left + line.map.x(at), y: box.top + 12 };
  }, t);
  const near = async (page, a, b, what) => {
    const pixel = await app(page, 'app.times.span / (app.timePages.line.width - 200)');
    assert.ok(Math.abs(a - b) <= 2 * pixel, `${what}: ${a} is not about ${b}`);
  };
  const wheel = async (page, where, key, x, y) => {
    await page.mouse.move(where.x, where.y);
    if (key) await page.keyboard.down(key);
    await page.mouse.wheel(x, y);
    if (key) await page.keyboard.up(key);
    await page.waitForTimeout(400);
  };

  test('the busiest come first, devices below who launches, and what did little is folded', 'busy',
    timeline, async (page) => {
      assert.deepEqual(await rows(page), ['train', ' main 20', '  on CPU (samples)',
        ' H200 (device 1)', '  stream 7', ' worker 21', '  on CPU (samples)', '  NVTX',
        ' H200 (device 2)', '  stream 9', ' 2 more threads, together 0.15%', 'monitor',
        ' monitor 30', '  on CPU (samples)', '2 more processes, together 0.33%']);
    });

  test('a folded row opens by a click and by a key, and for what is chosen in it', 'busy', timeline,
    async (page) => {
      const { x, y } = await placeOf(page, '2 more processes, together 0.33%', 0);
      await page.mouse.click(x - 150, y);
      await settle(page);
      assert.deepEqual((await rows(page)).slice(-7), ['2 more processes, together 0.33%', ' sh',
        '  sh 10', '   on CPU (samples)', ' make', '  make 11', '   on CPU (samples)']);
      assert.equal(await shown(page, 'idle 22'), false);
      await press(page, '+');
      assert.equal(await shown(page, 'sh'), false);
      await press(page, '+');
      assert.deepEqual([await shown(page, 'sh'), await shown(page, 'idle 22')], [true, true]);
      await press(page, '+');
      assert.equal((await rows(page)).length, 15);
      await search(page, 'poll');
      await page.keyboard.press('Enter');
      await settle(page);
      assert.deepEqual([await shown(page, 'sh'), await shown(page, 'idle 22')], [false, true]);
      assert.match(await status(page), /^poll — 6\.00 ms at .*, helper 23 · on CPU \(samples\)$/);
    });

  test('a page opens on what is busy though all processes are small', 'many', timeline,
    async (page) => {
      const [nr, first] = await app(page, `[app.timePages.line.rows.length,
        app.timePages.line.rows.slice(0, 6).map(({ track }) => track.name)]`);
      assert.equal(nr, 9999);
      assert.deepEqual(first, ['worker-0', 'main 100', 'on CPU (samples)', 'worker-100', 'main 200',
        'on CPU (samples)']);
      /* Boxes of what is in sight, and no others. */
      const drawn = () => app(page, '(app.timePages.line.paintNow(), app.timePages.line.drawn)');
      assert.ok(await drawn() > 5 && await drawn() < 30, `${await drawn()}`);
      await page.evaluate(() => { window.aflame.app.timePages.line.host.scrollTop = 1e5; });
      assert.ok(await drawn() > 5 && await drawn() < 30, `${await drawn()}`);
    });

  test('what is in sight is decoded before the rest', 'tracks', {}, async (page) => {
    const [sight, after, all] = await page.evaluate(async () => {
      const { app: it } = window.aflame;
      const { line } = it.timePages;
      const order = [];
      const { load } = it.times;
      it.times.load = (k) => { order.push(k); return load.call(it.times, k); };
      line.host.scrollTop = 0;
      await it.update({ tab: 'timeline' });
      const seen = line.inSight().map(({ at }) => at);
      return [seen, order.slice(0, seen.length), it.times.nrLoaded()];
    });
    assert.deepEqual(after, sight);
    assert.ok(sight.length > 20 && sight.length < 60, `${sight.length}`);
    assert.equal(all, 600);
  });

  test('hovering over a kernel or a launch draws the arrow to its other end', 'busy', timeline,
    async (page) => {
      const arrows = () => app(page, '(app.timePages.line.paintNow(), app.timePages.line.arrows)');
      assert.deepEqual(await arrows(), []);
      const kernel = await placeOf(page, 'stream 7', 900 * MS);
      await page.mouse.move(kernel.x, kernel.y);
      const [[x1, y1, x2, y2], ...more] = await arrows();
      const call = await placeOf(page, 'main 20', 700000001 - 40000);
      const start = await placeOf(page, 'stream 7', 700000001);
      const box = await page.locator('#page-timeline canvas').boundingBox();
      assert.deepEqual(more, []);
      for (const [a, b] of [[x1, call.x - box.x], [x2, start.x - box.x], [y1, call.y - box.y],
        [y2, start.y - box.y]]) assert.ok(Math.abs(a - b) < 3, `${a} is not ${b}`);
      await page.mouse.move(call.x, call.y);
      assert.deepEqual(await arrows(), [[x1, y1, x2, y2]]);
      const empty = await placeOf(page, 'stream 7', 650 * MS);
      await page.mouse.move(empty.x, empty.y);
      assert.deepEqual(await arrows(), []);
      /* Of a closed device the arrow ends at its row. */
      const device = await placeOf(page, 'H200 (device 1)', 900 * MS);
      await page.mouse.click(box.x + 40, device.y);
      await settle(page);
      await page.mouse.move(call.x, call.y);
      assert.ok(Math.abs((await arrows())[0][3] - (device.y - box.y)) < 4, `${await arrows()}`);
    });

  test('arrows are found where numbers of launches are in no order', 'busy', timeline,
    async (page) => {
      const pairs = await app(page, `(() => {
        const lane = (flow) => ({ n: flow.length, flow: Float64Array.from(flow) });
        const loaded = [[lane([5, 0, 3, 9])], , [lane([9, 3, 0, 5, 3])]];
        const kept = app.times.loaded;
        app.times.loaded = loaded;
        const { linked } = window.aflame.parts;
        const found = [[0, 0, 0], [0, 0, 1], [0, 0, 2], [2, 0, 0]].map((slice) => (
          linked(app.times, slice)));
        app.times.loaded = kept;
        return found; })()`);
      assert.deepEqual(pairs, [[[2, 0, 3]], [], [[2, 0, 1], [2, 0, 4]], [[0, 0, 3]]]);
    });

  test('the wheel scrolls, with Ctrl it zooms, with Shift it pans', 'tracks', timeline,
    async (page) => {
      const where = await placeOf(page, 'worker-100', 0.6e9);
      const top = () => app(page, 'app.timePages.line.host.scrollTop');
      const before = await windowOf(page);
      await wheel(page, where, '', 0, 300);
      assert.equal(await top(), 300);
      assert.deepEqual(await windowOf(page), before);
      await wheel(page, where, 'Control', 0, -400);
      const [a, b] = await windowOf(page);
      assert.ok(b - a < (before[1] - before[0]) / 2, `${a} ${b}`);
      const at = (0.6e9 - a) / (b - a);
      assert.ok(Math.abs(at - (0.6e9 - before[0]) / (before[1] - before[0])) < 0.01, `${at}`);
      await wheel(page, where, 'Shift', 0, 100);
      const [c, d] = await windowOf(page);
      assert.ok(c > a && Math.abs(d - c - (b - a)) < 1, `${c} ${d}`);
      await wheel(page, where, '', -100, 0);
      assert.ok((await windowOf(page))[0] < c);
      assert.equal(await top(), 300);
      /* A pinch is small steps with Ctrl. */
      const wide = d - c;
      await wheel(page, where, 'Control', 0, -10);
      const [e, f] = await windowOf(page);
      assert.ok((f - e) / wide > 0.88 && (f - e) / wide < 0.92, `${(f - e) / wide}`);
    });

  test('a wheel over rows that all fit is left to the browser', 'busy', timeline, async (page) => {
    const taken = await page.evaluate(() => {
      const { canvas } = window.aflame.app.timePages.line;
      const { left, top } = canvas.getBoundingClientRect();
      return [{}, { ctrlKey: true }, { shiftKey: true }].map((keys) => !canvas.dispatchEvent(
        new WheelEvent('wheel', { deltaY: 10, cancelable: true, clientX: left + 400,
          clientY: top + 200, ...keys })));
    });
    assert.deepEqual(taken, [false, true, true]);
  });

  test('w and s zoom around the pointer, and a held key goes on from where it leads', 'busy',
    timeline, async (page) => {
      const { x, y } = await placeOf(page, 'stream 7', 1200 * MS);
      await page.mouse.move(x, y);
      await page.keyboard.press('w');
      await page.keyboard.press('w');
      const [a, b] = await windowOf(page);
      const span = await app(page, 'app.times.span');
      assert.ok(Math.abs((b - a) / span - 0.49) < 0.001, `${(b - a) / span}`);
      const at = await placeOf(page, 'stream 7', 1200 * MS);
      assert.ok(Math.abs(at.x - x) < 1.5, `${at.x} ${x}`);
      await press(page, 'a');
      assert.ok((await windowOf(page))[0] < a);
      await page.emulateMedia({ reducedMotion: 'reduce' });
      await page.keyboard.press('0');
      await page.keyboard.press('w');
      assert.ok(Math.abs(await app(page, 'app.timePages.line.t1 - app.timePages.line.t0') / span -
        0.7) < 0.001);
    });

  test('the strip on top shows the run, and its box moves, grows and is drawn anew', 'busy',
    timeline, async (page) => {
      /* Most is at the begin: 43 ms in the first 8. Then two threads, with monitor three, one. */
      const [cpu, gpu] = await app(page, `app.timePages.line.map.rows().map(([name, , of]) => (
        [name, ...[0.05, 0.3, 0.9, 1.85, 3].map((s) => of[Math.floor(s * 600e9 / app.times.span)])]))`);
      const round = ([name, ...list]) => [name, ...list.map((x) => Math.round(x * 100))];
      assert.deepEqual(round(cpu), ['CPU', 37, 56, 37, 19, 0]);
      /* A gemm, and a sum beside it at 0.15 s and from 1 s to 1.2 s. */
      assert.equal(gpu[0], 'GPU');
      assert.deepEqual(round(gpu).slice(2, 5), [50, 50, 0]);
      await drag(page, await onMap(page, 1000 * MS), await onMap(page, 2000 * MS));
      let [a, b] = await windowOf(page);
      await near(page, a, 1000 * MS, 'drawn from');
      await near(page, b, 2000 * MS, 'drawn to');
      assert.equal(await range(page), null);
      await drag(page, await onMap(page, 1500 * MS), await onMap(page, 2500 * MS));
      [a, b] = await windowOf(page);
      await near(page, a, 2000 * MS, 'moved from');
      await near(page, b, 3000 * MS, 'moved to');
      await drag(page, await onMap(page, b), await onMap(page, 4000 * MS));
      const [c, d] = await windowOf(page);
      assert.equal(c, a);
      await near(page, d, 4000 * MS, 'grown to');
      await drag(page, await onMap(page, c), await onMap(page, 3500 * MS));
      await near(page, (await windowOf(page))[0], 3500 * MS, 'shrunk from');
      const click = await onMap(page, 1000 * MS);
      const [e, f] = await windowOf(page);
      await page.mouse.click(click.x, click.y);
      const [g, i] = await windowOf(page);
      await near(page, (g + i) / 2, 1000 * MS, 'brought to');
      assert.ok(Math.abs(i - g - (f - e)) < 2);
    });

  test('the search is marked in the strip and on the axis, and summed', 'busy', timeline,
    async (page) => {
      const ticks = () => app(page, `(app.timePages.line.paintNow(),
        [app.timePages.line.map.ticks, app.timePages.line.nrTicks])`);
      const found = () => page.locator('#page-timeline .matched').textContent();
      assert.deepEqual([await ticks(), await found()], [[0, 0], '']);
      await search(page, 'gemm');
      assert.deepEqual([await ticks(), await found()], [[8, 8], '8 slices, 4.00 s']);
      await page.evaluate(() => window.aflame.app.timePages.line.look(650e6, 1350e6));
      await settle(page);
      assert.deepEqual(await ticks(), [8, 2]);
      /* In the range: the end of the first gemm, 0.9 s of the two after, and 1 ns. */
      await page.evaluate(() => window.aflame.app.setRange(600000000, 1900000002));
      await settle(page);
      assert.equal(await found(), '4 slices, 1.00 s');
      assert.deepEqual(await app(page, `(() => { const { from, to } = app.rangeNow;
        return app.timePages.sumFound({ from, to }); })()`), { nr: 4, long: 124 + 1000000246 + 1 });
      await page.evaluate(() => window.aflame.app.update({ q: 'mark', from: '', to: '' }));
      await settle(page);
      assert.equal(await found(), '10 slices, 0 ns');
      assert.equal((await ticks())[0], 10);
    });

  test('a dragged range sticks to the ends of slices, and is exact to the nanosecond', 'busy',
    timeline, async (page) => {
      const [, end] = gemm(0);
      const [start] = gemm(1);
      const from = await placeOf(page, 'stream 7', end);
      const to = await placeOf(page, 'stream 7', start);
      await page.mouse.move(from.x + 3, from.y);
      await page.mouse.down();
      await page.mouse.move((from.x + to.x) / 2, from.y);
      await page.mouse.move(to.x - 4, to.y);
      const tooltip = await page.locator('.tooltip').innerText();
      assert.match(tooltip, /^99,999,877 ns\n+0\.600,000,124 s – 0\.700,000,001 s$/);
      await page.mouse.up();
      await settle(page);
      assert.deepEqual(await range(page), [end, start]);
      assert.equal(await page.locator('.tooltip').isVisible(), false);
      const text = 'from 0.600,000,124 s to 0.700,000,001 s, 99,999,877 ns';
      assert.equal(await status(page), `Range ${text}`);
      for (const part of ['0.600,000,124 s', '0.700,000,001 s', '99,999,877 ns'])
        assert.ok((await panel(page)).includes(part), part);
      assert.ok((await page.locator('.chip.range').getAttribute('title')).endsWith(text));
      /* With Alt it ends where the pointer is. */
      await page.keyboard.down('Alt');
      await drag(page, { x: from.x + 3, y: from.y }, { x: to.x - 4, y: to.y });
      await page.keyboard.up('Alt');
      const [a, b] = await range(page);
      assert.ok(a > end && b < start, `${a} ${b}`);
      /* A kernel by its ends; no range of nothing. */
      const [first, last] = gemm(2);
      const left = await placeOf(page, 'stream 7', first);
      const right = await placeOf(page, 'stream 7', last);
      await drag(page, { x: left.x - 5, y: left.y }, { x: right.x + 5, y: right.y });
      assert.deepEqual(await range(page), [first, last]);
      await drag(page, { x: left.x - 4, y: left.y }, { x: left.x + 4, y: left.y });
      assert.deepEqual(await range(page), [first, last]);
    });

  test('the exact range is copied', 'busy', { permissions: true,
    hash: '#tab=timeline&from=1234567890&to=1234580235' }, async (page) => {
    await page.locator('[aria-label="Selected slice"]').getByRole('button', { name: 'Copy' })
      .click();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()),
      'from 1.234,567,890 s to 1.234,580,235 s, 12,345 ns');
  });

  test('the steps of the run are looked at one after the other', 'busy', timeline,
    async (page) => {
      const text = () => page.locator('.stepper output').textContent();
      assert.equal(await text(), '4 steps');
      await press(page, ']');
      assert.equal(await text(), 'Step 1 of 4 (warm-up)');
      assert.deepEqual([await windowOf(page), await range(page)],
        [[100000001, 700000001], [100000001, 700000001]]);
      await press(page, 'ArrowRight');
      assert.equal(await text(), 'Step 2 of 4');
      assert.equal(await status(page),
        'Range from 0.700,000,001 s to 1.300,000,001 s, 600,000,000 ns');
      await page.getByRole('button', { name: 'Next step' }).click();
      await settle(page);
      await press(page, ']', ']');
      assert.equal(await text(), 'Step 4 of 4');
      assert.deepEqual(await windowOf(page), [1900000001, 2500000001]);
      await press(page, '[', 'ArrowLeft');
      assert.equal(await text(), 'Step 2 of 4');
      assert.match(await page.evaluate('location.hash'), /from=700000001&to=1300000001/);
      await press(page, 'Escape');
      assert.equal(await text(), '4 steps');
      /* From where one looks. */
      await page.evaluate(() => window.aflame.app.timePages.line.look(1400e6, 1500e6));
      await press(page, ']');
      assert.equal(await text(), 'Step 4 of 4');
    });

  test('the steps are ranges that come back, if one of them is chosen', 'busy', timeline,
    async (page) => {
      const text = () => page.locator('.stepper output').textContent();
      const { x, y } = await placeOf(page, 'NVTX', 1100 * MS);
      await page.mouse.click(x, y);
      await settle(page);
      assert.equal(await text(), '10 steps');
      assert.match(await page.locator('.stepper output').getAttribute('title'),
        /Ranges “iteration #” of worker 21 · NVTX/);
      await press(page, ']', ']', ']');
      assert.equal(await text(), 'Step 3 of 10');
      assert.deepEqual(await range(page), iteration(2));
      assert.deepEqual(await windowOf(page), iteration(2));
      /* Arrows walk slices while one is chosen. */
      await press(page, 'ArrowRight');
      assert.match(await status(page), /^iteration 3 — /);
      assert.deepEqual(await range(page), iteration(2));
    });

  test('ranges that come back are the steps of a run of which none are known', 'timed', timeline,
    async (page) => {
      const text = () => page.locator('.stepper output').textContent();
      assert.equal(await text(), '20 steps');
      await press(page, 'ArrowRight', 'ArrowRight');
      assert.equal(await text(), 'Step 2 of 20');
      assert.deepEqual(await range(page), [200 * MS, 380 * MS]);
    });

  test('the help has the keys of the timeline', 'busy', timeline, async (page) => {
    await press(page, '?');
    const help = (await page.locator('dialog.help').innerText()).replace(/\s+/g, ' ');
    for (const part of ['Ctrl+wheel the same; the wheel alone scrolls', '[] previous, next step',
      'ws zoom in, out, around the pointer', 'Shift+wheel earlier, later'])
      assert.ok(help.includes(part), `${part} in ${help}`);
  });

  test('a timeline without trees is there, with its ranges and steps', 'bare', timeline,
    async (page) => {
      assert.equal((await rows(page)).length, 15);
      await press(page, ']');
      assert.deepEqual(await range(page), [100000001, 700000001]);
      assert.match(await status(page), /^Range from 0\.100,000,001 s/);
    });

  for (const dark of [false, true])
    test(`strip, steps and marks in the ${dark ? 'dark' : 'light'}`, 'busy', { dark,
      hash: '#tab=timeline&q=gemm&from=700000001&to=1300000001&tv=500000000.1500000000' },
    async (page) => {
      await settle(page);
      const ground = await app(page, `[...app.timePages.line.context.getImageData(2, 2, 1, 1)
        .data].join()`);
      assert.equal(ground, dark ? '20,22,27,255' : '255,255,255,255');
    });
};
