/*
 * The report in Firefox, from file://: every tab is drawn, and every number is Chromium's.
 *
 *	test_firefox.js FIREFOX DIR_OF_REPORTS
 */
'use strict';

const path = require('node:path');
const { withChromium, withWindow, openReport } = require('./browser.js');
const { withFirefox } = require('./firefox.js');

const [, , program, reports] = process.argv;
const FILES = ['known', 'annotated', 'timed', 'job', 'hostile', 'difference', 'compared', 'chart',
  'empty'];

/* Runs in the page. What a browser may draw its own way, pixels and widths, is not in it. */
async function facts() {
  await window.aflame.ready;
  const { app } = window.aflame;
  const found = { failed: document.querySelectorAll('.failed').length, tabs: {} };
  for (const { value: tab } of app.tabList) {
    await app.update({ tab });
    await app.working;
    const page = document.getElementById(`page-${tab}`);
    found.tabs[tab] = { shown: !page.hidden, rows: page.querySelectorAll('tr').length };
  }
  for (const view of app.meta.trees.map(({ label }) => label)) {
    await app.update({ tab: 'flame', view, q: 'a' });
    await app.working;
    found[`view ${view}`] = { frames: app.tree.n, total: app.tree.total(app.w)[0],
      matched: document.querySelector('.matched') && document.querySelector('.matched').textContent,
      status: app.status.textContent };
  }
  if (app.meta.trees.length) {
    await app.update({ tab: 'top', q: '', group: 'rank' });
    await app.working;
    found.table = app.top.csv();
  }
  if (app.meta.time) {
    const { span } = app.meta.time;
    await app.update({ from: Math.floor(span / 4), to: Math.floor(span / 2), q: '' });
    await app.working;
    found.range = { total: app.tree.total(app.w)[0], frames: app.tree.n };
  }
  return found;
}

async function inChromium() {
  const found = {};
  await withChromium((browser) => withWindow(browser, {}, async (context) => {
    for (const file of FILES) {
      const page = await openReport(context, path.join(reports, `${file}.html`));
      found[file] = JSON.stringify(await page.evaluate(facts));
      await page.close();
    }
  }));
  return found;
}

async function main() {
  const wanted = await inChromium();
  let failed = 0;
  let nr = 0;
  console.log(`1..${FILES.length}`);
  await withFirefox(program, async (firefox) => {
    for (const file of FILES) {
      await firefox.open(`file://${path.resolve(reports, `${file}.html`)}`);
      const seen = await firefox.evaluate(facts).then(JSON.stringify, String);
      const same = seen === wanted[file] && /"shown":true|"tabs":\{\}/.test(seen);
      failed += same ? 0 : 1;
      console.log(`${same ? 'ok' : 'not ok'} ${++nr} - ${file}: as in Chromium`);
      if (!same) console.log(`# Chromium ${wanted[file]}\n# Firefox  ${seen}`);
    }
  });
  process.exitCode = failed ? 1 : 0;
}

main().catch((error) => {
  console.log(`Bail out! ${error.message}`);
  process.exitCode = 1;
});
