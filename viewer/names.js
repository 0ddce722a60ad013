/*
 * Names of functions, cut to fit without losing the function. nameForms() lists what a name may be
 * written as, longest first; analyse/names/name_forms.c has the same rules, and both are held to
 * tests/unit/name_forms.txt. The picture in an SVG has this file too: functions alone, no constants.
 */

/* Past the bracket that closes the one at @at; the end where none does. */
function closeBracket(text, at) {
  let depth = 0;
  for (let i = at; i < text.length; i++) {
    if ('<([{'.includes(text[i])) depth++;
    else if (')]}'.includes(text[i]) || (text[i] === '>' && !'-='.includes(text[i - 1]))) depth--;
    if (!depth) return i + 1;
  }
  return text.length;
}

/* "<alloc::Vec<T> as core::Write>" → "<Vec as Write>" */
function briefType(inner) {
  const words = [];
  for (let i = 0, from = 0; i <= inner.length; i++) {
    if (i === inner.length || inner[i] === ' ') {
      words.push(inner.slice(from, i));
      from = i + 1;
    } else if ('<([{'.includes(inner[i])) {
      i = closeBracket(inner, i) - 1;
    }
  }
  return words.map((word) => {
    const bare = word.slice(0, word.indexOf('<', 1) < 0 ? word.length : word.indexOf('<', 1));
    return bare.slice(bare.lastIndexOf('::') < 0 ? 0 : bare.lastIndexOf('::') + 2);
  }).join(' ');
}

/*
 * The parts of a name, [separator before it, text, text without arguments] each, without return
 * type and parameters; null of what is no name of a function.
 */
function nameParts(text, dots, slashes) {
  let parts = [];
  let part = ['', '', ''];
  let called = false;
  let words = false;
  let sure = false; /* since the last blank: it is a name */
  const next = (separator) => {
    parts.push(part);
    part = [separator, '', ''];
  };
  const both = (more) => {
    part[1] += more;
    part[2] += more;
  };
  for (let i = 0; i < text.length;) {
    const c = text[i];
    const close = '<([{'.includes(c) ? closeBracket(text, i) : i + 1;
    const inside = text.slice(i, close);
    if (!part[2] && /^operator(?!\w)/.test(text.slice(i, i + 9))) {
      const rest = text.slice(i + 8);
      const [sign] = /^(\(\)|\[\]| \w[^(]*|[-+*/%^&|~!=<>,"]*)/.exec(rest);
      both(`operator${sign}`);
      i += 8 + sign.length;
      if (text.startsWith(' <', i)) i++;
      sure = true;
    } else if (c === '<') {
      sure = true;
      if (part[2]) part[1] += '<…>';
      else both(`<${briefType(inside.slice(1, -1))}>`);
      i = close;
    } else if (c === '[') {
      if (!part[2]) both(inside);
      else if (!inside.startsWith('[abi:')) part[1] += '[…]';
      i = close;
    } else if (c === '{') {
      both(inside.replace(/\(.*\)/, ''));
      i = close;
    } else if (c === '(' && inside === '(anonymous namespace)') {
      both('(anon)');
      i = close;
    } else if (c === '(' && !part[2] && part[0] === '.') {
      both(inside);
      i = close;
    } else if (c === '(') {
      if (!part[2] || text[i - 1] === ' ') return null;
      called = sure = true;
      i = close;
      if (text.startsWith('::', i) || (dots && text[i] === '.')) continue;
      if (!/^($| const| volatile| ?&| noexcept| ->| \[| requires| \(\.)/.test(text.slice(i)))
        return null;
      break;
    } else if (c === ' ') {
      words = words || part[2] !== '' || parts.length > 0;
      parts = [];
      part = ['', '', ''];
      sure = false;
      i++;
    } else if (text.startsWith('::', i)) {
      sure = true;
      next('::');
      i += 2;
    } else if ((c === '.' && dots) || (c === '/' && slashes)) {
      next(c);
      i++;
    } else {
      both(c);
      i++;
    }
  }
  parts.push(part);
  if (parts.length > 1 && /^h[0-9a-f]{16}$/.test(part[2])) parts.pop();
  return (words && !sure && !called) || parts.some((one, at) => at && !one[2]) ? null : parts;
}

/* What a name may be written as: all, without arguments, without namespaces, the function alone. */
function nameForms(name) {
  const forms = [name];
  const add = (form) => {
    if (form.length < forms[forms.length - 1].length) forms.push(form);
  };
  const join = (parts, k) => parts.map((part, at) => (at ? part[0] : '') + part[k]).join('');
  if (/^\[|^0x/.test(name)) return forms;
  const method = /^[-+]\[\S+ (.+)\]$/.exec(name);
  if (method) {
    add(method[1]);
    return forms;
  }
  /* A function with its place: "read (data.py:7)", "*read /srv/data.js:7:2". */
  const placed = /^(.*\S) (\(([^()]*(?::\d+|\.pyx?|>))\)|(?:\/|file:|node:)\S*)$/.exec(name);
  if (placed) {
    const [, bare, place, inner] = placed;
    const file = (inner || place).replace(/^.*\//, '');
    add(inner ? `${bare} (${file})` : `${bare} ${file}`);
    add(bare);
  }
  /* "libx.so!read": the file that tells it from another one's. */
  const [, module, rest] = /^((?!operator!)[^\s<(:!]+!)?(.*)$/s.exec(placed ? placed[1] : name);
  const text = rest.replace(
    /( \[clone [^\]]*\]|\.(cold|part|isra|constprop|llvm|lto_priv|localalias)[.\d]*|.@[\w.@]+)+$/,
    (all) => (all[1] === '@' ? all[0] : ''));
  const plain = !text.includes('::');
  const file = /\.(so|py|pyx|c|cc|cpp|cu|cuh|h|hpp|js|go|rs|java|ko|o|cl)(:\d+)*$|\.[\d.]+$/.test(text);
  const dots = plain && !file && !/^[A-Z0-9_.]+$/.test(text);
  const parts = nameParts(text, dots, plain);
  if (!parts) return forms;
  if (module) parts.unshift(['', module, module]);
  let own = parts.length - 1;
  /* What has no name of its own is called by what it is in. */
  while (own > 0 && /^([{<'$]|operator\(\)$|func\d|__invoke|\d+$)/.test(parts[own][2])) own--;
  add(join(parts, 1));
  for (let k = Math.max(1, own - 12); k < own; k++) add(`…${join(parts.slice(k), 1)}`);
  if (own) add(join(parts.slice(own - 1), 2));
  add(join(parts.slice(own), 2));
  return forms;
}
