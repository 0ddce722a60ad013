function aflame(data) {
	"use strict";
	const SVG = "http://www.w3.org/2000/svg", HTML = "http://www.w3.org/1999/xhtml";
	const script = document.currentScript;
	const svg = (script && script.ownerSVGElement) || document.documentElement;
	const one = (selector) => svg.querySelector(selector);
	/* Frames may have classes of the user's: only children of the picture are ours. */
	const part = (name) => one(":scope > ." + name);
	const details = part("details"), matched = part("matched"), back = part("back");

	/*
	 * A view is one tree: its group of frames and, by frame, parents first: depth, start and
	 * width in units of the weight, name, title, colour, parent.
	 */
	function viewOf(group, places) {
		const n = places.length / 3, v = {group, n, depth: [], start: [], width: [], parent: [],
			name: [], title: [], fill: [], g: [], rect: [], text: [], shown: [], deepest: 0};
		const open = [];
		for (let i = 0; i < n; i++) {
			const d = v.depth[i] = places[3 * i];
			v.start[i] = places[3 * i + 1];
			v.width[i] = places[3 * i + 2];
			v.parent[i] = d ? open[d - 1] : -1;
			open[d] = i;
			v.deepest = Math.max(v.deepest, d);
		}
		return v;
	}

	function adopt(v, i, g) {
		g.frame = i;
		v.g[i] = g;
		v.rect[i] = g.querySelector("rect");
		v.text[i] = g.querySelector("text");
		v.shown[i] = true;
	}

	function mainView() {
		const v = viewOf(part("frames"), data.places);
		const groups = v.group.children;
		for (let i = 0; i < v.n; i++) {
			const g = groups[i];
			/* A title of the user's own is not what the frame is called. */
			const title = g.getAttribute("data-frame") || g.firstChild.textContent;
			adopt(v, i, g);
			v.title[i] = title;
			v.name[i] = title.slice(0, title.lastIndexOf(" ("));
			v.fill[i] = v.rect[i].getAttribute("fill");
		}
		return v;
	}

	function make(name, attributes, parent) {
		const e = document.createElementNS(SVG, name);
		for (const a in attributes)
			e.setAttribute(a, attributes[a]);
		if (parent)
			parent.appendChild(e);
		return e;
	}

	function reverseView() {
		const r = data.reverse, group = make("g", {class: "frames"});
		const v = viewOf(group, r.places);
		for (let i = 0; i < v.n; i++) {
			const id = r.frames[3 * i], given = (r.attributes || {})[id] || {};
			const g = make("g", given.g, group);
			v.name[i] = r.names[id];
			v.title[i] = v.name[i] + " " + r.frames[3 * i + 2];
			v.fill[i] = "#" + r.frames[3 * i + 1].toString(16).padStart(6, "0");
			make("title", {}, g).textContent = given.title || v.title[i];
			make("rect", {height: data.frameHeight - 1, fill: v.fill[i], rx: 2},
				given.a ? make("a", given.a, g) : g);
			adopt(v, i, g);
		}
		views[0].group.after(group);
		return v;
	}

	const views = [mainView(), null];
	let view = views[0], zoomed = 0, current = -1, hits = [], term = "", ignoreCase = false;
	let inverted = !!data.inverted, width = svg.viewBox.baseVal.width;

	/* Widths of names, measured once each without touching the layout of the page. */
	const pen = document.createElementNS(HTML, "canvas").getContext("2d");
	const style = getComputedStyle(svg);
	pen.font = style.fontSize + " " + style.fontFamily;
	const sizes = new Map(), written = new Map();
	function sizeOf(text) {
		let w = sizes.get(text);
		if (w === undefined)
			sizes.set(text, w = pen.measureText(text).width);
		return w;
	}

	function fitted(name, room) {
		if (room < 3 * data.charWidth)
			return "";
		let forms = written.get(name);
		if (!forms)
			written.set(name, forms = data.keepEnd ? [name] : nameForms(name));
		const fits = forms.find((form) => sizeOf(form) <= room);
		if (fits)
			return fits;
		const last = forms[forms.length - 1], letters = Array.from(last);
		let n = Math.min(letters.length - 1, Math.ceil(letters.length * room / sizeOf(last)));
		for (; n > 0; n--) {
			const cut = data.keepEnd ? "…" + letters.slice(-n).join("")
				: letters.slice(0, n).join("") + "…";
			if (pen.measureText(cut).width <= room)
				return cut;
		}
		return "";
	}

	function label(v, i, x, y, w) {
		const text = fitted(v.name[i], w - 6);
		let e = v.text[i];
		if (!e) {
			if (!text)
				return;
			e = v.text[i] = make("text", {}, v.rect[i].parentNode);
		}
		e.textContent = text;
		e.setAttribute("x", x + 3);
		e.setAttribute("y", y + data.frameHeight / 2 + data.fontSize * 0.35);
	}

	function show(v, i, on) {
		if (v.shown[i] !== on) {
			v.shown[i] = on;
			v.g[i].style.display = on ? "" : "none";
		}
	}

	/* Place all frames for the present zoom, width and direction. */
	function layout() {
		const v = view, z = zoomed, start = v.start[z], end = start + v.width[z];
		const height = data.top + data.bottom + (v.deepest + 1) * data.frameHeight;
		const scale = (width - 2 * data.pad) / (v.width[z] || 1);
		svg.setAttribute("height", height);
		svg.setAttribute("viewBox", "0 0 " + width + " " + height);
		for (const e of [details, matched])
			e.setAttribute("y", height - data.bottom / 2 + data.fontSize * 0.35);
		for (let i = 0; i < v.n; i++) {
			const s = v.start[i], e = s + v.width[i], d = v.depth[i];
			const up = d < v.depth[z] && s <= start && e >= end;
			const inside = i === z || (d > v.depth[z] && s >= start && e <= end);
			show(v, i, up || inside);
			if (!up && !inside)
				continue;
			const x = up ? data.pad : data.pad + (s - start) * scale;
			const w = up ? width - 2 * data.pad : v.width[i] * scale;
			const y = inverted ? data.top + d * data.frameHeight
				: height - data.bottom - (d + 1) * data.frameHeight + 1;
			v.rect[i].setAttribute("x", x);
			v.rect[i].setAttribute("y", y);
			v.rect[i].setAttribute("width", w);
			v.g[i].classList.toggle("up", up);
			label(v, i, x, y, w);
		}
		one("[data-do=reset]").parentNode.style.visibility = z ? "" : "hidden";
	}

	function zoom(i) {
		zoomed = i;
		layout();
		remember();
	}

	function pick(i) {
		if (current >= 0)
			view.g[current].classList.remove("current");
		current = i;
		if (i < 0) {
			details.textContent = " ";
			return;
		}
		view.g[i].classList.add("current");
		details.textContent = data.nameType + " " + view.title[i];
	}

	/* Search: matches in other colour; the share counts a frame below a match once. */
	function search(text) {
		for (const i of hits)
			view.rect[i].setAttribute("fill", view.fill[i]);
		hits = [];
		term = text;
		let pattern = null;
		if (term) {
			try {
				pattern = new RegExp(term, ignoreCase ? "i" : "");
			} catch (e) {
				matched.textContent = "Not a regular expression: " + term;
				return;
			}
		}
		let share = 0, covered = -1;
		for (let i = 1; pattern && i < view.n; i++) {
			if (!pattern.test(view.name[i]))
				continue;
			hits.push(i);
			view.rect[i].setAttribute("fill", data.searchColor);
			if (view.start[i] >= covered) {
				share += view.width[i];
				covered = view.start[i] + view.width[i];
			}
		}
		matched.textContent = !pattern ? " " : "Matched: " +
			(100 * share / (view.width[0] || 1)).toFixed(2) + "% (" + hits.length +
			(hits.length === 1 ? " frame)" : " frames)");
		button("search", !!pattern);
		remember();
	}

	/* The next (+1) or previous (-1) match from the current frame, brought into view. */
	function step(by) {
		if (!hits.length)
			return;
		let k = hits.findIndex((i) => i >= current);
		if (k < 0)
			k = hits.length;
		if (by > 0 && hits[k] === current)
			k++;
		if (by < 0)
			k--;
		bring(hits[(k + hits.length) % hits.length]);
	}

	function bring(i) {
		if (!view.shown[i] || +view.rect[i].getAttribute("width") < 40)
			zoom(i);
		pick(i);
		if (view.g[i].scrollIntoView)
			view.g[i].scrollIntoView({block: "nearest"});
	}

	function button(name, on) {
		one("[data-do=" + name + "]").classList.toggle("on", on);
	}

	function setCase(on) {
		ignoreCase = on;
		button("case", on);
		search(term);
	}

	function flip(on) {
		inverted = on;
		button("flip", inverted !== !!data.inverted);
		layout();
		remember();
	}

	function turn(to) {
		if (to && !data.reverse)
			return;
		const text = term;
		pick(-1);
		search("");
		if (to && !views[1])
			views[1] = reverseView();
		view.group.style.display = "none";
		view = views[to];
		view.group.style.display = "";
		zoomed = 0;
		button("reverse", to === 1);
		layout();
		search(text);
	}

	function darken() {
		const system = window.matchMedia && matchMedia("(prefers-color-scheme: dark)").matches;
		const dark = svg.classList.contains("dark") || (system && !svg.classList.contains("light"));
		svg.classList.toggle("dark", !dark);
		svg.classList.toggle("light", dark);
		button("dark", !dark);
	}

	/* An input of our own: prompt() is blocked in many frames and cannot search as one types. */
	let box = null;
	function ask() {
		if (box) {
			box.firstChild.focus();
			return;
		}
		const wide = Math.min(320, width - 2 * data.pad);
		box = make("foreignObject", {x: width - data.pad - wide, y: data.fontSize * 2.6,
			width: wide, height: data.fontSize * 2.4}, svg);
		const input = document.createElementNS(HTML, "input");
		input.setAttribute("style", "box-sizing:border-box;width:100%;font:inherit");
		input.setAttribute("placeholder", "regular expression");
		input.value = term;
		box.appendChild(input);
		input.addEventListener("input", () => search(input.value));
		input.addEventListener("keydown", (e) => {
			e.stopPropagation();
			if (e.key === "Enter") {
				e.preventDefault();
				step(e.shiftKey ? -1 : 1);
			} else if (e.key === "Escape") {
				leave(input.value);
			} else if (e.ctrlKey && e.key === "i") {
				e.preventDefault();
				setCase(!ignoreCase);
			} else if (e.key === "F3" || (e.ctrlKey && e.key === "f")) {
				e.preventDefault();
				step(e.shiftKey ? -1 : 1);
			}
		});
		input.focus();
		input.select();
	}

	function leave() {
		if (box)
			box.remove();
		box = null;
	}

	/* The address carries the state, so that it can be sent to somebody. */
	function remember() {
		const q = new URLSearchParams(location.search);
		const put = (key, value) => value === null ? q.delete(key) : q.set(key, value);
		put("x", zoomed ? view.start[zoomed] : null);
		put("y", zoomed ? view.depth[zoomed] : null);
		put("s", term || null);
		put("ic", ignoreCase ? 1 : null);
		put("flip", inverted !== !!data.inverted ? 1 : null);
		put("reverse", view === views[1] ? 1 : null);
		const text = q.toString();
		try {
			history.replaceState(null, "", text ? "?" + text : location.pathname);
		} catch (e) {
			/* Not allowed where the picture is embedded: it works without. */
		}
	}

	function recall() {
		const q = new URLSearchParams(location.search);
		if (q.get("reverse"))
			turn(1);
		if (q.get("flip"))
			inverted = !inverted;
		const x = +q.get("x"), y = q.get("y");
		for (let i = 0; y !== null && i < view.n; i++)
			if (view.depth[i] === +y && view.start[i] === x)
				zoomed = i;
		layout();
		button("flip", inverted !== !!data.inverted);
		ignoreCase = !!q.get("ic");
		button("case", ignoreCase);
		if (q.get("s"))
			search(q.get("s"));
	}

	/* Arrows go by what is seen: up is up. */
	function walk(key) {
		const from = current >= 0 && view.shown[current] ? current : zoomed;
		const away = key === (inverted ? "ArrowDown" : "ArrowUp");
		let to = -1;
		if (current < 0) {
			to = zoomed;
		} else if (key === "ArrowLeft" || key === "ArrowRight") {
			const by = key === "ArrowLeft" ? -1 : 1;
			for (let i = from + by; i > 0 && i < view.n && to < 0; i += by)
				if (view.depth[i] === view.depth[from] && view.shown[i])
					to = i;
		} else if (away) {
			for (let i = from + 1; i < view.n && view.depth[i] > view.depth[from]; i++)
				if (view.parent[i] === from && (to < 0 || view.width[i] > view.width[to]))
					to = i;
		} else {
			to = view.parent[from];
		}
		if (to >= 0)
			pick(to);
	}

	const actions = {
		reset: () => zoom(0),
		search: () => box ? leave() : ask(),
		case: () => setCase(!ignoreCase),
		flip: () => flip(!inverted),
		reverse: () => turn(view === views[0] ? 1 : 0),
		dark: darken,
	};

	function key(e) {
		const tag = e.target && e.target.tagName ? e.target.tagName.toLowerCase() : "";
		if (tag === "input" || (tag === "a" && e.key === "Enter"))
			return;
		const control = e.ctrlKey || e.metaKey;
		if (e.key === "F3" || (control && e.key === "f") || (!control && e.key === "/"))
			e.key === "F3" && term ? step(e.shiftKey ? -1 : 1) : ask();
		else if (control && e.key === "i")
			actions.case();
		else if (control || e.altKey)
			return;
		else if (e.key === "Escape")
			box ? leave() : zoomed ? zoom(0) : search("");
		else if (e.key === "n")
			step(1);
		else if (e.key === "N")
			step(-1);
		else if (e.key === "Enter" && current >= 0)
			zoom(current);
		else if (e.key.startsWith("Arrow"))
			walk(e.key);
		else if (e.key === "i")
			actions.flip();
		else if (e.key === "r")
			actions.reverse();
		else if (e.key === "d")
			darken();
		else
			return;
		e.preventDefault();
	}

	const frameOf = (e) => {
		const g = e.target.closest && e.target.closest("g");
		return g && g.frame !== undefined ? g.frame : -1;
	};
	/* A frame that is a link is followed; with Ctrl it is zoomed like any other. */
	svg.addEventListener("click", (e) => {
		const action = e.target.getAttribute && e.target.getAttribute("data-do");
		const link = e.target.closest && e.target.closest("a");
		if (link && !e.ctrlKey && !e.metaKey)
			return;
		if (link)
			e.preventDefault();
		if (action)
			actions[action]();
		else if (frameOf(e) >= 0)
			zoom(frameOf(e));
	});
	svg.addEventListener("mouseover", (e) => {
		const i = frameOf(e);
		if (i >= 0)
			details.textContent = data.nameType + " " + view.title[i];
	});
	svg.addEventListener("mouseout", () => pick(current));
	window.addEventListener("keydown", key);

	function spread() {
		width = Math.max(300, window.innerWidth || width);
		svg.setAttribute("width", width);
		const moved = width - before;
		for (const e of svg.querySelectorAll("[text-anchor=end]"))
			e.setAttribute("x", +e.getAttribute("x") + moved);
		for (const e of svg.querySelectorAll(".title"))
			e.setAttribute("x", width / 2);
		before = width;
		leave();
		layout();
	}
	let before = width;

	for (const e of svg.querySelectorAll(".needs-script"))
		e.classList.remove("needs-script");
	if (!data.reverse)
		one("[data-do=reverse]").parentNode.remove();
	if (back)
		back.setAttribute("width", "100%");
	recall();
	if (data.fluid) {
		window.addEventListener("resize", spread);
		spread();
	}
}
