/* Everything that the page can have in front: its tabs, and what opens over them. */
'use strict';

const { settle } = require('./tools.js');

const update = async (page, patch) => {
  await page.evaluate((change) => window.aflame.app.update(change), patch);
  await settle(page);
};

/* [name, does the page have it, bring it to the front] of what is not simply a tab. */
const OVER = [
  ['Help', () => true, (page) => page.keyboard.press('?')],
  ['a menu', (tabs) => tabs.includes('flame'), async (page) => {
    await update(page, { tab: 'flame' });
    await page.locator('#page-flame').getByRole('button', { name: 'Save this view' }).click();
  }],
  ['the details of a frame', (tabs) => tabs.includes('flame'), async (page) => {
    await update(page, { tab: 'flame', panel: true });
    await page.locator('#page-flame canvas').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
  }],
  ['a search and transforms', (tabs) => tabs.includes('flame'), async (page) => {
    await update(page, { tab: 'flame', q: 'main', ops: ['glue', 'fold', 'kind:python'] });
    await page.locator('input[type=search]').focus();
  }],
  ['the slice of a range', (tabs) => tabs.includes('timeline'), async (page) => {
    await update(page, { tab: 'timeline', panel: true, from: '1000', to: '50000' });
    await page.locator('#page-timeline canvas').focus();
    await page.keyboard.press('ArrowDown');
  }],
  ['rows by thread', (tabs) => tabs.includes('timeline'),
    (page) => update(page, { tab: 'top', group: 'thread' })],
];

/* Calls check(name) with each of them in front, one after the other. */
async function eachState(page, check) {
  const tabs = await page.evaluate(() => window.aflame.app.tabList.map(({ value }) => value));
  for (const tab of tabs) {
    await update(page, { tab });
    await check(tab);
  }
  for (const [name, has, open] of OVER) {
    if (!has(tabs)) continue;
    await open(page);
    await settle(page);
    await check(name);
    await page.keyboard.press('Escape');
    await page.evaluate(() => window.aflame.app.reset());
    await settle(page);
  }
}

module.exports = { eachState, update };
