/* The flame graph in order of time: numbers come from report_timed.c. */
'use strict';

const assert = require('node:assert/strict');

const MS = 1e6;

module.exports = ({ test, app, settle, press }) => {
  const inTime = { hash: '#order=time' };
  const update = async (page, patch) => {
    await page.evaluate((changed) => window.aflame.app.update(changed), patch);
    await settle(page);
  };
  /* What is drawn, in preorder: depth, name and milliseconds of a box; gaps are called "". */
  const boxes = (page) => app(page, `[...Array(app.tree.n).keys()].slice(1).map((i) => [
    app.tree.depth[i], app.tree.isGap(i) ? '' : app.tree.text(i),
    app.tree.total(app.w)[i] / 1e6])`);
  const functionsOf = (page, tree) => app(page, `(() => {
    const { ids, self, total } = app.${tree}.functions(0);
    return ids.map((id) => [app.names.text[id], self[app.w][id], total[app.w][id]]); })()`);

  test('in order of time every stretch is a box, threads one after the other', 'timed', inTime,
    async (page) => {
      const work = [];
      for (let ms = 0; ms < 4000; ms += 100)
        if (ms % 300 !== 200) work.push([4, ms % 300 ? 'sys_read' : 'leaf', 100]);
      assert.deepEqual(await boxes(page), [[1, 'app', 3900], [2, 'main (a.py:1)', 2700],
        [3, 'work', 2700], ...work, [2, 'loader (b.py:7)', 1200], [3, 'decode', 1200]]);
      assert.deepEqual(await functionsOf(page, 'tree'), await functionsOf(page, 'forward'));
    });

  test('queues of a device are charts too', 'timed', { hash: '#order=time&view=gpu' },
    async (page) => {
      const shown = await boxes(page);
      assert.deepEqual(shown.filter(([depth]) => depth === 2),
        [[2, 'main (a.py:1)', 1280], [2, 'main (a.py:1)', 120]]);
      assert.equal(await app(page, 'app.tree.total(app.w)[0]'), 1400 * MS);
      await update(page, { w: 'count' });
      assert.equal(await page.locator('.toast').textContent(), 'Of count no order is known');
      assert.equal(await app(page, 'app.tree === app.forward'), true);
    });

  test('boxes of one name are told apart, also by the address', 'timed', inTime, async (page) => {
    /* The third leaf: after four others. */
    const third = await app(page, `[...Array(app.tree.n).keys()].filter((i) => (
      app.tree.text(i) === 'leaf'))[2]`);
    await page.evaluate((node) => window.aflame.app.zoom(node), third);
    await settle(page);
    assert.equal(await app(page, 'app.root'), third);
    await page.reload();
    await settle(page);
    assert.equal(await app(page, 'app.root'), third);
    await update(page, { order: 'name' });
    assert.equal(await app(page, 'app.tree.text(app.root)'), 'leaf');
  });

  test('transforms and ranges keep the order', 'timed', inTime, async (page) => {
    await update(page, { ops: ['hide:sys_read'], from: '0', to: String(700 * MS) });
    assert.deepEqual(await boxes(page), [[1, 'app', 800], [2, 'main (a.py:1)', 500],
      [3, 'work', 500], [4, 'leaf', 100], [4, '', 100], [4, 'leaf', 100], [4, '', 100],
      [4, 'leaf', 100], [2, 'loader (b.py:7)', 300], [3, 'decode', 300]]);
    assert.deepEqual(await functionsOf(page, 'tree'), await functionsOf(page, 'forward'));
    await update(page, { ops: ['keep:leaf'] });
    assert.deepEqual((await boxes(page)).map(([, name]) => name),
      ['app', 'main (a.py:1)', 'work', 'leaf']);
    await update(page, { ops: ['focus:work'] });
    assert.deepEqual((await boxes(page)).map(([, name]) => name),
      ['work', 'leaf', 'sys_read', 'leaf', 'sys_read', 'leaf']);
  });

  test('what a function has itself between its calls is a gap there', 'timed', {}, async (page) => {
    const made = await page.evaluate(() => {
      const { app: { names, forward }, parts } = window.aflame;
      const builder = new parts.TreeBuilder(names, forward.weights, 20, true);
      const [outer, inner] = [names.find('work')[0], names.find('leaf')[0]];
      const node = builder.child(0, outer);
      for (const name of ['self', 'call', 'self', 'self', 'call', 'call']) {
        const at = name === 'call' ? builder.child(node, inner) : node;
        builder.add(at, 0, 5);
        builder.add(at, 1, 1);
      }
      const tree = builder.finish();
      const columns = [...Array(tree.n).keys()].slice(1).map((i) => [
        tree.isGap(i) ? '' : tree.text(i), tree.left(0)[i], tree.total(0)[i], tree.total(1)[i]]);
      return [columns, tree.own(0)[1]];
    });
    assert.deepEqual(made, [[['work', 0, 30, 6], ['', 0, 5, 1], ['leaf', 5, 5, 1],
      ['', 10, 10, 2], ['leaf', 20, 10, 2]], 15]);
  });

  test('o goes through the orders', 'timed', {}, async (page) => {
    const orders = [];
    for (let k = 0; k < 3; k++) {
      await press(page, 'o');
      orders.push(await app(page, 'app.state.order'));
    }
    assert.deepEqual(orders, ['heavy', 'time', 'name']);
    await update(page, { order: 'time', dir: 'callers' });
    assert.equal(await page.locator('.toast').textContent(), 'In order of time is top-down');
    assert.equal(await page.getByRole('radio', { name: 'A–Z' }).getAttribute('aria-checked'),
      'true');
  });
};
