/* The pictures of docs/gallery: pictures.js DIR_OF_REPORTS OUT. Each view as a user finds it. */
'use strict';

const path = require('node:path');
const { withChromium, withWindow, openReport } = require('../../tests/browser/browser.js');

const [, , from, to] = process.argv;
const SIZE = { width: 1200, height: 740 };

/* Of the run's time: programs mostly do there what they are for. */
const RANGE = [0.78, 0.8];

async function inRange(page) {
  await page.evaluate(async (range) => {
    const { app } = window.aflame;
    if (!app.meta.time) return;
    const [start, end] = range.map((part) => Math.round(part * app.meta.time.span));
    await app.update({ from: start, to: end });
  }, RANGE);
}

async function zoomed(page) {
  await inRange(page);
  const button = page.getByRole('button', { name: 'Zoom to range' });
  if (await button.isEnabled()) await button.click();
}

const PAGES = [
  ['summary', 'report.html', ''],
  ['flame', 'report.html', '#view=all&shape=icicle&order=heavy&o=glue'],
  ['flame-gpu', 'report.html', '#view=gpu&shape=icicle'],
  ['flame-dark', 'report.html', '#view=all&theme=dark&order=heavy'],
  ['flame-time', 'report.html', '#view=cpu&order=time'],
  ['callers', 'report.html', '#view=all&dir=callers&order=heavy'],
  ['functions', 'report.html', '#view=all&tab=top'],
  ['sandwich', 'report.html', '#view=gpu&tab=sandwich'],
  ['timeline', 'report.html', '#tab=timeline'],
  ['timeline-range', 'report.html', '#tab=timeline', zoomed],
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
  await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight));
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
