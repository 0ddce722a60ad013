/* See serve. Arguments: nothing; a link on each line of the input, milliseconds on the output. */
'use strict';

const readline = require('node:readline');
const { withChromium, withWindow } = require('../browser/browser.js');

withChromium(async (browser) => {
  console.log('ready');
  for await (const link of readline.createInterface({ input: process.stdin }))
    await withWindow(browser, {}, async (context) => {
      const page = await context.newPage();
      const begin = performance.now();
      await page.goto(link);
      await page.waitForFunction(() => window.aflame?.served, null, { timeout: 600000 });
      await page.evaluate(() => window.aflame.ready);
      console.log(Math.round(performance.now() - begin));
    });
});
