/* See run_plugins. Arguments: aflame, a folder to work in, a trace, the folder of plug-ins. */
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { execFileSync } = require('node:child_process');
const { withChromium, withWindow, openReport } = require('./browser.js');

const [aflame, work, trace, folder] = process.argv.slice(2);
const plugin = (name) => ['--plugin', path.join(folder, `${name}.so`)];
const run = (...args) => execFileSync(aflame, ['report', ...args], { encoding: 'utf8', stdio: 'pipe' });
const json = (...args) => JSON.parse(run('--json', '-n', '0', ...args, trace)).tables;

/* Makes the page of these plug-ins and opens it. */
async function opened(context, hash, ...plugins) {
  const file = path.join(work, 'page.html');
  run(...plugins, '-o', file, trace);
  return openReport(context, file, hash);
}

/* The slices of launch_gaps as Chrome's events: [name, ns since the trace began, ns]. */
function chrome() {
  const file = path.join(work, 'slices.json');
  run(...plugin('launch_gaps'), '-o', file, trace);
  const { traceEvents } = JSON.parse(fs.readFileSync(file, 'utf8'));
  return traceEvents.filter(({ ph }) => ph === 'X')
    .map(({ name, ts, dur }) => [name, Math.round(ts * 1000), Math.round(dur * 1000)]).sort();
}

const shownSlices = (page) => page.evaluate(async () => {
  const { app } = window.aflame;
  const { times } = app;
  await app.working;
  return times.tracks.flatMap(({ at, kind }) => (kind === 'counter' ? []
    : (times.loaded[at] || []).flatMap((lane) => [...lane.start].map((start, k) => [
      app.names.text[lane.name[k]], start, lane.cum[k + 1] - lane.cum[k]]))));
});

const cases = {
  'the timeline has the groups, tracks and slices of the plug-in': async (context) => {
    const page = await opened(context, '#tab=timeline', ...plugin('launch_gaps'), ...plugin('kernels_by_grid'));
    const rows = await page.evaluate(() => window.aflame.app.timePages.line.rows.map(({ track }) => track.name));
    assert.deepEqual(rows, ['gaps', 'gaps so far', 'process 101 queue 1', 'process 101 queue 2']);
    assert.deepEqual((await shownSlices(page)).sort(), chrome());
    assert.match(await page.locator('#page-timeline .status').textContent(),
      new RegExp(`^${chrome().length + 9} slices`)); /* 9: the values of its counter */
    return page;
  },
  'its tree is the flame graph, by both weights': async (context) => {
    const page = await opened(context, '', ...plugin('launch_gaps'));
    const total = await page.evaluate(() => [0, 1].map((w) => window.aflame.app.forward.total(w)[0]));
    const sum = (...words) => json(...words, ...plugin('launch_gaps'))[0].rows.reduce((all, row) => all + row.self, 0);
    assert.deepEqual(total, [sum(), sum('-w', 'count')]);
    return page;
  },
  'tables of all plug-ins are there, with all rows': async (context) => {
    const page = await opened(context, '#tab=facts', ...plugin('launch_gaps'), ...plugin('kernels_by_grid'));
    const text = await page.locator('main').innerText();
    assert.match(text, /Kernels by the size of their grid/);
    const rows = json(...plugin('kernels_by_grid'))[0].rows;
    assert.ok(rows.length > 1);
    for (const row of rows) assert.ok(text.includes(row.kernel) && text.includes(row.items), row.kernel);
    return page;
  },
  'a plug-in that gives a table alone has a page that opens at it': async (context) => {
    const page = await opened(context, '', ...plugin('kernels_by_grid'));
    assert.equal(await page.evaluate(() => window.aflame.app.state.tab), 'facts');
    assert.match(await page.locator('main').innerText(), /gemm_128x128/);
    assert.equal(await page.locator('[role=tab]', { hasText: 'Flame graph' }).count(), 0);
    return page;
  },
};

withChromium((browser) => withWindow(browser, {}, async (context) => {
  let nr = 0;
  for (const [what, body] of Object.entries(cases)) {
    let error;
    try {
      const page = await body(context);
      assert.deepEqual(page.problems, []);
      await page.close();
    } catch (caught) {
      error = caught;
    }
    console.log(`${error ? 'not ok' : 'ok'} ${++nr} - ${what}`);
    if (!error) continue;
    process.exitCode = 1;
    console.log(String(error.message).split('\n').slice(0, 40).join('\n').replace(/^/gm, '# '));
  }
  console.log(`1..${nr}`);
})).catch((error) => {
  console.log(`Bail out! ${String(error.message).split('\n')[0]}`);
  process.exitCode = 1;
});
