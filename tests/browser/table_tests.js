/* Tables of functions, of callers and callees, and of the run. */
'use strict';

const assert = require('node:assert/strict');
const { test, app, settle, press, tab, search, matched, clickFrame } = require('./tools.js');

test('columns for programs, and those without anything, are not shown', 'waits',
  { hash: '#tab=facts' }, async (page) => {
    const table = page.locator('[data-table="processes"]');
    assert.deepEqual(await table.locator('th').allTextContents(), ['Process', 'Blocked']);
    assert.deepEqual(await table.locator('td').allTextContents(), ['  app [7]', '4.00 µs']);
  });

test('functions: recursion counts once, sorting, search filters, row leads to the graph', 'known',
  {}, async (page) => {
    await tab(page, 'top');
    const cells = (name) => page.locator('.top-row', { hasText: name }).first()
      .locator('[role=gridcell]').allInnerTexts();
    const rec = (await cells('rec')).map((text) => text.replace(/\s+/g, ' '));
    assert.deepEqual(rec.slice(0, 3), ['rec', '0 ns 0%', '1.00 µs 10.0%']);
    assert.equal(rec[rec.length - 1], '3');
    const first = () => page.locator('.top-row [role=gridcell]').first().innerText();
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
  await tab(page, 'top');
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
    await tab(page, 'summary');
    const summary = await page.locator('#page-summary').innerText();
    for (const part of ['GPU (81.4 % busy)', 'python train.py --steps 40', 'samples lost', '12'])
      assert.ok(summary.includes(part), `${part} in ${summary}`);
    await tab(page, 'facts');
    const text = await page.locator('#page-facts').innerText();
    for (const part of ['Where GPU time went', '9.12 s', '45.18%', '3,840', '48.0 GiB',
      'its ring buffer was full'])
      assert.ok(text.includes(part), `${part} in ${text}`);
  });

test('the table of functions is copied as numbers', 'known', { permissions: true },
  async (page) => {
    await tab(page, 'top');
    await page.locator('button', { hasText: 'Copy table' }).click();
    const lines = (await page.evaluate('navigator.clipboard.readText()')).split('\n');
    assert.equal(lines[0], 'Function\tSelf CPU time (ns)\tTotal CPU time (ns)\tTotal samples (samples)\t' +
      'Total on GPU (ns)\tKind\tFrames');
    assert.equal(lines[1], 'leaf\t7000\t7000\t7\t0\tnative\t2');
  });
