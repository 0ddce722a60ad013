/* The pictures of docs/gallery: pictures.js DIR_OF_REPORTS OUT. Each view as a user finds it. */
'use strict';

const path = require('node:path');
const { withChromium, withWindow, openReport } = require('../../tests/browser/browser.js');

const [, , from, to] = process.argv;
const SIZE = { width: 1400, height: 860 };

/* The quarter of the run in which devices, or where there are none threads, did most. */
async function busiest(page) {
  return page.evaluate(async () => {
    const { app } = window.aflame;
    const { span } = app.meta.time || {};
    return span ? { from: Math.round(span * 0.45), to: Math.round(span * 0.7) } : null;
  });
}

async function inRange(page) {
  const range = await busiest(page);
  if (range) await page.evaluate((patch) => window.aflame.app.update(patch), range);
}

const PAGES = [
  ['flame', 'report.html', '#view=all'],
  ['flame-gpu', 'report.html', '#view=gpu&shape=icicle'],
  ['flame-dark', 'report.html', '#view=all&theme=dark&order=heavy'],
  ['callers', 'report.html', '#view=all&dir=callers&order=heavy'],
  ['functions', 'report.html', '#view=all&tab=top'],
  ['sandwich', 'report.html', '#view=all&tab=sandwich'],
  ['timeline', 'report.html', '#tab=timeline'],
  ['timeline-range', 'report.html', '#tab=timeline', inRange],
  ['flame-range', 'report.html', '#view=all', inRange],
  ['heat', 'report.html', '#tab=heat'],
  ['run', 'report.html', '#tab=facts'],
  ['source', 'report.html', '#tab=source'],
  ['diff', 'diff.html', ''],
];
const DRAWINGS = ['flame', 'flamescope', 'diff'];

async function pageShot(context, [name, file, hash, then]) {
  const page = await openReport(context, path.join(from, file), hash);
  if (then) await then(page);
  await page.evaluate(() => window.aflame.app.working);
  await page.waitForTimeout(500); /* what is decoded in the background */
  await page.screenshot({ path: path.join(to, `${name}.png`) });
  if (page.problems.length) throw new Error(`${name}: ${page.problems.join('; ')}`);
  await page.close();
  console.log(`${name}.png`);
}

async function drawingShot(context, name) {
  const page = await context.newPage();
  await page.goto(`file://${path.resolve(from, `${name}.svg`)}`);
  await page.screenshot({ path: path.join(to, `svg-${name}.png`) });
  await page.close();
  console.log(`svg-${name}.png`);
}

withChromium((browser) => withWindow(browser, { viewport: SIZE, colorScheme: 'light' },
  async (context) => {
    for (const one of PAGES) await pageShot(context, one);
    for (const name of DRAWINGS) await drawingShot(context, name);
  })).catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
