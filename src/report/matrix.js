// SPDX-License-Identifier: MIT
// Draws the matrix of senders and receivers, and shows the figures of the pair that is pointed at or chosen.
"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const root = document.documentElement;
const element = (id) => document.getElementById(id);
const number = (value) => value.toLocaleString("en-US");
const plural = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;

for (const choice of document.getElementsByName("background")) {
  choice.addEventListener("change", () => {
    root.dataset.background = choice.value;
    redraw();
  });
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redraw());
if (!data.pairs) return;

const pairs = data.pairs, ranks = data.ranks, count = pairs.sender.length;
const MARGIN_LEFT = 64, MARGIN_TOP = 48, SIDE = 1024, LENS_CELLS = 33, LENS_CELL = 8;
const cell = Math.max(1, Math.min(72, Math.floor(SIDE / ranks)));
const canvas = element("matrix"), lens = element("lens");
const silent = new Set(data.silent);
// Which pair is at a sender and a receiver; -1 where they have no channel.
const at = new Int32Array(ranks * ranks).fill(-1);
for (let i = 0; i < count; i++) at[pairs.sender[i] * ranks + pairs.receiver[i]] = i;
const carried = pairs.bytes.filter((bytes) => bytes > 0);
const least = carried.reduce((one, other) => Math.min(one, other), Infinity);
const most = carried.reduce((one, other) => Math.max(one, other), 0);
let by = "phase", kept = null, shown = null;
// One pixel for each pair, drawn larger where there is room.
const small = document.createElement("canvas");
small.width = small.height = ranks;

// ---- colours

const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
const parts = (text) => [1, 3, 5].map((place) => parseInt(text.slice(place, place + 2), 16));

// The phases of a job are few: they are spread over the colours that there are.
function phaseColour(phase) {
  return `phase-${data.phases < 2 ? 0 : Math.round(phase * 7 / (data.phases - 1) * (data.phases < 5 ? 5 / 7 : 1))}`;
}

function makePalette() {
  const low = parts(colour("bytes-least")), high = parts(colour("bytes-most"));
  return {
    field: parts(colour("field")), idle: parts(colour("idle")),
    silent: [parts(colour("silent-0")), parts(colour("silent-1"))],
    phases: Array.from({length: data.phases}, (_, phase) => parts(colour(phaseColour(phase)))),
    bytes: (value) => {
      const share = most > least ? Math.log(value / least) / Math.log(most / least) : 1;
      return low.map((part, i) => Math.round(part + (high[i] - part) * share));
    },
  };
}

function colourOf(palette, sender, receiver) {
  const pair = at[sender * ranks + receiver];
  if (pair < 0)
    return silent.has(sender) && silent.has(receiver) ? palette.silent[(sender + receiver) % 2] : palette.field;
  if (pairs.messages[pair] === 0) return palette.idle;
  return by === "phase" ? palette.phases[pairs.phase[pair]] : palette.bytes(Math.max(pairs.bytes[pair], least));
}

// ---- drawing

function drawSmall(palette) {
  const context = small.getContext("2d"), image = context.createImageData(ranks, ranks);
  for (let place = 0; place < ranks * ranks; place++) {
    const [red, green, blue] = colourOf(palette, Math.floor(place / ranks), place % ranks);
    image.data.set([red, green, blue, 255], 4 * place);
  }
  context.putImageData(image, 0, 0);
}

// Ranks that get a label: some 8 of them, at round distances.
function labels() {
  let distance = 1;
  while (ranks / distance > (ranks > 16 ? 10 : 16)) distance *= 2;
  return Array.from({length: Math.ceil(ranks / distance)}, (_, i) => i * distance);
}

function drawAxes(context) {
  context.fillStyle = colour("dim");
  context.font = "12px system-ui, sans-serif";
  context.textAlign = "center";
  context.fillText("receiver (rank)", MARGIN_LEFT + ranks * cell / 2, 12);
  for (const rank of labels()) {
    const middle = (rank + 0.5) * cell;
    context.fillText(rank, MARGIN_LEFT + middle, MARGIN_TOP - 10);
    context.fillRect(MARGIN_LEFT + middle, MARGIN_TOP - 6, 1, 5);
    context.fillRect(MARGIN_LEFT - 6, MARGIN_TOP + middle, 5, 1);
  }
  // Where another node begins.
  for (let rank = 1; rank < ranks && data.nodes.length * 8 <= ranks * cell; rank++) {
    if (data.node[rank] === data.node[rank - 1]) continue;
    context.fillRect(MARGIN_LEFT + rank * cell, MARGIN_TOP - 3, 1, 3);
    context.fillRect(MARGIN_LEFT - 3, MARGIN_TOP + rank * cell, 3, 1);
  }
  context.textAlign = "right";
  for (const rank of labels()) context.fillText(rank, MARGIN_LEFT - 10, MARGIN_TOP + (rank + 0.5) * cell + 4);
  context.save();
  context.translate(12, MARGIN_TOP + ranks * cell / 2);
  context.rotate(-Math.PI / 2);
  context.textAlign = "center";
  context.fillText("sender (rank)", 0, 0);
  context.restore();
}

function drawMatrix() {
  const context = canvas.getContext("2d"), side = ranks * cell;
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, MARGIN_LEFT, MARGIN_TOP, side, side);
  if (cell >= 8) {
    context.fillStyle = colour("surface");
    for (let line = 1; line < ranks; line++) {
      context.fillRect(MARGIN_LEFT + line * cell - 1, MARGIN_TOP, 2, side);
      context.fillRect(MARGIN_LEFT, MARGIN_TOP + line * cell - 1, side, 2);
    }
  }
  context.strokeStyle = colour("line");
  context.strokeRect(MARGIN_LEFT - 0.5, MARGIN_TOP - 0.5, side + 1, side + 1);
  drawAxes(context);
  if (shown) {
    const wide = Math.max(cell, 7), out = (wide - cell) / 2;
    context.strokeStyle = colour("text");
    context.lineWidth = 2;
    context.strokeRect(MARGIN_LEFT + shown[1] * cell - out, MARGIN_TOP + shown[0] * cell - out, wide, wide);
    context.lineWidth = 1;
  }
}

// The surroundings of the pair that is shown, larger; not where a pair is large enough itself.
function drawLens() {
  if (cell >= LENS_CELL || !shown) return;
  const context = lens.getContext("2d"), half = Math.floor(LENS_CELLS / 2);
  context.clearRect(0, 0, lens.width, lens.height);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, shown[1] - half, shown[0] - half, LENS_CELLS, LENS_CELLS, 0, 0, lens.width, lens.height);
  context.strokeStyle = colour("text");
  context.lineWidth = 2;
  context.strokeRect(half * LENS_CELL - 1, half * LENS_CELL - 1, LENS_CELL + 2, LENS_CELL + 2);
}

// ---- beside the matrix

function legendRow(swatch, text) {
  const row = document.createElement("li"), sign = document.createElement("span");
  sign.className = "swatch";
  sign.style.background = swatch;
  row.append(sign, text);
  element("legend").append(row);
}

function size(bytes) {
  if (bytes < 10000) return plural(bytes, "byte");
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let unit = -1;
  do bytes /= 1024; while (++unit < units.length - 1 && bytes >= 1000);
  return `${bytes.toFixed(1)} ${units[unit]}`;
}

function phaseRows() {
  for (let phase = 0; phase < data.phases; phase++) {
    let used = 0, slot = 0;
    for (let i = 0; i < count; i++) {
      if (pairs.phase[i] !== phase || pairs.messages[i] === 0) continue;
      used++;
      slot = pairs.slot_bytes[i] || slot;
    }
    const slots = slot ? `, slots of ${number(slot)} bytes` : "";
    legendRow(colour(phaseColour(phase)), `phase ${phase}${slots}: ${plural(used, "direction")}`);
  }
}

function bytesRow() {
  const row = document.createElement("li"), box = document.createElement("div");
  box.style.width = "100%";
  box.innerHTML = '<div class="ramp"></div><div class="ends"><span></span><span></span></div>';
  const [from, to] = box.querySelectorAll("span");
  from.textContent = carried.length ? size(least) : "nothing was sent";
  to.textContent = carried.length ? size(most) : "";
  row.append(box);
  element("legend").append(row);
}

function drawLegend() {
  element("legend").replaceChildren();
  by === "phase" ? phaseRows() : bytesRow();
  const idle = pairs.messages.filter((messages) => messages === 0).length;
  if (idle) legendRow(colour("idle"), `a channel, but no message this way: ${plural(idle, "direction")}`);
  const none = ranks * ranks - count - silent.size ** 2;
  legendRow(colour("field"), `no channel: ${plural(none, "pair")}, which sent nothing or used shared memory`);
  if (silent.size) {
    const stripes = `linear-gradient(135deg, ${colour("silent-0")} 50%, ${colour("silent-1")} 50%)`;
    legendRow(stripes, `unknown, neither of the two reported: ${plural(silent.size ** 2, "pair")}`);
  }
}

const nameOf = (rank) => `rank ${rank}` + (data.node[rank] < 0 ? "" : ` on ${data.nodes[data.node[rank]]}`);

function figuresOf(pair) {
  const byPhase = pairs.by_phase[pair].map((bytes, phase) => `${number(bytes)} in phase ${phase}`).join(", ");
  return [
    ["phase", `${pairs.phase[pair]}: ${pairs.slots[pair]} slots of ${number(pairs.slot_bytes[pair])} bytes`],
    ["messages", number(pairs.messages[pair])], ["in fragments", number(pairs.fragmented[pair])],
    ["bytes sent", number(pairs.bytes[pair])], ["by phase", byPhase],
    ["enlargements", number(pairs.enlargements[pair])], ["back to smaller", number(pairs.shrinks[pair])],
    ["refused", number(pairs.refused[pair])],
    ["rings, both ways", `${size(pairs.ring_bytes[pair])}, at most ${size(pairs.ring_bytes_max[pair])}`],
  ];
}

function drawPair() {
  const [sender, receiver] = shown, pair = at[sender * ranks + receiver], box = element("pair");
  const title = document.createElement("h3"), list = document.createElement("dl");
  title.textContent = `${nameOf(sender)} to ${nameOf(receiver)}`;
  const rows = pair >= 0 ? figuresOf(pair) :
    [["no channel", silent.has(sender) && silent.has(receiver) ? "neither of the two reported" :
      sender === receiver ? "a process and itself" : "these two sent nothing, or used shared memory"]];
  if (pair >= 0 && silent.has(sender)) rows.push(["counted by", "the receiver: the sender reported nothing"]);
  for (const [name, value] of rows) {
    const row = document.createElement("div");
    row.append(Object.assign(document.createElement("dt"), {textContent: name}),
               Object.assign(document.createElement("dd"), {textContent: value}));
    list.append(row);
  }
  box.replaceChildren(title, list);
  element("sender").value = sender;
  element("receiver").value = receiver;
}

// ---- events

function show(pair) {
  if (shown && pair[0] === shown[0] && pair[1] === shown[1]) return;
  shown = pair;
  drawPair();
  drawMatrix();
  drawLens();
}

function redraw() {
  if (!data.pairs) return;
  drawSmall(makePalette());
  drawLegend();
  drawMatrix();
  drawLens();
  canvas.dataset.drawn = by;
}

function pointed(event) {
  const box = canvas.getBoundingClientRect(), scale = canvas.width / box.width;
  const receiver = Math.floor(((event.clientX - box.left) * scale - MARGIN_LEFT) / cell);
  const sender = Math.floor(((event.clientY - box.top) * scale - MARGIN_TOP) / cell);
  return Math.min(sender, receiver) >= 0 && Math.max(sender, receiver) < ranks ? [sender, receiver] : null;
}

const within = (rank) => Math.max(0, Math.min(ranks - 1, Math.trunc(Number(rank)) || 0));
function keep(pair) {
  kept = pair.map(within);
  show(kept);
}

canvas.addEventListener("pointermove", (event) => show(pointed(event) || kept));
canvas.addEventListener("pointerleave", () => show(kept));
canvas.addEventListener("click", (event) => keep(pointed(event) || kept));
canvas.addEventListener("keydown", (event) => {
  const step = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[event.key];
  if (!step) return;
  event.preventDefault();
  keep([kept[0] + step[0], kept[1] + step[1]]);
});
for (const id of ["sender", "receiver"])
  element(id).addEventListener("change", () => keep([element("sender").value, element("receiver").value]));
element("choice").addEventListener("submit", (event) => event.preventDefault());
for (const choice of document.getElementsByName("colour")) {
  choice.addEventListener("change", () => {
    by = choice.value;
    redraw();
  });
}

canvas.width = MARGIN_LEFT + ranks * cell + 4;
canvas.height = MARGIN_TOP + ranks * cell + 4;
lens.width = lens.height = cell < LENS_CELL ? LENS_CELLS * LENS_CELL : 0;
lens.hidden = cell >= LENS_CELL;
redraw();
// The page begins with the pair that sent most.
keep(count ? [pairs.sender, pairs.receiver].map((of) => of[pairs.bytes.indexOf(most)] ?? 0) : [0, 0]);
})();
