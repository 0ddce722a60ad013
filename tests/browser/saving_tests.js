/* Pictures and text that leave the page. */
'use strict';

const assert = require('node:assert/strict');
const { test, app, press, clickFrame } = require('./tools.js');

test('saving gives an SVG with every frame in view', 'known', {}, async (page) => {
  const svg = await app(page, "app.flame.svg('a <b> & \"c\"')");
  const counted = await page.evaluate((text) => {
    const doc = new DOMParser().parseFromString(text, 'image/svg+xml');
    return [doc.querySelectorAll('parsererror').length, doc.querySelectorAll('rect').length,
      doc.querySelector('title').textContent];
  }, svg);
  assert.deepEqual(counted, [0, 12, 'a <b> & "c"']); /* paper, and 11 frames that have time */
});

test('saving gives a PNG in the colours of the page, at twice its size', 'known', {},
  async (page) => {
    const [wide, seen, wanted] = await page.evaluate(async () => {
      const { flame } = window.aflame.app;
      const picture = await createImageBitmap(await new Promise((done) => { flame.png(done); }));
      const colours = (canvas, x) => {
        const { data } = canvas.getContext('2d').getImageData(x, 0, 1, canvas.height);
        const found = new Set();
        for (let i = 0; i < data.length; i += 4) found.add([...data.slice(i, i + 3)].join());
        return found;
      };
      const copy = document.createElement('canvas');
      copy.width = picture.width;
      copy.height = picture.height;
      copy.getContext('2d').drawImage(picture, 0, 0);
      const saved = colours(copy, 2);
      return [picture.width / flame.width, saved.size,
        [...colours(flame.canvas, 2)].every((colour) => saved.has(colour))];
    });
    assert.equal(wide, 2);
    assert.ok(seen > 3, `${seen} colours`);
    assert.ok(wanted);
  });

test('copying gives the stack, outermost first', 'known', { permissions: true }, async (page) => {
  await clickFrame(page, 'sys_read');
  await press(page, 'y');
  assert.equal(await page.evaluate('navigator.clipboard.readText()'),
    'app\nmain (a.py:1)\nwork\nsys_read');
});
