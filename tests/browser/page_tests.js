/* The page around it: names that try to leave their place, no stacks, dark. */
'use strict';

const assert = require('node:assert/strict');
const { test, app, press, tab, nodeOf, clickFrame } = require('./tools.js');

test('hostile names are text', 'hostile', {}, async (page) => {
  assert.equal(await app(page, 'app.tree.n'), 14);
  assert.equal(await app(page, 'app.tree.total(0)[0]'), 2045);
  const names = await app(page, 'app.names.text.slice()');
  for (const name of ['</script><script>window.pwned=1</script>', '__proto__', 'constructor',
    'two␊lines␉and␛[31m red␡', 'bad utf-8 \ufffd\ufffd\ufffd(',
    'line\u2028separator \ufffdreversed'])
    assert.ok(names.includes(name), `${name} in ${JSON.stringify(names)}`);
  for (const value of await app(page, 'app.tabList.map(({ value }) => value)'))
    await tab(page, value);
  await tab(page, 'flame');
  await clickFrame(page, '<!--<script>');
  await press(page, 's');
  await tab(page, 'flame');
  await press(page, 'h', 'u');
  await page.locator('canvas').first().hover();
  assert.equal(await page.evaluate('window.pwned'), undefined);
  assert.equal(await page.locator('body b, body img, body h2 script').count(), 0);
  assert.equal(await page.title(), '</title><script>window.pwned=1</script>');
});

test('a frame without a name keeps what it called', 'hostile', {}, async (page) => {
  const called = `app.tree.path(${nodeOf('called by it')}).map((i) => app.tree.text(i))`;
  const path = ['caller of a frame without a name', '', 'called by it'];
  assert.deepEqual(await app(page, called), path);
  await press(page, 'o');
  assert.equal(await app(page, 'app.state.order'), 'heavy');
  assert.equal(await app(page, 'app.tree.n'), 14);
  assert.deepEqual(await app(page, called), path);
});

test('an injected script does not run', 'known', { expectProblems: /Content Security Policy/ },
  async (page) => {
    await page.evaluate(() => {
      const script = document.createElement('script');
      script.textContent = 'window.pwned = 1';
      document.body.append(script);
    });
    assert.equal(await page.evaluate('window.pwned'), undefined);
    assert.equal(await page.evaluate(() => fetch('data:,x').then(() => 'loaded', () => 'refused')),
      'refused');
  });

test('a report without stacks says so', 'empty', {}, async (page) => {
  assert.match(await page.locator('main').innerText(), /no stacks/);
});

test('dark follows the system and can be chosen', 'known', { dark: true }, async (page) => {
  const ground = () => page.evaluate(() => (
    getComputedStyle(document.documentElement).backgroundColor));
  const dark = await ground();
  assert.equal(await page.evaluate('document.documentElement.dataset.theme'), 'dark');
  await press(page, 't');
  assert.equal(await page.evaluate('document.documentElement.dataset.theme'), 'light');
  assert.notEqual(await ground(), dark);
  const pixel = await app(page, '[...app.flame.context.getImageData(5, 5, 1, 1).data].join()');
  assert.equal(pixel, '255,255,255,255');
});
