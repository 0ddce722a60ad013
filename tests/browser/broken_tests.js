/* Browsers and files that lack something: a sentence says what, and what to do. */
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { withWindow, openReport } = require('./browser.js');
const { app, press } = require('./tools.js');
const { eachState } = require('./states.js');
const { misfits } = require('./fit.js');

/* The text that is in the window, as one sees it. */
const seen = (page) => page.evaluate(() => document.body.innerText);

module.exports = ({ own, report }) => {
  own('without a canvas each picture says why it is not there, and tables are', (browser) => (
    withWindow(browser, {}, async (context) => {
      await context.addInitScript(() => { HTMLCanvasElement.prototype.getContext = () => null; });
      const page = await openReport(context, report('timed'), '#tab=flame');
      for (const tab of ['flame', 'sandwich', 'timeline', 'heat']) {
        await page.evaluate((value) => window.aflame.app.update({ tab: value }), tab);
        assert.match(await seen(page), /lets no page draw.*Functions and Run have the same/s, tab);
      }
      await page.evaluate(() => window.aflame.app.update({ tab: 'flame' }));
      await press(page, 'ArrowUp', 'd', 'r', 'i', 'Escape');
      await page.evaluate(() => window.aflame.app.update({ tab: 'top' }));
      assert.ok(await page.locator('.top-row').count() > 3);
      assert.deepEqual(page.problems, []);
    })));

  /* Wider letters than those it was made for: of a font that stands in for all. */
  own('with other fonts than its own no control is cut', async (browser) => {
    const problems = [];
    for (const width of [400, 900, 1500])
      await withWindow(browser, { bypassCSP: true, viewport: { width, height: 800 } }, async (context) => {
        const page = await openReport(context, report('insns'));
        await page.addStyleTag({ content: '* { font-family: monospace !important; }' });
        await eachState(page, async (state) => {
          for (const problem of await page.evaluate(misfits, 0)) problems.push(`${width}, ${state}: ${problem}`);
        });
      });
    assert.equal(problems.join('\n'), '');
  });

  own('without JavaScript a sentence says so, and the tables can be scrolled', (browser) => (
    withWindow(browser, { javaScriptEnabled: false, viewport: { width: 400, height: 500 } }, async (context) => {
      const page = await context.newPage();
      await page.goto(`file://${report('insns')}`);
      const text = await page.locator('noscript').first().innerText();
      assert.match(text, /needs JavaScript for its graphs: allow it/);
      assert.match(text, /Findings/);
      assert.equal(await page.locator('#af-loading').isVisible(), false);
      const last = page.locator('noscript table').last();
      await page.mouse.move(200, 300);
      await page.mouse.wheel(0, 100000);
      await page.waitForTimeout(300);
      const box = await last.boundingBox();
      assert.ok(box.y < 500, `the last table is at ${box.y}`);
    })));

  const damaged = (name, change, wanted, expected = /./) => own(`a file ${name} says so`, (browser) => (
    withWindow(browser, {}, async (context) => {
      const file = path.join(path.dirname(report('timed')), 'damaged.html');
      fs.writeFileSync(file, change(fs.readFileSync(report('timed'), 'latin1')), 'latin1');
      const page = await context.newPage();
      await page.goto(`file://${file}`);
      await page.evaluate(() => window.aflame?.ready.catch(() => {}));
      assert.match(await seen(page), wanted);
      assert.match(await seen(page), expected);
      /* It is in the window, not below it. */
      const box = await page.locator('.failed').boundingBox();
      assert.ok(box.y >= 0 && box.y + box.height < 900, JSON.stringify(box));
    })));
  const COPY = /copy it again/;
  const cut = (id) => (text) => text.replace(new RegExp(`(id="${id}">.{40})[^<]*`, 's'), '$1');
  damaged('cut off in the middle', (text) => text.slice(0, text.length / 4), /the file is not complete/, COPY);
  damaged('cut off in its script', (text) => text.slice(0, text.length - 3000), /the file is not complete/, COPY);
  damaged('with damaged tables', cut('af-tables'), /file is damaged/, COPY);
  damaged('with damaged names', cut('af-names'), /file is damaged/, COPY);
  damaged('with a damaged tree', cut('af-tree-0'), /file is damaged/, COPY);

  own('a part that is damaged says so when it is looked at; the rest stays', (browser) => (
    withWindow(browser, {}, async (context) => {
      const file = path.join(path.dirname(report('timed')), 'damaged.html');
      fs.writeFileSync(file, cut('af-time-\\d+')(fs.readFileSync(report('timed'), 'latin1')), 'latin1');
      const page = await openReport(context, file, '#tab=flame');
      assert.equal(await page.locator('.failed').count(), 0);
      await page.evaluate(() => window.aflame.app.update({ tab: 'timeline' }).catch(() => {}));
      assert.match(await seen(page), /file is damaged/);
      await page.evaluate(() => window.aflame.app.update({ tab: 'top' }).catch(() => {}));
      assert.ok(await page.locator('.top-row').count() > 3);
      assert.equal(await app(page, 'app.busy.hidden'), true);
    })));
};
