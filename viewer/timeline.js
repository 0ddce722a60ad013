/*
 * The timeline, as one moves in it: by mouse, wheel and what keys call (timepages.js).
 *
 *	new Timeline(host, times, handlers) → show({…}) any number of times
 *
 * handlers: hover(slice or null, event, value of a counter or null), pick(slice or null), range(from, to), toggle(track),
 * moved(from, to), measured(range, event). A slice is [track, lane, index]; times are nanoseconds
 * since the start.
 */

const SNAP = 6; /* pixels: edges of slices so near are where a drag begins or ends */
const GLIDE = 20; /* ms in which what is left of a movement shrinks to a third */

class Timeline extends TimelinePicture {
  constructor(host, times, handlers) {
    super(host, times);
    this.handlers = handlers;
    this.still = window.matchMedia('(prefers-reduced-motion: reduce)');
    this.listen();
  }

  listen() {
    const { canvas, host, handlers } = this;
    host.addEventListener('scroll', () => this.redraw(), { passive: true });
    canvas.addEventListener('mouseleave', (event) => {
      this.mouse = undefined;
      handlers.hover(null, event);
    });
    canvas.addEventListener('pointerdown', (event) => this.press(event));
    canvas.addEventListener('pointermove', (event) => this.pointer(event));
    canvas.addEventListener('pointerup', (event) => this.release(event));
    canvas.addEventListener('pointercancel', () => { this.drag = null; });
    canvas.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
  }

  press(event) {
    const { x, y } = this.at(event);
    if (event.button) return;
    if (x < GUTTER) {
      const row = this.rowAt(y);
      if (row && y > TOP) this.handlers.toggle(row.track.at);
      return;
    }
    this.canvas.setPointerCapture(event.pointerId);
    this.handlers.hover(null, event);
    const drag = y < MAP ? this.map.grab(x)
      : { t: this.moment(event), t0: this.t0, pan: event.shiftKey };
    this.drag = { ...drag, x, moved: false };
  }

  pointer(event) {
    const { drag } = this;
    const { x, y } = this.at(event);
    this.mouse = y < MAP ? undefined : x;
    if (!drag) {
      this.canvas.style.cursor = y < MAP && x >= GUTTER
        ? { from: 'ew-resize', to: 'ew-resize', move: 'grab', new: 'crosshair' }[
          this.map.grab(x).map] : '';
      this.handlers.hover(this.sliceAt(event), event, this.counterAt(event));
      return;
    }
    drag.moved = drag.moved || Math.abs(x - drag.x) > 3;
    if (!drag.moved) return;
    if (drag.map) {
      this.map.drag(drag, x);
    } else if (drag.pan) {
      const by = (x - drag.x) * this.scale();
      this.look(drag.t0 - by, drag.t0 - by + this.t1 - this.t0);
    } else {
      const to = this.moment(event);
      drag.range = { from: Math.min(to, drag.t), to: Math.max(to, drag.t) };
      this.handlers.measured(drag.range, event);
      this.redraw();
    }
  }

  release(event) {
    const { drag } = this;
    this.drag = null;
    if (!drag) return;
    if (drag.map) this.map.drop(drag);
    else if (!drag.moved) this.handlers.pick(this.sliceAt(event));
    else if (drag.range) {
      this.handlers.hover(null, event);
      if (drag.range.from < drag.range.to) this.handlers.range(drag.range.from, drag.range.to);
      else this.redraw();
    }
  }

  /* Rows scroll, as the browser does it; with Ctrl (so a pinch, too) it zooms, with Shift it pans. */
  wheel(event) {
    const unit = event.deltaMode ? 16 : 1; /* lines, or pixels */
    const across = unit * (event.shiftKey ? event.deltaY || event.deltaX : event.deltaX);
    const down = unit * event.deltaY;
    const zooms = event.ctrlKey || event.metaKey;
    if (!zooms && !event.shiftKey && Math.abs(across) <= Math.abs(down)) return;
    event.preventDefault();
    /* A pinch is many small steps. */
    if (zooms)
      this.zoom(Math.exp(down / (Math.abs(down) < 50 ? 100 : 400)), this.time(this.at(event).x));
    else this.pan(across / (this.width - GUTTER));
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  time(x) {
    const t = this.t0 + (x - GUTTER) * this.scale();
    return Math.round(Math.max(0, Math.min(this.times.span, t)));
  }

  /* An edge of a slice in the lane under the pointer, if one is near and Alt is not held. */
  moment(event) {
    const { x } = this.at(event);
    const lane = !event.altKey && this.laneAt(event)?.lane;
    let best = this.time(x);
    let away = SNAP * this.scale();
    const t = best;
    const near = lane ? firstAfter(lane, t) : 0;
    for (let i = Math.max(0, near - 1); lane && i < Math.min(lane.n, near + 2); i++)
      for (const edge of [lane.start[i], sliceEnd(lane, i)])
        if (Math.abs(edge - t) < away) {
          best = edge;
          away = Math.abs(edge - t);
        }
    return best;
  }

  /* [t0, t1), as much of it as is in the run. */
  within(t0, t1) {
    const span = Math.max(1, this.times.span);
    const wide = Math.max(Math.min(span, t1 - t0), Math.min(span, 20));
    const from = Math.max(0, Math.min(span - wide, t0 + (t1 - t0 - wide) / 2));
    return [from, from + wide];
  }

  look(t0, t1) {
    this.aim = null;
    this.move(...this.within(t0, t1));
  }

  move(t0, t1) {
    Object.assign(this, { t0, t1 });
    this.redraw();
    this.handlers.moved(t0, t1);
  }

  pan(part) {
    const by = (this.t1 - this.t0) * part;
    this.look(this.t0 + by, this.t1 + by);
  }

  zoom(factor, around) {
    this.look(around - (around - this.t0) * factor, around + (this.t1 - around) * factor);
  }

  /* What a key does: @part to the side, or @factor around the pointer, from where the last led. */
  steer(part, factor = 1) {
    const [a, b] = this.aim || [this.t0, this.t1];
    const around = this.mouse >= GUTTER ? this.time(this.mouse) : (a + b) / 2;
    const by = (b - a) * part;
    const to = this.within(around - (around - a) * factor + by, around + (b - around) * factor + by);
    if (this.still.matches) {
      this.look(...to);
      return;
    }
    if (!this.aim) {
      this.last = performance.now();
      requestAnimationFrame((now) => this.glide(now));
    }
    this.aim = to;
  }

  glide(now) {
    if (!this.aim) return;
    const part = 1 - Math.exp(Math.min(0, this.last - now) / GLIDE);
    const [a, b] = this.aim.map((t, k) => [this.t0, this.t1][k] * (1 - part) + t * part);
    this.last = now;
    if (!(Math.abs(a - this.aim[0]) + Math.abs(b - this.aim[1]) >= this.scale())) {
      this.look(...this.aim);
      return;
    }
    this.move(a, b);
    requestAnimationFrame((later) => this.glide(later));
  }

  /* The pointer is over @slice, and arrows lead from or to it. */
  point(slice, linked) {
    if (this.pointed.slice?.join() === slice?.join()) return;
    const arrows = linked.length || this.pointed.linked.length;
    this.pointed = { slice, linked };
    if (arrows) this.redraw();
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
    if (row.y - TOP < scrollTop) this.host.scrollTop = row.y - TOP;
    else if (row.y + row.height > scrollTop + this.height)
      this.host.scrollTop = row.y + row.height - this.height;
  }

  rowAt(y) {
    const top = y + this.host.scrollTop;
    return this.rows.find((row) => top >= row.y && top < row.y + row.height);
  }

  /* The lane of slices under the pointer, or undefined. */
  laneAt(event) {
    const { x, y } = this.at(event);
    const row = y >= TOP && x >= GUTTER && this.rowAt(y);
    if (!row || row.track.kind === 'counter') return undefined;
    const l = Math.floor((y + this.host.scrollTop - row.y) / LEVEL);
    const lane = this.lanes(row)[l];
    return lane && { lane, slice: [row.track.at, l] };
  }

  /* The value of the counter under the pointer and its track; null: no counter, or a gap. */
  counterAt(event) {
    const { x, y } = this.at(event);
    const row = y >= TOP && x >= GUTTER && this.rowAt(y);
    const [lane] = row && row.track.kind === 'counter' ? this.lanes(row) : [];
    if (!lane) return null;
    const t = this.time(x);
    const next = lowerBound(lane.start, t, 0, lane.n);
    const i = next < lane.n && lane.start[next] === t ? next : next - 1;
    return i < 0 || Number.isNaN(lane.value[i]) ? null
      : { track: row.track, value: lane.value[i], from: lane.start[i] };
  }

  /* The slice under the pointer or at most two pixels from it, or null. */
  sliceAt(event) {
    const { lane, slice } = this.laneAt(event) || {};
    if (!lane || lane.idle) return null;
    const near = 2 * this.scale();
    const t = this.t0 + (this.at(event).x - GUTTER) * this.scale();
    const i = Math.min(lane.n - 1, firstAfter(lane, t));
    const away = (k) => (k < 0 ? Infinity
      : Math.max(lane.start[k] - t, t - sliceEnd(lane, k), 0));
    const best = away(i - 1) < away(i) ? i - 1 : i;
    return away(best) <= near ? [...slice, best] : null;
  }
}
