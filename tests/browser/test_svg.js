/*
 * The SVG flame graph in a real browser, opened as a file. Argument: the folder with the pictures of
 * tests/golden/svg. Prints TAP.
 */
'use strict';

const assert = require('node:assert/strict');
const path = require('node:path');
const { withChromium, withWindow } = require('./browser.js');

const folder = process.argv[2];
const tests = [];
const test = (name, file, body, options = {}) => tests.push({ name, file, body, options });

/* What is seen: by frame its name, place and label, drawn ones only, parents first. */
const frames = (page) => page.evaluate(() => [...document.querySelectorAll('svg > .frames')]
  .filter((group) => group.style.display !== 'none')
  .flatMap((group) => [...group.children])
  .filter((g) => g.style.display !== 'none')
  .map((g) => {
    const rect = g.querySelector('rect'), text = g.querySelector('text');
    const at = (a) => +rect.getAttribute(a);
    return { name: g.querySelector('title').textContent.replace(/ \([^(]*\)$/, ''), x: at('x'),
      y: at('y'), width: at('width'), fill: rect.getAttribute('fill'), label: text ? text.textContent : '',
      up: g.classList.contains('up'), current: g.classList.contains('current') };
  }));
const frame = async (page, name) => (await frames(page)).find((f) => f.name === name);
const click = (page, name) => page.evaluate((wanted) => [...document.querySelectorAll('.frames g')]
  .find((g) => g.querySelector('title').textContent.startsWith(`${wanted} (`)).querySelector('rect')
  .dispatchEvent(new MouseEvent('click', { bubbles: true })), name);
const press = (page, key) => page.keyboard.press(key);
const button = (page, action) => page.evaluate((wanted) => document
  .querySelector(`[data-do=${wanted}]`).dispatchEvent(new MouseEvent('click', { bubbles: true })), action);
const text = (page, selector) => page.evaluate((s) => document.querySelector(s).textContent, selector);
const near = (a, b) => assert.ok(Math.abs(a - b) < 0.1, `${a} is not ${b}`);

test('a click zooms, ancestors fade, Escape returns', 'kinds', async (page) => {
  const before = await frames(page);
  await click(page, 'loader (data.py:7)');
  const zoomed = await frame(page, 'loader (data.py:7)');
  near(zoomed.x, 10);
  near(zoomed.width, 1180);
  near((await frame(page, 'read')).width, 1180 * 180 / 330);
  assert.equal((await frame(page, 'train (train.py:12)')).up, true);
  assert.equal(await frame(page, 'forward (model.py:40)'), undefined);
  assert.match(page.url(), /[?&]x=582&y=3/);
  await press(page, 'Escape');
  const after = await frames(page);
  assert.equal(after.length, before.length);
  after.forEach((f, i) => { near(f.x, before[i].x); near(f.width, before[i].width); });
  assert.doesNotMatch(page.url(), /[?&]x=/);
});

test('a search shows its share without counting twice', 'kinds', async (page) => {
  await press(page, 'Control+f');
  await page.keyboard.type('GEMM');
  assert.equal(await text(page, '.matched'), 'Matched: 0.00% (0 frames)');
  await press(page, 'Control+i');
  assert.equal(await text(page, '.matched'), 'Matched: 62.50% (2 frames)');
  assert.equal((await frame(page, 'sgemm_128x64')).fill, '#e600e6');
  assert.match(page.url(), /s=GEMM/);
  await press(page, 'Escape');
  await press(page, 'Escape');
  assert.equal(await text(page, '.matched'), ' ');
  assert.notEqual((await frame(page, 'sgemm_128x64')).fill, '#e600e6');
});

test('a wrong expression is reported and harms nothing', 'kinds', async (page) => {
  await press(page, '/');
  await page.keyboard.type('gemm(');
  assert.match(await text(page, '.matched'), /Not a regular expression/);
  await press(page, 'Backspace');
  assert.equal(await text(page, '.matched'), 'Matched: 62.50% (2 frames)');
});

test('n and N walk through the matches', 'kinds', async (page) => {
  await press(page, '/');
  await page.keyboard.type('^stall|^LDG');
  await press(page, 'Escape');
  const current = async () => (await frames(page)).find((f) => f.current).name;
  const seen = [];
  for (const key of ['n', 'n', 'n', 'n', 'Shift+N']) {
    await press(page, key);
    seen.push(await current());
  }
  assert.deepEqual(seen, ['stall: long scoreboard', 'LDG', 'stall: short', 'stall: long scoreboard',
    'stall: short']);
  assert.match(await text(page, '.details'), /^Function: stall: short \(120 samples, 13.16%\)/);
});

test('the address brings back zoom and search', 'kinds', async (page) => {
  near((await frame(page, 'loader (data.py:7)')).width, 1180);
  assert.equal(await text(page, '.matched'), 'Matched: 19.74% (1 frame)');
}, { query: '?x=582&y=3&s=%5Eread' });

test('flipping turns flames into icicles', 'kinds', async (page) => {
  const root = await frame(page, 'all'), child = await frame(page, 'python');
  assert.ok(child.y < root.y);
  await button(page, 'flip');
  assert.ok((await frame(page, 'python')).y > (await frame(page, 'all')).y);
  await press(page, 'i');
  assert.equal((await frame(page, 'python')).y, child.y);
});

test('reversing puts leaves first and keeps the search', 'kinds', async (page) => {
  await press(page, '/');
  await page.keyboard.type('ext4');
  await press(page, 'Escape');
  await press(page, 'r');
  const leaf = await frame(page, 'ext4_read'), root = await frame(page, 'all');
  assert.equal(root.y - leaf.y, 16);
  near(leaf.width, 1180 * 180 / 912);
  assert.equal(leaf.fill, '#e600e6');
  assert.equal(await text(page, '.matched'), 'Matched: 19.74% (1 frame)');
  await click(page, 'ext4_read');
  assert.match(page.url(), /reverse=1/);
  await press(page, 'r');
  assert.equal(root.y > (await frame(page, 'python')).y, true);
  assert.equal((await frames(page)).length, 19);
});

test('arrows walk the tree', 'kinds', async (page) => {
  const at = async (key) => { await press(page, key); return (await frames(page)).find((f) => f.current).name; };
  assert.equal(await at('ArrowUp'), 'all');
  assert.equal(await at('ArrowUp'), 'python');
  assert.equal(await at('ArrowUp'), 'train (train.py:12)');
  assert.equal(await at('ArrowLeft'), '[unknown]');
  assert.equal(await at('ArrowRight'), 'train (train.py:12)');
  assert.equal(await at('ArrowUp'), 'forward (model.py:40)');
  assert.equal(await at('ArrowDown'), 'train (train.py:12)');
  await press(page, 'Enter');
  near((await frame(page, 'train (train.py:12)')).width, 1180);
});

test('labels fit their frames', 'kinds', async (page) => {
  const over = await page.evaluate(() => [...document.querySelectorAll('.frames g')].filter((g) => {
    const t = g.querySelector('text');
    return t && t.getComputedTextLength() > +g.querySelector('rect').getAttribute('width') - 2;
  }).length);
  assert.equal(over, 0);
  assert.equal((await frame(page, 'all')).label, 'all');
});

test('hovering tells the details', 'kinds', async (page) => {
  const box = await page.evaluate(() => { const r = document.querySelectorAll('.frames rect')[1]
    .getBoundingClientRect(); return { x: r.x + 5, y: r.y + 5 }; });
  await page.mouse.move(box.x, box.y);
  assert.equal(await text(page, '.details'), 'Function: python (912 samples, 100.00%)');
  await page.mouse.move(1, 1);
  assert.equal(await text(page, '.details'), ' ');
});

const ink = (page) => page.evaluate(() => getComputedStyle(document.querySelector('.title')).fill);
test('dark follows the system', 'kinds', async (page) => {
  assert.equal(await ink(page), 'rgb(230, 230, 230)');
  await press(page, 'd');
  assert.equal(await ink(page), 'rgb(28, 28, 28)');
}, { dark: true });

test('dark can be switched on', 'kinds', async (page) => {
  assert.equal(await ink(page), 'rgb(28, 28, 28)');
  await button(page, 'dark');
  assert.equal(await ink(page), 'rgb(230, 230, 230)');
});

test('hostile names are text and nothing else', 'hostile', async (page) => {
  const names = (await frames(page)).map((f) => f.name);
  assert.ok(names.includes('x</title><script>alert(1)</script>'), `${names}`);
  assert.ok(names.includes('"quoted"&\'amp\''));
  await press(page, 'r');
  assert.ok((await frames(page)).map((f) => f.name).includes('tab\there'));
});

test('a difference shows what vanished', 'diff', async (page) => {
  assert.match(await text(page, '.vanished'), /r;gone \(40 samples\).*Vanished: 2 stacks, 41 samples/s);
});

test('a chart has no reverse button', 'chart', async (page) => {
  assert.equal(await page.evaluate(() => document.querySelector('[data-do=reverse]')), null);
  await press(page, 'r');
  assert.equal((await frames(page)).filter((f) => f.name === 'm').length, 2);
});

/* A click where the frame is, as a person does it. */
const point = async (page, name, options) => {
  const at = await page.evaluate((wanted) => {
    const g = [...document.querySelectorAll('svg > .frames')].filter((f) => f.style.display !== 'none')
      .flatMap((f) => [...f.children]).find((c) => c.querySelector('title').textContent === wanted);
    const box = g.querySelector('rect').getBoundingClientRect();
    return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  }, name);
  await page.mouse.move(at.x, at.y);
  if (options.control) await page.keyboard.down('Control');
  await page.mouse.click(at.x, at.y);
  if (options.control) await page.keyboard.up('Control');
};

test('a frame with a link is followed, and zoomed with Ctrl', 'linked', async (page) => {
  assert.equal((await frames(page)).length, 19);
  await point(page, 'own (words)', { control: true });
  near((await frame(page, 'own')).width, 1180);
  assert.equal(await text(page, 'svg > .details'), 'Function: read (180 samples, 19.74%)');
  assert.match(page.url(), /linked\.svg\?/);
  assert.equal((await frame(page, 'own')).label, 'read');
  await page.keyboard.press('Escape');
  await point(page, 'own (words)', {});
  await page.waitForURL(/diff\.svg/);
});

test('Enter follows the link that has the focus, not the frame that was picked', 'linked', async (page) => {
  await press(page, 'ArrowUp');
  await page.evaluate(() => document.querySelector('a').focus());
  await press(page, 'Enter');
  await page.waitForURL(/diff\.svg/);
});

test('attributes do not change what is found, and are in the reverse too', 'linked', async (page) => {
  await press(page, '/');
  await page.keyboard.type('^read');
  assert.equal(await text(page, 'svg > .matched'), 'Matched: 19.74% (1 frame)');
  await press(page, 'Escape');
  await press(page, 'r');
  assert.equal(await text(page, 'svg > .matched'), 'Matched: 19.74% (1 frame)');
  const own = await page.evaluate(() => [...document.querySelectorAll('svg > .frames')]
    .find((f) => f.style.display !== 'none').querySelector('[data-team=io]').style.opacity);
  assert.equal(own, '0.5');
  await point(page, 'own (words)', { control: true });
  assert.match(page.url(), /linked\.svg\?.*y=/);
  await point(page, 'own (words)', {});
  await page.waitForURL(/diff\.svg/);
});

test('a fluid picture follows the window', 'fluid', async (page) => {
  near((await frame(page, 'all')).width, 1400 - 20);
  await page.setViewportSize({ width: 700, height: 400 });
  await page.waitForFunction(() => document.documentElement.getAttribute('width') === '700');
  near((await frame(page, 'all')).width, 680);
});

async function run(browser, { file, body, options }) {
  const context = { colorScheme: options.dark ? 'dark' : 'light' };
  await withWindow(browser, context, async (window_) => {
    const page = await window_.newPage(), problems = [];
    page.on('console', (m) => { if (['error', 'warning'].includes(m.type())) problems.push(m.text()); });
    page.on('pageerror', (e) => problems.push(String(e)));
    page.on('dialog', (d) => { problems.push(`dialog ${d.message()}`); d.dismiss(); });
    page.on('request', (r) => { if (!r.url().startsWith('file:')) problems.push(`request ${r.url()}`); });
    await page.goto(`file://${path.resolve(folder)}/${file}.svg${options.query || ''}`);
    await body(page);
    assert.deepEqual(problems, []);
  });
}

withChromium(async (browser) => {
  const wanted = tests.filter(({ name }) => name.includes(process.argv[3] || ''));
  console.log(`1..${wanted.length}`);
  for (const [at, one] of wanted.entries()) {
    let error;
    await run(browser, one).catch((caught) => { error = caught; });
    console.log(`${error ? 'not ok' : 'ok'} ${at + 1} - ${one.name}`);
    if (error) console.log(String(error.stack || error).replace(/^/gm, '# '));
    if (error) process.exitCode = 1;
  }
}).catch((error) => {
  console.log(`Bail out! ${String(error.message).split('\n')[0]}`);
  process.exitCode = 1;
});
