/* See run_findings. Arguments: aflame, a folder to work in, traces. */
'use strict';

const assert = require('node:assert/strict');
const path = require('node:path');
const { run, eachTrace } = require('./traces.js');

/* As text has them. */
const findings = (trace) => (
  JSON.parse(run('report', 'findings', '--json', '-n', '0', trace)).tables[0].rows);

/* What the page shows. */
const shown = (page) => page.evaluate(async () => {
  const { app } = window.aflame;
  await app.working;
  const { forward, w, state } = app;
  const sum = (names, own) => { /* of functions: all stacks with them, or what they have themselves */
    const { ids, self, total } = forward.functions(0);
    return ids.filter((id) => names(app.names.text[id], id))
      .reduce((all, id) => all + (own ? self : total)[w][id], 0);
  };
  return { tab: state.tab, view: state.view, ops: state.ops, kernel: state.kernel, hash: location.hash,
    range: [Number(state.from), Number(state.to)], total: forward.total(w)[0],
    weight: forward.weights[w].name, matched: app.match ? Number(app.matched.title.replace(/ .*/, '')) : 0,
    fn: sum((name, id) => app.names.find(state.fn).includes(id), true),
    stacks: app.match ? sum((name) => new RegExp(state.q, state.exact ? '' : 'i').test(name)) : 0,
    own: app.match ? sum((name) => new RegExp(state.q, state.exact ? '' : 'i').test(name), true) : 0,
    python: sum((name) => /\((\S+\.py|<frozen [^>]+>)(:\d+)?\)$/.test(name), true) };
});

/* Is what the link shows what the finding weighs? */
function check(row, page) {
  const weight = row.time_ns;
  const { kind } = row;
  if (page.view === 'idle') return assert.equal(page.total, weight);
  if (kind === 'gap') return assert.equal(page.range[1] - page.range[0], weight);
  if (kind === 'below') return assert.equal(page.total, weight);
  if (kind === 'function') return assert.equal(page.fn, weight);
  if (kind === 'kernel' && page.tab === 'source') return assert.equal(page.kernel, row.function);
  if (kind === 'kernel') return assert.equal(page.total, weight);
  if (kind === 'python') return assert.equal(page.python, weight);
  if (kind === 'nameless') return assert.equal(page.own, weight);
  if (kind === 'off-cpu') return assert.equal(page.weight, 'off-cpu');
  if (['imports', 'python-gc', 'spinning', 'cut-stacks', 'no-stack'].includes(kind))
    return assert.equal(page.stacks, weight);
  if (kind === 'system') return assert.equal(page.tab, 'flame');
  return assert.equal(page.tab, 'facts');
}

async function checkTrace(page, trace, say) {
  const rows = findings(trace);
  await say('the summary comes first: three findings in whole sentences, with their commands', async () => {
    assert.equal((await shown(page)).tab, 'summary');
    const found = await page.locator('.summary .finding').evaluateAll((list) => list.map((el) => [
      el.querySelector('a').textContent, el.querySelector('a').getAttribute('href'),
      el.querySelector('code')?.textContent || '']));
    assert.deepEqual(found, rows.slice(0, 3).map((row) => [row.finding, row.hash,
      row.check.replace(trace, path.basename(trace))]));
    const all = page.locator('.summary-all');
    if (rows.length > 3) assert.equal(await all.innerText(), `All ${rows.length} findings`);
    else assert.equal(await all.count(), 0);
  });
  await say('it begins with the verdict of each device, or with the command', async () => {
    const { tables } = JSON.parse(run('report', '--json', trace));
    const table = (name) => tables.find((one) => one.name === name)?.rows || [];
    const wanted = table('verdict').length ? table('verdict') : table('run').slice(0, 3);
    assert.deepEqual(await page.locator('.summary-verdict > *').allInnerTexts(),
      wanted.flatMap(({ label, value }) => [label, value]));
  });
  await say('devices and threads have a row each, 12 at most, and a curve that shows what they did', async () => {
    const of = await page.evaluate(() => window.aflame.app.times?.tracks
      .filter(({ kind, all }) => (kind === 'device' || kind === 'thread') && all > 0).length || 0);
    const curves = await page.locator('.summary-row path').evaluateAll((list) => (
      list.map((el) => /V0\.?\d*H/.test(el.getAttribute('d')))));
    assert.ok(of === 0 || curves.length > 0, `${of} tracks`);
    assert.ok(curves.length <= 12 && curves.every(Boolean), String(curves));
  });
  await say('what tables warn of stands before the findings, and in the tables', async () => {
    const { tables } = JSON.parse(run('report', '--json', trace));
    const warnings = tables.filter(({ warning }) => warning);
    const texts = [...new Set(warnings.map(({ warning }) => warning))];
    assert.deepEqual(await page.locator('.summary-warnings .warning').allInnerTexts(), texts);
    const order = await page.locator('.summary > *').evaluateAll((list) => list.map((el) => (
      ['summary-verdict', 'summary-warnings'].find((name) => el.classList.contains(name))
        || (el.querySelector('.finding') ? 'findings' : ''))).filter(Boolean));
    assert.deepEqual(order, ['summary-verdict', 'summary-warnings', 'findings']);
    assert.deepEqual(await page.locator('.card:has(.note.warning)').evaluateAll((list) => (
      list.map((el) => el.dataset.table).sort())), warnings.map(({ name }) => name).sort());
  });
  await say('the graph opens as an icicle, heavy first, without the interpreter, and says so', async () => {
    await page.locator('#tab-flame').click();
    const { app: state, chip, glue, top } = await page.evaluate(async () => {
      const { app } = window.aflame;
      await app.working;
      return { app: [app.state.shape, app.state.order, app.state.ops],
        chip: document.querySelector('.chips').textContent,
        glue: [...app.tree.name].slice(1).map((id) => `${app.names.moduleOf(id)} ${app.names.text[id]}`)
          .filter((name) => / (_?PyEval_|_start$|__libc_start)|<frozen importlib\._bootstrap|^libpython3/.test(name)),
        top: app.tree.total(app.w)[0] === app.base.total(app.w)[0] };
    });
    assert.deepEqual(state, ['icicle', 'heavy', ['glue']]);
    assert.match(chip, /glue hidden/);
    assert.deepEqual(glue, []);
    assert.ok(top, 'nothing of the weight is lost');
    await page.goBack();
    assert.deepEqual([(await shown(page)).hash, (await shown(page)).tab], ['', 'summary']);
  });
  await say('each is a link, and keys go there and back', async () => {
    const first = page.locator('.summary .finding a').first();
    await first.focus();
    await page.keyboard.press('Enter');
    check(rows[0], await shown(page));
    await page.goBack();
    assert.deepEqual([(await shown(page)).hash, (await shown(page)).tab], ['', 'summary']);
  });
  for (const [k, row] of rows.entries()) {
    await say(`${row.kind}: a click leads to what weighs as much`, async () => {
      await page.evaluate(() => window.aflame.app.go('#tab=facts&theme=dark'));
      await shown(page);
      await page.locator('[data-table=findings] tbody .link').nth(k).click();
      const there = await shown(page);
      check(row, there);
      /* The address alone is enough. */
      await page.evaluate((hash) => { location.hash = hash; }, row.hash);
      await page.evaluate(() => new Promise((done) => { setTimeout(done, 30); }));
      check(row, await shown(page));
    });
  }
  if (rows.some(({ kind, function: name }) => kind === 'kernel' && name === 'matmul'))
    await say('a function and the kernel of its name never mix', async () => {
      const facts = async (hash) => {
        await page.evaluate((to) => window.aflame.app.go(to), hash);
        await shown(page);
        return page.locator('.sandwich-facts').innerText();
      };
      const kernel = rows.find(({ kind }) => kind === 'kernel');
      assert.equal(new URLSearchParams(kernel.hash.slice(1)).get('o'), 'focus:gpu:matmul');
      assert.match(await facts('#tab=sandwich&view=gpu&fn=gpu%3Amatmul'), /^200(\.0+)? ms total/);
      assert.match(await facts('#tab=sandwich&view=all&fn=host%3Amatmul'), /^72(\.0+)? ms total, 22/);
      assert.match(await facts('#tab=sandwich&view=all&fn=matmul'), /^200(\.0+)? ms total.* not host:matmul$/);
      assert.match(await facts('#tab=sandwich&view=cpu&fn=matmul'), /^22(\.0+)? ms total/);
      /* From the kernel's frame, by the key. */
      await facts(kernel.hash);
      await page.evaluate(() => { const { app } = window.aflame;
        const node = [...app.tree.name.keys()].find((i) => i && app.tree.text(i) === 'matmul');
        app.update({ x: app.tree.path(node).map((at) => app.tree.name[at]) }); });
      await shown(page);
      await page.evaluate(() => window.aflame.app.act('s'));
      assert.equal((await shown(page)).fn, 200e6);
    });
  if (rows.some(({ function: name }) => name === 'liba.so!helper'))
    await say('functions of one name in two libraries never mix', async () => {
      const facts = async (hash) => {
        await page.evaluate((to) => window.aflame.app.go(to), hash);
        await shown(page);
        return page.locator('.sandwich-facts').innerText();
      };
      assert.match(await facts('#tab=sandwich&view=cpu&fn=liba.so%21helper'), /^500(\.0+)? ms total, 500/);
      assert.match(await facts('#tab=sandwich&view=cpu&fn=host%3Alibb.so%21helper'),
        /^400(\.0+)? ms total, 400/);
      assert.match(await facts('#tab=sandwich&view=cpu&fn=helper'),
        /^500(\.0+)? ms total.* not libb.so!helper$/);
      assert.match(await facts('#tab=sandwich&view=cpu&fn=app%21main'), /^900(\.0+)? ms total, 0/);
      /* From a frame, by the key. */
      await facts('#view=cpu');
      await page.evaluate(() => { const { app } = window.aflame;
        const node = [...app.tree.name.keys()].find((i) => i && app.tree.text(i) === 'libb.so!helper');
        app.update({ x: app.tree.path(node).map((at) => app.tree.name[at]) }); });
      await shown(page);
      assert.match(await page.locator('.details-name').innerText(), /^libb.so!helper$/);
      await page.evaluate(() => window.aflame.app.act('s'));
      const there = await shown(page);
      assert.equal(there.fn, 400e6);
      assert.equal(new URLSearchParams(there.hash.slice(1)).get('fn'), 'libb.so!helper');
      /* As rows of the table, one a function and kind, and by a search of what is shown. */
      await facts('#tab=top&view=cpu');
      const names = await page.locator('.top-row .top-name').allInnerTexts();
      assert.deepEqual(names.filter((name) => /helper/.test(name)).sort(),
        ['liba.so!helper', 'liba.so!helper', 'libb.so!helper']);
      assert.deepEqual(names.filter((name) => /work/.test(name)), ['work']);
      await facts('#view=cpu&q=%5Elibb%5C.so%21helper%24&exact=1');
      assert.match(await page.evaluate(() => window.aflame.app.matched.title), /^400(\.0+)? /);
    });
  await say('all findings are the first table of the run', async () => {
    await page.evaluate(() => window.aflame.app.update({ tab: 'summary' }));
    await shown(page);
    if (rows.length > 3) await page.locator('.summary-all').click();
    else await page.evaluate(() => window.aflame.app.update({ tab: 'facts' }));
    assert.equal((await shown(page)).tab, 'facts');
    const cards = await page.locator('.cards-column:last-child .card').evaluateAll((list) => (
      list.map((el) => [el.getBoundingClientRect().top, el.dataset.table])));
    assert.equal(cards.sort(([a], [b]) => a - b)[0][1], 'findings');
  });
}

eachTrace(checkTrace);
