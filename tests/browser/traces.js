/*
 * The report of each recorded trace, held against what the command line says of it, as TAP.
 * Arguments of those that use it: aflame, a folder to work in, traces.
 */
'use strict';

const path = require('node:path');
const { execFileSync } = require('node:child_process');
const { withChromium, withWindow, openReport } = require('./browser.js');

const [aflame, work, ...traces] = process.argv.slice(2);

/* What aflame prints. */
const run = (...args) => execFileSync(aflame, args, { encoding: 'utf8', stdio: 'pipe',
  maxBuffer: 2 ** 30 });

/* Calls check(page, trace, say) with each report opened; say(what, body): a case, failed if it throws. */
function eachTrace(check) {
  withChromium((browser) => withWindow(browser, {}, async (context) => {
    let nr = 0;
    for (const trace of traces) {
      const file = path.join(work, `${path.basename(trace)}.html`);
      run('flame', '-o', file, trace);
      const page = await openReport(context, file, '');
      await check(page, trace, async (what, body) => {
        let error;
        try {
          await body();
        } catch (caught) {
          error = caught;
        }
        console.log(`${error ? 'not ok' : 'ok'} ${++nr} - ${path.basename(trace)}: ${what}`);
        if (!error) return;
        process.exitCode = 1;
        console.log(String(error.message).split('\n').slice(0, 40).join('\n').replace(/^/gm, '# '));
      });
      if (page.problems.length) throw new Error(page.problems.join('\n'));
      await page.close();
    }
    console.log(`1..${nr}`);
  })).catch((error) => {
    console.log(`Bail out! ${String(error.message).split('\n')[0]}`);
    process.exitCode = 1;
  });
}

module.exports = { run, work, eachTrace };
