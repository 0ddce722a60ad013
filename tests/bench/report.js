/*
 * Opens reports in Chromium and prints one line each: size, time until the graph is on the screen,
 * and what the usual steps take from the call to the second animation frame after it (an idle
 * page needs 17 to 33 ms for that alone). Medians of five, but opening is of three.
 */
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { withChromium, withWindow, openReport } = require('../browser/browser.js');

const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];

async function open(file, use) {
  return withChromium((browser) => withWindow(browser, {}, async (context) => {
    const page = await openReport(context, file);
    /* From the start of the navigation to the first painting of the graph. */
    const shown = await page.evaluate(() => (
      performance.getEntriesByName('aflame-shown')[0].startTime));
    return { shown, more: use ? await use(page) : null };
  }));
}

const steps = (page) => page.evaluate(async () => {
  const { app } = window.aflame;
  const painted = () => new Promise((done) => {
    requestAnimationFrame(() => requestAnimationFrame(done));
  });
  const timed = async (act) => {
    await painted();
    const start = performance.now();
    await act();
    await app.working;
    await painted();
    return performance.now() - start;
  };
  const total = app.tree.total(app.w);
  const targets = [];
  for (let i = 1; i < app.tree.n && targets.length < 5; i++)
    if (total[i] < total[0] * 0.7 && total[i] > total[0] * 0.05) targets.push(i);
  const middle = (list) => list.sort((a, b) => a - b)[list.length >> 1];
  const zooms = [];
  for (const target of targets) {
    zooms.push(await timed(() => app.zoom(target)));
    zooms.push(await timed(() => app.zoom(0)));
  }
  const searches = [];
  for (const q of ['gemm', 'kernel_1', 'function_[0-9]*7<', 'stall', 'x'])
    searches.push(await timed(() => app.update({ q })));
  await app.update({ q: '' });
  const idle = await timed(async () => {});
  const heavy = await timed(() => app.update({ order: 'heavy' }));
  await app.update({ order: 'name' });
  const reverse = await timed(() => app.update({ dir: 'callers' }));
  const reversed = app.tree.n;
  await app.update({ dir: 'callees' });
  const hide = await timed(() => app.toggleOp('fold'));
  return { frames: app.meta.trees[0].nodes - 1, zoom: middle(zooms), search: middle(searches), idle,
    heavy, reverse, reversed, hide };
});

(async () => {
  console.log('report        frames   size MB  open ms  zoom ms  search ms  idle ms | heavy first' +
    '  bottom-up  fold ms');
  console.log('budget     1,000,000      5.00     1000       50                     |');
  for (const file of process.argv.slice(2)) {
    const opens = [];
    for (let k = 0; k < 2; k++) opens.push((await open(file)).shown);
    const { shown, more } = await open(file, steps);
    opens.push(shown);
    const cell = (value, width, digits = 0) => value.toFixed(digits).padStart(width);
    console.log(`${path.basename(file, '.html').padEnd(9)} ` +
      `${more.frames.toLocaleString('en-US').padStart(10)} ` +
      `${cell(fs.statSync(file).size / 1e6, 9, 2)} ${cell(median(opens), 8)} ` +
      `${cell(more.zoom, 8)} ${cell(more.search, 10)} ${cell(more.idle, 8)} | ` +
      `${cell(more.heavy, 11)} ${cell(more.reverse, 10)} ${cell(more.hide, 8)}`);
  }
})();
