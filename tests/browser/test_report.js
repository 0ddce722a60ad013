/*
 * The report in a real browser. Arguments: the folder with known.html, annotated.html, timed.html, counted.html,
 * busy.html, bare.html, sample.html, hostile.html, difference.html, compared.html, chart.html, empty.html,
 * cpu.html (20,000 frames), tracks.html (600 tracks) and many.html (10,000).
 * Prints TAP. Numbers come from report_*.c. SCREENSHOTS names a folder for a picture of each
 * test's end.
 */
'use strict';

const assert = require('node:assert/strict');
const path = require('node:path');
const { withChromium, withWindow, openReport } = require('./browser.js');
const tools = require('./tools.js');

const folder = process.argv[2];

require('./graph_tests.js');
require('./transform_tests.js');
require('./table_tests.js');
require('./difference_tests.js');
require('./saving_tests.js');
require('./page_tests.js');
require('./annotate_tests.js')(tools);
require('./time_tests.js')({ ...tools, openReport });
require('./timeline_tests.js')(tools);
require('./counters_tests.js')(tools);
require('./chart_tests.js')(tools);
require('./job_tests.js')(tools);

/* The page as a test leaves it, for people to look at. */
const shotOf = (name) => path.join(process.env.SCREENSHOTS,
  `${name.replace(/\W+/g, '-').slice(0, 80)}.png`);

async function run(browser, { name, file, options, body }) {
  const path_ = path.join(folder, `${file}.html`);
  const context = { colorScheme: options.dark ? 'dark' : 'light',
    permissions: options.permissions ? ['clipboard-read', 'clipboard-write'] : [] };
  await withWindow(browser, context, async (window_) => {
    const page = await openReport(window_, path_, options.hash ?? '#tab=flame');
    await body(page, window_, path_);
    if (process.env.SCREENSHOTS) await page.screenshot({ path: shotOf(name) });
    if (options.expectProblems) assert.match(page.problems.join('\n'), options.expectProblems);
    else assert.deepEqual(page.problems, []);
  });
}

withChromium(async (browser) => {
  let failed = 0;
  const wanted = tools.tests.filter(({ name }) => name.includes(process.argv[3] || ''));
  console.log(`1..${wanted.length}`);
  for (const [at, one] of wanted.entries()) {
    let error;
    await run(browser, one).catch((caught) => { error = caught; });
    console.log(`${error ? 'not ok' : 'ok'} ${at + 1} - ${one.name}`);
    if (error) console.log(String(error.stack || error).replace(/^/gm, '# '));
    if (error) failed++;
  }
  process.exitCode = failed ? 1 : 0;
}).catch((error) => {
  console.log(`Bail out! ${String(error.message).split('\n')[0]}`);
  process.exitCode = 1;
});
