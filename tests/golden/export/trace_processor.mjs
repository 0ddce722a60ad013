// Asks Perfetto's trace processor, in the form that its viewer runs in a browser's worker: a module
// of WebAssembly and the script that loads it, both in FOLDER.
//     node trace_processor.mjs FOLDER TRACE… <QUERIES
// QUERIES is a JSON list of SQL; the answer is JSON too: of each trace, of each query a list of rows,
// whole numbers as text.
// What it is reported and says are the messages of its trace_processor.proto, by number.
import {readFileSync} from "node:fs";
import {join} from "node:path";
import vm from "node:vm";

const APPEND = 1, FINALIZE = 2, QUERY = 3, RESET = 11;                   // TraceProcessorMethod
const REQUEST = 2, FATAL = 5, DATA = 101, ARGS = 103, APPENDED = 201, RESULT = 203;
const COLUMN = 1, ERROR = 2, BATCH = 3;                      // QueryResult
const CELLS = 1, INTEGERS = 2, FLOATS = 3, STRINGS = 5;      // CellsBatch
const NULL = 1, INTEGER = 2, FLOAT = 3, STRING = 4;          // CellType
const CHUNK = 1 << 24;

function varint(value) {
  const bytes = [];
  for (let v = BigInt(value); ; v >>= 7n) {
    if (v < 128n) return Buffer.from([...bytes, Number(v)]);
    bytes.push(Number(v & 127n) | 128);
  }
}

const number = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const bytes = (field, value) =>
  Buffer.concat([varint(field << 3 | 2), varint(value.length), value]);

function read(data, at) {
  let value = 0n;
  for (let shift = 0n; ; shift += 7n) {
    if (at >= data.length) throw new Error("an answer that is cut");
    value |= BigInt(data[at] & 127) << shift;
    if (data[at++] < 128) return [value, at];
  }
}

// [field, value] of a message: numbers, or the bytes of what is none.
function* fields(data) {
  for (let at = 0; at < data.length;) {
    let key, value;
    [key, at] = read(data, at);
    let size = {1: 8n, 5: 4n}[key & 7n];
    if (size === undefined) [value, at] = read(data, at);
    if ((key & 7n) === 2n) size = value;
    if (size !== undefined) [value, at] = [data.subarray(at, at + Number(size)), at + Number(size)];
    yield [Number(key >> 3n), value];
  }
}

function* numbers(packed) {
  for (let at = 0, value; at < packed.length;) {
    [value, at] = read(packed, at);
    yield value;
  }
}

function* cells(batch) {
  const of = {[CELLS]: [], [INTEGERS]: [], [FLOATS]: Buffer.alloc(0), [STRINGS]: ""};
  for (const [field, value] of fields(batch)) {
    if (field === CELLS) of[CELLS] = [...value];
    else if (field === INTEGERS) of[INTEGERS] = [...numbers(value)];
    else if (field === FLOATS) of[FLOATS] = value;
    else if (field === STRINGS) of[STRINGS] = value.toString();
  }
  const texts = of[STRINGS].split("\0");
  const next = {[INTEGER]: 0, [FLOAT]: 0, [STRING]: 0};
  for (const kind of of[CELLS]) {
    const i = kind === NULL ? 0 : next[kind]++;
    if (kind === NULL) yield null;
    else if (kind === INTEGER) yield String(BigInt.asIntN(64, of[INTEGERS][i]));
    else if (kind === FLOAT) yield of[FLOATS].readDoubleLE(i * 8);
    else if (kind === STRING) yield texts[i];
    else throw new Error(`a cell of type ${kind}`);
  }
}

// The script believes to be in a browser's worker; its 64-bit form is another module.
function worker(folder, reply) {
  const {WebAssembly: real} = globalThis;
  const Module = function (code) {
    if (code[8] === 5) throw new Error("no memory of 64 bits");
    return new real.Module(code);
  };
  const wasm = readFileSync(join(folder, "trace_processor.wasm"));
  Object.defineProperties(globalThis, {
    self: {value: globalThis},
    location: {value: {href: "file:///"}},
    WorkerGlobalScope: {value: Object},
    WebAssembly: {value: Object.create(real, {Module: {value: Module}})},
    XMLHttpRequest: {value: class {
      open() {}
      send() { this.response = wasm; }
    }},
  });
  console.log = console.warn = console.error;
  vm.runInThisContext(readFileSync(join(folder, "engine_bundle.node.js"), "utf8"));
  const port = {postMessage: reply};
  globalThis.onmessage({data: port});
  // Its module is ready when promises have been kept.
  return new Promise((ready) =>
    setImmediate(() => ready((rpc) => port.onmessage({data: new Uint8Array(rpc)}))));
}

let columns, row, rows;

function result(data) {
  for (const [field, value] of fields(data)) {
    if (field === COLUMN) columns++;
    else if (field === ERROR) throw new Error(value.toString());
    else if (field === BATCH)
      for (const cell of cells(value)) {
        row.push(cell);
        if (row.length === columns) rows.push(row), row = [];
      }
  }
}

function reply(data) {
  for (const [, rpc] of fields(Buffer.from(data)))
    for (const [field, value] of fields(rpc)) {
      if (field === FATAL) throw new Error(value.toString());
      if (field === RESULT) result(value);
      if (field === APPENDED)
        for (const [f, v] of fields(value)) if (f === 2) throw new Error(v.toString());
    }
}

const [folder, ...traces] = process.argv.slice(2);
const send = await worker(folder, reply);
const ask = (method, ...more) => send(bytes(1, Buffer.concat([number(REQUEST, method), ...more])));
const queries = JSON.parse(readFileSync(0, "utf8"));
const answers = traces.map((trace) => {
  const file = readFileSync(trace);
  ask(RESET);
  for (let at = 0; at < file.length; at += CHUNK)
    ask(APPEND, bytes(DATA, file.subarray(at, at + CHUNK)));
  ask(FINALIZE);
  return queries.map((sql) => {
    [columns, row, rows] = [0, [], []];
    ask(QUERY, bytes(ARGS, bytes(1, Buffer.from(sql))));
    return rows;
  });
});
process.stdout.write(JSON.stringify(answers));
