/* Counters in the timeline: steps, gaps, units, and very many points. Numbers come from report_timed.c. */
'use strict';

const assert = require('node:assert/strict');

const MS = 1e6;

module.exports = ({ test, app, placeOf }) => {
  const timeline = { hash: '#tab=timeline' };
  const lane = (page, name, what) => app(page, `(() => {
    const track = app.times.tracks.find((one) => one.name === '${name}');
    const [lane] = app.times.loaded[track.at];
    return ${what}; })()`);
  /* The colour of a pixel in the row of a counter, @up pixels above its foot. */
  const colour = async (page, name, t, up) => {
    const { x } = await placeOf(page, name, t);
    await page.waitForFunction(() => window.aflame.app.timePages.line.pixels);
    return page.evaluate(([wanted, left, above]) => {
      const { canvas, pixels, rows, host } = window.aflame.app.timePages.line;
      const row = rows.find(({ track }) => track.name === wanted);
      const box = canvas.getBoundingClientRect();
      const ratio = canvas.width / box.width;
      const y = Math.floor((row.y - host.scrollTop + row.height - 2 - above) * ratio);
      return pixels[y * canvas.width + Math.floor((left - box.left) * ratio)];
    }, [name, x, up]);
  };
  const white = 0xffffffff;

  test('counters have values in their unit, and gaps', 'counted', timeline, async (page) => {
    assert.deepEqual(await lane(page, 'GPU busy', '[...lane.start].map((t) => t / 1e6)'),
      [1000, 1500, 2000, 3000, 4000]);
    assert.deepEqual(await lane(page, 'GPU busy', '[...lane.value].map(String)'),
      ['50', '100', 'NaN', '0', 'NaN']);
    assert.deepEqual(await lane(page, 'Bytes read', '[track.unit, track.per, lane.value[0]]'),
      ['bytes/s', 1000, 3 * 2 ** 30 / 1000]);
    assert.deepEqual(await app(page, `(() => {
      const texts = [];
      const skip = () => {};
      app.timePages.line.paint({ width: 1200, height: 2000, pixel: 1, scroll: 0, rect: skip,
        frame: skip, line: skip, shade: skip, text: (x, y, text) => texts.push(text) });
      return texts.filter((text) => text.startsWith('≤')); })()`),
    ['≤ 100 %', '≤ 3.07 MiB/s', '≤ 99 W']);
  });

  test('a counter is drawn as steps, 0 as a line, and a gap not at all', 'counted', timeline,
    async (page) => {
      assert.notEqual(await colour(page, 'GPU busy', 1250 * MS, 4), white);
      assert.equal(await colour(page, 'GPU busy', 1250 * MS, 20), white);
      assert.notEqual(await colour(page, 'GPU busy', 1750 * MS, 20), white);
      assert.equal(await colour(page, 'GPU busy', 2500 * MS, 0), white);
      assert.equal(await colour(page, 'GPU busy', 500 * MS, 0), white);
      assert.notEqual(await colour(page, 'GPU busy', 3500 * MS, 0), white);
      assert.equal(await colour(page, 'GPU busy', 3500 * MS, 4), white);
    });

  test('the pointer shows the value of a counter, and nothing in a gap', 'counted', timeline,
    async (page) => {
      const over = async (name, t) => {
        const { x, y } = await placeOf(page, name, t);
        await page.mouse.move(x, y);
        return page.evaluate(() => {
          const tip = document.querySelector('.tooltip');
          return tip.hidden ? null : [...tip.childNodes].map((node) => node.textContent);
        });
      };
      assert.deepEqual(await over('GPU busy', 1250 * MS), ['50 %', 'GPU busy', 'since 1.000 s']);
      assert.equal((await over('GPU busy', 1900 * MS))[0], '100 %');
      assert.equal(await over('GPU busy', 2500 * MS), null);
      assert.equal((await over('GPU busy', 3500 * MS))[0], '0 %');
      assert.equal(await over('GPU busy', 500 * MS), null);
      assert.equal((await over('Bytes read', 500 * MS))[0], '3.07 MiB/s');
    });

  test('of a counter with very many points the peaks and the gaps stay', 'counted', timeline, async (page) => {
    const [n, most, gaps] = await lane(page, 'Package <power>',
      '[lane.n, lane.most, lane.value.filter((x) => Number.isNaN(x)).length]');
    assert.ok(n > 16000 && n <= 32768, `${n} points`);
    assert.equal(most, 99);
    assert.equal(gaps, 1);
  });

  test('a process that has counters alone is not folded', 'counted', timeline, async (page) => {
    assert.deepEqual(await app(page, 'app.timePages.line.rows.map(({ track }) => track.name)'),
      ['app', 'main 101', 'on CPU (samples)', 'GPU busy', 'Bytes read', 'aflame record',
        'Package <power>']);
  });
};
