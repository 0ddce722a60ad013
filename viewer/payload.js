/*
 * The data in the page, as src/render/html/html.c writes it: a JSON script with what is small, and
 * scripts of what is deflated and made text (src/render/html/pack.h): tables as JSON, names and each
 * tree as columns of varints.
 */

/* Those of seven bits that stand there as a character of U+0100 and on, with the seven after. */
const ESCAPED = [0, 5, 7, 8, 11, 12, 13, 14, 15, 24, 26, 27, 60, 127];

function unpack(text) {
  const bytes = new Uint8Array(text.length * 2);
  let n = 0;
  let bits = 0;
  let have = 0;
  for (let i = 1; i < text.length; i++) {
    let code = text.charCodeAt(i);
    let wide = 7;
    if (code > 127) {
      code = (ESCAPED[(code >> 7) - 2] << 7) | (code & 127);
      wide = 14;
    }
    bits = ((bits & 127) << wide) | code;
    for (have += wide; have > 7;) bytes[n++] = bits >> (have -= 8);
  }
  return bytes.subarray(0, n - text[0]);
}

async function inflateScript(id) {
  const packed = unpack(document.getElementById(id).textContent);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return sections(new Uint8Array(await new Response(stream).arrayBuffer()));
}

async function loadJson(id) {
  const [text] = await inflateScript(id);
  const json = new TextDecoder('utf-8', { ignoreBOM: true }).decode(text);
  return JSON.parse(json.replace(UNSEEN, '\ufffd'));
}

/* Sections: a 32-bit little-endian size, then as many bytes. */
function sections(bytes) {
  const view = new DataView(bytes.buffer);
  const list = [];
  for (let at = 0; at < bytes.length;) {
    const size = view.getUint32(at, true);
    list.push(bytes.subarray(at + 4, at + 4 + size));
    at += 4 + size;
  }
  return list;
}

/* Fill @out with a column of varints: all first bytes, then the second ones, and so forth. */
function readVarints(bytes, out) {
  const at = [];
  for (let from = 0, size = out.length; size;) {
    const end = from + size;
    for (size = 0; from < end; from++) size += bytes[from] >> 7;
    at.push(end);
  }
  for (let i = 0; i < out.length; i++) {
    let value = bytes[i];
    if (value > 127) {
      value &= 127;
      for (let plane = 0, unit = 128, byte = 128; byte > 127; plane++, unit *= 128) {
        byte = bytes[at[plane]++];
        value += (byte & 127) * unit;
      }
    }
    out[i] = value;
  }
  return out;
}

/* 0, 1, 2, 3, … as 0, -1, 1, -2, … */
function signed(x) {
  const half = Math.floor(x / 2);
  return half * 2 === x ? half : -half - 1;
}

/* Characters that reorder or hide the text around them: no name may disguise itself as another. */
const UNSEEN = /[\u0080-\u009f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g;

/* All names of the report, in order of their bytes: comparing ids compares names. */
const HOST_KINDS = new Set(['native', 'inlined', 'jit']);

class Names {
  /*
   * inFile: by name the file of its machine code, from 2 on; 1 for several, 0 for not known.
   * toldBy: by name the word for the module that tells it from others of its text, from 1 on.
   */
  constructor(text, kinds, inFile, files, toldBy, modules) {
    this.text = text;
    this.kind = kinds;
    this.inFile = inFile;
    this.files = files;
    this.toldBy = toldBy;
    this.modules = modules;
    this.count = text.length;
    this.ids = null;
    this.shorts = new Map();
    /* What people see: "libx.so!helper" where another module has a helper. */
    this.label = toldBy.some(Boolean) ? text.map((name, id) => this.prefix(id) + name) : text;
    /* Names of gaps sort before all others. */
    const first = text.findIndex((name) => name !== '');
    this.nrBlank = first < 0 ? text.length : first;
  }

  static async load() {
    const [text, kinds, inFile, files, toldBy, modules] = await inflateScript('af-names');
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    const lines = (bytes) => decoder.decode(bytes).replace(UNSEEN, '\ufffd').split('\n');
    const column = (bytes) => readVarints(bytes, new Uint32Array(kinds.length));
    return new Names(lines(text), kinds, column(inFile), lines(files), column(toldBy),
      lines(modules));
  }

  /* The module that tells it from others of its text, or "". */
  toldModule(id) {
    return this.toldBy[id] ? this.modules[this.toldBy[id] - 1] : '';
  }

  prefix(id) {
    return this.toldBy[id] ? `${this.toldModule(id)}!` : '';
  }

  /* Whose function it is: machine code of the program is the host's, however it came there. */
  side(id) {
    const kind = KINDS[this.kind[id]];
    return HOST_KINDS.has(kind) ? 'host' : kind;
  }

  /* Are both of one function, however it came there: called, or inlined? */
  same(a, b) {
    return this.text[a] === this.text[b] && this.side(a) === this.side(b) &&
      this.toldBy[a] === this.toldBy[b];
  }

  /*
   * Ids of the names that the words mean, [] when unknown: all of this text, of which there may be
   * several kinds and modules; else "gpu:TEXT", "libx.so!TEXT", "host:libx.so!TEXT", as
   * `aflame report` takes them.
   */
  find(words) {
    const ids = this.withText(words);
    if (ids.length) return ids;
    const found = [];
    const sides = (id) => [this.side(id), KINDS[this.kind[id]]].map((side) => `${side}:`);
    for (let at = 0; at < words.length; at++) {
      if (!':!'.includes(words[at])) continue;
      const head = words.slice(0, at + 1);
      const module = (id) => `${this.toldModule(id)}!`;
      found.push(...this.withText(words.slice(at + 1)).filter((id) => (words[at] === ':'
        ? sides(id).includes(head)
        : ['', ...sides(id)].some((side) => side + module(id) === head))));
    }
    return found;
  }

  /* Words that mean this function and none of the same name on another side, or of another file. */
  reference(id) {
    const text = this.text[id];
    const others = this.withText(text).filter((other) => !this.same(other, id));
    const here = (other) => this.side(other) === this.side(id);
    const module = others.some(here);
    const side = others.some((other) => !here(other) &&
      (!module || this.toldBy[other] === this.toldBy[id]));
    return (side ? `${this.side(id)}:` : '') + (module ? `${this.toldModule(id)}!` : '') + text;
  }

  withText(text) {
    if (!this.ids) {
      this.ids = new Map();
      this.text.forEach((name, id) => {
        const same = this.ids.get(name);
        if (same) same.push(id);
        else this.ids.set(name, [id]);
      });
    }
    return this.ids.get(text) || [];
  }

  /* The file of machine code that a name is in, or what else it is of. */
  moduleOf(id) {
    const at = this.inFile[id];
    return at > 1 ? this.files[at - 2].replace(/^.*\//, '')
      : `[${at ? 'several files' : KINDS[this.kind[id]]}]`;
  }

  /* What a name may be written as, longest first. */
  forms(id) {
    let forms = this.shorts.get(id);
    if (!forms) {
      forms = nameForms(this.label[id]);
      this.shorts.set(id, forms);
    }
    return forms;
  }

  /* For a line of a list. */
  short(id, most = 40) {
    const forms = this.forms(id);
    return forms.find(({ length }) => length <= most) || forms[forms.length - 1];
  }
}

/* A column in order of nodes: it has those that are not @late first. */
function inOrder(column, late, scale) {
  const out = new column.constructor(column.length);
  let soon = 0;
  let later = 0;
  for (let i = 0; i < out.length; i++) later += 1 - late[i];
  for (let i = 0; i < out.length; i++) out[i] = column[late[i] ? later++ : soon++] * scale;
  return out;
}

/* Of differences to what @by lets expect: as much for each of its units as of late. */
function addExpected(column, by) {
  let x = 0;
  let y = 0;
  for (let i = 0; i < by.length; i++) {
    column[i] = signed(column[i]) + (y && Math.floor(by[i] * (x / y)));
    if (!by[i]) continue;
    x += column[i] - x / 4;
    y += by[i] - y / 4;
  }
}

async function loadTree(index, meta, names) {
  const [depths, ids, tellers, ...columns] = await inflateScript(`af-tree-${index}`);
  const n = meta.nodes;
  const steps = readVarints(depths, new Uint32Array(n));
  const depth = new Int32Array(n);
  const sibling = new Uint8Array(n);
  const inner = new Uint8Array(n);
  for (let i = 0, above = -1; i < n; i++) {
    above = depth[i] = above + 1 - steps[i];
    if (steps[i]) sibling[i] = 1;
    else if (i) inner[i - 1] = 1;
  }
  const name = inOrder(readVarints(ids, new Uint32Array(n)), sibling, 1);
  const last = new Uint32Array(meta.depth + 1);
  for (let i = 0; i < n; i++) {
    if (sibling[i]) name[i] += last[depth[i]];
    if (name[i] >= names.count && i) name[i] -= names.count;
    last[depth[i]] = name[i];
  }
  const read = [];
  const column = (w) => {
    const { same = w } = meta.weights[w];
    if (!read[same]) {
      read[same] = readVarints(columns[same], new Float64Array(n));
      if (tellers[same]) addExpected(read[same], column(tellers[same] - 1));
    }
    return read[same];
  };
  const self = meta.weights.map(({ scale }, w) => inOrder(column(w), inner, scale));
  return new Tree(names, meta.weights, depth, name, self);
}
