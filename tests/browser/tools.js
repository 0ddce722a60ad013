/* What tests of the report share: the list of them, and what they do in a page. */
'use strict';

const tests = [];
/* Of FILE.html; @options are the page's hash, dark, permissions, and problems that are expected. */
const test = (name, file, options, body) => tests.push({ name, file, options, body });

/* Text of all labels drawn on the canvas of the flame graph in one painting. */
const drawnLabels = (page) => page.evaluate(() => {
  const { flame } = window.aflame.app;
  const labels = [];
  flame.paint({ width: flame.width, height: flame.height, pixel: 1, y: (d) => flame.y(d),
    rect() {}, frame() {}, text: (x, y, text) => labels.push(text) });
  return labels;
});
const app = (page, expression) => page.evaluate(`(() => { const app = window.aflame.app;
  return ${expression}; })()`);
const settle = (page) => page.evaluate(() => new Promise((done) => {
  setTimeout(() => window.aflame.app.working.then(() => requestAnimationFrame(done)), 90);
}));
const press = async (page, ...keys) => {
  for (const key of keys) await page.keyboard.press(key);
  await settle(page);
};
/* Press the digit of a tab. */
const tab = async (page, value) => press(page, String(1 +
  await app(page, `app.tabList.findIndex((tab) => tab.value === '${value}')`)));
const search = async (page, text) => {
  await press(page, '/');
  await page.keyboard.type(text);
  await settle(page);
};
const matched = (page) => page.locator('.matched').textContent();
const nodeOf = (name) => '[...Array(app.tree.n).keys()]' +
  `.find((i) => app.tree.text(i) === '${name}')`;
/* Click the middle of a frame, as drawn. */
const clickFrame = async (page, name, options) => {
  const place = await app(page, `(() => { const box = app.flame.canvas.getBoundingClientRect();
    const p = app.flame.placeOf(${nodeOf(name)});
    return { x: box.left + p.x + p.width / 2, y: box.top + p.y + 10 }; })()`);
  await page.mouse.click(place.x, place.y, options);
  await settle(page);
};
/* Where in the window track @name (nth of its name) has moment @t, in the level @level. */
const placeOf = (page, name, t, level = 0, nth = 0) => page.evaluate(([wanted, at, l, n]) => {
  const { line } = window.aflame.app.timePages;
  const box = line.canvas.getBoundingClientRect();
  const row = line.rows.filter(({ track }) => track.name === wanted)[n];
  return { x: box.left + 200 + (at - line.t0) / line.scale(),
    y: box.top + row.y - line.host.scrollTop + 8 + 17 * l };
}, [name, t, level, nth]);
const drag = async (page, from, to) => {
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move((from.x + to.x) / 2, to.y);
  await page.mouse.move(to.x, to.y);
  await page.mouse.up();
  await settle(page);
};
/* What the timeline looks at, when it has come there. */
const windowOf = async (page) => {
  await page.waitForFunction(() => !window.aflame.app.timePages.line.aim);
  return app(page, '[app.timePages.line.t0, app.timePages.line.t1]');
};

module.exports = { tests, test, drawnLabels, app, settle, press, tab, search, matched, nodeOf,
  clickFrame, placeOf, drag, windowOf };
