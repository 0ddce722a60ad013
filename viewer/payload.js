/*
 * The data in the page, as src/render/html.c writes it: a JSON script with what is small, and
 * columns of varints, deflated and base64-coded, one script for the names and one for each tree.
 */

async function inflateScript(id) {
  const text = document.getElementById(id).textContent;
  let packed;
  if (Uint8Array.fromBase64) {
    packed = Uint8Array.fromBase64(text);
  } else {
    const binary = atob(text);
    packed = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) packed[i] = binary.charCodeAt(i);
  }
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return sections(new Uint8Array(await new Response(stream).arrayBuffer()));
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

/* Fill @out with varints (7 bits a byte, least first), each times @scale. */
function readVarints(bytes, out, scale) {
  for (let i = 0, at = 0; i < out.length; i++) {
    let value = bytes[at++];
    if (value > 127) {
      value &= 127;
      let byte;
      let unit = 128;
      do {
        byte = bytes[at++];
        value += (byte & 127) * unit;
        unit *= 128;
      } while (byte > 127);
    }
    out[i] = value * scale;
  }
  return out;
}

/* Characters that reorder or hide the text around them: no name may disguise itself as another. */
const UNSEEN = /[\u0080-\u009f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g;

/* All names of the report, in order of their bytes: comparing ids compares names. */
class Names {
  /* inFile: by name the file of its machine code, from 2 on; 1 for several, 0 for not known. */
  constructor(text, kinds, inFile, files) {
    this.text = text;
    this.kind = kinds;
    this.inFile = inFile;
    this.files = files;
    this.count = text.length;
    this.ids = null;
    this.shorts = new Map();
    /* Names of gaps sort before all others. */
    const first = text.findIndex((name) => name !== '');
    this.nrBlank = first < 0 ? text.length : first;
  }

  static async load() {
    const [text, kinds, inFile, files] = await inflateScript('af-names');
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    const lines = (bytes) => decoder.decode(bytes).replace(UNSEEN, '\ufffd').split('\n');
    return new Names(lines(text), kinds, readVarints(inFile, new Uint32Array(kinds.length), 1),
      lines(files));
  }

  /* Ids of all names with this text (the same text may exist as two kinds), [] when unknown. */
  find(text) {
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

  short(id) {
    let name = this.shorts.get(id);
    if (name === undefined) {
      name = shortName(this.text[id]);
      this.shorts.set(id, name);
    }
    return name;
  }
}

async function loadTree(index, meta, names) {
  const [depths, ids, ...columns] = await inflateScript(`af-tree-${index}`);
  const n = meta.nodes;
  const steps = readVarints(depths, new Uint32Array(n), 1);
  const depth = new Int32Array(n);
  for (let i = 0, above = -1; i < n; i++) above = depth[i] = above + 1 - steps[i];
  const name = readVarints(ids, new Uint32Array(n), 1);
  const self = [];
  meta.weights.forEach((weight, w) => {
    const column = weight.same === undefined
      ? readVarints(columns[w], new Float64Array(n), weight.scale)
      : self[weight.same].map((x) => (x / meta.weights[weight.same].scale) * weight.scale);
    self.push(column);
  });
  return new Tree(names, meta.weights, depth, name, self);
}
