/*
 * The timeline, as one moves in it: by mouse, wheel and what keys call (timepages.js).
 *
 *	new Timeline(host, times, handlers) → show({…}) any number of times
 *
 * handlers: hover(slice or null, event), pick(slice or null), range(from, to), toggle(track),
 * moved(from, to). A slice is [track, lane, index]; times are nanoseconds since the start.
 */

class Timeline extends TimelinePicture {
  constructor(host, times, handlers) {
    super(host, times);
    this.handlers = handlers;
    this.listen();
  }

  listen() {
    const { canvas, host, handlers } = this;
    host.addEventListener('scroll', () => this.redraw(), { passive: true });
    canvas.addEventListener('mouseleave', (event) => handlers.hover(null, event));
    canvas.addEventListener('pointerdown', (event) => {
      const { x, y } = this.at(event);
      if (event.button || x < GUTTER) {
        const row = !event.button && this.rowAt(y);
        if (row && y > AXIS) handlers.toggle(row.track.at);
        return;
      }
      canvas.setPointerCapture(event.pointerId);
      this.drag = { x, t: this.time(x), t0: this.t0, pan: event.shiftKey, moved: false };
    });
    canvas.addEventListener('pointermove', (event) => this.pointer(event));
    canvas.addEventListener('pointerup', (event) => {
      const { drag } = this;
      this.drag = null;
      if (!drag) return;
      const t = this.time(this.at(event).x);
      if (!drag.moved) handlers.pick(this.sliceAt(event));
      else if (!drag.pan) handlers.range(Math.min(t, drag.t), Math.max(t, drag.t));
    });
    canvas.addEventListener('wheel', (event) => {
      const { x } = this.at(event);
      if (x < GUTTER) return;
      event.preventDefault();
      const across = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
      if (Math.abs(across) > Math.abs(event.deltaY) || event.shiftKey)
        this.pan(across / (this.width - GUTTER));
      else this.zoom(Math.exp(event.deltaY / 400), this.time(x));
    }, { passive: false });
  }

  pointer(event) {
    const { drag } = this;
    const { x } = this.at(event);
    if (!drag) {
      this.handlers.hover(this.sliceAt(event), event);
      return;
    }
    drag.moved = drag.moved || Math.abs(x - drag.x) > 3;
    if (drag.pan) {
      const by = (x - drag.x) * this.scale();
      this.look(drag.t0 - by, drag.t0 - by + this.t1 - this.t0);
    } else if (drag.moved) {
      drag.to = this.time(x);
      this.redraw();
    }
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  time(x) {
    const t = this.t0 + (x - GUTTER) * this.scale();
    return Math.round(Math.max(0, Math.min(this.times.span, t)));
  }

  /* Look at [t0, t1), as much of it as is in the run. */
  look(t0, t1) {
    const span = Math.max(1, this.times.span);
    const wide = Math.max(Math.min(span, t1 - t0), Math.min(span, 20));
    this.t0 = Math.max(0, Math.min(span - wide, t0 + (t1 - t0 - wide) / 2));
    this.t1 = this.t0 + wide;
    this.redraw();
    this.handlers.moved(this.t0, this.t1);
  }

  pan(part) {
    const by = (this.t1 - this.t0) * part;
    this.look(this.t0 + by, this.t1 + by);
  }

  zoom(factor, around = (this.t0 + this.t1) / 2) {
    this.look(around - (around - this.t0) * factor, around + (this.t1 - around) * factor);
  }

  /* Into sight, if it is not: a slice. */
  reveal([k, l, i]) {
    const lane = this.times.loaded[k]?.[l];
    const row = this.rows.find(({ track }) => track.at === k);
    if (!lane || !row) return;
    const [from, to] = [lane.start[i], sliceEnd(lane, i)];
    if (to - from > this.t1 - this.t0) this.look(from, to);
    else if (from < this.t0 || to > this.t1)
      this.pan(((from + to) / 2 - (this.t0 + this.t1) / 2) / (this.t1 - this.t0));
    const { scrollTop } = this.host;
    if (row.y - AXIS < scrollTop) this.host.scrollTop = row.y - AXIS;
    else if (row.y + row.height > scrollTop + this.height)
      this.host.scrollTop = row.y + row.height - this.height;
  }

  rowAt(y) {
    const top = y + this.host.scrollTop;
    return this.rows.find((row) => top >= row.y && top < row.y + row.height);
  }

  /* The slice under the pointer or at most two pixels from it, or null. */
  sliceAt(event) {
    const { x, y } = this.at(event);
    const row = y >= AXIS && x >= GUTTER && this.rowAt(y);
    if (!row || row.track.kind === 'counter') return null;
    const l = Math.floor((y + this.host.scrollTop - row.y) / LEVEL);
    const lane = this.lanes(row)[l];
    if (!lane || lane.idle) return null;
    const near = 2 * this.scale();
    const t = this.t0 + (x - GUTTER) * this.scale();
    const i = Math.min(lane.n - 1, firstAfter(lane, t));
    const away = (k) => (k < 0 ? Infinity
      : Math.max(lane.start[k] - t, t - sliceEnd(lane, k), 0));
    const best = away(i - 1) < away(i) ? i - 1 : i;
    return away(best) <= near ? [row.track.at, l, best] : null;
  }
}
