/* See run_serve. Arguments: aflame, a folder with traces, words of a test's name. */
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { execFileSync, spawn } = require('node:child_process');
const { withChromium, withWindow } = require('./browser.js');

const [aflame, work, words] = process.argv.slice(2);
const trace = (name) => path.join(work, name);

/* Calls use(link) while `aflame serve` shows the trace. */
async function served(name, use) {
  const child = spawn(aflame, ['serve', trace(name)], { stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = new Promise((done) => { child.on('exit', done); });
  try {
    const link = await new Promise((done, failed) => {
      let text = '';
      child.stdout.on('data', (data) => {
        text += data;
        if (text.includes('\n')) done(text.trim());
      });
      child.on('exit', () => failed(new Error('aflame serve ended')));
    });
    return await use(link);
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
}

/* The page that the address leads to, once its report is made. */
async function open(context, link) {
  const page = await context.newPage();
  page.problems = [];
  page.on('console', (message) => {
    if (message.type() === 'error') page.problems.push(message.text());
  });
  page.on('pageerror', (error) => page.problems.push(String(error)));
  await page.goto(link);
  await shown(page);
  return page;
}

async function shown(page) {
  await page.waitForFunction(() => window.aflame?.served, null, { timeout: 60000 });
  await page.evaluate(() => window.aflame.ready);
}

const gpuTime = (page) => page.evaluate(async () => {
  const { app } = window.aflame;
  await app.update({ tab: 'flame', view: 'gpu', w: 'time' });
  return app.base.total(app.base.weights.findIndex(({ name }) => name === 'time'))[0];
});

/* The same by the command line, which reads all of the trace. */
const folded = (name, ...options) => execFileSync(aflame, ['flame', '--view', 'gpu', '--depth',
  'kernel', ...options, trace(name)], { encoding: 'utf8', stdio: 'pipe', maxBuffer: 2 ** 28 })
  .trim().split('\n').reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);

const tests = [];
const test = (name, body) => tests.push([name, body]);

test('a small trace is shown whole, without a word on parts, and its address has no token',
  (context) => served('small', async (link) => {
    const page = await open(context, link);
    assert.ok(!page.url().includes('token'), page.url());
    assert.equal(await page.locator('.served').isVisible(), false);
    assert.equal(await gpuTime(page), folded('small'));
    await page.reload();
    await shown(page);
    assert.deepEqual(page.problems, []);
  }));

test('of a large trace the page says which part it shows, and the part has what text says',
  (context) => served('large', async (link) => {
    const page = await open(context, link);
    const { from, to, span } = await page.evaluate(() => window.aflame.served.served);
    const text = await page.locator('.served').innerText();
    assert.match(text, /This is a part of the run: 0 ns to .* of 4\.00 s/);
    assert.match(text, /The whole run (is being read: .* %|is read)/);
    assert.ok(to < span / 3);
    assert.equal(await gpuTime(page), folded('large', '--from', `${from}ns`, '--to', `${to}ns`));
    await page.locator('.served a', { hasText: 'show it' }).click({ timeout: 60000 });
    await shown(page);
    assert.match(await page.locator('.served').innerText(), /This is the whole run: 4\.00 s/);
    assert.equal(await gpuTime(page), folded('large'));
    assert.deepEqual(page.problems, []);
  }));

test('a part that is dragged over the run is loaded alone', (context) => served('large',
  async (link) => {
    const page = await open(context, link);
    const box = await page.locator('.served-bars').boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + 5);
    await page.mouse.down();
    await page.mouse.move(box.x + (box.width * 3) / 5, box.y + 5);
    await page.mouse.up();
    assert.match(await page.locator('.served-choice').innerText(), /about 3\.\d* MiB/);
    await page.getByRole('button', { name: 'Load' }).click();
    await page.waitForURL(/from=/);
    await shown(page);
    const { from, to } = await page.evaluate(() => window.aflame.served.served);
    assert.ok(Math.abs(from / 1e9 - 2) < 0.05 && Math.abs(to / 1e9 - 2.4) < 0.05, `${from} ${to}`);
    assert.equal(await gpuTime(page), folded('large', '--from', `${from}ns`, '--to', `${to}ns`));
    assert.deepEqual(page.problems, []);
  }));

test('a page says that its trace was recorded again, and stays as it is until it is loaded anew',
  (context) => served('small', async (link) => {
    const page = await open(context, link);
    const before = await gpuTime(page);
    fs.renameSync(trace('small'), trace('old'));
    fs.renameSync(trace('again'), trace('small'));
    await page.locator('.served-alert', { hasText: 'recorded again' }).waitFor({ timeout: 30000 });
    assert.equal(await gpuTime(page), before);
    const old = await page.evaluate(() => window.aflame.served.served.trace);
    await page.locator('.served-alert a').click();
    await page.waitForFunction((id) => window.aflame?.served && window.aflame.served.served.trace
      !== id, old, { timeout: 30000 });
    await shown(page);
    assert.equal(await gpuTime(page), folded('small'));
    assert.notEqual(await gpuTime(page), before);
  }));

test('a run of very many processes says how to find one', (context) => served('many',
  async (link) => {
    const page = await open(context, link);
    assert.match(await page.locator('.served').innerText(), /The run has 1,200 processes: .*Run tab/);
    await page.evaluate(() => window.aflame.app.update({ tab: 'facts' }));
    assert.deepEqual(page.problems, []);
  }));

test('a page of a server that has ended says so', async (context) => {
  const page = await served('small', (link) => open(context, link));
  await page.locator('.served-alert', { hasText: 'does not answer' }).waitFor({ timeout: 30000 });
});

withChromium(async (browser) => {
  const chosen = tests.filter(([name]) => name.includes(words));
  let nr = 0;
  for (const [name, body] of chosen) {
    let error;
    try {
      await withWindow(browser, {}, body);
    } catch (caught) {
      error = caught;
    }
    console.log(`${error ? 'not ok' : 'ok'} ${++nr} - ${name}`);
    if (error) {
      process.exitCode = 1;
      console.log(String(error.stack).split('\n').slice(0, 30).join('\n').replace(/^/gm, '# '));
    }
  }
  console.log(`1..${nr}`);
}).catch((error) => {
  console.log(`Bail out! ${String(error.message).split('\n')[0]}`);
  process.exitCode = 1;
});
