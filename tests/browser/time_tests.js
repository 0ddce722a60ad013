/* The tabs of time, and ranges that all views follow: numbers come from report_timed.c. */
'use strict';

const assert = require('node:assert/strict');

const MS = 1e6;

module.exports = ({ test, app, settle, press, tab, placeOf, drag, windowOf,
  openReport }) => {
  const timeline = { hash: '#tab=timeline' };
  const chip = (page) => page.locator('.chip.range');
  const click = async (page, ...where) => {
    const { x, y } = await placeOf(page, ...where);
    await page.mouse.click(x, y);
    await settle(page);
  };
  const range = async (page, from, to) => {
    await page.evaluate(([a, b]) => window.aflame.app.setRange(a, b), [from, to]);
    await settle(page);
  };
  const chosen = (page) => app(page, `(() => { const s = app.timePages.slice();
    return s && [app.times.tracks[s[0]].name, app.timePages.facts(s).name,
      app.timePages.facts(s).start / 1e6]; })()`);
  const stacks = (page) => app(page, `Object.fromEntries([...Array(app.tree.n).keys()]
    .filter((i) => app.tree.self.some((column) => column[i]))
    .map((i) => [app.tree.text(i), app.tree.self.map((column) => column[i])]))`);

  test('without a timeline there are no tabs of time', 'known', timeline, async (page) => {
    assert.equal(await page.getByRole('tab', { name: /Timeline|Heat map/ }).count(), 0);
    assert.equal(await chip(page).count(), 0);
  });

  test('all slices of the timeline are on their tracks', 'timed', timeline, async (page) => {
    assert.deepEqual(await app(page, `app.times.tracks.map((track) => [track.name,
      app.times.loaded[track.at].map((lane) => lane.n).join()])`), [['app', ''],
      ['main 101', '200,200'], ['NVTX', '20'], ['NVTX', '20'], ['on CPU (samples)', '27'],
      ['off CPU', '13'], ['H200 (device 1)', ''], ['stream 7', '160'], ['stream 8', '40'],
      ['memory: device', '20'], ['<b>loader 102', ''], ['on CPU (samples)', '120'],
      ['lost', '1']]);
    assert.equal(await page.locator('#page-timeline .status').textContent(),
      '821 slices in 4.00 s');
    assert.deepEqual(await app(page, `(() => { const idle = app.timePages.line.idle.get(6);
      return [idle.n, idle.cum[idle.n]]; })()`), [199, 2583 * MS]);
    assert.deepEqual(await app(page, '[...app.times.loaded[9][0].value].slice(8, 12)'),
      [9e6, 10e6, 1e6, 2e6]);
  });

  test('slices are drawn where they were', 'timed', timeline, async (page) => {
    const colour = async (...where) => {
      const { x, y } = await placeOf(page, ...where);
      await page.waitForFunction(() => window.aflame.app.timePages.line.pixels);
      return page.evaluate(([left, top]) => {
        const { canvas, pixels } = window.aflame.app.timePages.line;
        const box = canvas.getBoundingClientRect();
        return pixels[Math.floor(top - box.top) * canvas.width + Math.floor(left - box.left)];
      }, [x, y]);
    };
    const white = 0xffffffff;
    assert.notEqual(await colour('on CPU (samples)', 50 * MS), white);
    assert.notEqual(await colour('on CPU (samples)', 150 * MS),
      await colour('on CPU (samples)', 50 * MS));
    assert.equal(await colour('on CPU (samples)', 250 * MS), white);
    assert.notEqual(await colour('off CPU', 250 * MS), white);
    assert.equal(await colour('on CPU (samples)', 150 * MS, 0, 1), white);
    assert.notEqual(await colour('on CPU (samples)', 250 * MS, 0, 1), white);
  });

  test('the whole run as a range gives what no range gives', 'timed', {}, async (page) => {
    for (const view of ['cpu', 'gpu']) {
      await page.evaluate((label) => window.aflame.app.update({ view: label, from: '', to: '' }),
        view);
      const without = await stacks(page);
      await range(page, 0, 4000 * MS);
      assert.equal(await app(page, 'app.tree.ranged.length > 0'), true);
      assert.deepEqual(await stacks(page), without);
    }
    assert.deepEqual(await stacks(page), { gemm: [0, 160], HMMA: [960 * MS, 0],
      LDG: [320 * MS, 0], copy: [120 * MS, 40] });
  });

  test('parts of the run add up to the whole, cut anywhere', 'timed', {}, async (page) => {
    const cuts = [0, 333333333, 1000100007, 1004100001, 2500000000, 3999999999, 4000 * MS];
    for (const [view, total] of [['cpu', 3900 * MS], ['gpu', 1400 * MS]]) {
      await page.evaluate((label) => window.aflame.app.update({ view: label }), view);
      const sums = [0, 0];
      for (let k = 1; k < cuts.length; k++) {
        await range(page, cuts[k - 1], cuts[k]);
        const part = await app(page, '[app.tree.total(0)[0], app.tree.total(1)[0]]');
        part.forEach((x, w) => { sums[w] += x; });
      }
      assert.deepEqual(sums, [total, view === 'gpu' ? 200 : 390]);
    }
  });

  test('a view of all is of the range as those it is made of', 'timed', {}, async (page) => {
    const both = await page.evaluate(async () => {
      const { app, parts } = window.aflame;
      const [cpu, gpu] = await Promise.all(['cpu', 'gpu'].map((label) => app.treeOf(label)));
      const all = new parts.TreeBuilder(app.names, cpu.weights, cpu.n + gpu.n);
      for (const tree of [cpu, gpu]) {
        const to = [0];
        for (let i = 1; i < tree.n; i++) {
          to[i] = all.child(to[tree.parent[i]], tree.name[i]);
          all.self[0][to[i]] += tree.self[0][i];
          if (tree === cpu) all.self[1][to[i]] += tree.self[1][i];
        }
      }
      const whole = all.finish();
      const half = await app.times.tree(whole, 'all', { from: 0, to: 2e9 });
      const rest = await app.times.tree(whole, 'all', { from: 2e9, to: 4e9 });
      return [half.ranged.map(Boolean), half.total(0)[0] + rest.total(0)[0],
        half.total(0)[0], (await app.times.tree(cpu, 'cpu', { from: 0, to: 2e9 })).total(0)[0] +
        (await app.times.tree(gpu, 'gpu', { from: 0, to: 2e9 })).total(0)[0]];
    });
    assert.deepEqual(both.slice(0, 2), [[true, true], 5300 * MS]);
    assert.equal(both[2], both[3]);
  });

  test('a range holds the samples and works in it', 'timed', {}, async (page) => {
    await range(page, 0, 300 * MS);
    assert.deepEqual(await stacks(page), { leaf: [100 * MS, 10], sys_read: [100 * MS, 10],
      decode: [100 * MS, 10] });
    await range(page, 50 * MS, 150 * MS);
    assert.deepEqual(await stacks(page), { leaf: [50 * MS, 5], sys_read: [50 * MS, 5] });
    await page.evaluate(() => window.aflame.app.update({ view: 'gpu' }));
    /* Five gemms and a copy begin here; the gemm at 40 ms is over before. */
    await range(page, 60 * MS, 180 * MS);
    assert.deepEqual(await stacks(page), { gemm: [0, 5], HMMA: [30 * MS, 0], LDG: [10 * MS, 0],
      copy: [3 * MS, 1] });
    /* The gemm at 60 ms has 5.1 ms here, and began before. */
    await range(page, 63 * MS, 180 * MS);
    assert.deepEqual(await stacks(page), { gemm: [0, 4], HMMA: [27.825 * MS, 0],
      LDG: [9.275 * MS, 0], copy: [3 * MS, 1] });
    await range(page, 60 * MS, 180 * MS);
    await press(page, 'w');
    assert.doesNotMatch(await chip(page).textContent(), /of the whole run/);
    assert.match(await chip(page).getAttribute('title'), /split as in the whole run/);
  });

  test('table, sandwich and facts say what they are of', 'timed', {}, async (page) => {
    await range(page, 1200 * MS, 1500 * MS);
    await tab(page, 'top');
    const row = page.locator('.top-row', { hasText: 'decode' });
    assert.match((await row.innerText()).replace(/\s+/g, ' '), /decode 300 ms 60\.0%/);
    await row.dblclick();
    await settle(page);
    assert.match(await page.locator('.sandwich-facts').textContent(), /^300 ms total, 300 ms self/);
    await tab(page, 'facts');
    assert.match(await chip(page).textContent(), /this page is of the whole run/);
    await page.getByRole('button', { name: 'The whole run' }).click();
    await settle(page);
    assert.equal(await app(page, 'app.tree.total(0)[0]'), 3900 * MS);
  });

  test('dragging over the timeline chooses a range, Back and Escape return', 'timed', timeline,
    async (page) => {
      const from = await placeOf(page, 'off CPU', 1000 * MS);
      const to = await placeOf(page, 'off CPU', 2000 * MS);
      await drag(page, to, from);
      const [a, b] = await app(page, '[app.rangeNow.from, app.rangeNow.to]');
      const pixel = await app(page, 'app.timePages.line.scale()');
      assert.ok(Math.abs(a - 1e9) < 2 * pixel && Math.abs(b - 2e9) < 2 * pixel, `${a} ${b}`);
      assert.match(await page.evaluate('location.hash'), /from=\d+&to=\d+/);
      await page.getByRole('button', { name: 'Zoom to range' }).click();
      assert.deepEqual(await app(page, '[app.timePages.line.t0, app.timePages.line.t1]'), [a, b]);
      await page.goBack();
      await settle(page);
      assert.equal(await app(page, 'app.rangeNow'), null);
      await page.goForward();
      await settle(page);
      assert.equal(await app(page, 'app.rangeNow.from'), a);
      await press(page, 'Escape');
      assert.equal(await app(page, 'app.rangeNow'), null);
      assert.equal(await chip(page).isVisible(), false);
    });

  test('a click chooses a slice, with its stack and its arrow', 'timed', timeline,
    async (page) => {
      await click(page, 'stream 7', 624 * MS);
      assert.deepEqual(await chosen(page), ['stream 7', 'gemm', 620.1]);
      const text = await page.locator('[aria-label="Selected slice"]').innerText();
      for (const part of ['work', 'gemm', '8.00 ms', '0.620100000 s', 'H200 (device 1) · stream 7',
        '2023-11-14 22:13:20.620', 'cudaLaunchKernel — 50.0 µs', 'main (a.py:1)'])
        assert.ok(text.includes(part), `${part} in ${text}`);
      await page.locator('[aria-label="Selected slice"] button', { hasText: '50.0 µs' }).click();
      await settle(page);
      assert.deepEqual(await chosen(page), ['main 101', 'cudaLaunchKernel', 620]);
      assert.match(await page.evaluate('location.hash'), /sl=1\.0\.31/);
      await page.getByRole('button', { name: 'Flame graph' }).click();
      await settle(page);
      assert.equal(await app(page, 'app.state.view + app.tree.text(app.node)'),
        'gpucudaLaunchKernel');
    });

  test('the chosen slice can be the range', 'timed', { hash: '#tab=timeline&sl=4.0.1' },
    async (page) => {
      await press(page, 'm');
      assert.deepEqual(await app(page, '[app.state.from, app.state.to]'),
        [String(100 * MS), String(200 * MS)]);
      assert.equal(await app(page, 'app.tree.total(0)[0]'), 100 * MS);
    });

  test('hovering over a slice tells what it is', 'timed', timeline, async (page) => {
    const { x, y } = await placeOf(page, 'NVTX', 250 * MS);
    await page.mouse.move(x, y);
    const text = await page.locator('.tooltip').innerText();
    for (const part of ['step', 'main 101 · NVTX', '180 ms at 0.2'])
      assert.ok(text.includes(part), text);
    const empty = await placeOf(page, 'NVTX', 190 * MS);
    await page.mouse.move(empty.x, empty.y);
    assert.equal(await page.locator('.tooltip').isVisible(), false);
  });

  test('keys move, zoom, and walk the slices', 'timed', timeline, async (page) => {
    const seen = () => windowOf(page);
    await press(page, 'w', 'w');
    const [a, b] = await seen();
    assert.equal(Math.round(b - a), Math.round(4e9 * 0.49));
    await press(page, 'd');
    assert.ok((await seen())[0] > a);
    await press(page, 'a', 's', 's');
    assert.deepEqual(await seen(), [0, 4e9]);
    await click(page, 'on CPU (samples)', 50 * MS);
    await press(page, 'ArrowRight', 'ArrowRight');
    assert.deepEqual(await chosen(page), ['on CPU (samples)', 'leaf', 300]);
    await press(page, 'ArrowDown');
    assert.deepEqual(await chosen(page), ['off CPU', 'sleeping', 500]);
    await press(page, 'ArrowUp', 'ArrowUp');
    assert.deepEqual(await chosen(page), ['NVTX', 'forward', 600]);
    assert.match(await page.locator('#page-timeline .status').textContent(),
      /^forward — 100 ms at 0\.6/);
    await press(page, '0');
    assert.deepEqual(await seen(), [0, 4e9]);
  });

  test('Ctrl and the wheel zoom around the pointer, and the address has it', 'timed', timeline,
    async (page, context, file) => {
      const { x, y } = await placeOf(page, 'stream 7', 3000 * MS);
      await page.mouse.move(x, y);
      await page.keyboard.down('Control');
      await page.mouse.wheel(0, -400);
      await page.keyboard.up('Control');
      await page.waitForTimeout(500);
      const at = await placeOf(page, 'stream 7', 3000 * MS);
      assert.ok(Math.abs(at.x - x) < 1, `${at.x} ${x}`);
      const seen = await app(page, 'app.state.tv');
      assert.ok(seen[1] - seen[0] < 1.6e9 && seen[1] - seen[0] > 1.3e9, `${seen}`);
      await page.keyboard.down('Shift');
      await page.mouse.wheel(0, 100);
      await page.keyboard.up('Shift');
      await page.waitForTimeout(500);
      assert.ok((await app(page, 'app.state.tv'))[0] > seen[0]);
      const again = await openReport(context, file, await page.evaluate('location.hash'));
      await settle(again);
      assert.deepEqual(await app(again, '[app.timePages.line.t0, app.timePages.line.t1]'),
        await app(page, 'app.state.tv'));
    });

  test('groups close and open', 'timed', timeline, async (page) => {
    const rows = () => app(page, 'app.timePages.line.rows.length');
    const box = await page.locator('#page-timeline canvas').boundingBox();
    const toggle = async (name) => {
      const { y } = await placeOf(page, name, 0);
      await page.mouse.click(box.x + 30, y);
      await settle(page);
    };
    assert.equal(await rows(), 13);
    await toggle('H200 (device 1)');
    assert.equal(await rows(), 10);
    assert.match(await page.evaluate('location.hash'), /shut=6/);
    await toggle('app');
    assert.equal(await rows(), 1);
    /* Who is chosen by its arrow is shown, whatever was closed. */
    await page.evaluate(() => window.aflame.app.timePages.go([7, 0, 5]));
    await settle(page);
    assert.equal(await rows(), 13);
    await press(page, '-');
    assert.equal(await rows(), 10);
    await press(page, '-');
    assert.equal(await rows(), 13);
    await press(page, 'Escape');
    assert.equal(await chosen(page), null);
  });

  test('search lights up slices, and n walks them in order of time', 'timed',
    { hash: '#tab=timeline&q=decode' }, async (page) => {
      await press(page, 'n', 'n');
      assert.deepEqual(await chosen(page), ['on CPU (samples)', 'decode', 210]);
      await press(page, 'N');
      assert.deepEqual(await chosen(page), ['on CPU (samples)', 'decode', 200]);
      const pixels = await app(page, `(() => { const { line } = app.timePages;
        return [line.pixels.includes(line.pixel(line.palette.match)),
          line.pixels.includes(line.pixel(line.palette.dim))]; })()`);
      assert.deepEqual(pixels, [true, true]);
    });

  test('the heat map shows what comes back every second', 'timed', { hash: '#tab=heat&heat=cpu' +
    '&period=1000000000' }, async (page) => {
    const heat = () => app(page, `(() => { const { heat } = app.timePages.heat;
      return [heat.columns, heat.total, heat.unit]; })()`);
    assert.deepEqual(await heat(), [4, 390, 'samples']);
    await page.getByLabel('Of what')
      .selectOption({ label: 'cpu: <b>loader 102 · on CPU (samples)' });
    await settle(page);
    assert.deepEqual(await heat(), [4, 120, 'samples']);
    const cells = await app(page, `[...app.timePages.heat.heat.cells].map((x) => x > 0)`);
    cells.forEach((on, cell) => {
      assert.equal(on, cell % 50 >= 10 && cell % 50 < 25, `cell ${cell}`);
    });
    await page.getByLabel('Of what').selectOption({ label: 'gpu: all' });
    await settle(page);
    assert.deepEqual(await heat(), [4, 1400 * MS, 'ns']);
    assert.match(await page.locator('#page-heat .status').textContent(),
      /^1\.40 s, at most 8\.00 ms in 20\.0 ms$/);
    await page.getByRole('radio', { name: '100 ms' }).click();
    await settle(page);
    assert.deepEqual(await heat(), [40, 1400 * MS, 'ns']);
  });

  test('cells of the heat map choose a range, by the mouse and by keys', 'timed',
    { hash: '#tab=heat&heat=cpu&period=1000000000' }, async (page) => {
      const cell = (column, row) => page.evaluate(([c, r]) => {
        const view = window.aflame.app.timePages.heat;
        const box = view.canvas.getBoundingClientRect();
        const { wide, tall } = view.place();
        return { x: box.left + 64 + (c + 0.5) * wide, y: box.bottom - 26 - (r + 0.5) * tall };
      }, [column, row]);
      await drag(page, await cell(1, 10), await cell(1, 24));
      assert.deepEqual(await app(page, '[app.rangeNow.from, app.rangeNow.to]'),
        [1200 * MS, 1500 * MS]);
      await tab(page, 'flame');
      assert.equal((await stacks(page)).decode[1], 30);
      await page.goBack();
      await settle(page);
      await page.locator('#page-heat canvas').focus();
      await press(page, 'ArrowUp', 'Shift+ArrowRight', 'Shift+ArrowUp');
      assert.deepEqual(await app(page, '[app.rangeNow.from, app.rangeNow.to]'),
        [1500 * MS, 2540 * MS]);
      assert.match(await page.locator('#page-heat .status').textContent(), /at 2\.5/);
    });

  test('names in the tabs of time are text', 'timed', timeline, async (page) => {
    await click(page, 'on CPU (samples)', 205 * MS, 0, 1);
    assert.match(await page.locator('[aria-label="Selected slice"]').innerText(), /<b>loader/);
    await tab(page, 'heat');
    assert.equal(await page.locator('main b').count(), 0);
  });

  test('nonsense about time in the address does no harm', 'timed',
    { hash: '#tab=timeline&from=9e99&to=x&tv=5.1&sl=2.9.-4&shut=77.2&heat=nope&period=7' },
    async (page) => {
      assert.deepEqual(await app(page, '[app.rangeNow, app.timePages.slice()]'), [null, null]);
      for (const key of ['5', '4', '1']) await press(page, key);
      assert.equal(await app(page, 'app.tree.total(0)[0]'), 3900 * MS);
    });

  /* Rows of the table as text, numbers as they are. */
  const table = (page) => app(page, `app.top.tsv().text.trim().split('\\n')
    .map((line) => line.split('\\t'))`);

  test('rows of the table by thread, device and stream follow the range', 'timed',
    { hash: '#tab=top' }, async (page) => {
      const rows = page.getByLabel('Rows', { exact: true });
      await rows.selectOption('thread');
      await settle(page);
      assert.deepEqual(await table(page), [
        ['Thread', 'Self CPU time (ns)', 'Total CPU time (ns)', 'Total samples (samples)', 'Kind',
          'Slices'],
        ['main 101', '2700000000', '2700000000', '270', 'thread', '27'],
        ['<b>loader 102', '1200000000', '1200000000', '120', 'thread', '120']]);
      await range(page, 200 * MS, 300 * MS);
      assert.deepEqual((await table(page)).slice(1), [
        ['<b>loader 102', String(100 * MS), String(100 * MS), '10', 'thread', '10']]);
      await page.evaluate(() => window.aflame.app.update({ view: 'gpu', from: '', to: '' }));
      await rows.selectOption('stream');
      await settle(page);
      assert.deepEqual((await table(page)).slice(1).map((row) => [row[0], row[1], row.at(-1)]), [
        ['H200 (device 1) · stream 7', String(1280 * MS), '160'],
        ['H200 (device 1) · stream 8', String(120 * MS), '40']]);
      await rows.selectOption('device');
      await settle(page);
      assert.deepEqual((await table(page)).slice(1).map((row) => row.slice(0, 2)),
        [['H200 (device 1)', String(1400 * MS)]]);
      assert.match(await page.evaluate('location.hash'), /group=device/);
    });

  test('rows of the table by what functions have in common', 'timed', { hash: '#tab=top&view=gpu' },
    async (page) => {
      const by = async (value) => {
        await page.getByLabel('Rows', { exact: true }).selectOption(value);
        await settle(page);
        return (await table(page)).map((row) => row.slice(0, 4));
      };
      assert.deepEqual(await by('kernel'), [
        ['Kernel', 'Self device time (ns)', 'Total device time (ns)', 'Total count (launches)'],
        ['gemm', '0', String(1280 * MS), '160'],
        ['copy', String(120 * MS), String(120 * MS), '40']]);
      const whole = String(1400 * MS);
      assert.deepEqual((await by('file')).slice(1).map((row) => [row[0], row[2]])
        .sort(([a], [b]) => (a < b ? -1 : 1)), [
        ['[gpu instruction]', String(1280 * MS)], ['[gpu]', whole], ['[native]', whole],
        ['[process]', whole], ['a.py', whole]]);
      assert.ok((await by('line')).some((row) => row[0] === 'a.py:1' && row[2] === whole));
      assert.ok((await by('layer')).some((row) => row[0] === 'python' && row[2] === whole));
      assert.ok((await by('module')).some((row) => row[0] === '[python]' && row[2] === whole));
      await page.locator('.top-row', { hasText: 'python' }).dblclick();
      assert.equal(await page.locator('.failed').count(), 0);
    });

  test('CPU and GPU stand beside each other, in the range', 'timed', { hash: '#tab=top' },
    async (page) => {
      const main = async () => {
        const [head, ...rows] = await table(page);
        return [head, rows.find(([name]) => name === 'main (a.py:1)')];
      };
      let [head, row] = await main();
      assert.equal(head[4], 'Total on GPU (ns)');
      assert.deepEqual(row.slice(1, 5), ['0', String(2700 * MS), '270', String(1400 * MS)]);
      await range(page, 0, 100 * MS);
      [head, row] = await main();
      assert.deepEqual(row.slice(1, 5), ['0', String(100 * MS), '10', String(35 * MS)]);
      assert.equal((await table(page)).length - 1, 4);
      await page.evaluate(() => window.aflame.app.update({ view: 'gpu', from: '', to: '' }));
      [head, row] = await main();
      assert.deepEqual(head.slice(4, 6), ['Total on CPU (ns)', 'Mean (ns)']);
      assert.deepEqual(row.slice(2, 6), [String(1400 * MS), '200', String(2700 * MS), '7000000']);
    });

  test('the table is saved as CSV, in which no name is a formula', 'timed', { hash: '#tab=top' },
    async (page) => {
      const [saved] = await Promise.all([page.waitForEvent('download'),
        page.getByRole('button', { name: 'CSV' }).click()]);
      assert.equal(saved.suggestedFilename(), 'Training-step.csv');
      const csv = await app(page, 'app.top.csv()');
      assert.equal(csv.split('\n')[1], '"leaf",1400000000,1400000000,140,0,"native",1');
      assert.deepEqual(await app(page, `(() => { const { rows } = app.top.data;
        app.top.data.rows = { ...rows, text: rows.text.map(() => '=a"b,c') };
        app.top.columns[0].text = (id) => app.top.data.rows.text[id];
        return app.top.csv().split('\\n')[1].slice(0, 12); })()`), '"\'=a""b,c",1');
    });

  for (const [tab, texts] of [['timeline', ['stream 7', '▾ <b>loader 102', 'step', '1.0 s']],
    ['heat', ['+80 ms', '0.0 s']]])
    test(`the ${tab} is saved as SVG and as PNG`, 'timed', { hash: `#tab=${tab}` },
      async (page) => {
        const picture = `app.timePages.${tab === 'heat' ? 'heat' : 'line'}`;
        const svg = await app(page, `${picture}.svg('a <b>')`);
        const [errors, rects, found] = await page.evaluate((text) => {
          const doc = new DOMParser().parseFromString(text, 'image/svg+xml');
          return [doc.querySelectorAll('parsererror').length, doc.querySelectorAll('rect').length,
            [...doc.querySelectorAll('text')].map((el) => el.textContent)];
        }, svg);
        assert.equal(errors, 0);
        assert.ok(rects > 300, `${rects} boxes`);
        for (const text of texts) assert.ok(found.includes(text), `${text} in ${found}`);
        const [width, wanted] = await page.evaluate((which) => new Promise((done) => {
          const view = window.aflame.app.timePages[which];
          view.png(async (blob) => done([(await createImageBitmap(blob)).width, view.width * 2]));
        }), tab === 'heat' ? 'heat' : 'line');
        assert.equal(width, wanted);
      });

  for (const dark of [false, true])
    for (const tab of ['timeline', 'heat'])
      test(`the ${tab} in the ${dark ? 'dark' : 'light'}`, 'timed', { dark,
        hash: `#tab=${tab}&from=500000000&to=1400000000&sl=1.0.31` }, async (page) => {
        await settle(page);
        const ground = await app(page, `[...app.timePages.${tab === 'heat' ? 'heat' : 'line'}
          .context.getImageData(2, 2, 1, 1).data].join()`);
        assert.equal(ground, dark ? '20,22,27,255' : '255,255,255,255');
      });
};
