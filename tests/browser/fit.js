/*
 * What does not fit, found in the page itself (so this function may use nothing around it): controls
 * that are cut or too small for a finger, text on text, a page that is wider than its window.
 */
'use strict';

function misfits(least) {
  const problems = [];
  const name = (el) => `${el.tagName.toLowerCase()}.${el.className} "${
    (el.getAttribute('aria-label') || el.textContent).trim().slice(0, 40)}"`;
  const root = document.documentElement;
  if (root.scrollWidth > window.innerWidth || document.body.scrollWidth > window.innerWidth)
    problems.push(`the page is ${root.scrollWidth} px wide`);
  const top = document.querySelector('dialog[open]') || document.querySelector('.menu:not([hidden])');

  /* The part of @box that can be seen, or scrolled to, within what clips it: null for nothing. */
  const reach = (el, box) => {
    let { left, right, top: y, bottom } = box;
    let fixed = false;
    for (let up = el.parentElement; up && up !== document.body && !fixed; up = up.parentElement) {
      const style = getComputedStyle(up);
      const clip = up.getBoundingClientRect();
      const scrolls = (overflow) => overflow === 'auto' || overflow === 'scroll';
      if (scrolls(style.overflowX)) [left, right] = [clip.left, Math.min(clip.right, clip.left + right - left)];
      else if (style.overflowX !== 'visible') [left, right] = [Math.max(left, clip.left), Math.min(right, clip.right)];
      if (scrolls(style.overflowY)) [y, bottom] = [clip.top, Math.min(clip.bottom, clip.top + bottom - y)];
      else if (style.overflowY !== 'visible') [y, bottom] = [Math.max(y, clip.top), Math.min(bottom, clip.bottom)];
      fixed = style.position === 'fixed';
    }
    return { left: Math.max(0, left), right: Math.min(window.innerWidth, right), top: Math.max(0, y),
      bottom: Math.min(window.innerHeight, bottom) };
  };
  const shown = (el) => el.checkVisibility({ visibilityProperty: true, opacityProperty: true })
    && !el.closest('canvas, .offscreen') && (!top || top.contains(el));

  /* Cut in the middle with an ellipsis is meant: names are in titles. */
  for (const el of document.querySelectorAll('button, select, input, a[href], [role=tab]')) {
    if (!shown(el)) continue;
    const box = el.getBoundingClientRect();
    const seen = reach(el, box);
    if (seen.right - seen.left < box.width - 1.5 || seen.bottom - seen.top < box.height - 1.5)
      problems.push(`${name(el)} is cut: ${Math.round(seen.right - seen.left)} of ${
        Math.round(box.width)} by ${Math.round(seen.bottom - seen.top)} of ${Math.round(box.height)} px`);
    const style = getComputedStyle(el);
    if (el.tagName === 'BUTTON' && el.scrollWidth > el.clientWidth + 1
      && ![el, ...el.children].some((part) => getComputedStyle(part).textOverflow === 'ellipsis')
      && style.overflowX !== 'hidden') problems.push(`${name(el)}: its text is wider than it`);
    if (Math.min(box.width, box.height) < least - 0.01 && style.display !== 'inline')
      problems.push(`${name(el)} is ${Math.round(box.width)} by ${Math.round(box.height)} px`);
  }

  /* Lines of text, each with its element, as far as they can be seen. */
  const lines = [];
  const walker = document.createTreeWalker(top || document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const el = node.parentElement;
    if (!node.data.trim() || !shown(el) || el.closest('script, style, noscript, option, .tooltip, .toast, .menu, dialog')
      !== (top && el.closest('.menu, dialog'))) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      let { left, right, top: y, bottom } = rect;
      let sticky = false;
      for (let up = el; up && up !== document.body; up = up.parentElement) {
        const style = getComputedStyle(up);
        sticky = sticky || style.position === 'sticky';
        if (style.overflowX === 'visible') continue;
        const clip = up.getBoundingClientRect();
        [left, right] = [Math.max(left, clip.left), Math.min(right, clip.right)];
        [y, bottom] = [Math.max(y, clip.top), Math.min(bottom, clip.bottom)];
      }
      if (!sticky && right - left > 2 && bottom - y > 2) lines.push({ el, left, right, top: y, bottom });
    }
  }
  lines.forEach((a, k) => lines.slice(k + 1).forEach((b) => {
    const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const tall = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (a.el !== b.el && wide > 2 && tall > 4 && problems.length < 20)
      problems.push(`${name(a.el)} is on ${name(b.el)}: ${Math.round(wide)} by ${Math.round(tall)} px`);
  }));
  return [...new Set(problems)];
}

module.exports = { misfits };
