/*
 * Building the page. Everything that comes from a profile enters the document through text nodes
 * and attributes made here, never through markup.
 */

function h(tag, attrs, ...kids) {
  const el = document.createElement(tag);
  if (tag === 'button') el.type = tag; /* none of them submits anything */
  for (const [key, value] of Object.entries(attrs || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key === 'class') el.className = value;
    else if (key.startsWith('on')) el.addEventListener(key.slice(2), value);
    else el.setAttribute(key, value === true ? '' : value);
  }
  el.append(...kids.flat().filter((kid) => kid !== null && kid !== undefined && kid !== false));
  return el;
}

const ICONS = {
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.4 10.4 14 14',
  up: 'M3.5 10 8 5.5l4.5 4.5',
  down: 'M3.5 6 8 10.5 12.5 6',
  close: 'M4 4l8 8M12 4l-8 8',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5V2.5h-8v8H5',
  moon: 'M13.5 9.8A6 6 0 0 1 6.2 2.5a6 6 0 1 0 7.3 7.3z',
  undo: 'M5.5 3 2.5 6l3 3M3 6h6.5a4 4 0 0 1 0 8H6',
  save: 'M8 2.5v8M4.5 7 8 10.5 11.5 7M2.5 13.5h11',
  panel: 'M2.5 3h11v10h-11zM10 3v10',
  flame: 'M8 1.5c.6 2.6 4 4 4 7.7A4 4 0 0 1 8 13.5a4 4 0 0 1-4-4.1c0-1.7.9-2.6 1.6-3.6' +
    '.3 1 .8 1.6 1.4 1.8C6.8 5.5 7 3.2 8 1.5z',
};

/* A picture of one path, which is not read aloud. */
function drawing(d, attrs) {
  const ns = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(ns, 'svg');
  for (const [key, value] of Object.entries({ ...attrs, 'aria-hidden': 'true' }))
    svg.setAttribute(key, value);
  const path = document.createElementNS(ns, 'path');
  path.setAttribute('d', d);
  svg.append(path);
  return svg;
}

function icon(name) {
  return drawing(ICONS[name], { viewBox: '0 0 16 16', class: 'icon' });
}

const ARROWS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/* A row of buttons of which one is on, a single stop of Tab. options: [{value, text, title}] */
function segmented(label, options, onpick) {
  const el = h('div', { class: 'segmented', role: 'radiogroup', 'aria-label': label,
    onkeydown: (event) => {
      const step = ARROWS[event.key];
      if (!step) return;
      const all = [...el.children];
      const to = all[(all.indexOf(document.activeElement) + step + all.length) % all.length];
      event.preventDefault();
      event.stopPropagation();
      to.click();
      to.focus();
    } });
  for (const option of options) {
    const button = h('button', {
      role: 'radio', title: option.title, 'data-value': option.value,
      onclick: () => onpick(option.value),
    }, option.text);
    el.append(button);
  }
  el.show = (value) => {
    const any = options.some((option) => String(option.value) === String(value));
    for (const button of el.children) {
      const on = button.dataset.value === String(value);
      button.classList.toggle('on', on);
      button.setAttribute('aria-checked', on);
      button.tabIndex = on || (!any && button === el.firstChild) ? 0 : -1;
    }
  };
  el.show();
  return el;
}

/* The same as a list, for many options. */
function listed(label, options, onpick) {
  const el = h('select', { 'aria-label': label, title: options[0].title,
    onchange: () => onpick(el.value) },
  options.map(({ value, text }) => h('option', { value }, text)));
  el.show = (value) => { el.value = value; };
  return el;
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    /* Without the permission the old way still works: select a hidden field and copy it. */
    const area = h('textarea', { class: 'offscreen', 'aria-hidden': 'true' });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
}

function download(name, blob) {
  const link = h('a', { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
