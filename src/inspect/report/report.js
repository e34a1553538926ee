// The report's page: draws what the report holds as JSON. Plain JavaScript, no library, nothing from elsewhere.
"use strict";
const report = JSON.parse(document.getElementById("data").textContent);
const COLORS = ["#1f6fb4", "#d9541e", "#2e9a47", "#8e44ad", "#b8860b", "#17a2b8", "#c2185b", "#5d4037", "#546e7a", "#7cb342"];
const state = { axis: "iter", smooth: 0.6, hidden: new Set(), log: new Set(), range: null };
const charts = [];

function element(name, parent, text, kind) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  if (parent) parent.appendChild(made);
  return made;
}

function number(value) {
  if (value === null || !isFinite(value)) return "not finite";
  const size = Math.abs(value);
  if (value !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(3);
  return String(parseFloat(value.toPrecision(5)));
}

// An exponential mean that is not drawn towards its start (Kingma and Ba 2015, section 3).
function smoothed(values, weight) {
  let mean = 0, total = 0;
  return values.map((value) => {
    if (value === null) return null;
    mean = weight * mean + (1 - weight) * value;
    total = weight * total + (1 - weight);
    return mean / total;
  });
}

function ticks(low, high, most) {
  const raw = (high - low) / most, power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= raw) || raw;
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-9; at += step) found.push(at);
  return found;
}

class Chart {
  constructor(parent, title, curves, options) {
    this.title = title;
    this.curves = curves;
    this.options = options || {};
    const box = element("figure", parent);
    const head = element("figcaption", box, title);
    if (!this.options.stacked) {
      const label = element("label", head, "", "small");
      const check = element("input", label);
      check.type = "checkbox";
      label.append(" logarithmic");
      check.onchange = () => { check.checked ? state.log.add(title) : state.log.delete(title); this.draw(); };
    }
    this.canvas = element("canvas", box);
    this.read = element("div", box, "", "read");
    this.canvas.onmousemove = (event) => this.hover(event);
    this.canvas.onmouseleave = () => { this.at = null; this.draw(); };
    this.canvas.onmousedown = (event) => { this.from = event.offsetX; };
    this.canvas.onmouseup = (event) => this.zoom(event);
    this.canvas.ondblclick = () => { state.range = null; drawAll(); };
    charts.push(this);
  }

  shown() { return this.curves.filter((curve) => !state.hidden.has(curve.run)); }
  xs(curve) { return state.axis === "iter" ? curve.iter : curve.seconds; }
  ys(curve) {
    return curve.smooth ? smoothed(curve.value, state.smooth) : curve.value;
  }

  bounds() {
    let x0 = Infinity, x1 = -Infinity, y0 = this.options.stacked ? 0 : Infinity, y1 = -Infinity;
    for (const curve of this.shown()) {
      for (const x of this.xs(curve)) { x0 = Math.min(x0, x); x1 = Math.max(x1, x); }
    }
    if (state.range) [x0, x1] = state.range;
    const log = state.log.has(this.title);
    for (const curve of this.shown()) {
      const xs = this.xs(curve), ys = this.ys(curve);
      for (let i = 0; i < xs.length; ++i) {
        const y = ys[i];
        if (xs[i] < x0 || xs[i] > x1 || y === null || (log && y <= 0)) continue;
        y0 = Math.min(y0, y);
        y1 = Math.max(y1, y);
      }
    }
    if (!isFinite(x0)) [x0, x1] = [0, 1];
    if (!isFinite(y1)) [y0, y1] = log ? [0.1, 1] : [0, 1];
    if (x0 === x1) x1 = x0 + 1;
    if (log) return { x0, x1, y0: Math.log10(y0) - 0.02, y1: Math.log10(y1) + 0.02, log };
    const edge = (y1 - y0) * 0.04 || Math.abs(y0) * 0.1 || 1;
    return { x0, x1, y0: this.options.stacked ? 0 : y0 - edge, y1: y1 + edge, log };
  }

  place() {
    const width = this.canvas.clientWidth, height = this.canvas.clientHeight, left = 64, right = 10, top = 8, bottom = 26;
    const b = this.bounds();
    const sx = (width - left - right) / (b.x1 - b.x0), sy = (height - top - bottom) / (b.y1 - b.y0);
    return { width, height, left, right, top, bottom, b,
             x: (v) => left + (v - b.x0) * sx,
             y: (v) => height - bottom - ((b.log ? Math.log10(v) : v) - b.y0) * sy,
             back: (px) => b.x0 + (px - left) / sx };
  }

  draw() {
    const ratio = window.devicePixelRatio || 1, p = this.place(), context = this.canvas.getContext("2d");
    this.canvas.width = p.width * ratio;
    this.canvas.height = p.height * ratio;
    context.scale(ratio, ratio);
    this.grid(context, p);
    context.save();
    context.beginPath();
    context.rect(p.left, p.top, p.width - p.left - p.right, p.height - p.top - p.bottom);
    context.clip();
    this.marks(context, p);
    for (const curve of this.shown()) this.options.stacked ? this.area(context, p, curve) : this.line(context, p, curve);
    context.restore();
  }

  grid(context, p) {
    const { b } = p;
    context.font = "11px sans-serif";
    context.fillStyle = "#555";
    context.strokeStyle = "#e4e4e4";
    context.lineWidth = 1;
    context.textAlign = "right";
    for (const y of ticks(b.y0, b.y1, 5)) {
      const value = b.log ? Math.pow(10, y) : y, at = Math.round(p.y(value)) + 0.5;
      context.beginPath(); context.moveTo(p.left, at); context.lineTo(p.width - p.right, at); context.stroke();
      context.fillText(number(value), p.left - 6, at + 4);
    }
    context.textAlign = "center";
    for (const x of ticks(b.x0, b.x1, 8)) {
      const at = Math.round(p.x(x)) + 0.5;
      context.beginPath(); context.moveTo(at, p.top); context.lineTo(at, p.height - p.bottom); context.stroke();
      context.fillText(number(x), at, p.height - 8);
    }
  }

  // Events: a dashed line each.
  marks(context, p) {
    context.setLineDash([3, 3]);
    for (const event of report.events) {
      if (state.hidden.has(event.run)) continue;
      const at = Math.round(p.x(state.axis === "iter" ? event.iter : event.seconds)) + 0.5;
      context.strokeStyle = { error: "#c00", snapshot_failed: "#c00", warning: "#d98c00" }[event.kind] || "#bbb";
      context.beginPath(); context.moveTo(at, p.top); context.lineTo(at, p.height - p.bottom); context.stroke();
    }
    context.setLineDash([]);
    if (this.at !== null && this.at !== undefined) {
      context.strokeStyle = "#333";
      context.beginPath(); context.moveTo(p.x(this.at), p.top); context.lineTo(p.x(this.at), p.height - p.bottom); context.stroke();
    }
  }

  path(context, p, xs, ys) {
    let down = false;
    context.beginPath();
    for (let i = 0; i < xs.length; ++i) {
      if (ys[i] === null || (p.b.log && ys[i] <= 0)) { down = false; continue; }
      const x = p.x(xs[i]), y = p.y(ys[i]);
      down ? context.lineTo(x, y) : context.moveTo(x, y);
      down = true;
    }
  }

  line(context, p, curve) {
    const xs = this.xs(curve);
    context.strokeStyle = curve.color;
    if (curve.smooth && state.smooth > 0) {
      context.globalAlpha = 0.25;
      this.path(context, p, xs, curve.value);
      context.stroke();
      context.globalAlpha = 1;
    }
    context.lineWidth = 1.6;
    context.setLineDash(curve.dash || []);
    const ys = this.ys(curve);
    this.path(context, p, xs, ys);
    context.stroke();
    context.setLineDash([]);
    if (xs.length > 60) return;
    context.fillStyle = curve.color;
    for (let i = 0; i < xs.length; ++i) {
      if (ys[i] === null || (p.b.log && ys[i] <= 0)) continue;
      context.beginPath(); context.arc(p.x(xs[i]), p.y(ys[i]), 2.2, 0, 7); context.fill();
    }
  }

  area(context, p, curve) {
    const xs = this.xs(curve);
    context.fillStyle = curve.color;
    this.path(context, p, xs, curve.value);
    for (let i = xs.length; i-- > 0;) context.lineTo(p.x(xs[i]), p.y(curve.base[i]));
    context.closePath();
    context.fill();
  }

  hover(event) {
    const p = this.place();
    this.at = p.back(event.offsetX);
    const parts = [];
    for (const curve of this.shown()) {
      const xs = this.xs(curve);
      if (!xs.length) continue;
      let low = 0, high = xs.length - 1;
      while (low < high) { const middle = (low + high) >> 1; xs[middle] < this.at ? low = middle + 1 : high = middle; }
      if (low > 0 && this.at - xs[low - 1] < xs[low] - this.at) --low;
      const own = curve.base ? curve.value[low] - curve.base[low] : curve.value[low];
      parts.push(`${curve.name} ${number(own)} @ ${number(curve.iter[low])}`);
    }
    const near = report.events.filter((e) => Math.abs(p.x(state.axis === "iter" ? e.iter : e.seconds) - event.offsetX) < 4);
    for (const e of near.slice(0, 3)) parts.push(`[${e.kind}] ${e.text}`);
    this.read.textContent = parts.join("   ");
    this.draw();
  }

  zoom(event) {
    if (this.from === undefined || Math.abs(event.offsetX - this.from) < 6) return;
    const p = this.place(), ends = [p.back(this.from), p.back(event.offsetX)].sort((a, b) => a - b);
    state.range = ends;
    this.from = undefined;
    drawAll();
  }
}

function drawAll() { for (const chart of charts) chart.draw(); }

// Series of a run, by name, as a curve in the run's color.
function curveOf(run, tag, many) {
  const series = report.runs[run].series[tag];
  return { run, iter: series.iter, seconds: series.seconds, value: series.value, color: COLORS[run % COLORS.length],
           name: many ? `${report.runs[run].name}: ${tag}` : tag, smooth: tag.startsWith("train/") && tag !== "train/lr" };
}

function overlay(parent, title, wants) {
  const curves = [];
  report.runs.forEach((run, index) => {
    const tags = Object.keys(run.series).filter(wants);
    tags.forEach((tag, i) => {
      const curve = curveOf(index, tag, report.runs.length > 1);
      if (i > 0) curve.dash = [6, 2 + 2 * i];
      if (report.runs.length === 1) { curve.color = COLORS[i % COLORS.length]; curve.dash = []; }
      curves.push(curve);
    });
  });
  if (curves.length) new Chart(parent, title, curves);
  return curves.length;
}

// Milliseconds of an iteration: what waits for data, what waits for other ranks, and the rest.
function split(parent, run, index) {
  const pace = run.series["speed/iterations_per_second"];
  if (!pace) return;
  const share = (tag) => {
    const found = run.series[tag] || { iter: [], value: [] };
    let at = 0;
    return pace.iter.map((x) => {
      while (at + 1 < found.iter.length && found.iter[at + 1] <= x) ++at;
      return found.iter.length ? found.value[at] || 0 : 0;
    });
  };
  const wait = share("speed/data_wait"), comm = share("speed/communication");
  const whole = pace.value.map((v) => (v > 0 ? 1000 / v : 0));
  const rest = whole.map((ms, i) => ms * Math.max(0, 1 - wait[i] - comm[i]));
  const data = whole.map((ms, i) => rest[i] + ms * wait[i]);
  const common = { run: index, iter: pace.iter, seconds: pace.seconds };
  const zero = whole.map(() => 0);
  const curves = [{ ...common, name: "computing", base: zero, value: rest, color: "#6ba3d0" },
                  { ...common, name: "waiting for data", base: rest, value: data, color: "#f0b35e" },
                  { ...common, name: "waiting for other ranks", base: data, value: whole, color: "#cf6a6a" }];
  const chart = new Chart(parent, `Milliseconds per iteration: ${run.name}`, curves, { stacked: true });
  const legend = element("div", chart.canvas.parentNode, undefined, "legend");
  for (const curve of curves) {
    const entry = element("span", legend, curve.name);
    entry.style.borderLeft = `12px solid ${curve.color}`;
  }
}

function table(parent, heads, rows) {
  const made = element("table", parent), head = element("tr", made);
  for (const text of heads) element("th", head, text);
  for (const row of rows) {
    const line = element("tr", made);
    for (const cell of row) element("td", line, typeof cell === "number" ? number(cell) : cell);
  }
  return made;
}

function section(title) {
  const made = element("section", document.getElementById("page"));
  element("h2", made, title);
  return made;
}

function confusion(parent, run) {
  element("h3", parent, `${run.name}: rows are labels, columns predictions`);
  const most = Math.max(1, ...run.confusion.cells.map((cell) => cell[2]));
  const made = element("canvas", parent, undefined, "square"), n = run.confusion.classes;
  const side = Math.max(n, Math.min(640, n * 40)), cell = side / n, context = made.getContext("2d");
  made.width = made.height = side;
  made.style.width = made.style.height = `${Math.min(side, 640)}px`;
  context.fillStyle = "#fff";
  context.fillRect(0, 0, side, side);
  for (const [row, column, count] of run.confusion.cells) {
    const strength = 0.12 + 0.88 * Math.sqrt(count / most);
    context.fillStyle = row === column ? `rgba(31,111,180,${strength})` : `rgba(200,40,40,${strength})`;
    context.fillRect(column * cell, row * cell, Math.ceil(cell), Math.ceil(cell));
    if (cell < 24) continue;
    context.fillStyle = strength > 0.6 ? "#fff" : "#222";
    context.font = "11px sans-serif";
    context.textAlign = "center";
    context.fillText(String(count), (column + 0.5) * cell, (row + 0.5) * cell + 4);
  }
  const wrong = run.confusion.cells.filter((c) => c[0] !== c[1]).sort((a, b) => b[2] - a[2]).slice(0, 10);
  table(parent, ["label", "taken for", "samples"], wrong.map((c) => [String(c[0]), String(c[1]), String(c[2])]));
}

function topLosses(parent, run) {
  element("h3", parent, run.name);
  const list = element("div", parent, undefined, "tops");
  for (const sample of run.top_losses) {
    const box = element("div", list, undefined, "top");
    if (sample.png) element("img", box).src = `data:image/png;base64,${sample.png}`;
    element("div", box, `label ${sample.label}, predicted ${sample.prediction}, loss ${number(sample.loss)}`);
    element("div", box, sample.record, "small");
  }
}

function controls() {
  const box = element("div", document.getElementById("page"), undefined, "controls");
  const label = element("label", box, "smoothing ");
  const slider = element("input", label);
  Object.assign(slider, { type: "range", min: 0, max: 0.99, step: 0.01, value: state.smooth });
  slider.oninput = () => { state.smooth = Number(slider.value); drawAll(); };
  const axis = element("select", box);
  for (const [value, text] of [["iter", "by iterations"], ["seconds", "by seconds"]]) element("option", axis, text).value = value;
  axis.onchange = () => { state.axis = axis.value; state.range = null; drawAll(); };
  report.runs.forEach((run, index) => {
    const entry = element("label", box, undefined, "run"), check = element("input", entry);
    check.type = "checkbox";
    check.checked = true;
    entry.append(" " + run.name);
    entry.style.borderLeft = `12px solid ${COLORS[index % COLORS.length]}`;
    check.onchange = () => { check.checked ? state.hidden.delete(index) : state.hidden.add(index); drawAll(); };
  });
  element("span", box, "drag in a chart: a part of it; double click: all", "small");
}

function build() {
  controls();
  const runs = report.runs, page = section("Curves");
  overlay(page, "Training loss", (tag) => tag === "train/loss");
  const outputs = new Set();
  for (const run of runs) for (const tag of Object.keys(run.series)) if (/^(averaged_)?test/.test(tag)) outputs.add(tag);
  for (const tag of [...outputs].sort()) overlay(page, tag, (other) => other === tag);
  overlay(page, "Learning rate", (tag) => tag === "train/lr");
  overlay(page, "Outputs of the training net", (tag) => tag.startsWith("train/output/"));
  if (runs.some((run) => run.series["speed/iterations_per_second"])) {
    const speed = section("Speed");
    runs.forEach((run, index) => split(speed, run, index));
    overlay(speed, "Images per second", (tag) => tag === "speed/images_per_second");
  }
  const slow = runs.flatMap((run) => Object.entries(run.slowest).map(([rank, times]) => [run.name, rank, String(times)]));
  if (slow.length) table(section("Slowest ranks"), ["run", "rank", "displays at which it was the slowest"], slow);
  const layers = runs.filter((run) => run.layers.length);
  if (layers.length) {
    const part = section("Layers");
    for (const run of layers) {
      element("h3", part, run.name);
      table(part, ["layer", "type", "forward, ms", "backward, ms", "memory, MB"],
            run.layers.map((l) => [l.name, l.type, l.forward_ms, l.backward_ms, l.bytes ? l.bytes / 1e6 : ""]));
    }
  }
  const confused = runs.filter((run) => run.confusion);
  if (confused.length) { const part = section("Confusion"); for (const run of confused) confusion(part, run); }
  const tops = runs.filter((run) => run.top_losses.length);
  if (tops.length) { const part = section("Largest losses"); for (const run of tops) topLosses(part, run); }
  const events = report.events.map((e) => [runs[e.run].name, number(e.iter), number(e.seconds), e.kind, e.text]);
  if (events.length) table(section("Warnings and events"), ["run", "iteration", "second", "kind", ""], events);
  if (report.left_out) element("p", document.getElementById("page"), report.left_out, "small");
  const settings = section("Configuration");
  for (const run of runs) {
    element("h3", settings, run.name);
    if (run.command) element("pre", settings, (run.directory ? `cd ${run.directory}\n` : "") + run.command);
    table(settings, ["setting", "value"], run.facts);
    if (run.solver) element("pre", settings, run.solver);
  }
  drawAll();
  window.onresize = drawAll;
}

build();
