/* Chromium for the tests and the benchmark: started bare, in a profile of its own. */
'use strict';

const path = require('node:path');
const { chromium } = require('playwright-core');

const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/* Calls use(browser) and closes it after; its profile is fresh and goes with it. */
async function withChromium(use) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || '/usr/bin/chromium', headless: true, args: FLAGS,
  });
  try {
    return await use(browser);
  } finally {
    await browser.close();
  }
}

/* Calls use(context) with a browser window of 1400 by 900 that shares nothing with others. */
async function withWindow(browser, options, use) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, ...options });
  try {
    return await use(context);
  } finally {
    await context.close();
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

module.exports = { withChromium, withWindow, openReport };
