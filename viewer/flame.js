/*
 * The flame graph on a canvas the size of its window: what is drawn is what is seen, whatever the
 * tree's size. Boxes narrower than half a pixel are not opened; those side by side in one pixel
 * are drawn once. The host element scrolls, the canvas stays; so there is no limit of height.
 *
 *	new FlameView(host, handlers) → show({…}) any number of times
 *
 * handlers: hover(node or -1, event), pick(node), menu(node, event).
 */

/* Heights of a row with sizes of its text: the largest with which all of the tree is seen. */
const ROWS = [[20, 12], [17, 12], [14, 11]];
const NARROW = 0.5;

/* Boxes too narrow to tell apart: one rectangle for a run of pixels, matches drawn over them. */
class NarrowBoxes {
  constructor(to, ys, rowHeight, palette) {
    Object.assign(this, { to, ys, palette, nr: 0, matches: [], height: rowHeight - 1 });
    this.start = new Int32Array(ys.length).fill(-2);
    this.end = new Int32Array(ys.length).fill(-2);
    this.matchEnd = new Int32Array(ys.length).fill(-2);
  }

  /* Left to right in each row. */
  add(row, x, hit) {
    const pixel = Math.floor(x / this.to.pixel);
    if (this.end[row] !== pixel) {
      if (this.end[row] !== pixel - 1) {
        this.draw(row);
        this.start[row] = pixel;
      }
      this.end[row] = pixel;
    }
    if (hit && this.matchEnd[row] !== pixel) {
      this.matchEnd[row] = pixel;
      this.matches.push(pixel, row);
    }
  }

  draw(row) {
    const { to, ys, palette } = this;
    if (this.start[row] < 0) return;
    to.rect(this.start[row] * to.pixel, ys[row],
      (this.end[row] + 1 - this.start[row]) * to.pixel, this.height, palette.merged);
    this.nr++;
  }

  finish() {
    const { to, ys, palette, matches } = this;
    for (let row = 0; row < ys.length; row++) this.draw(row);
    for (let k = 0; k < matches.length; k += 2)
      to.rect(matches[k] * to.pixel, ys[matches[k + 1]], to.pixel, this.height, palette.match);
    return this.nr + matches.length / 2;
  }
}

class FlameView extends Picture {
  constructor(host, handlers, label) {
    super(host, label, 'tree');
    this.handlers = handlers;
    this.hoverBox = h('div', { class: 'flame-hover', hidden: true });
    this.root = 0;
    host.append(this.hoverBox);
    this.listen();
  }

  listen() {
    const { canvas, host, handlers } = this;
    host.addEventListener('scroll', () => {
      this.hover(-1);
      this.redraw();
    }, { passive: true });
    canvas.addEventListener('mousemove', (event) => this.hover(this.nodeAt(event), event));
    canvas.addEventListener('mouseleave', (event) => this.hover(-1, event));
    canvas.addEventListener('click', (event) => {
      const node = this.nodeAt(event);
      if (node >= 0) handlers.pick(node);
    });
    canvas.addEventListener('dblclick', (event) => {
      if (this.nodeAt(event) < 0) handlers.pick(0);
    });
    canvas.addEventListener('contextmenu', (event) => {
      const node = this.nodeAt(event);
      if (node < 0) return;
      event.preventDefault();
      handlers.menu(node, event);
    });
  }

  /*
   * view: tree, w (weight), root (zoomed node), selected, hits (by name, or null), flame (root at
   * the bottom), palette; tint (colour of a
   * node, or null: by name); above: how many rows of the tree are left out at its root.
   */
  show(view) {
    const moved = view.tree !== this.tree || view.root !== this.root || view.flame !== this.flame;
    const fresh = view.tree !== this.tree || view.flame !== this.flame;
    Object.assign(this, view);
    this.above = view.above || 0;
    this.tint = view.tint || null;
    this.total = this.tree.total(this.w);
    this.left = this.tree.left(this.w);
    const resized = this.fitHost();
    if (moved || resized) {
      this.rows = this.tree.maxDepth(this.root) + 1 - this.above;
      if (fresh) this.deepest = this.tree.maxDepth(0);
      this.layout();
      this.reveal(this.root, fresh);
    }
    this.hover(-1);
    this.redraw();
  }

  /* Make the host scroll as far as there are rows, and end in a bottom edge in flame shape. */
  layout() {
    const all = this.deepest - this.above + 2;
    [this.row, this.size] = ROWS.find(([row]) => all * row <= this.height) || ROWS[1];
    const rows = this.rows * this.row + 8;
    this.sizer.style.height = `${Math.max(0, rows - this.height)}px`;
    this.canvasRows = Math.max(rows, this.height);
  }

  resize() {
    const atBottom = this.flame && this.host.scrollTop >= this.sizer.offsetHeight - 1;
    if (!this.fitHost() || !this.tree) return;
    this.layout();
    if (atBottom) this.host.scrollTop = this.sizer.offsetHeight;
    this.paintNow();
  }

  /* Top edge of row @depth within the canvas. */
  y(depth) {
    const row = depth - this.above;
    return this.flame ? this.canvasRows - (row + 1) * this.row - this.host.scrollTop
      : row * this.row - this.host.scrollTop;
  }

  /* Scroll so that @node's row and some of what is above it in the stack can be seen. */
  reveal(node, fresh) {
    const depth = this.tree.depth[node];
    const y = this.y(depth);
    if (!fresh && y >= this.row && y <= this.height - 2 * this.row) return;
    const room = this.flame ? this.height - 4 * this.row : 3 * this.row;
    if (fresh && depth * this.row < this.height - 4 * this.row)
      this.host.scrollTop = this.flame ? this.sizer.offsetHeight : 0;
    else this.host.scrollTop += y - room;
  }

  paintNow() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    if (!this.tree || !this.width) return;
    this.drawn = this.paintCanvas(this.context, this.ratio, this.height,
      { y: (depth) => this.y(depth) });
  }

  /* Draw on @to, a canvas or an SVG in the making. Returns the number of boxes. */
  paint(to) {
    const { tree, root, total, left, palette, hits } = this;
    /* Once a row, not once a node: asking a page where it is scrolled to is slow. */
    const ys = new Float64Array(this.rows + this.above);
    for (let d = 0; d < ys.length; d++) ys[d] = to.y(d);
    let nr = this.paintAncestors(to, ys);
    if (!(total[root] > 0)) return nr;
    const scale = to.width / total[root];
    const from = left[root];
    const { depth, end, name } = tree;
    const color = this.tint || ((i) => palette.color(name[i]));
    const narrow = new NarrowBoxes(to, ys, this.row, palette);
    const last = end[root];
    for (let i = root; i < last;) {
      const width = total[i] * scale;
      const y = ys[depth[i]];
      const hidden = y <= -this.row || y >= to.height;
      /* Rows only get further away from the root: past the far edge nothing more is seen. */
      if (hidden && (this.flame ? y <= -this.row : y >= to.height)) {
        i = end[i];
        continue;
      }
      const x = (left[i] - from) * scale;
      const hit = hits && hits[name[i]];
      if (width < NARROW) {
        if (!hidden && width > 0 && !tree.isGap(i)) narrow.add(depth[i], x, hit);
        i = end[i];
        continue;
      }
      if (!hidden && !tree.isGap(i)) {
        if (i === 0) this.box(to, 0, x, y, width, palette.root, palette.text);
        else if (!hits) this.box(to, i, x, y, width, color(i), palette.text);
        else if (hit) this.box(to, i, x, y, width, palette.match, palette.matchText);
        else this.box(to, i, x, y, width, palette.dim, palette.dimText);
        nr++;
      }
      i++;
    }
    return nr + narrow.finish();
  }

  paintAncestors(to, ys) {
    const { tree, palette } = this;
    let nr = 0;
    for (let above = this.root; tree.depth[above] > this.above;) {
      above = tree.parent[above];
      const y = ys[tree.depth[above]];
      if (y <= -this.row || y >= to.height) continue;
      this.box(to, above, 0, y, to.width, palette.root, palette.ancestor);
      nr++;
    }
    return nr;
  }

  box(to, node, x, y, width, fill, color) {
    const shown = Math.max(width - (width > 3 ? 1 : 0), to.pixel);
    to.rect(x, y, shown, this.row - 1, fill);
    if (width > 26) {
      const label = this.label(node, width - 9);
      if (label) to.text(x + 5, y + this.row / 2, label, color);
    }
    if (node === this.selected) to.frame(x, y, shown, this.row - 1, this.palette.select);
  }

  label(node, room) {
    if (!node) return this.fit(`all · ${this.rootLabel || ''}`, room);
    return this.fitName(this.tree.names.forms(this.tree.name[node]), room);
  }

  /* The node under the pointer, or -1. */
  nodeAt(event) {
    if (!this.tree) return -1;
    const bounds = this.canvas.getBoundingClientRect();
    const y = event.clientY - bounds.top + this.host.scrollTop;
    const row = Math.floor((this.flame ? this.canvasRows - y : y) / this.row);
    return this.nodeIn(row + this.above, (event.clientX - bounds.left) / this.width);
  }

  /* The node at depth @row and @part (0 to 1) of the width, or -1. */
  nodeIn(row, part) {
    const { tree, root, total, left } = this;
    if (row < this.above || row >= this.rows + this.above || part < 0 || part >= 1) return -1;
    let node = root;
    if (row <= tree.depth[root]) {
      while (tree.depth[node] > row) node = tree.parent[node];
      return node;
    }
    const value = left[root] + part * total[root];
    while (tree.depth[node] < row) {
      let child = node + 1;
      while (child < tree.end[node] && value >= left[child] + total[child]) child = tree.end[child];
      if (child >= tree.end[node] || value < left[child]) return -1;
      if ((total[child] / total[root]) * this.width < NARROW) return -1;
      node = child;
    }
    return tree.isGap(node) ? -1 : node;
  }

  /* Where @node is drawn: {x, y, width} in the canvas. */
  placeOf(node) {
    const { tree, root, total, left } = this;
    const y = this.y(tree.depth[node]);
    if (tree.depth[node] < tree.depth[root]) return { x: 0, y, width: this.width };
    const scale = this.width / total[root];
    return { x: (left[node] - left[root]) * scale, y, width: total[node] * scale };
  }

  hover(node, event) {
    if (node >= 0 && !(this.total[this.root] > 0)) node = -1;
    this.canvas.style.cursor = node >= 0 ? 'pointer' : 'default';
    this.hoverBox.hidden = node < 0;
    if (node >= 0) {
      this.hoverBox.style.height = `${this.row - 1}px`;
      const { x, y, width } = this.placeOf(node);
      this.hoverBox.style.transform = `translate(${x}px, ${y + this.host.scrollTop}px)`;
      this.hoverBox.style.width = `${Math.max(1, width - 1)}px`;
    }
    this.handlers.hover(node, event);
  }

  /* The whole view, not only the visible part, as SVG text or drawn on a canvas of its size. */
  exportRows() {
    const rows = Math.min(this.rows, 1500);
    const row = (depth) => (this.flame ? rows - 1 - depth + this.above : depth - this.above);
    return { height: rows * this.row, y: (depth) => row(depth) * this.row };
  }
}
