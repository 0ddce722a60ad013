/* Ranks, and why kernels stall, in the table: numbers come from report_job.h. */
'use strict';

const assert = require('node:assert/strict');

const MS = 1e6;

module.exports = ({ test, app, settle }) => {
  const top = (more = '') => ({ hash: `#tab=top${more}` });
  const table = (page) => app(page, `app.top.tsv().text.trim().split('\\n')
    .map((line) => line.split('\\t'))`);
  const update = async (page, patch) => {
    await page.evaluate((values) => window.aflame.app.update(values), patch);
    await settle(page);
  };
  /* By name the text of the mix. */
  const mixes = async (page) => {
    const [head, ...rows] = await table(page);
    const at = head.indexOf('Stall mix');
    assert.ok(at > 0, head.join());
    return Object.fromEntries(rows.map((row) => [row[0], row[at]]));
  };

  test('rows of the table by rank: processes of one together, CPU and GPU beside each other', 'job',
    top('&view=cpu'), async (page) => {
      await page.getByLabel('Rows', { exact: true }).selectOption('rank');
      await settle(page);
      assert.deepEqual(await table(page), [
        ['Rank', 'Self CPU time (ns)', 'Total CPU time (ns)', 'Total samples (samples)',
          'Total on GPU (ns)', 'Kind', 'Slices'],
        ['rank 0', String(300 * MS), String(300 * MS), '30', String(400 * MS), 'rank', '1'],
        ['rank 1', String(300 * MS), String(300 * MS), '30', String(300 * MS), 'rank', '2'],
        ['[no rank]', String(10 * MS), String(10 * MS), '1', '0', 'rank', '1']]);
      assert.match(await page.evaluate('location.hash'), /group=rank/);
      await page.evaluate((ms) => window.aflame.app.setRange(500 * ms, 700 * ms), MS);
      await settle(page);
      assert.deepEqual((await table(page)).slice(1).map((row) => [row[0], row[2], row[4]]),
        [['rank 1', String(200 * MS), String(100 * MS)]]);
      await update(page, { view: 'gpu', from: '', to: '' });
      assert.deepEqual((await table(page)).slice(1).map((row) => row.slice(0, 2)),
        [['rank 0', String(400 * MS)], ['rank 1', String(300 * MS)]]);
    });

  test('processes of the timeline are called by their ranks', 'job', { hash: '#tab=timeline' },
    async (page) => {
      assert.deepEqual(await app(page, `app.times.tracks.filter(({ kind }) => kind === 'process')
        .map(({ name }) => name)`), ['rank 0 · train (201)', 'rank 1 · train (202)',
        'rank 1 · loader (203)', 'mpirun']);
    });

  test('without ranks there are no rows by rank', 'timed', top(), async (page) => {
    assert.deepEqual(await page.getByLabel('Rows', { exact: true }).locator('option')
      .allTextContents(), ['by function', 'by kernel', 'by file', 'by line', 'by module',
      'by layer', 'by thread', 'by device', 'by stream']);
  });

  test('the stall mix is of all instructions below a function, each once', 'job',
    top('&view=gpu'), async (page) => {
      const all = 'long scoreboard 42.9%, issued 24.3%, fixed latency 21.4%, barrier 11.4%';
      const gemm = 'long scoreboard 60.0%, fixed latency 30.0%, issued 10.0%';
      const tree = 'issued 60.0%, barrier 40.0%';
      assert.deepEqual(await mixes(page), {
        '[long scoreboard]': '', '[issued]': '', '[fixed latency]': '', '[barrier]': '',
        main: all, train: all, gemm, '0x0010 LDG': 'long scoreboard 85.7%, issued 14.3%',
        '0x0010 LDS': tree, tree, walk: tree, '0x0020 HMMA': 'fixed latency 100%' });
      await update(page, { w: 'samples' });
      assert.equal((await mixes(page)).gemm, gemm);
      await update(page, { group: 'kernel', w: 'time' });
      assert.deepEqual(await mixes(page), { gemm, tree });
    });

  test('the stall mix follows transforms and the range', 'job', top('&view=gpu'), async (page) => {
    await update(page, { ops: ['drop:gemm'] });
    assert.equal((await mixes(page)).main, 'issued 60.0%, barrier 40.0%');
    await update(page, { ops: [], from: '0', to: String(500 * MS) });
    assert.equal((await mixes(page)).main, 'long scoreboard 60.0%, fixed latency 30.0%, ' +
      'issued 10.0%');
    await update(page, { ops: ['kind:gpu instruction'] });
    assert.ok(!(await table(page))[0].includes('Stall mix'));
  });

  test('the stall mix is a bar in the legend\'s colours, and sorts by what leads it', 'job',
    top('&view=gpu&group=kernel'), async (page) => {
      const row = (name) => page.locator('.top-row', { hasText: name });
      const bar = await row('gemm').locator('.annotated-bar span').evaluateAll((all) => all
        .map((part) => [Math.round(parseFloat(part.style.width)), part.style.backgroundColor]));
      assert.deepEqual(bar.map(([width]) => width), [60, 30, 10]);
      assert.equal(new Set(bar.map(([, color]) => color)).size, 3);
      const mix = row('tree').locator('.top-mix');
      assert.equal(await mix.getAttribute('aria-label'), 'issued 60.0%, barrier 40.0%');
      assert.equal(await mix.getAttribute('title'), 'issued 60.0%, barrier 40.0%');
      assert.equal(await mix.textContent(), 'barrier 40.0%'); /* issued is no stall */
      await page.getByRole('columnheader', { name: 'Stall mix' }).click();
      const names = () => app(page, 'app.top.ids.map((id) => app.top.data.rows.text[id])');
      assert.deepEqual(await names(), ['gemm', 'tree']);
      await page.getByRole('columnheader', { name: 'Stall mix' }).click();
      assert.deepEqual(await names(), ['tree', 'gemm']);
      assert.match(await app(page, 'app.top.csv()'), /,"issued 60\.0%, barrier 40\.0%",/);
    });
};
