/*
 * What aflame exports for speedscope, in speedscope itself. Argument: FILE.speedscope.json and what
 * its profiles must have, as JSON: [[name, total, a function, its total as shown], …]. Prints TAP.
 *
 * It is opened the way its own command does: as a script that hands the file over. The totals come
 * back by its own export.
 */
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { withChromium, withWindow } = require('./browser.js');

const [file, expected] = process.argv.slice(2);
const want = JSON.parse(expected);
const index = path.join(path.dirname(require.resolve('speedscope/package.json')),
  'dist', 'release', 'index.html');

const handOver = (folder) => {
  const script = path.join(folder, 'profile.js');
  const name = JSON.stringify(path.basename(file));
  const data = JSON.stringify(fs.readFileSync(file).toString('base64'));
  fs.writeFileSync(script, `speedscope.loadFileFromBase64(${name}, ${data})`);
  return script;
};

const sum = (profile) => profile.weights.reduce((a, b) => a + b, 0);

async function check(context, folder) {
  const page = await context.newPage();
  const problems = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  await page.goto(`file://${index}#localProfilePath=${handOver(folder)}`);
  await page.getByText('Sandwich').click();
  await page.getByText(want[0][2], { exact: true }).first().waitFor();
  const row = page.locator('tr', { hasText: want[0][2] }).first();
  assert.ok((await row.textContent()).includes(want[0][3]), await row.textContent());
  const [download] = await Promise.all([page.waitForEvent('download'),
    page.getByText('Export').click()]);
  const saved = JSON.parse(fs.readFileSync(await download.path()));
  assert.deepEqual(saved.profiles.map((p) => [p.name, p.type === 'sampled' ? sum(p) : p.endValue]),
    want.map(([name, total]) => [name, total]));
  if (process.env.SCREENSHOTS) {
    await page.screenshot({ path: path.join(process.env.SCREENSHOTS, 'speedscope.png') });
  }
  assert.deepEqual(problems, []);
}

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'aflame-speedscope-'));
withChromium((browser) => withWindow(browser, { acceptDownloads: true },
  (context) => check(context, folder)))
  .then(() => console.log('ok 1 - speedscope shows the same totals'))
  .catch((error) => {
    console.log('not ok 1 - speedscope shows the same totals');
    console.log(String(error.stack).replace(/^/gm, '# '));
    process.exitCode = 1;
  })
  .finally(() => fs.rmSync(folder, { recursive: true }));
console.log('1..1');
