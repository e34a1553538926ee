// The report's page, of what the report holds as JSON and the charts of chart.js.
function drawAll() { for (const chart of charts) chart.draw(); }

// Series of a run, by name, as a curve in the run's color.
function curveOf(run, tag, many) {
  const series = report.runs[run].series[tag];
  const curve = { run, iter: series.iter, seconds: series.seconds, value: series.value, color: COLORS[run % COLORS.length],
                  name: many ? `${report.runs[run].name}: ${tag}` : tag };
  // Where the curve holds the extremes alone of each stretch, the means of the stretches are beside it.
  if (/^train\/(loss$|output\/)/.test(tag)) curve.smooth = series.mean || series;
  return curve;
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
  if (!run.split) return;
  const { iter, seconds, computing, data, communication } = run.split;
  const zero = iter.map(() => 0), sum = (a, b) => a.map((value, i) => value + b[i]);
  const fed = sum(computing, data), whole = sum(fed, communication);
  const common = { run: index, iter, seconds };
  const curves = [{ ...common, name: "computing", base: zero, value: computing, color: "#6ba3d0" },
                  { ...common, name: "waiting for data", base: computing, value: fed, color: "#f0b35e" },
                  { ...common, name: "waiting for other ranks", base: fed, value: whole, color: "#cf6a6a" }];
  const chart = new Chart(parent, `Milliseconds per iteration: ${run.name}`, curves, { stacked: true });
  const legend = element("div", chart.canvas.parentNode, undefined, "legend");
  for (const curve of curves) {
    const entry = element("span", legend, curve.name);
    entry.style.borderLeft = `12px solid ${curve.color}`;
  }
}

// By how much longer than the middle rank the slowest one computed, and which one it was.
function lags(parent) {
  const tag = "communication/slowest_lag", many = report.runs.length > 1, curves = [];
  report.runs.forEach((run, index) => {
    const series = run.series[tag];
    if (!series) return;
    const percent = series.value.map((value) => (value === null ? null : 100 * value));
    curves.push({ ...curveOf(index, tag, many), value: percent, note: (i) => `, rank ${series.rank[i]}` });
  });
  if (curves.length) new Chart(parent, "Lag of the slowest rank", curves, { unit: "%" });
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
  overlay(page, "Loss scale", (tag) => tag === "train/loss_scale");
  overlay(page, "Outputs of the training net", (tag) => tag.startsWith("train/output/"));
  if (runs.some((run) => run.series["speed/iterations_per_second"])) {
    const speed = section("Speed");
    runs.forEach((run, index) => split(speed, run, index));
    overlay(speed, "Images per second", (tag) => tag === "speed/images_per_second");
    overlay(speed, "Iterations per second", (tag) => tag === "speed/iterations_per_second");
  }
  if (runs.some((run) => run.series["communication/slowest_lag"])) {
    const part = section("Communication");
    overlay(part, "Milliseconds of the reductions", (tag) => /^communication\/.*_ms$/.test(tag));
    lags(part);
  }
  const slow = runs.flatMap((run) => run.slowest.map(([rank, times]) => [run.name, String(rank), String(times)]));
  if (slow.length) table(section("Slowest ranks"), ["run", "rank", "displays at which it was the slowest"], slow);
  const layers = runs.filter((run) => run.layers.length);
  if (layers.length) {
    const part = section("Layers");
    element("p", part, "Memory: the values of tops and parameters as 32-bit floats, without gradients; tops in place take none. " +
            "A net may need less, for tops that are not needed at the same time share their memory.", "small");
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
    if (run.repeat) element("pre", settings, run.repeat);
    table(settings, ["setting", "value"], run.facts);
    if (run.solver) element("pre", settings, run.solver);
  }
  drawAll();
  window.onresize = drawAll;
}

build();
