/* The tab of sources: numbers come from report_annotated.c. */
'use strict';

const assert = require('node:assert/strict');

module.exports = ({ test, app, settle, press, tab, clickFrame }) => {
  const rows = (page, label, what) => page.locator(`[aria-label="${label}"] .annotated-row`)
    .evaluateAll((all, name) => all.map((row) => row.querySelector(name).textContent), what);
  const classes = (page, label, name) => page.locator(`[aria-label="${label}"] .annotated-row`)
    .evaluateAll((all, wanted) => all.map((row) => row.classList.contains(wanted)), name);
  const widths = (page, label) => page.locator(`[aria-label="${label}"] .annotated-bar`)
    .evaluateAll((all) => all.map((bar) => [...bar.children].map((part) => (
      Math.round((100 * part.getBoundingClientRect().width) / bar.clientWidth)))));
  const source = { hash: '#tab=source' };

  test('a device that gives no reasons has bars of samples', 'annotated', source, async (page) => {
    assert.deepEqual(await app(page, `(() => { const { annotate } = app;
      annotate.data = { ...annotate.data, reasons: { ...annotate.data.reasons, rows: [] } };
      annotate.colors = [];
      annotate.drawLegend();
      annotate.drawLines();
      annotate.drawInsns();
      const bars = [...annotate.el.querySelectorAll('.annotated-bar')];
      return [bars.length > 0, bars.every((bar) => bar.title === '' && bar.children.length < 3)];
    })()`), [true, true]);
  });

  test('without sampled kernels there is no tab of sources', 'known', {}, async (page) => {
    assert.deepEqual(await page.getByRole('tab').allTextContents(),
      ['Summary', 'Flame graph', 'Functions', 'Sandwich', 'Run']);
    await press(page, '6');
    assert.equal(await app(page, 'app.state.tab'), 'flame');
  });

  test('lines and instructions show shares and stacked reasons', 'annotated', source,
    async (page) => {
      assert.deepEqual(await rows(page, 'Source', 'code'),
        ['{', '	return p[i];', '	s += load(p, i);']);
      assert.deepEqual(await rows(page, 'Source', '.annotated-share'), ['', '80.0%', '20.0%']);
      assert.deepEqual(await rows(page, 'Source', '.annotated-number'), ['10', '11', '30']);
      assert.deepEqual(await rows(page, 'Instructions', '.annotated-number'),
        ['0x0000', '0x0010', '0x0020', '0x0040']);
      assert.deepEqual(await widths(page, 'Source'), [[], [88, 13], [13, 13]]);
      const gaps = await page.locator('[aria-label="Instructions"] .annotated-gap').count();
      assert.equal(gaps, 1);
      const tip = await page.locator('[aria-label="Source"] .annotated-bar').nth(1)
        .getAttribute('title');
      assert.match(tip, /^long scoreboard 87.5%: A value has not arrived\./);
      assert.equal(await page.locator('[aria-label="Source"] code').nth(1).getAttribute('title'),
        'in load');
    });

  test('the legend says what reasons mean and what to try', 'annotated', source, async (page) => {
    const items = page.getByRole('list', { name: 'Reasons' }).getByRole('listitem');
    assert.deepEqual(await items.allTextContents(), ['long scoreboard80.0%', 'issued20.0%']);
    assert.match(await items.first().getAttribute('title'),
      /A value has not arrived\.\nTo try: Load earlier\./);
    await items.first().focus();
    assert.match(await page.locator('.annotated .status').textContent(), /Load earlier/);
  });

  test('a line and its instructions light up together', 'annotated', source, async (page) => {
    await page.locator('[aria-label="Source"] .annotated-row').nth(1).click();
    assert.deepEqual(await classes(page, 'Instructions', 'on'), [false, true, true, false]);
    assert.match(await page.locator('.annotated .status').textContent(), /Line 11: 800 samples/);
    await page.locator('[aria-label="Instructions"] .annotated-row').nth(3).hover();
    assert.deepEqual(await classes(page, 'Source', 'near'), [false, false, true]);
    await page.locator('[aria-label="Instructions"] .annotated-row').nth(2).click();
    assert.deepEqual(await classes(page, 'Source', 'on'), [false, true, false]);
    assert.deepEqual(await classes(page, 'Instructions', 'awaited'), [false, true, false, false]);
    assert.equal(await page.locator('.annotated .status').textContent(),
      '0x0020 FADD R0, R0, R2 — load ← latency (latency.cu:30) — ' +
      'waits for 0x0010 LDG.E R2, [R4.64]');
  });

  test('the tab of sources is reached and used by keys', 'annotated', {}, async (page) => {
    await tab(page, 'source');
    assert.equal(await app(page, 'app.state.tab'), 'source');
    const list = page.getByRole('listbox', { name: 'Instructions' });
    await list.focus();
    await press(page, 'ArrowDown', 'ArrowDown', 'ArrowDown');
    const active = await list.getAttribute('aria-activedescendant');
    const option = page.locator(`#${active}`);
    assert.match(await option.textContent(), /FADD/);
    assert.equal(await option.getAttribute('aria-selected'), 'true');
    assert.equal(await list.getByRole('option').count(), 4);
    await press(page, 'End', 'ArrowDown');
    assert.match(await page.locator('.annotated .status').textContent(), /EXIT.*waits for 0x0010 LDG/);
  });

  test('a kernel in the graph leads to its source, and Back returns', 'annotated', {},
    async (page) => {
      await clickFrame(page, 'latency(float*)');
      await page.getByRole('button', { name: 'Source', exact: true }).click();
      await settle(page);
      assert.equal(await app(page, 'app.state.tab'), 'source');
      assert.match(await page.evaluate('location.hash'), /kernel=latency/);
      assert.equal(await page.locator('.annotated-head h2').textContent(), 'latency(float*)');
      await page.goBack();
      await settle(page);
      assert.equal(await app(page, 'app.state.tab'), 'flame');
      await press(page, 'a');
      assert.equal(await app(page, 'app.state.tab'), 'source');
      await tab(page, 'flame');
      await press(page, 'Backspace', 'a');
      assert.equal(await app(page, 'app.state.tab'), 'flame');
    });

  test('names and code of kernels cannot leave their place', 'annotated', source, async (page) => {
    const kernels = page.getByRole('navigation', { name: 'Kernels with samples' });
    assert.equal(await kernels.getByRole('button').count(), 2);
    await kernels.getByRole('button').nth(1).click();
    await settle(page);
    assert.equal(await page.evaluate('window.pwned'), undefined);
    assert.equal(await kernels.getByRole('button').nth(1).getAttribute('aria-current'), 'true');
    const [code] = await rows(page, 'Instructions', 'code');
    assert.equal(code, '</script><img src=x onerror=window.pwned=1>\ufffd');
    assert.match(await page.locator('.annotated-panes').innerText(),
      /No source lines are known[^]*some are left out/);
    assert.deepEqual(await widths(page, 'Instructions'), [[11, 89]]);
  });

  test('sources are shown in the dark, too', 'annotated', { ...source, dark: true },
    async (page) => {
      const color = (at) => page.locator(at).first()
        .evaluate((el) => getComputedStyle(el).backgroundColor);
      assert.equal(await page.evaluate('document.documentElement.dataset.theme'), 'dark');
      assert.equal(await color('.annotated-pane'), 'rgb(20, 22, 27)');
    });
};
