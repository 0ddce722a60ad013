/*
 * Colours: one hue a kind of frame, apart in hue and in lightness for the common colour blindnesses
 * (after Okabe and Ito), a few shades of it by name so that neighbours differ. SVG has the same colours
 * (src/render/svg/palette.c). The order of KINDS comes with the data.
 */

let KINDS = [];

/* kind: [hue, chroma, lightness in light, chroma, lightness in dark], oklch */
const HUES = {
  'native': [62, 0.115, 0.83, 0.100, 0.52],
  'python': [248, 0.105, 0.80, 0.105, 0.50],
  'kernel': [28, 0.120, 0.72, 0.125, 0.47],
  'inlined': [95, 0.105, 0.90, 0.080, 0.60],
  'jit': [345, 0.100, 0.82, 0.110, 0.53],
  'gpu': [166, 0.115, 0.76, 0.095, 0.48],
  'gpu instruction': [135, 0.110, 0.89, 0.090, 0.61],
  'process': [265, 0.022, 0.80, 0.025, 0.42],
  'mark': [265, 0.006, 0.89, 0.008, 0.36],
  'mpi': [310, 0.090, 0.74, 0.095, 0.46],
};
const SHADES = 8;

const THEMES = {
  light: {
    text: '#1c1e26', ancestor: '#6a6f7d', dim: '#e3e5ea', dimText: '#7b808d', match: '#c2177a',
    matchText: '#ffffff', merged: '#c9c4b8', root: '#e9eaee', select: '#111318', paper: '#ffffff',
  },
  dark: {
    text: '#f2f3f6', ancestor: '#8b91a1', dim: '#2b2e37', dimText: '#868c9b', match: '#ff6ab8',
    matchText: '#1b0612', merged: '#4a4740', root: '#2a2d36', select: '#ffffff', paper: '#14161b',
  },
};

/* oklch to #rrggbb (B. Ottosson's matrices), because a canvas takes hex fastest. */
function oklch(lightness, chroma, hue) {
  const a = chroma * Math.cos((hue * Math.PI) / 180);
  const b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  return '#' + linear.map((x) => {
    const clipped = Math.min(1, Math.max(0, x));
    const gamma = clipped <= 0.0031308 ? 12.92 * clipped : 1.055 * clipped ** (1 / 2.4) - 0.055;
    return Math.round(gamma * 255).toString(16).padStart(2, '0');
  }).join('');
}

class Palette {
  constructor(names, dark) {
    Object.assign(this, THEMES[dark ? 'dark' : 'light']);
    this.dark = dark;
    this.names = names;
    this.shade = new Uint8Array(names.count); /* 1 + index, 0 while unknown */
    this.shades = KINDS.flatMap((kind) => {
      const [hue, chroma, lightness, darkChroma, darkLightness] = HUES[kind] || HUES.mark;
      return Array.from({ length: SHADES + 1 }, (_, k) => {
        const shift = k < SHADES ? k / (SHADES - 1) - 0.5 : 0; /* the last one is for legends */
        return dark ? oklch(darkLightness + shift * 0.07, darkChroma, hue + shift * 16)
          : oklch(lightness + shift * 0.055, chroma * (1 - shift * 0.25), hue + shift * 18);
      });
    });
  }

  /* From blue over grey to red for -1 to 1. */
  difference(x) {
    if (!this.differences) {
      this.differences = Array.from({ length: 33 }, (_, k) => {
        const amount = Math.sqrt(Math.abs(k - 16) / 16);
        const hue = k < 16 ? 252 : 25;
        return this.dark ? oklch(0.36 + amount * 0.16, amount * 0.15, hue)
          : oklch(0.92 - amount * 0.24, amount * 0.16, hue);
      });
    }
    return this.differences[Math.round(x * 16) + 16];
  }

  kindColor(kind) {
    return kind < 0 ? this.root : this.shades[kind * (SHADES + 1) + SHADES];
  }

  color(id) {
    let shade = this.shade[id];
    if (!shade) {
      const text = this.names.text[id];
      let hash = 0x811c9dc5;
      for (let i = 0; i < text.length && i < 48; i++)
        hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
      shade = this.shade[id] = 1 + ((hash ^ (hash >>> 15)) & (SHADES - 1));
    }
    return this.shades[this.names.kind[id] * (SHADES + 1) + shade - 1];
  }
}
