/* The page by keys alone, and as a screen reader has it; numbers come from report_known.c. */
'use strict';

const assert = require('node:assert/strict');
const { isDeepStrictEqual } = require('node:util');
const { withWindow, openReport } = require('./browser.js');
const { app, press, settle } = require('./tools.js');

/* What has the focus: its name or text, and whether that can be seen. */
const focused = (page) => page.evaluate(() => {
  const el = document.activeElement;
  const style = getComputedStyle(el);
  const box = el.getBoundingClientRect();
  const around = el.closest('.search') && getComputedStyle(el.closest('.search'));
  return { name: el.getAttribute('aria-label') || el.textContent.trim(), tag: el.tagName, id: el.id,
    seen: style.outlineStyle !== 'none' || Boolean(around && around.borderColor === style.caretColor)
      || Boolean(around), x: box.left, y: box.top, page: el.closest('.page')?.id || '' };
});
const heard = (page) => page.locator('.offscreen[role=status]').textContent();
const active = (page, label) => page.evaluate((name) => {
  const canvas = document.querySelector(`canvas[aria-label^="${name}"]`);
  const item = document.getElementById(canvas.getAttribute('aria-activedescendant'));
  return [item.textContent, item.getAttribute('role'), item.getAttribute('aria-selected'),
    canvas.contains(item)].join(' | ');
}, label);

module.exports = ({ own, report }) => {
  const open = (name, file, hash, body, options = {}) => own(name, (browser) => (
    withWindow(browser, options, async (context) => {
      const page = await openReport(context, report(file), hash);
      await body(page);
      assert.deepEqual(page.problems, []);
    })));

  open('Esc closes what is on top, one thing at a time, and says so', 'timed',
    '#tab=flame&from=1000&to=40000&q=main', async (page) => {
      await page.locator('#page-flame canvas').focus();
      await press(page, 'ArrowDown', 'ArrowUp', 'Enter', '?');
      const state = () => app(page, `[app.dialog.open, app.state.q, app.state.z.length > 0,
        app.state.x.length > 0, app.state.from]`);
      const before = await state();
      assert.equal(before[0], true);
      await press(page, 'Escape');
      assert.deepEqual(await state(), [false, ...before.slice(1)]);
      await page.locator('#page-flame').getByRole('button', { name: 'Save this view' }).focus();
      await press(page, 'Enter');
      assert.equal(await page.locator('.menu').isVisible(), true);
      assert.equal((await focused(page)).name, 'SVG');
      await press(page, 'ArrowDown');
      assert.equal((await focused(page)).name, 'PNG');
      await press(page, 'Escape');
      assert.equal(await page.locator('.menu').isVisible(), false);
      assert.equal((await focused(page)).name, 'Save this view');
      assert.deepEqual(await state(), [false, ...before.slice(1)]);
      const steps = [];
      while ((await state()).some(Boolean) && steps.length < 9) {
        await press(page, 'Escape');
        steps.push(await heard(page));
      }
      assert.deepEqual(steps, ['Search cleared', ...(before[2] ? ['Zoomed out'] : []),
        ...(before[3] ? ['Nothing is selected'] : []), 'The whole run']);
    });

  open('Esc in the search clears it, and keys act on the graph again', 'known', '#tab=flame',
    async (page) => {
      await press(page, '/');
      await page.keyboard.type('work');
      await settle(page);
      assert.equal(await app(page, 'app.state.q'), 'work');
      await press(page, 'Escape');
      assert.deepEqual([await app(page, 'app.state.q'), (await focused(page)).tag], ['', 'CANVAS']);
      await press(page, 'ArrowUp');
      assert.equal(await app(page, 'app.tree.text(app.node)'), 'app');
    });

  open('where the details are below the graph, Esc closes them first', 'known', '#tab=flame',
    async (page) => {
      assert.equal(await page.locator('.details').first().isVisible(), false);
      await press(page, 'd', 'ArrowUp');
      assert.equal(await page.locator('#page-flame .details').isVisible(), true);
      await press(page, 'Escape');
      assert.equal(await page.locator('#page-flame .details').isVisible(), false);
      assert.equal(await heard(page), 'Details closed');
      assert.equal(await app(page, 'app.state.x.length'), 1);
    }, { viewport: { width: 400, height: 800 } });

  for (const file of ['insns', 'timed'])
    open(`Tab goes through what is seen in its order, and shows where it is: ${file}`, file, '',
      async (page) => {
        for (const tab of await app(page, 'app.tabList.map(({ value }) => value)')) {
          await page.evaluate((value) => window.aflame.app.update({ tab: value }), tab);
          await settle(page);
          await page.evaluate(() => document.activeElement.blur());
          const stops = [];
          for (let k = 0; k < 80; k++) {
            await page.keyboard.press('Tab');
            const stop = await focused(page);
            if (stop.tag === 'BODY' || stop.tag === 'HTML' || (k && isDeepStrictEqual(stop, stops[0])))
              break; /* around the page once */
            assert.ok(stop.seen, `${tab}: ${stop.name} shows no focus`);
            assert.ok(!stop.page || stop.page === `page-${tab}`, `${tab}: ${stop.name} is hidden`);
            stops.push(stop);
          }
          /* Down a page, and left to right in a line: never back up to an earlier bar. */
          for (const [k, stop] of stops.entries()) {
            const back = stops.slice(0, k).find((one) => one.page === stop.page && one.y > stop.y + 40
              && one.x <= stop.x + 1 && !/facts|source|summary/.test(tab));
            assert.equal(back, undefined, `${tab}: ${stop.name} comes after ${back?.name}`);
          }
          const tabs = stops.filter(({ id }) => id.startsWith('tab-')).map(({ id }) => id);
          assert.deepEqual(tabs, [`tab-${tab}`], 'the tabs are one stop');
          await page.evaluate(() => window.aflame.app.reset());
        }
      });

  open('tabs and rows of buttons go by arrow keys', 'timed', '#tab=flame', async (page) => {
    await page.locator('#tab-flame').focus();
    await press(page, 'End');
    assert.equal((await focused(page)).id, `tab-${await app(page, 'app.state.tab')}`);
    await press(page, 'Home', 'ArrowLeft', 'ArrowRight', 'ArrowRight');
    assert.deepEqual([(await focused(page)).id, await app(page, 'app.state.tab')], ['tab-top', 'top']);
    await press(page, 'ArrowLeft');
    const shape = await app(page, 'app.state.shape');
    await page.locator('[aria-label=Shape] [tabindex="0"]').focus();
    await press(page, 'ArrowRight');
    assert.notEqual(await app(page, 'app.state.shape'), shape);
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-checked')), 'true');
    await page.locator('[aria-label=Weight] [tabindex="0"]').focus();
    await press(page, 'ArrowRight');
    assert.equal((await focused(page)).name, await app(page, 'app.base.weights[app.w].name'));
  });

  open('help gives the focus back', 'known', '#tab=flame', async (page) => {
    await page.getByRole('button', { name: 'Keys' }).focus();
    await press(page, 'Enter');
    assert.equal(await page.locator('dialog').isVisible(), true);
    await press(page, 'Escape');
    assert.deepEqual([await page.locator('dialog').isVisible(), (await focused(page)).name],
      [false, 'Keys']);
  });

  open('the graph is a tree for screen readers', 'known', '#tab=flame', async (page) => {
    const tree = page.getByRole('tree', { name: /^Flame graph/ });
    await tree.focus();
    assert.equal(await active(page, 'Flame'), 'all, 10.0 µs, 100% | treeitem | true | true');
    await press(page, 'ArrowUp', 'ArrowUp', 'ArrowUp');
    assert.equal(await active(page, 'Flame'), 'work, 8.00 µs, 80.0% | treeitem | true | true');
    const items = (await tree.locator('[role=treeitem]').evaluateAll((list) => list.map((el) => (
      `${el.getAttribute('aria-level')} ${el.textContent}`))));
    assert.deepEqual(items.slice(0, 3), ['1 all, 10.0 µs, 100%', '2 app, 10.0 µs, 100%',
      '3 main (a.py:1), 10.0 µs, 100%']);
    for (const item of ['4 work, 8.00 µs, 80.0%', '5 sys_read, 2.00 µs, 20.0%'])
      assert.ok(items.includes(item), `${item} in ${items}`);
    await press(page, 's');
    assert.equal(await app(page, 'app.state.fn'), 'work');
    await page.getByRole('tree', { name: 'Callees' }).focus();
    await press(page, 'ArrowDown');
    assert.match(await active(page, 'Callees'), /^(leaf|sys_read), .* \| treeitem \| true \| true$/);
    await press(page, 'Enter');
    assert.match(await app(page, 'app.state.fn'), /^(leaf|sys_read)$/);
  });

  open('functions are a grid, and the row that keys choose is named', 'known', '#tab=top',
    async (page) => {
      await page.getByRole('grid', { name: 'Functions' }).focus();
      await press(page, 'ArrowDown', 'ArrowDown');
      const row = await page.evaluate(() => {
        const el = document.getElementById(document.activeElement.getAttribute('aria-activedescendant'));
        return [el.getAttribute('role'), el.getAttribute('aria-selected'),
          el.querySelector('.top-name').textContent];
      });
      assert.deepEqual(row.slice(0, 2), ['row', 'true']);
      assert.equal(row[2], await app(page, 'app.top.function()'));
      await press(page, 'Enter');
      assert.deepEqual(await app(page, '[app.state.tab, app.state.fn]'), ['sandwich', row[2]]);
    });

  open('timeline and heat map are tables for screen readers', 'timed', '#tab=timeline',
    async (page) => {
      await page.locator('#page-timeline canvas').focus();
      const rows = async (id, caption) => page.evaluate(([host, words]) => {
        const tables = [...document.querySelectorAll(`#page-${host} canvas table`)];
        const table = tables.find((one) => one.caption.textContent.startsWith(words));
        return table && [...table.tBodies[0].rows].map((tr) => [...tr.cells].map((td) => td.textContent));
      }, [id, caption]);
      const tracks = await rows('timeline', 'Rows');
      assert.equal(tracks.length, await app(page, 'app.timePages.line.rows.length'));
      await press(page, 'ArrowDown', 'ArrowRight');
      const [name, long] = await app(page, `(() => { const { timePages } = app;
        const facts = timePages.facts(timePages.slice()); return [facts.name, facts.long]; })()`);
      const near = await rows('timeline', 'Around');
      assert.ok(near.some((cells) => cells[0] === name), `${name} of ${long} ns in ${near}`);
      await press(page, String(1 + await app(page, `app.tabList.findIndex(({ value }) => value === 'heat')`)));
      const columns = await rows('heat', 'Heaviest');
      assert.ok(columns.length > 0 && columns.every((cells) => cells.length === 2), String(columns));
    });

  open('nothing is read aloud twice, or at every key of a search', 'known', '#tab=flame',
    async (page) => {
      await page.evaluate(() => {
        window.spoken = [];
        for (const el of document.querySelectorAll('[role=status], [aria-live=polite], [role=alert]'))
          new MutationObserver(() => window.spoken.push(el.textContent)).observe(el,
            { childList: true, characterData: true, subtree: true });
      });
      await press(page, '/');
      for (const key of 'work') await page.keyboard.type(key, { delay: 100 });
      await page.waitForTimeout(1000);
      assert.deepEqual(await page.evaluate('window.spoken'), ['80.0% matches']);
      await page.mouse.move(300, 400);
      await page.mouse.move(600, 700);
      await settle(page);
      assert.equal(await page.evaluate('window.spoken.length'), 1);
    });
};
