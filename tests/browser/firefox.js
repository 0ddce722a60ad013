/*
 * Firefox as distributions have it, by its own remote protocol (Marionette: a TCP socket, frames of
 * `LENGTH:JSON`), as playwright drives only a Firefox that it built itself.
 */
'use strict';

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');

const START_MS = 60000;

/* A port that nobody has at the moment. */
function freePort() {
  return new Promise((done, fail) => {
    const server = net.createServer();
    server.on('error', fail);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

async function connected(port) {
  for (const until = Date.now() + START_MS; ;) {
    try {
      return await new Promise((done, fail) => {
        const socket = net.connect(port, '127.0.0.1', () => done(socket));
        socket.on('error', fail);
      });
    } catch (error) {
      if (Date.now() > until) throw new Error(`Firefox does not answer: ${error.message}`);
      await new Promise((done) => { setTimeout(done, 200); });
    }
  }
}

class Firefox {
  constructor(socket) {
    this.socket = socket;
    this.waiting = new Map();
    this.bytes = Buffer.alloc(0);
    this.last = 0;
    socket.on('data', (data) => this.take(data));
    socket.on('close', () => this.waiting.forEach(({ fail }) => fail(new Error('Firefox ended'))));
  }

  take(data) {
    this.bytes = Buffer.concat([this.bytes, data]);
    for (;;) {
      const colon = this.bytes.indexOf(58);
      const size = colon < 0 ? NaN : Number(this.bytes.subarray(0, colon));
      if (!(this.bytes.length > colon + size)) return;
      const message = JSON.parse(this.bytes.subarray(colon + 1, colon + 1 + size));
      this.bytes = this.bytes.subarray(colon + 1 + size);
      if (Array.isArray(message)) this.answer(message); /* else it is the greeting */
    }
  }

  answer([, id, error, result]) {
    const { done, fail } = this.waiting.get(id);
    this.waiting.delete(id);
    if (error) fail(new Error(error.message));
    else done(result);
  }

  ask(command, parameters) {
    const text = Buffer.from(JSON.stringify([0, ++this.last, command, parameters]));
    return new Promise((done, fail) => {
      this.waiting.set(this.last, { done, fail });
      this.socket.write(`${text.length}:${text}`);
    });
  }

  open(url) {
    return this.ask('WebDriver:Navigate', { url });
  }

  /* What the asynchronous function of no arguments resolves to, run in the page. */
  async evaluate(f) {
    const script = `const done = arguments[0]; (${f})().then((value) => done({ value }),
      (error) => done({ error: String(error) }));`;
    const { value } = await this.ask('WebDriver:ExecuteAsyncScript', { script, args: [] });
    if (value.error) throw new Error(value.error);
    return value.value;
  }

  async screenshot(file) {
    const { value } = await this.ask('WebDriver:TakeScreenshot', { full: false });
    fs.writeFileSync(file, Buffer.from(value, 'base64'));
  }
}

/* Calls use(firefox) with a window of 1400 by 900 and quits after. */
async function withFirefox(program, use) {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'aflame-firefox-'));
  const port = await freePort();
  fs.writeFileSync(path.join(profile, 'user.js'), `user_pref("marionette.port", ${port});\n` +
    'user_pref("datareporting.policy.dataSubmissionEnabled", false);\n');
  const child = spawn(program, ['--headless', '--no-remote', '--marionette', '--profile', profile],
    { stdio: 'ignore', env: { ...process.env, HOME: profile } });
  const ended = new Promise((done) => { child.on('exit', done); });
  try {
    const firefox = new Firefox(await connected(port));
    await firefox.ask('WebDriver:NewSession', { capabilities: {} });
    await firefox.ask('WebDriver:SetWindowRect', { width: 1400, height: 900 });
    await use(firefox);
    firefox.socket.destroy();
  } finally {
    child.kill('SIGKILL');
    await ended;
    fs.rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

module.exports = { withFirefox };
