/*
 * Opens reports in Chromium and prints one line each: size, time until the graph is on the screen,
 * and what the usual steps take from the call to the second animation frame after it (an idle
 * page needs 17 to 33 ms for that alone). Medians of five, but opening is of three. What does not
 * come back within a minute is reported, and the next report is taken.
 */
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { withChromium, withWindow, openReport } = require('../browser/browser.js');

const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];

const PATIENCE_S = 60;

async function within(what, work) {
  let timer;
  const late = new Promise((_, fail) => {
    timer = setTimeout(() => fail(new Error(`${what}: nothing in ${PATIENCE_S} s`)),
      PATIENCE_S * 1000);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function open(file, use) {
  return withChromium((browser) => withWindow(browser, {}, async (context) => {
    const page = await within('opening', openReport(context, file));
    /* From the start of the navigation to the first painting of the graph. */
    const shown = await page.evaluate(() => (
      performance.getEntriesByName('aflame-shown')[0].startTime));
    return { shown, more: use ? await use(page) : null };
  }));
}

/* What act(app, argument) takes in the page until it is on the screen. */
function timed(page, what, act, argument) {
  return within(what, page.evaluate(`(async () => {
    const painted = () => new Promise((done) => {
      requestAnimationFrame(() => requestAnimationFrame(done));
    });
    const { app } = window.aflame;
    await painted();
    const start = performance.now();
    await (${act})(app, ${JSON.stringify(argument)});
    await app.working;
    await painted();
    return performance.now() - start;
  })()`));
}

/*
 * Frames to zoom into, of middling width where there are such, else the widest; and words to search
 * for, of names from all over the report.
 */
const targets = () => {
  const { app } = window.aflame;
  const { tree, names } = app;
  const total = tree.total(app.w);
  const frames = [];
  const wide = [];
  for (let i = 1; i < tree.n && frames.length < 5; i++) {
    if (tree.isGap(i)) continue;
    if (total[i] < total[0] * 0.7 && total[i] > total[0] * 0.05) frames.push(i);
    else if (wide.length < 5 && total[i] > total[0] * 0.05) wide.push(i);
  }
  const words = [];
  for (let k = 1; k < 5; k++) {
    const name = names.text[Math.floor((names.count * k) / 5)] || '';
    words.push((name.match(/[A-Za-z_]{3,}/) || ['x'])[0]);
  }
  return { frames: frames.length ? frames : wide, words: [...words, 'x'] };
};

async function steps(page) {
  const { frames, words } = await within('looking for targets', page.evaluate(targets));
  const zooms = [];
  for (const frame of frames)
    for (const to of [frame, 0])
      zooms.push(await timed(page, `zoom to ${to}`, (app, at) => app.zoom(at), to));
  const searches = [];
  for (const q of words)
    searches.push(await timed(page, `search ${q}`, (app, word) => app.update({ q: word }), q));
  const set = (patch) => timed(page, JSON.stringify(patch), (app, to) => app.update(to), patch);
  await set({ q: '' });
  const idle = await timed(page, 'nothing', () => {});
  const heavy = await set({ order: 'heavy' });
  await set({ order: 'name' });
  const reverse = await set({ dir: 'callers' });
  await set({ dir: 'callees' });
  const fold = await timed(page, 'folding', (app) => app.toggleOp('fold'));
  const nodes = await page.evaluate(() => window.aflame.app.meta.trees[0].nodes);
  return { frames: nodes - 1, zoom: median(zooms), search: median(searches), idle, heavy, reverse,
    fold };
}

async function measure(file) {
  const opens = [];
  for (let k = 0; k < 2; k++) opens.push((await open(file)).shown);
  const { shown, more } = await open(file, steps);
  opens.push(shown);
  const cell = (value, width, digits = 0) => (
    value === undefined ? '-' : value.toFixed(digits)).padStart(width);
  return `${more.frames.toLocaleString('en-US').padStart(10)} ` +
    `${cell(fs.statSync(file).size / 1e6, 9, 2)} ${cell(median(opens), 8)} ` +
    `${cell(more.zoom, 8)} ${cell(more.search, 10)} ${cell(more.idle, 8)} | ` +
    `${cell(more.heavy, 11)} ${cell(more.reverse, 10)} ${cell(more.fold, 8)}`;
}

(async () => {
  console.log('report        frames   size MB  open ms  zoom ms  search ms  idle ms | heavy first' +
    '  bottom-up  fold ms');
  console.log('budget     1,000,000      5.00     1000       50        100          |');
  for (const file of process.argv.slice(2)) {
    const line = await measure(file).catch((error) => `failed: ${error.message}`);
    console.log(`${path.basename(file, '.html').padEnd(9)} ${line}`);
  }
})();
