/* Counts before and after; numbers come from report_compared.c. */
'use strict';

const assert = require('node:assert/strict');
const { test, drawnLabels, app, settle, press, tab } = require('./tools.js');

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
  const { rows } = await app(page, "app.meta.tables.find((table) => table.name === 'functions')");
  const page1 = await changes(page);
  assert.deepEqual(Object.keys(page1).sort(), rows.map((row) => row.function).sort());
  for (const row of rows)
    for (const [k, what] of ['self', 'total'].entries()) {
      const { before, after, size, noise, text } = page1[row.function][k];
      assert.deepEqual([before, after, size, Math.round(noise), text],
        [row[`${what}_before`], row[`${what}_after`], row[`${what}_change`],
          row[`${what}_noise`], row[what]], `${what} of ${row.function}`);
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
  await tab(page, 'top');
  assert.deepEqual(await page.locator('.top-head button').allTextContents(), ['Function',
    'Self after ↓', 'Total after', 'Total before', 'Self change', 'Total change', 'Change', 'Kind',
    'Frames']);
  await page.locator('.top-head button', { hasText: 'Self change' }).click();
  assert.match(await page.locator('.top-row').first().innerText(), /^grew/);
});
