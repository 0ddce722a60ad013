/*
 * Opens reports with a timeline in Chromium and prints one line each: size; time from the start of
 * the navigation until the graph is on the screen, and until the whole timeline is when the page is
 * opened with it; what a step of zooming takes from the call to the second animation frame after it
 * (an idle page needs 17 to 33 ms for that alone); frames painted a second while the timeline is
 * panned in each, all of it and a tenth in view; the time of one painting by itself; what a range
 * takes until the flame graph is of it; and the heat map. Opening is the median of three.
 */
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { withChromium, withWindow, openReport } = require('../browser/browser.js');

const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];

const opened = (file, hash, use) => withChromium((browser) => withWindow(browser, {},
  async (context) => {
    const page = await openReport(context, file, hash);
    const [graph, all] = await page.evaluate(async () => {
      const { app } = window.aflame;
      await app.working;
      await new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); });
      return [performance.getEntriesByName('aflame-shown')[0].startTime, performance.now()];
    });
    if (page.problems.length) console.log(page.problems.join('\n'));
    return { graph, all, more: use ? await use(page) : null };
  }));

const steps = (page) => page.evaluate(async () => {
  const { app } = window.aflame;
  const { line } = app.timePages;
  const frame = () => new Promise((done) => { requestAnimationFrame(done); });
  const timed = async (act) => {
    await frame();
    await frame();
    const start = performance.now();
    await act();
    await frame();
    await frame();
    return performance.now() - start;
  };
  const middle = (list) => list.sort((a, b) => a - b)[list.length >> 1];
  const span = app.times.span;
  const zooms = [];
  for (let k = 0; k < 9; k++) zooms.push(await timed(() => line.zoom(0.5)));
  const paintings = [];
  const pans = [];
  for (const wide of [0.9, 0.1]) {
    line.look(0, span * wide);
    await frame();
    const nr = 90;
    const start = performance.now();
    for (let k = 0; k < nr; k++) {
      line.pan((k < nr / 2 ? 1 : -1) * (wide > 0.5 ? 0.002 : 0.02));
      await frame();
    }
    pans.push(nr * 1000 / (performance.now() - start));
    const before = performance.now();
    for (let k = 0; k < 20; k++) line.paintNow();
    paintings.push((performance.now() - before) / 20);
  }
  const search = await timed(() => app.update({ q: 'kernel_1' }));
  await app.update({ q: '' });
  const range = await timed(() => app.update({ tab: 'flame', from: String(span / 4 | 0),
    to: String(span / 2 | 0) }));
  const total = app.tree.total(app.w)[0];
  const heat = await timed(() => app.update({ tab: 'heat' }));
  return { slices: app.times.tracks.reduce((sum, track) => sum + track.n, 0), zoom: middle(zooms),
    pans, paintings, search, range, heat, total };
});

(async () => {
  console.log('slices       size MB  graph ms  timeline ms  zoom ms  frames/s whole  a tenth' +
    '  painting ms  search ms  range ms  heat ms');
  console.log('budget 5 M     30.00                   3000       50              30       30' +
    '           33');
  for (const file of process.argv.slice(2)) {
    const graphs = [];
    const alls = [];
    let last;
    for (let k = 0; k < 3; k++) {
      last = await opened(file, '#tab=timeline', k === 2 ? steps : null);
      alls.push(last.all);
      graphs.push((await opened(file, '')).graph);
    }
    const { more } = last;
    const cell = (value, width, digits = 0) => value.toFixed(digits).padStart(width);
    console.log(`${more.slices.toLocaleString('en-US').padEnd(10)} ` +
      `${cell(fs.statSync(file).size / 1e6, 9, 2)} ${cell(median(graphs), 9)} ` +
      `${cell(median(alls), 12)} ${cell(more.zoom, 8)} ${cell(more.pans[0], 15)} ` +
      `${cell(more.pans[1], 8)} ${cell(Math.max(...more.paintings), 12, 1)} ` +
      `${cell(more.search, 10)} ${cell(more.range, 9)} ${cell(more.heat, 8)}`);
  }
})();
