/*
 * What all pictures of the page share: a canvas the size of its window, painted when the browser
 * is about to show it; text cut to fit; saving. Who extends it has
 *
 *	paint(to)	draws on @to, a canvas or an SVG in the making; returns the number of boxes
 *	paintNow()	paints the canvas
 *	resize()	calls fitHost() and what follows from it
 *	exportRows()	{height, …}: of the whole picture, not only what is seen, for paint's @to
 */

const NO_CANVAS = 'This browser lets no page draw: a canvas blocker or a privacy setting may ' +
  'forbid it. The tabs Functions and Run have the same figures.';
const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, Ubuntu, "Noto Sans", sans-serif';

class Picture {
  constructor(host, label, role = 'img') {
    this.host = host;
    this.canvas = h('canvas', { class: 'flame', tabindex: 0, role, 'aria-label': label });
    this.sizer = h('div', { class: 'flame-sizer' });
    this.context = this.canvas.getContext('2d', { alpha: false });
    this.frame = 0;
    this.id = `picture-${document.querySelectorAll('canvas').length}-${label.slice(0, 5)}`;
    host.classList.add('flame-host');
    host.append(this.canvas, this.sizer);
    if (!this.context) {
      this.paintNow = () => {};
      host.append(h('p', { class: 'empty over', role: 'note' }, NO_CANVAS));
    }
    new ResizeObserver(() => this.resize()).observe(host);
  }

  /* Make the canvas as large as its host; tells whether that was a change. */
  fitHost() {
    const { clientWidth, clientHeight } = this.host;
    const ratio = window.devicePixelRatio || 1;
    if (!clientWidth || !clientHeight) return false;
    if (clientWidth === this.width && clientHeight === this.height && ratio === this.ratio)
      return false;
    this.width = clientWidth;
    this.height = clientHeight;
    this.ratio = ratio;
    this.canvas.width = Math.round(clientWidth * ratio);
    this.canvas.height = Math.round(clientHeight * ratio);
    this.canvas.style.width = `${clientWidth}px`;
    this.canvas.style.height = `${clientHeight}px`;
    return true;
  }

  redraw() {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.paintNow());
  }

  /* Paint on a canvas of @ratio pixels to one of the page's. Returns the number of boxes. */
  paintCanvas(context, ratio, height, more) {
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = this.palette.paper;
    context.fillRect(0, 0, this.width, height);
    return this.paint({ ...this.strokes(context), width: this.width, height, pixel: 1 / ratio,
      rect: (x, top, w, hgt, color) => {
        context.fillStyle = color;
        context.fillRect(x, top, w, hgt);
      }, ...more });
  }

  /* What is drawn over boxes: text, frames of boxes, lines, paper that lets them shine through. */
  strokes(context) {
    context.font = `${this.size}px ${FONT}`;
    context.textBaseline = 'middle';
    context.lineWidth = 2;
    return {
      text: (x, top, text, color) => {
        context.fillStyle = color;
        context.fillText(text, x, top);
      },
      frame: (x, y, w, hgt, color) => {
        context.strokeStyle = color;
        context.strokeRect(x + 1, y + 1, Math.max(0, w - 2), hgt - 2);
      },
      line: (x, y, x2, y2, color) => {
        context.strokeStyle = color;
        context.beginPath();
        context.moveTo(x, y);
        context.lineTo(x2, y2);
        context.stroke();
      },
      shade: (x, y, w, hgt) => {
        context.globalAlpha = 0.6;
        context.fillStyle = this.palette.paper;
        context.fillRect(x, y, w, hgt);
        context.globalAlpha = 1;
      },
    };
  }

  fit(text, room) {
    let width = 0;
    let cut = 0;
    const dots = this.charWidth(0x2026);
    for (let i = 0; i < text.length; i++) {
      width += this.charWidth(text.charCodeAt(i));
      if (width <= room - dots) cut = i + 1;
      if (width > room) return cut >= 2 ? `${text.slice(0, cut)}…` : '';
    }
    return text;
  }

  fits(text, room) {
    let width = 0;
    for (let i = 0; i < text.length && width <= room; i++)
      width += this.charWidth(text.charCodeAt(i));
    return width <= room;
  }

  /* The longest of a name's forms that fits, else the beginning of the shortest. */
  fitName(forms, room) {
    return this.fit(forms.find((form) => this.fits(form, room)) || forms[forms.length - 1], room);
  }

  charWidth(code) {
    if (!this.context) return 7;
    if (!this.widths) this.widths = new Float32Array(65536);
    if (!this.widths[code]) {
      const before = this.context.font;
      this.context.font = `12px ${FONT}`;
      this.widths[code] = this.context.measureText(String.fromCharCode(code)).width || 0.01;
      this.context.font = before;
    }
    return (this.widths[code] * this.size) / 12;
  }

  svg(title) {
    const more = this.exportRows();
    const out = [];
    const xml = (text) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
    const number = (x) => Number(x.toFixed(2));
    this.paint({
      width: this.width, pixel: 1,
      rect: (x, top, w, hgt, color) => out.push(`<rect x="${number(x)}" y="${number(top)}" ` +
        `width="${number(w)}" height="${number(hgt)}" fill="${color}"/>`),
      text: (x, top, text, color) => out.push(`<text x="${number(x)}" y="${number(top + 4)}" ` +
        `fill="${color}">${xml(text)}</text>`),
      frame: () => {},
      line: (x, y, x2, y2, color) => out.push(`<path d="M${number(x)} ${number(y)}L${number(x2)} ` +
        `${number(y2)}" stroke="${color}" stroke-width="2"/>`),
      ...more,
    });
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" ` +
      `height="${more.height}" font-family="system-ui, sans-serif" font-size="${this.size}">` +
      `<title>${xml(title)}</title><rect width="100%" height="100%" ` +
      `fill="${this.palette.paper}"/>${out.join('\n')}</svg>\n`;
  }

  png(done) {
    const { height, ...more } = this.exportRows();
    const scale = height * 2 <= 16384 ? 2 : 1;
    const canvas = h('canvas', { width: this.width * scale, height: height * scale });
    const context = canvas.getContext('2d', { alpha: false });
    this.paintCanvas(context, scale, height, { ...more, frame: () => {} });
    canvas.toBlob(done, 'image/png');
  }
}
