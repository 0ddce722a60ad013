/* Chromium for the tests and the benchmark: started bare, with a profile of its own. */
'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { chromium } = require('playwright-core');

const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/* Calls use(context) and closes all after it. context: playwright's, 1400 by 900. */
async function withChromium(options, use) {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'aflame-browser-'));
  let context;
  try {
    context = await chromium.launchPersistentContext(profile, {
      executablePath: process.env.CHROMIUM || '/usr/bin/chromium', headless: true, args: FLAGS,
      viewport: { width: 1400, height: 900 }, ...options,
    });
    return await use(context);
  } finally {
    await context?.close();
    fs.rmSync(profile, { recursive: true, force: true, maxRetries: 3 });
  }
}

/* A page with the report opened and ready; page.problems lists all that went wrong in it. */
async function openReport(context, file, hash = '') {
  const page = await context.newPage();
  page.problems = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) page.problems.push(message.text());
  });
  page.on('pageerror', (error) => page.problems.push(String(error)));
  page.on('request', (request) => {
    if (!/^(file|data|blob):/.test(request.url())) page.problems.push(`request ${request.url()}`);
  });
  await page.goto(`file://${path.resolve(file)}${hash}`);
  await page.evaluate(() => window.aflame.ready);
  return page;
}

module.exports = { withChromium, openReport };
