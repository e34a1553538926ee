// The report's charts. Plain JavaScript, no library, nothing from elsewhere; report.js, which follows, builds the page.
//
// Whatever the numbers are, a chart is drawn in bounded time: axes reach over more than the last digit of a number, and
// their ticks are counted.
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

function number(value, digits = 5) {
  if (value === null || !isFinite(value)) return "not finite";
  const size = Math.abs(value);
  if (value !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(digits > 5 ? digits - 1 : 3);
  return String(parseFloat(value.toPrecision(digits)));
}

// An exponential mean that is not drawn towards its start (Kingma and Ba 2015, section 3), of values at iterations that
// need not be equally far apart: over `unit` iterations the share `weight` of the mean stays. Written as steps towards
// the values, it leaves a constant as it is to the last bit.
function smoothed(iters, values, weight, unit) {
  let mean = 0, total = 0, before = null;
  return values.map((value, i) => {
    if (value === null) return null;
    const kept = Math.pow(weight, before === null ? 1 : (iters[i] - before) / unit);
    before = iters[i];
    total = kept * total + (1 - kept);
    mean += ((1 - kept) / total) * (value - mean);
    return mean;
  });
}

// Iterations between points of the curve that has the fewest: with it as the unit, curves of one chart are smoothed
// over the same iterations, however often each was displayed.
function widestStep(curves) {
  const long = curves.filter((curve) => curve.smooth.iter.length >= 10);
  const steps = (long.length ? long : curves).map(({ smooth: { iter } }) => (iter[iter.length - 1] - iter[0]) / (iter.length - 1));
  return Math.max(...steps.filter((step) => step > 0), 0) || 1;
}

// Multiples of a round step. Their number is bounded even where the step is too small to be added to them.
function ticks(low, high, most) {
  const raw = (high - low) / most, power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= raw) || raw;
  const first = Math.ceil(low / step), count = Math.min(Math.floor(high / step + 1e-9) - first + 1, 2 * most);
  return Array.from({ length: count > 0 ? count : 0 }, (_, i) => (first + i) * step);
}

// Digits with which neighbouring ticks are told apart.
function digitsFor(marks) {
  if (marks.length < 2) return 5;
  const most = Math.max(Math.abs(marks[0]), Math.abs(marks[marks.length - 1])), step = Math.abs(marks[1] - marks[0]);
  return step > 0 ? Math.min(15, Math.max(5, Math.ceil(Math.log10(most / step)) + 1)) : 15;
}

// An axis that reached over less would show how numbers are rounded.
function leastSpan(low, high) { return 1e-9 * Math.max(Math.abs(low), Math.abs(high)); }

class Chart {
  constructor(parent, title, curves, options) {
    this.title = title;
    this.curves = curves;
    this.options = options || {};
    const means = curves.filter((curve) => curve.smooth);
    this.unit = widestStep(means);
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

  // What is drawn in front: {xs, ys}.
  front(curve) {
    if (!curve.smooth || state.smooth === 0) return { xs: this.xs(curve), ys: curve.value };
    return { xs: this.xs(curve.smooth), ys: smoothed(curve.smooth.iter, curve.smooth.value, state.smooth, this.unit) };
  }

  bounds() {
    let x0 = Infinity, x1 = -Infinity, y0 = this.options.stacked ? 0 : Infinity, y1 = -Infinity;
    for (const curve of this.shown()) {
      for (const x of this.xs(curve)) { x0 = Math.min(x0, x); x1 = Math.max(x1, x); }
    }
    if (state.range) [x0, x1] = state.range;
    const log = state.log.has(this.title);
    for (const curve of this.shown()) {
      const { xs, ys } = this.front(curve);
      for (let i = 0; i < xs.length; ++i) {
        const y = ys[i];
        if (xs[i] < x0 || xs[i] > x1 || y === null || (log && y <= 0)) continue;
        y0 = Math.min(y0, y);
        y1 = Math.max(y1, y);
      }
    }
    if (!isFinite(x0)) [x0, x1] = [0, 1];
    if (!isFinite(y1)) [y0, y1] = log ? [0.1, 1] : [0, 1];
    if (!(x1 - x0 > leastSpan(x0, x1))) x1 = x0 + Math.max(1, leastSpan(x0, x1));
    if (log) return { x0, x1, y0: Math.log10(y0) - 0.02, y1: Math.log10(y1) + 0.02, log };
    const constant = !(y1 - y0 > leastSpan(y0, y1));
    const edge = constant ? Math.max(Math.abs(y0), Math.abs(y1)) * 0.1 || 1 : (y1 - y0) * 0.04;
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
    const rows = ticks(b.y0, b.y1, 5), columns = ticks(b.x0, b.x1, 8);
    for (const y of rows) {
      const value = b.log ? Math.pow(10, y) : y, at = Math.round(p.y(value)) + 0.5;
      context.beginPath(); context.moveTo(p.left, at); context.lineTo(p.width - p.right, at); context.stroke();
      context.fillText(number(value, b.log ? 5 : digitsFor(rows)), p.left - 6, at + 4);
    }
    context.textAlign = "center";
    for (const x of columns) {
      const at = Math.round(p.x(x)) + 0.5;
      context.beginPath(); context.moveTo(at, p.top); context.lineTo(at, p.height - p.bottom); context.stroke();
      context.fillText(number(x, digitsFor(columns)), at, p.height - 8);
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
    context.strokeStyle = curve.color;
    if (curve.smooth && state.smooth > 0) {
      context.globalAlpha = 0.25;
      this.path(context, p, this.xs(curve), curve.value);
      context.stroke();
      context.globalAlpha = 1;
    }
    context.lineWidth = 1.6;
    context.setLineDash(curve.dash || []);
    const { xs, ys } = this.front(curve);
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
      parts.push(`${curve.name} ${number(own)}${this.options.unit || ""} @ ${number(curve.iter[low])}${curve.note ? curve.note(low) : ""}`);
    }
    const near = report.events.filter((e) => Math.abs(p.x(state.axis === "iter" ? e.iter : e.seconds) - event.offsetX) < 4);
    for (const e of near.slice(0, 3)) parts.push(`[${e.kind}] ${e.text}`);
    this.read.textContent = parts.join("   ");
    this.draw();
  }

  zoom(event) {
    if (this.from === undefined || Math.abs(event.offsetX - this.from) < 6) return;
    const p = this.place(), ends = [p.back(this.from), p.back(event.offsetX)].sort((a, b) => a - b);
    this.from = undefined;
    if (!(ends[1] - ends[0] > leastSpan(...ends))) return;
    state.range = ends;
    drawAll();
  }
}
