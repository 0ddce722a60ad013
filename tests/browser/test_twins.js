/* See run_twins. Arguments: aflame, a folder to work in, traces. */
'use strict';

const assert = require('node:assert/strict');
const { readFileSync } = require('node:fs');
const path = require('node:path');
const { run, work, eachTrace } = require('./traces.js');

/* Names as they are in both: text writes control characters as \x01, the page as pictures. */
const plain = (name) => name.replace(/[\u2400-\u2421]/g, (c) => `\\x${(c.charCodeAt(0) === 0x2421
  ? 127 : c.charCodeAt(0) - 0x2400).toString(16).padStart(2, '0')}`)
  .replace(/[\x00-\x1f\x7f]/g, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`);

/* Of a page: the functions of a view with their time, and its stacks. */
const shown = (page, view, range) => page.evaluate(async ([label, part]) => {
  const { app } = window.aflame;
  await app.update({ view: label, w: 'time', from: part ? String(part[0]) : '',
    to: part ? String(part[1]) : '' });
  const tree = app.forward;
  const w = tree.weights.findIndex(({ name }) => name === 'time');
  const { ids, self, total } = tree.functions(0);
  const sums = (column) => {
    const found = {};
    for (let i = 1; i < tree.n; i++) {
      if (!column[i]) continue;
      const stack = tree.path(i).map((node) => tree.text(node)).join(';');
      found[stack] = (found[stack] || 0) + column[i];
    }
    return found;
  };
  const stacks = sums(tree.self[w]);
  const c = tree.weights.findIndex(({ name }) => name === 'count');
  /*
   * Samples that found the same are one slice: where a range cuts it, the page takes a part in
   * proportion, text the samples that are in there. They differ by no more than what the slice
   * weighs beside its length.
   */
  let slack = 0;
  for (const track of part ? app.times.tracks : []) {
    if (track.slice !== 'run' || (label !== 'all' && track.view !== label)) continue;
    for (const { n, start, cum, weight } of app.times.loaded[track.at] || [])
      for (let i = 0; i < n && weight; i++) {
        const long = cum[i + 1] - cum[i];
        if (part.some((t) => start[i] <= t && t < start[i] + long) && weight[i] !== long)
          slack += Math.abs(weight[i] - long) + 1;
      }
  }
  return { total: tree.total(w)[0], stacks, slack,
    spread: app.times.tracksOf(label).some((track) => track.spread),
    ranged: Boolean(tree.ranged?.[w]),
    launches: tree.ranged?.[c] && sums(tree.self[c]),
    functions: ids.filter((id) => total[w][id] > 0)
      .map((id) => [app.names.text[id], self[w][id], total[w][id]]) };
}, [view, range]);

/* Rows of the same name as one, in a fixed order. */
function byName(rows) {
  const sums = {};
  for (const [name, ...numbers] of rows) {
    const key = plain(name);
    sums[key] = (sums[key] || numbers.map(() => 0)).map((x, k) => x + numbers[k]);
  }
  return Object.entries(sums).sort(([a], [b]) => (a < b ? -1 : 1));
}

function folded(trace, view, from, to, weight = 'time') {
  let text;
  try {
    text = run('flame', '--view', view, '--from', `${from}ns`, '--to', `${to}ns`, '--depth',
      'kernel', '--weight', weight, trace);
  } catch (error) {
    if (!/has no data for/.test(error.stderr)) throw error;
    return [];
  }
  return text.split('\n').filter(Boolean).map((line) => {
    const at = line.lastIndexOf(' ');
    return [line.slice(0, at).replace(/_\[[kijGg]\]/g, ''), Number(line.slice(at + 1))];
  });
}

/* Where processes have ranks: what each has, as far as it is on tracks. */
async function checkRanks(page, trace, view, say) {
  const rows = await page.evaluate(async (label) => {
    const { app } = window.aflame;
    if (!app.trackGroups.includes('rank') || !app.meta.trees.some((tree) => tree.label === label))
      return null;
    await app.update({ tab: 'top', view: label, w: 'time', group: 'rank', from: '', to: '' });
    const { functions, text } = app.top.data.rows;
    return functions.ids.map((id) => [text[id], functions.total[0][id]]).filter(([, x]) => x);
  }, view);
  if (!rows?.length) return;
  const twin = JSON.parse(run('report', 'top', '--by', 'rank', '--json', '--view', view, trace));
  await say(`${view}: ranks have what report top --by rank says`, () => {
    assert.deepEqual(byName(rows), byName(twin.tables[0].rows.map(({ track, total }) => [track, total])));
  });
}

/* Of a page: by kernel the stall that leads and each reason's part, in percent. */
const stalled = (page) => page.evaluate(async () => {
  const { app } = window.aflame;
  await app.update({ tab: 'top', view: 'gpu', w: 'time', group: 'kernel', from: '', to: '' });
  const { mixes, text } = app.top.data.rows;
  return Object.fromEntries((mixes || []).flatMap((mix, row) => [[text[row], {
    lead: mix.find(([, , sort]) => sort !== 'issued')?.[1],
    parts: Object.fromEntries(mix.map(([part, name]) => [name, part * 100])) }]]));
});

/* Where kernels took so long that times of single instructions are no matter of rounding. */
const LONG_NS = 50000;

async function checkStalls(page, trace, say) {
  const tables = JSON.parse(run('report', '--json', '-n', '0', trace)).tables;
  const stalls = tables.find(({ name }) => name === 'stalls');
  if (!stalls) return;
  const rows = stalls.rows.filter((row) => row.time_ns >= LONG_NS);
  const reported = await stalled(page);
  if (rows.length)
    await say('kernels stall as report stalls says', () => {
      const keys = stalls.columns.filter(({ key }) => key.startsWith('stall_'));
      for (const row of rows) {
        const { lead, parts } = reported[row.kernel];
        assert.equal(lead, row.top_reason, row.kernel);
        for (const { key, title } of keys)
          assert.ok(Math.abs((parts[title] || 0) - row[key]) <= 0.01,
            `${row.kernel}, ${title}: ${parts[title]} in the page, ${row[key]} in text`);
      }
    });
}

async function check(page, trace, say) {
  const { views, span } = await page.evaluate(() => {
    const { app } = window.aflame;
    return { views: app.meta.trees.map(({ label }) => label), span: app.times.span };
  });
  for (const view of views.filter((label) => ['cpu', 'gpu', 'all'].includes(label))) {
    const whole = await shown(page, view, null);
    const twin = JSON.parse(run('report', 'top', '--json', '-n', '0', '--sort', 'total',
      '--depth', 'stall', '--view', view, trace));
    await say(`${view}: all functions weigh what report top says`, () => {
      const { rows } = twin.tables[0];
      assert.equal(whole.total, twin.all);
      assert.deepEqual(byName(whole.functions),
        byName(rows.map((row) => [row.function, row.self, row.total])));
    });
    const full = await shown(page, view, [0, span]);
    await say(`${view}: the whole run as a range is the whole run`, () => {
      assert.deepEqual(full.stacks, whole.stacks);
    });
    let sum = 0;
    let launched = 0;
    const cuts = [0, 0.31, 0.32, 0.5, 0.77, 1].map((part) => Math.floor(span * part));
    for (let k = 1; k < cuts.length; k++) {
      const part = await shown(page, view, [cuts[k - 1], cuts[k]]);
      sum += part.total;
      if (!part.ranged) continue; /* the page says that it is of the whole run */
      const lines = folded(trace, view, cuts[k - 1], k === cuts.length - 1 ? span + 1 : cuts[k]);
      await say(`${view} from ${cuts[k - 1]} to ${cuts[k]} ns: flame --from --to agrees`, () => {
        const total = lines.reduce((all, [, value]) => all + value, 0);
        assert.ok(Math.abs(part.total - total) <= part.slack, `${part.total} in the page, ${
          total} in text, ${part.slack} ns of slices are cut`);
        if (!part.spread && view !== 'all' && !part.slack)
          assert.deepEqual(byName(Object.entries(part.stacks)), byName(lines));
        if (part.launches)
          assert.deepEqual(byName(Object.entries(part.launches)), byName(folded(trace, view,
            cuts[k - 1], k === cuts.length - 1 ? span + 1 : cuts[k], 'count')));
      });
      launched += part.launches ? 1 : 0;
    }
    if (whole.total && full.ranged)
      await say(`${view}: parts add up, ${launched} of them with their launches`, () => (
        assert.equal(sum, whole.total)));
  }
}

/* Numbers of a time or size as people read it, and its exact value: equal as far as it is written. */
function isRounded(text, exact, units) {
  const [, number, unit] = /^([\d,.]+) ([^\s,]+)/.exec(text) || [];
  assert.ok(units[unit], `${text}: its unit`);
  const step = 10 ** -(number.split('.')[1]?.length || 0) * units[unit];
  assert.ok(Math.abs(Number(number.replace(/,/g, '')) * units[unit] - exact) <= step, `${text} of ${exact}`);
}
const TIME = { ns: 1, µs: 1e3, ms: 1e6, s: 1e9, min: 6e10 };
const BYTES = { bytes: 1, B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

/* The page's tables cell by cell, and what of them the summary has in words. */
async function checkSummary(page, trace, say) {
  const twin = JSON.parse(run('report', '--json', '-n', '0', trace)).tables;
  const table = (name) => twin.find((one) => one.name === name)?.rows || [];
  const { tables, hasSummary } = await page.evaluate(async () => {
    const { app } = window.aflame;
    await app.update({ tab: 'summary', from: '', to: '' });
    await app.timing;
    return { tables: app.meta.tables, hasSummary: app.hasSummary };
  });
  /* A check names the trace as it was given; the page has a limit of rows for each table. */
  const bare = (rows) => rows.map((row) => ({ ...row, check: undefined }));
  for (const { name, rows } of tables)
    await say(`table ${name}: each cell as report --json has it`, () => (
      assert.deepEqual(bare(rows), bare(table(name).slice(0, rows.length)))));
  if (!hasSummary) return;
  const texts = (selector) => page.locator(selector).allInnerTexts();
  await say('the summary has the verdict, the findings and the facts of the report', async () => {
    const steady = tables.some(({ name }) => name === 'steady_findings')
      && table('phases').some(({ phase }) => phase === 'steady');
    const verdict = [table('steady_verdict'), table('verdict'), table('run').slice(0, 3)]
      .find((rows) => rows.length);
    assert.deepEqual(await texts('.summary-verdict > *'), verdict.flatMap((row) => [row.label, row.value]));
    const found = table(steady ? 'steady_findings' : 'findings');
    assert.deepEqual(await texts('.finding > a'), found.slice(0, 3).map(({ finding }) => finding));
    if (found.length > 3) assert.deepEqual(await texts('.summary-all'), [`All ${found.length} findings`]);
    if (steady) assert.deepEqual(await texts('.summary-whole a'), [table('findings')[0].finding]);
    const tiles = await texts('.tile');
    for (const { label, value } of [...table('run'), ...table('cost')].slice(0, 10))
      assert.ok(tiles.some((tile) => tile.startsWith(label) && tile.endsWith(value)), `${label} ${value} in ${tiles}`);
    for (const { what, count } of table('lost').slice(0, 10))
      assert.ok(tiles.some((tile) => tile.startsWith(what) && tile.replace(/,/g, '').includes(count)), `${what} in ${tiles}`);
  });
  await say('its phases have the times of the table', async () => {
    const buttons = await texts('.summary-phases button');
    assert.equal(buttons.length, table('phases').length);
    table('phases').forEach(({ phase, length_ns, steps, step_ns }, k) => {
      const [, name, long, more] = /^(\S+) ([^:]*)(?:: (.*))?$/.exec(buttons[k]);
      assert.equal(name, phase);
      isRounded(long, length_ns, TIME);
      assert.equal(Boolean(more), steps > 1, buttons[k]);
      if (!more) return;
      assert.equal(Number(more.split(' ')[0].replace(/,/g, '')), steps);
      isRounded(more.split(' of ')[1], step_ns, TIME);
    });
  });
  await say('what is asked first has the figures of report and flame', async () => {
    const answers = Object.fromEntries(await page.locator('.summary-answers dt').evaluateAll((list) => (
      list.map((dt) => [dt.textContent, [dt.nextSibling.firstChild.textContent, dt.nextSibling.lastChild.textContent]]))));
    const [kernel] = table('kernels');
    if (answers['Slowest kernel']) {
      const [answer, details] = answers['Slowest kernel'];
      assert.ok(answer.startsWith(`${kernel.kernel}, launched from `), answer);
      isRounded(details, kernel.time_ns, TIME);
      const [, share, calls] = /, ([\d.]+)% of device time, launches: ([\d,]+)/.exec(details);
      assert.deepEqual([Number(share), Number(calls.replace(/,/g, ''))], [kernel.share, kernel.calls]);
    }
    const copy = table('copies').find(({ op }) => op === 3);
    if (copy && answers['Copies to the device']) {
      isRounded(answers['Copies to the device'][0], copy.bytes, BYTES);
      isRounded(answers['Copies to the device'][1].split(', ').pop(), copy.time_ns, TIME);
    }
    if (answers['Launched most']) {
      const [name, place] = answers['Launched most'][0].split(', launched from ');
      const sum = run('flame', '--view', 'gpu', '--weight', 'count', '--depth', 'kernel', trace).split('\n')
        .map((line) => [line.replace(/ \d+$/, '').replace(/_\[[kijGg]\]/g, '').split(';'),
          Number(/ (\d+)$/.exec(line)?.[1])])
        .filter(([stack]) => stack.includes(place) && stack[stack.length - 1] === name)
        .reduce((all, [, nr]) => all + nr, 0);
      assert.equal(Number(answers['Launched most'][1].split(': ')[1].replace(/,/g, '')), sum,
        answers['Launched most'].join());
    }
    for (const { step, length_ns } of table('slow_steps').slice(0, 3))
      isRounded(answers[`Step ${step}`][1], length_ns, TIME);
  });
}

/* The stacks of a picture with what each weighs in all, by its script's places and its titles. */
function pictured(trace, view) {
  const file = path.join(work, 'glue.svg');
  run('flame', '--view', view, '--weight', 'time', '--depth', 'stall',
    '--minwidth', '0', '--height', '16', '-o', file, trace);
  const text = readFileSync(file, 'utf8');
  const places = JSON.parse(/"places":(\[[^\]]*\])/.exec(text)[1]);
  const name = (title) => title.replace(/&(amp|lt|gt|quot|#39);/g, (_, word) => (
    { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }[word]));
  const stack = [];
  const titles = [...text.matchAll(/<g><title>(.*) \([^(]*\)<\/title>/g)];
  return titles.map(([, title], i) => {
    stack.length = places[3 * i];
    stack.push(name(title));
    return [stack.slice(1).join(';'), places[3 * i + 2]];
  });
}

/* A control character is a picture of it in the page, and one of no character in XML. */
const visible = ([stack, weight]) => [stack.replace(/[\x00-\x1f\x7f\u2400-\u2421]/g, '\ufffd'), weight];

/* The page and a picture hide the same frames, and what is left weighs the same. */
async function checkGlue(page, trace, view, say) {
  const tree = await page.evaluate(async (label) => {
    const { app } = window.aflame;
    const only = app.meta.trees.some((one) => one.label === label);
    if (!only) return null;
    await app.update({ tab: 'flame', view: label, w: 'time', ops: ['glue'], from: '', to: '' });
    const { forward, w, base } = app;
    if (forward.weights[w].name !== 'time') return null;
    return { nr: base.n - forward.n, title: forward.weights[w].title, stacks: [...Array(forward.n).keys()]
      .filter((i) => forward.total(w)[i] > 0).map((i) => [forward.path(i)
        .map((node) => forward.names.label[forward.name[node]]).join(';'), forward.total(w)[i]]) };
  }, view);
  await page.evaluate(() => window.aflame.app.update({ ops: [] }));
  if (!tree) return;
  await say(`${view} of the page is that of the SVG without glue`, () => (
    assert.deepEqual(byName(tree.stacks.map(visible)), byName(pictured(trace, view).map(visible)))));
  await say(`${view} of both are called ${tree.title}`, () => assert.match(
    readFileSync(path.join(work, 'glue.svg'), 'utf8'),
    new RegExp(`>Flame Graph: ${tree.title}<[^]*<title>all \\([^,(]* ${tree.title.split(',')[0]}, 100%`)));
  hidden += tree.nr;
}
let hidden = 0;

eachTrace(async (page, trace, say) => {
  await checkSummary(page, trace, say);
  if (!await page.evaluate(() => window.aflame.app.times)) throw new Error(`${trace}: no times`);
  await check(page, trace, say);
  await checkStalls(page, trace, say);
  for (const view of ['cpu', 'gpu']) await checkGlue(page, trace, view, say);
  if (trace.endsWith('/python')) await say('there is glue to hide', () => assert.ok(hidden > 0));
  for (const view of ['cpu', 'gpu']) await checkRanks(page, trace, view, say);
});
