/*
 * See run_tasks. Arguments: the folder with train.html and changed.html, words of a question. What is
 * known of the training stands in tasks_trace.py. Prints TAP. SCREENSHOTS names a folder for a
 * picture of each answer.
 */
'use strict';

const assert = require('node:assert/strict');
const path = require('node:path');
const { withChromium, withWindow, openReport } = require('./browser.js');
const { settle } = require('./tools.js');

const [folder, words = ''] = process.argv.slice(2);
const MOST_CLICKS = 2;

/* A window in which what the user does is counted: a click, a key, a word typed. */
class User {
  constructor(page) {
    this.page = page;
    this.actions = 0;
  }

  /* Click on the first thing that says @text and can be seen. */
  async click(text) {
    this.actions++;
    const target = this.page.locator('button:visible, a:visible', { hasText: text }).first();
    const box = await target.boundingBox();
    const { width, height } = this.page.viewportSize();
    assert.ok(box && box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height,
      `${text} is on the screen`);
    /* On its first line. */
    await this.page.mouse.click(box.x + Math.min(20, box.width / 2), box.y + Math.min(10, box.height / 2));
    await settle(this.page);
  }

  /* What can be read on the screen: text in the window that nothing clips, and what canvases draw. */
  async sees() {
    return this.page.evaluate(async () => {
      await window.aflame.app.working;
      const parts = [];
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const el = node.parentElement;
        if (!node.data.trim() || !el.checkVisibility({ visibilityProperty: true, opacityProperty: true })
          || el.closest('canvas, script, noscript, .offscreen')) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        let { left, right, top, bottom } = range.getBoundingClientRect();
        const whole = (right - left) * (bottom - top);
        for (let up = el; up && up !== document.body; up = up.parentElement) {
          if (getComputedStyle(up).overflowX === 'visible') continue;
          const clip = up.getBoundingClientRect();
          [left, right] = [Math.max(left, clip.left), Math.min(right, clip.right)];
          [top, bottom] = [Math.max(top, clip.top), Math.min(bottom, clip.bottom)];
        }
        [left, top] = [Math.max(0, left), Math.max(0, top)];
        [right, bottom] = [Math.min(innerWidth, right), Math.min(innerHeight, bottom)];
        if (right > left && bottom > top && (right - left) * (bottom - top) > whole * 0.95)
          parts.push(node.data);
      }
      const { fillText } = CanvasRenderingContext2D.prototype;
      CanvasRenderingContext2D.prototype.fillText = function draw(text, ...rest) {
        parts.push(text);
        return fillText.call(this, text, ...rest);
      };
      const { flame, timePages } = window.aflame.app;
      if (flame.canvas.checkVisibility()) flame.paintNow();
      if (timePages?.line.canvas.checkVisibility()) timePages.line.paintNow();
      CanvasRenderingContext2D.prototype.fillText = fillText;
      return parts.join(' ').replace(/\s+/g, ' ');
    });
  }
}

/* [question, what is on the screen at last, what the user does, report]; nothing to do: at once. */
const TASKS = [
  ['which line of my script launches the slowest kernel?', [/Slowest kernel walk, launched from forward \(train\.py:27\)/]],
  ['why was the GPU idle?', [/NVIDIA H200 was idle for 268\.000 ms \(26\.3 % of 1\.019 s\) while the thread that feeds it slept or waited .* below load_batch \(train\.py:11\)/]],
  ['was the run limited by its GPU, its CPU, its input or copies?', [/NVIDIA H200 blocked: .*kernels 48\.6 %, only copies 5\.7 %, host code 13\.4 %, off the CPU 26\.3 %/]],
  ['which kernel takes the most time, and how much?', [/Slowest kernel walk, .* 480 ms, 85\.11% of device time, launches: 60/]],
  ['why was the GPU idle after step 40?', [/idle 86\.0 ms/],
    (user) => user.click(/idle for 86\.0 ms: its thread on a CPU 93 %, in save_checkpoint \(train\.py:45\)/)],
  ['which Python line uses the most CPU time?', [/Python line with most CPU time train_step \(train\.py:38\) 540 ms, 73\.0%/]],
  ['which call path launches most often?', [/<module> \(train\.py:52\)/, /train_step \(train\.py:38\)/, /forward \(train\.py:31\)/, /layer_norm/, /240 launches/],
    (user) => user.click('layer_norm, launched from forward (train.py:31)')],
  ['how long does a step take, and which are slow?', [/59 steps of 17\.4 ms/, /Step 40 .* 95\.4 ms, 6\.2 times the median/, /Step 49 .* 51\.4 ms, 3\.3 times the median/]],
  ['what did the main thread wait for?', [/load_batch \(train\.py:11\)/, /276 ms/, /sys_read/],
    (user) => user.click(/^python3 \[101\], the thread with most CPU time, was off the CPU for 272\.000 ms/)],
  ['where do copies to the device come from, and how many bytes?', [/Copies to the device 960 MiB from load_batch \(train\.py:15\) copies: 60, 60\.0 ms/]],
  ['why does the slowest kernel stall, and at which line?', [/long scoreboard 8[34]\.\d+%/, /walk\.cu/, /79\.\d+%/],
    (user) => user.click(/^the kernel walk took/)],
  ['was anything lost?', [/What was lost nothing/], (user) => user.click(/^Run$/)],
  ['what changed between two runs?', [/Shrank most by themselves .*walk/], (user) => user.click(/^gpu$/), 'changed'],
];
const FIRST_SCREEN = TASKS.slice(0, 3).map(([question]) => question);

withChromium(async (browser) => {
  const wanted = TASKS.filter(([question]) => question.includes(words));
  console.log(`1..${wanted.length}`);
  for (const [at, [question, answers, act, report = 'train']] of wanted.entries())
    await withWindow(browser, { viewport: { width: 1500, height: 900 } }, async (context) => {
      let error;
      let user;
      try {
        const page = await openReport(context, path.join(folder, `${report}.html`));
        await page.evaluate(() => window.aflame.app.timing);
        user = new User(page);
        if (act) {
          const before = await user.sees();
          assert.ok(!answers.every((answer) => answer.test(before)), 'no click was needed');
          await act(user);
        }
        const text = await user.sees();
        for (const answer of answers) assert.match(text, answer);
        assert.ok(user.actions <= (FIRST_SCREEN.includes(question) ? 0 : MOST_CLICKS), `${user.actions} clicks`);
        assert.deepEqual(page.problems, []);
        if (process.env.SCREENSHOTS)
          await page.screenshot({ path: path.join(process.env.SCREENSHOTS, `task-${at + 1}.png`) });
      } catch (caught) {
        error = caught;
      }
      console.log(`${error ? 'not ok' : 'ok'} ${at + 1} - ${question} ${user?.actions} clicks`);
      if (!error) return;
      process.exitCode = 1;
      console.log(String(error.message).split('\n').slice(0, 30).join('\n').replace(/^/gm, '# '));
    });
}).catch((error) => {
  console.log(`Bail out! ${String(error.message).split('\n')[0]}`);
  process.exitCode = 1;
});
