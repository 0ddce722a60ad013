/*
 * Tracks of the timeline as they belong together: what did little is folded into one row, and the
 * ends of an arrow are found without looking through all slices.
 */

const FOLDED = 0.01; /* of the time: what did less is folded, */
const FOLDED_LEAST = 0.1; /* unless it did as much of the busiest: all may be small */
const MOST_ARROWS = 64;

/*
 * Put processes, and threads of a process with the devices that stand below them, that did little
 * under a track of kind "fold" at the end of @tracks. Returns the tracks that are below none.
 */
function foldTracks(tracks) {
  const all = tracks.map(({ busy }) => busy || 0);
  for (let k = tracks.length - 1; k >= 0; k--)
    if (tracks[k].parent >= 0) all[tracks[k].parent] += all[k];
  const counts = (k) => tracks[k].per > 0 || tracks[k].kids.some(counts);
  const sum = (list) => list.reduce((total, { busy }) => total + busy, 0);
  const fold = (kids, kind, words, parent) => {
    const units = [];
    for (const k of kids) {
      if (tracks[k].kind === kind) units.push({ at: [], busy: 0 });
      else if (tracks[k].kind !== 'device' || !units.length) continue;
      units[units.length - 1].at.push(k);
      units[units.length - 1].busy += all[k];
    }
    const total = sum(units);
    const most = units.reduce((x, { busy }) => Math.max(x, busy), 0) * FOLDED_LEAST;
    const small = units.filter(({ busy }) => busy < total * FOLDED && busy < most)
      /* Counters, of what may be another's. */
      .filter(({ busy, at }) => busy || !at.some(counts));
    if (!small.length) return kids;
    const at = tracks.length;
    const under = small.flatMap((unit) => unit.at);
    for (const k of under) tracks[k].under = at;
    tracks.push({ at, parent, kind: 'fold', slice: '', view: '', n: 0, depth: 0, kids: under,
      name: `${small.length} more ${words[small.length > 1 ? 1 : 0]}, together ${
        formatPercent(sum(small), total)}`,
      all: under.reduce((nr, k) => nr + tracks[k].all, 0) });
    return kids.flatMap((k) => (k === under[0] ? at : tracks[k].under === at ? [] : k));
  };
  for (const track of tracks.filter(({ kind }) => kind === 'process'))
    track.kids = fold(track.kids, 'thread', ['thread', 'threads'], track.at);
  const roots = tracks.filter(({ parent, kind }) => parent < 0 && kind !== 'fold');
  return fold(roots.map(({ at }) => at), 'process', ['process', 'processes'], -1);
}

/* The slices of a lane that have an arrow, by its number: made when it is first asked for. */
function arrowsOf(lane) {
  if (!lane.arrows) {
    const { flow } = lane;
    let at = new Uint32Array(flow.reduce((nr, id) => nr + (id ? 1 : 0), 0));
    let ordered = true;
    for (let i = 0, n = 0; i < flow.length; i++) {
      if (!flow[i]) continue;
      ordered = ordered && !(n && flow[at[n - 1]] > flow[i]);
      at[n++] = i;
    }
    if (!ordered) at = at.sort((a, b) => flow[a] - flow[b]);
    lane.arrows = { at, ids: Float64Array.from(at, (i) => flow[i]) };
  }
  return lane.arrows;
}

/* Other ends of the arrow that a slice has. */
function linkedSlices({ loaded }, [k, l, i]) {
  const flow = loaded[k][l].flow?.[i];
  const found = [];
  if (flow)
    loaded.forEach((lanes, other) => lanes.forEach((lane, level) => {
      if (!lane.flow) return;
      const { ids, at } = arrowsOf(lane);
      for (let n = lowerBound(ids, flow, 0, ids.length); ids[n] === flow &&
        found.length < MOST_ARROWS; n++)
        if (at[n] !== i || other !== k || level !== l) found.push([other, level, at[n]]);
    }));
  return found;
}
