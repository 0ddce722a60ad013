/*
 * Transforms: each makes a new tree of a tree and can be undone by dropping it from the list. An
 * operation is written `verb` or `verb:argument`, which is also its form in the page's address.
 * Weight never disappears silently: hiding charges a frame's self to the frame below it; only
 * focus, keep and drop change the total, and the chips above the graph say so.
 */

/*
 * Frames of interpreters and of call plumbing: true, and rarely what one looks for. The same rules
 * are in src/analyse/names/glue.c; both are held to tests/unit/glue.txt.
 */
const GLUE = new RegExp(
  '^(_?PyEval_|_?PyObject_(Make)?(Vectorcall|Call|FastCall)|_PyFunction_|_?PyVectorcall' +
  '|_?PyCFunction|PyCFuncPtr_|cfunction_|method_vectorcall|vectorcall_|slot_(tp|nb)_' +
  '|object_vacall|_PyObject_|_?PyRun_|run_(mod|eval_code_obj)$|pyrun_|Py_(Run|Bytes)?Main|pymain_' +
  '|type_call$|property_descr_|_start$|__libc_start|clone3?$|start_thread$|thread_start$|trampoline' +
  '|ffi_(call|prep)|\\[libffi|_ctypes_callproc|_call_function_pointer|(void )?pybind11::' +
  '|std::(__)?invoke|std::function|std::_Function_handler|c10::Dispatcher' +
  '|c10::impl::(wrap_kernel|call_functor)|c10::BoxedKernel' +
  '|Builtins_(JSEntry|Interpreter)|v8::internal::Execution::|JavaCalls::|JavaMain$' +
  '|thread_native_entry|runtime\\.goexit|std::rt::lang_start' +
  '|std::sys::backtrace::__rust_|std::sys_common::backtrace::__rust_' +
  '|core::ops::function::FnOnce::|Perl_runops_|S_run_body|(rb_)?vm_exec$|vm_exec_core$)');

const VERBS = {
  focus: { text: 'only', tip: 'stacks from this function on, merged' },
  keep: { text: 'stacks with', tip: 'only stacks that contain a match' },
  drop: { text: 'without', tip: 'stacks through this function removed' },
  hide: { text: 'hidden', tip: 'frames of this function merged into their callers' },
  module: { text: 'collapsed', tip: 'what a file calls of itself becomes what was called of it' },
  kind: { text: 'hidden', tip: 'frames of this kind merged into their callers' },
  glue: { text: 'glue hidden',
    tip: 'functions of the interpreter and call plumbing merged into their callers' },
  fold: { text: 'recursion folded', tip: 'a function inside itself becomes one frame' },
};

function parseOp(op) {
  const colon = op.indexOf(':');
  const verb = colon < 0 ? op : op.slice(0, colon);
  return { verb, argument: colon < 0 ? '' : op.slice(colon + 1) };
}

function nameSet(names, ids) {
  const set = new Uint8Array(names.count);
  for (const id of ids) set[id] = 1;
  return set;
}

/*
 * The one walk all transforms share: place(i, above) returns where node i of the old tree goes in
 * the new one, given where its parent went; NOWHERE loses the frame and its self. Children of a
 * name become one, and gaps end in the nodes above, unless the tree is to stay in order of time.
 */
const NOWHERE = 0xffffffff;

function rebuild(tree, place) {
  /* In order, what a hidden frame has itself may need a gap for each. */
  const builder = new TreeBuilder(tree.names, tree.weights, tree.n * (tree.inOrder ? 2 : 1),
    tree.inOrder);
  const to = new Uint32Array(tree.n);
  tree.self.forEach((column, w) => { builder.self[w][0] = column[0]; });
  for (let i = 1; i < tree.n; i++) {
    const above = to[tree.parent[i]];
    const node = tree.isGap(i) ? above : place(i, above, builder);
    to[i] = node;
    if (node === NOWHERE) continue;
    for (let w = 0; w < tree.self.length; w++)
      if (tree.self[w][i]) builder.add(node, w, tree.self[w][i]);
  }
  return builder.finish();
}

function focusTree(tree, set) {
  const inside = new Uint8Array(tree.n);
  const made = rebuild(tree, (i, above, builder) => {
    inside[i] = inside[tree.parent[i]] || set[tree.name[i]];
    if (!inside[i]) return NOWHERE;
    return builder.child(above === NOWHERE ? 0 : above, tree.name[i]);
  });
  for (const column of made.self) column[0] = 0;
  return made;
}

function dropTree(tree, set) {
  return rebuild(tree, (i, above, builder) => {
    if (above === NOWHERE || set[tree.name[i]]) return NOWHERE;
    return builder.child(above, tree.name[i]);
  });
}

function hideTree(tree, set) {
  return rebuild(tree, (i, above, builder) => (
    set[tree.name[i]] ? above : builder.child(above, tree.name[i])));
}

/* Of frames of the set one on another only the outermost stays. */
function collapseTree(tree, set) {
  return rebuild(tree, (i, above, builder) => (
    set[tree.name[i]] && set[tree.name[tree.parent[i]]] && tree.parent[i]
      ? above : builder.child(above, tree.name[i])));
}

/* Stacks that contain a match: matching subtrees, and the path down to them. */
function keepTree(tree, set) {
  const { n, parent, name } = tree;
  const inside = new Uint8Array(n);
  const onPath = new Uint8Array(n);
  for (let i = 1; i < n; i++) inside[i] = inside[parent[i]] || set[name[i]];
  for (let i = n - 1; i > 0; i--) if (inside[i] || onPath[i]) onPath[parent[i]] = 1;
  const bare = new Tree(tree.names, tree.weights, tree.depth, name,
    tree.self.map((column) => column.map((x, i) => (inside[i] ? x : 0))));
  bare.inOrder = tree.inOrder;
  return rebuild(bare, (i, above, builder) => (
    inside[i] || onPath[i] ? builder.child(above, name[i]) : NOWHERE));
}

function foldTree(tree) {
  const { name, end } = tree;
  const at = new Uint32Array(tree.names.count);
  const stack = [];
  return rebuild(tree, (i, above, builder) => {
    while (stack.length && i >= stack[stack.length - 1].end) {
      const top = stack.pop();
      at[top.name] = top.before;
    }
    const id = name[i];
    const node = at[id] || builder.child(above, id);
    stack.push({ end: end[i], name: id, before: at[id] });
    at[id] = node;
    return node;
  });
}

function transform(tree, op) {
  const { names } = tree;
  const { verb, argument } = parseOp(op);
  switch (verb) {
    case 'focus': return focusTree(tree, nameSet(names, names.find(argument)));
    case 'drop': return dropTree(tree, nameSet(names, names.find(argument)));
    case 'hide': return hideTree(tree, nameSet(names, names.find(argument)));
    case 'keep': return keepTree(tree, matchNames(names, argument, false).hits);
    case 'kind': return hideTree(tree, names.kind.map((k) => (KINDS[k] === argument ? 1 : 0)));
    case 'module': return collapseTree(tree, Uint8Array.from(names.text, (text, id) => (
      names.moduleOf(id) === argument ? 1 : 0)));
    case 'glue': return hideTree(tree, Uint8Array.from(names.text, (text, id) => (
      isGlue(names, id, text) ? 1 : 0)));
    case 'fold': return foldTree(tree);
    default: return VERBS[verb].make ? VERBS[verb].make(tree) : tree;
  }
}

const GLUE_KINDS = new Set(['native', 'inlined']);

/* Files of the interpreter itself: stripped, its functions have no names to go by. */
const INTERPRETER = /^(lib)?python[23](\.\d+)*t?d?(\.so(\.[\d.]+)?)?$/;

/* Python's own import machinery, which stands between each module and those that it imports. */
const IMPORT_MACHINERY = /\(<frozen importlib\._bootstrap(_external)?>(:\d+)?\)$/;

function isGlue(names, id, text) {
  const kind = KINDS[names.kind[id]];
  if (kind === 'python') return IMPORT_MACHINERY.test(text);
  return GLUE_KINDS.has(kind) && (GLUE.test(text) || INTERPRETER.test(names.moduleOf(id)));
}

/* Apply @ops one after the other, remembering each step so that adding one or undoing is cheap. */
class Pipeline {
  constructor(tree) {
    this.steps = [{ op: null, tree }];
  }

  run(ops) {
    let same = 0;
    while (same < ops.length && this.steps[same + 1]?.op === ops[same]) same++;
    this.steps.length = same + 1;
    for (const op of ops.slice(same))
      this.steps.push({ op, tree: transform(this.steps[this.steps.length - 1].tree, op) });
    return this.steps[this.steps.length - 1].tree;
  }
}
