/* Start: decode what is needed for the first picture, then draw it. */

async function start() {
  document.getElementById('af-loading').remove(); /* the file is there to its end */
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

/* Say that the report, or a part of it, cannot be shown, and what to do. */
function failed(error) {
  document.querySelector('.failed')?.remove();
  document.body.prepend(h('p', { class: 'failed', role: 'alert' }, 'DecompressionStream' in window
    ? `The file is damaged (${error.message}): copy it again, or write it again with aflame flame -o ` +
      'report.html from the trace.'
    : 'This report needs Chrome 103, Firefox 113, Safari 16.4 or later (DecompressionStream).'));
}

/* For the console and for tests: aflame.ready, then aflame.app. */
window.aflame = {
  parts: { callersTree, stackPointers, TreeBuilder, linked: linkedSlices },
  ready: start().catch((error) => {
    failed(error);
    throw error;
  }),
};
