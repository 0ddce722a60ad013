/* Start: decode what is needed for the first picture, then draw it. */

async function start() {
  const meta = JSON.parse(document.getElementById('af-report').textContent);
  KINDS = meta.kinds;
  meta.tables = await loadJson('af-tables');
  const names = await Names.load();
  const app = new App(meta, names);
  await app.refresh();
  window.aflame.app = app;
  if (meta.served) window.aflame.served = new Served(meta.served);
  app.flame.paintNow();
  performance.mark('aflame-shown');
}

/* For the console and for tests: aflame.ready, then aflame.app. */
window.aflame = {
  parts: { callersTree, stackPointers, TreeBuilder },
  ready: start().catch((error) => {
    document.body.append(h('p', { class: 'failed', role: 'alert' },
      `This report could not be shown: ${error.message}. It needs a browser with ` +
      'DecompressionStream (Chrome 103, Firefox 113, Safari 16.4 or later).'));
    throw error;
  }),
};
