/* See run_access. Arguments: the folder with the reports, words of a test's name. Prints TAP. */
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { withChromium, withWindow, openReport } = require('./browser.js');
const { tests, test } = require('./tools.js');
const { eachState } = require('./states.js');
const { misfits } = require('./fit.js');

const folder = process.argv[2];
const report = (name) => path.join(folder, `${name}.html`);
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const THEMES = ['light', 'dark'];
const REPORTS = ['insns', 'train', 'annotated', 'timed', 'job', 'compared', 'known', 'empty'];

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const COLOURS = { type: 'rule', values: ['color-contrast', 'link-in-text-block'] };

/* What axe-core has against what is in front: all of its rules but experimental ones, or @rules. */
async function violations(page, rules = RULES) {
  if (!await page.evaluate(() => Boolean(window.axe))) await page.evaluate(axe);
  const found = await page.evaluate((runOnly) => window.axe.run(document, {
    resultTypes: ['violations'], runOnly }), rules);
  return found.violations.flatMap(({ id, nodes }) => nodes.slice(0, 4).map(({ target, any, all, none }) => (
    `${id}: ${target.join(' ')}: ${[...any, ...all, ...none][0]?.message}`)));
}

const none = (problems) => {
  if (problems.length) throw new Error(`${problems.length}:\n${problems.join('\n')}`);
};

/* A case that opens its own windows. */
const own = (name, body) => test(name, null, {}, body);

/* Themes differ in colours alone: one page has all rules in both. */
for (const name of REPORTS)
  for (const colorScheme of THEMES)
    own(`axe-core finds nothing in ${name}, ${colorScheme}`, (browser) => (
      withWindow(browser, { colorScheme }, async (context) => {
        const page = await openReport(context, report(name));
        const problems = [];
        await eachState(page, async (state) => {
          for (const problem of await violations(page,
            colorScheme === 'dark' && name !== 'insns' ? COLOURS : RULES)) problems.push(`${state}: ${problem}`);
        });
        none(problems);
        assert.deepEqual(page.problems, []);
      })));

own('axe-core finds what is planted', (browser) => withWindow(browser, {}, async (context) => {
  const page = await openReport(context, report('known'), '#tab=flame');
  await page.evaluate(() => {
    const button = document.querySelector('[aria-label=Keys]');
    button.removeAttribute('aria-label');
    button.removeAttribute('title');
    button.textContent = '';
    document.querySelector('#page-flame .status').style.color = '#cccccc';
  });
  const found = (await violations(page)).join('\n');
  assert.match(found, /button-name/);
  assert.match(found, /color-contrast/);
}));

for (const width of [400, 900, 1500])
  own(`at ${width} px no control is cut and no text lies on text, in both themes`, async (browser) => {
    const problems = [];
    await Promise.all(REPORTS.map((name) => (
      withWindow(browser, { viewport: { width, height: 800 } }, async (context) => {
        const page = await openReport(context, report(name));
        await eachState(page, async (state) => {
          for (const colorScheme of THEMES) {
            await page.emulateMedia({ colorScheme });
            for (const problem of await page.evaluate(misfits, width === 400 ? 24 : 0))
              problems.push(`${name}, ${state}, ${colorScheme}: ${problem}`);
          }
        });
        assert.deepEqual(page.problems, []);
      }))));
    none(problems);
  });

own('what does not fit is found', (browser) => withWindow(browser, {
  viewport: { width: 400, height: 800 } }, async (context) => {
  const page = await openReport(context, report('insns'), '#tab=flame');
  const found = async (change) => {
    await page.evaluate(change);
    return (await page.evaluate(misfits, 24)).join('\n');
  };
  assert.equal(await found('0'), '');
  assert.match(await found(`document.querySelector('.tabs').style.overflow = 'hidden'`), /Source.* is cut/);
  assert.match(await found(`document.querySelector('.plain').style.cssText = 'min-height: 0; height: 12px'`),
    / by 12 px/);
  assert.match(await found(`document.querySelector('.status').style.marginLeft = '-300px'`), / is on /);
}));

require('./keys_tests.js')({ own, report });
require('./broken_tests.js')({ own, report });

withChromium(async (browser) => {
  let failed = 0;
  const wanted = tests.filter(({ name }) => name.includes(process.argv[3] || ''));
  console.log(`1..${wanted.length}`);
  for (const [at, { name, body }] of wanted.entries()) {
    let error;
    await body(browser).catch((caught) => { error = caught; });
    console.log(`${error ? 'not ok' : 'ok'} ${at + 1} - ${name}`);
    if (error) console.log(String(error.message || error).split('\n').slice(0, 60).join('\n')
      .replace(/^/gm, '# '));
    if (error) failed++;
  }
  process.exitCode = failed ? 1 : 0;
}).catch((error) => {
  console.log(`Bail out! ${String(error.message).split('\n')[0]}`);
  process.exitCode = 1;
});
