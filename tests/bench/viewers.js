/*
 * Opens each file of a folder in the viewer that its name is for and prints one line. From a call to
 * the second animation frame after it an idle page needs 17 to 33 ms. Medians of three.
 */
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { withChromium, withWindow } = require('../browser/browser.js');

const MINUTES = 600000;
const TARGETS = 3;

/* In the page: what @act takes until it is seen. */
const TIMED = `async (act) => {
  const painted = () => new Promise((done) => {
    requestAnimationFrame(() => requestAnimationFrame(done));
  });
  await painted();
  const start = performance.now();
  await act();
  await painted();
  return performance.now() - start;
}`;
const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];

const VIEWERS = {
  '.html': {
    name: 'report.html',
    open: async (page, file) => {
      await page.goto(`file://${file}`);
      await page.evaluate(() => window.aflame.ready);
    },
    steps: `async (timed, nr) => {
      const { app } = window.aflame;
      const total = app.tree.total(app.w);
      const found = { zoom: [], search: [] };
      for (let i = 1; i < app.tree.n && found.zoom.length < nr; i++)
        if (total[i] < total[0] * 0.7 && total[i] > total[0] * 0.05) {
          found.zoom.push(await timed(() => app.zoom(i)));
          await app.zoom(0);
        }
      for (const q of ['gemm', 'function_1', 'x'])
        found.search.push(await timed(() => app.update({ q })));
      return found;
    }`,
  },
  '.svg': {
    name: 'flamegraph.pl',
    open: (page, file) => page.goto(`file://${file}`),
    steps: `async (timed, nr) => {
      const found = { zoom: [], search: [] };
      const boxes = [...document.querySelectorAll('#frames > g, g.func_g')];
      const width = (g) => Number(g.querySelector('rect').getAttribute('width'));
      const whole = Math.max(...boxes.slice(0, 1000).map(width));
      for (const g of boxes) {
        if (found.zoom.length === nr) break;
        if (width(g) > whole * 0.7 || width(g) < whole * 0.05) continue;
        found.zoom.push(await timed(() => zoom(g)));
        unzoom();
      }
      for (const q of ['gemm', 'function_1', 'x']) found.search.push(await timed(() => search(q)));
      return found;
    }`,
  },
  '.json': {
    name: 'speedscope',
    open: async (page, file) => {
      const script = `${file}.js`;
      const data = JSON.stringify(fs.readFileSync(file).toString('base64'));
      fs.writeFileSync(script, `speedscope.loadFileFromBase64('x.json', ${data})`);
      const index = path.resolve(__dirname,
        '../browser/node_modules/speedscope/dist/release/index.html');
      await page.goto(`file://${index}#localProfilePath=${script}`);
      await page.getByText('Sandwich').waitFor({ timeout: MINUTES });
    },
  },
};

async function measure(file, viewer) {
  return withChromium((browser) => withWindow(browser, {}, async (context) => {
    const page = await context.newPage();
    page.setDefaultTimeout(MINUTES);
    const start = Date.now();
    await viewer.open(page, file);
    await page.evaluate(`(${TIMED})(() => {})`);
    const open = Date.now() - start;
    const steps = viewer.steps
      ? await page.evaluate(`(${viewer.steps})(${TIMED}, ${TARGETS})`) : { zoom: [], search: [] };
    return { open, ...steps };
  }));
}

(async () => {
  const folder = path.resolve(process.argv[2]);
  const cell = (value, width) => (value === undefined ? '-' : value.toFixed(0)).padStart(width);
  console.log('stacks      viewer           size MB  open ms  zoom ms  search ms');
  for (const name of fs.readdirSync(folder).sort()) {
    const viewer = VIEWERS[path.extname(name)];
    if (!viewer) continue;
    const file = path.join(folder, name);
    const opens = [(await measure(file, { ...viewer, steps: null })).open];
    opens.push((await measure(file, { ...viewer, steps: null })).open);
    const { open, zoom, search } = await measure(file, viewer);
    opens.push(open);
    console.log(`${name.split('.')[0].padEnd(11)} ${viewer.name.padEnd(14)} ` +
      `${(fs.statSync(file).size / 1e6).toFixed(2).padStart(9)} ${cell(median(opens), 8)} ` +
      `${cell(median(zoom), 8)} ${cell(median(search), 10)}`);
  }
})();
