// Runs the script of a report's page with a stand-in for a browser, and prints the value of an expression as JSON.
//
//     node page.js report.html EXPRESSION
//
// The expression sees what the page's script defines (charts, state, drawAll...) and `drawn()`: the points of the lines
// that were drawn since it was asked last.
"use strict";
const fs = require("fs");
const page = fs.readFileSync(process.argv[2], "utf8");
const data = page.match(/id="data">([\s\S]*?)<\/script>/)[1];
const script = page.split("<script>\n").pop().split("</script>")[0];
let points = [];
const canvas = new Proxy({}, {
  get: (members, name) => {
    if (name === "lineTo" || name === "moveTo") return (x, y) => points.push([x, y]);
    return name in members ? members[name] : () => {};
  },
});
class Element {
  constructor(name) { Object.assign(this, { name, children: [], style: {}, clientWidth: 1000, clientHeight: 260, textContent: "" }); }
  appendChild(child) { this.children.push(child); child.parentNode = this; }
  append(...more) { this.children.push(...more); }
  getContext() { return canvas; }
  // All text in it.
  text() { return this.textContent + this.children.map((child) => (typeof child === "string" ? child : child.text())).join("\n"); }
}
const body = new Element("div");
globalThis.window = { devicePixelRatio: 1 };
globalThis.document = { getElementById: (id) => (id === "data" ? { textContent: data } : body), createElement: (name) => new Element(name) };
globalThis.body = body;
globalThis.drawn = () => { const now = points; points = []; return now; };
const value = new Function(script + "\n;return (" + process.argv[3] + ");")();
console.log(JSON.stringify(value === undefined ? null : value));
