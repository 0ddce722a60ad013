/* Search: which names match, how much of the picture they cover, and one match after another. */

/* Text that is not a regular expression is searched for as it is. */
function searchRegExp(query, exactCase) {
  try {
    return { re: new RegExp(query, exactCase ? '' : 'i'), literal: false };
  } catch {
    const escaped = query.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    return { re: new RegExp(escaped, exactCase ? '' : 'i'), literal: true };
  }
}

function matchNames(names, query, exactCase) {
  const { re, literal } = searchRegExp(query, exactCase);
  const hits = new Uint8Array(names.count);
  let nr = 0;
  for (let id = names.nrBlank; id < names.count; id++)
    if (re.test(names.text[id]) || (names.toldBy[id] && re.test(names.label[id]))) {
      hits[id] = 1;
      nr++;
    }
  return { hits, nr, literal };
}

/* Weight of the stacks that contain a match: nested matches count once. */
function matchedWeight(tree, w, root, hits) {
  const total = tree.total(w);
  let sum = 0;
  for (let above = root; above; above = tree.parent[above])
    if (hits[tree.name[above]]) return total[root];
  tree.outermost(root, hits, (i) => { sum += total[i]; });
  return sum;
}

/* The next (step 1) or previous (step -1) matching frame wide enough to have a weight. */
function nextMatch(tree, w, hits, from, step) {
  const total = tree.total(w);
  for (let k = 1; k <= tree.n; k++) {
    const i = (from + step * k + tree.n * 2) % tree.n;
    if (i && hits[tree.name[i]] && total[i] > 0) return i;
  }
  return -1;
}
