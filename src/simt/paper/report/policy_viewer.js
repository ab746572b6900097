"use strict";
// The policy viewer: one sentence, one system or two side by side; policies.js has the arithmetic.

const play = JSON.parse(document.getElementById("play-data").textContent);
const at = (id) => document.getElementById(id);
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const chosen = { sentence: 0, step: 0, timer: null };
const sentence = () => play.sentences[chosen.sentence];

// --- a system on show ----------------------------------------------------------------------------

class Side {
  constructor(place) {
    this.place = place;
    this.system = null; // of play.systems; null: nobody is on this side
    this.knob = 0; // a threshold in thousandths, or which of the system's knob values
  }

  at(id) {
    return at(`${id}-${this.place}`);
  }

  get grid() {
    return this.system.grids?.[chosen.sentence];
  }

  /** The scored knob value that the slider is at; none between two of them. */
  get scoredKnob() {
    const { knobs, grids } = this.system;
    if (!grids) return knobs[this.knob];
    return knobs.find((knob) => Math.round(knob.value * 1000) === this.knob);
  }

  get knobName() {
    const { grids, symbol } = this.system;
    return grids ? `${symbol} = ${this.knob / 1000}` : this.scoredKnob.name;
  }

  /** The knob value as links name it. */
  get knobId() {
    return this.system.grids ? String(this.knob / 1000) : this.scoredKnob.id;
  }

  /** Delays, and a function that gives the confidence of a state, or what else its policy weighs. */
  get way() {
    const { grid } = this;
    if (grid) {
      const delays = delaysAtThreshold(grid, this.knob, this.system.first_read);
      return { delays, confidence: (i, j) => grid[i][j - 1] / 1000 };
    }
    const path = this.scoredKnob.paths[chosen.sentence];
    const known = new Map();
    for (const action of path.write ? actionsOf(path.delays) : []) {
      const value = action.isWrite ? path.write[action.i] : path.read[action.j];
      if (value !== null) known.set(`${action.i},${action.j}`, value);
    }
    return { delays: path.delays, confidence: (i, j) => known.get(`${i},${j}`) };
  }

  /** What would be done in a state: by the threshold, or as it was done on the way. */
  decision(delays, i, j) {
    if (this.grid) {
      const isLast = j === sentence().source.length;
      return isLast || this.grid[i][j - 1] >= this.knob ? "write" : "read";
    }
    const before = i ? delays[i - 1] : 1;
    if (j < before || j > delays[i]) return "unknown";
    return j === delays[i] ? "write" : "read";
  }
}

const sides = [new Side(1), new Side(2)];
const onShow = () => sides.filter((side) => side.system);

// --- drawing -------------------------------------------------------------------------------------

function svg(name, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

function draw() {
  const ways = onShow().map((side) => side.way);
  const moments = momentsOf(ways.map(({ delays }) => delays));
  chosen.step = Math.min(chosen.step, moments.length);
  const moment = moments[chosen.step - 1];
  drawLine(at("source"), "source", moment?.read ?? 0, moment?.writing === 0, "ahead");
  onShow().forEach((side, place) => drawSide(side, ways[place], moment));
  at("step").max = moments.length;
  at("step").value = chosen.step;
  const start = chosen.step < moments.length ? "Play" : "Replay";
  at("play").textContent = chosen.timer ? "Pause" : start;
  at("link").href = linkToState();
}

function drawSide(side, way, moment) {
  const { delays, confidence } = way;
  const { taken, isNow } = progress(delays, moment);
  const past = actionsOf(delays).slice(0, taken);
  const last = past.at(-1);
  const written = past.filter((action) => action.isWrite).length;
  const isWritingNow = isNow && last.isWrite;
  drawLine(side.at("target"), "target", written, isWritingNow, "hidden");
  drawGrid(side, way, past, isNow);
  drawNumbers(side, delays);
  side.at("action").ariaLive = chosen.timer ? "off" : "polite"; // nobody can listen that fast
  side.at("action").textContent = actionText(side, last, isNow, confidence);
  side.at("knob-name").textContent = side.knobName;
  side.at("policy").textContent = (side.scoredKnob ?? side.system.knobs[0]).words;
}

/** What stands behind each piece: nothing where its word goes on, otherwise a blank. */
const gaps = (pieces, ends) => pieces.map((_, place) => (ends.includes(place + 1) ? " " : ""));

/** The pieces by themselves, with a hyphen where a word goes on; the last one ends the sentence. */
const labels = (pieces, ends) => gaps(pieces, [...ends, pieces.length])
  .map((gap, place) => pieces[place] + (gap ? "" : "-"));

/** A side of the sentence: what has been read or written, what just was, and what is to come. */
function drawLine(line, language, done, isNow, later) {
  const [pieces, ends] = [sentence()[language], sentence()[`${language}_ends`]];
  const spans = gaps(pieces, ends).flatMap((gap, place) => {
    const span = document.createElement("span");
    span.textContent = pieces[place];
    span.className = place >= done ? later : isNow && place === done - 1 ? "now" : "";
    return [span, gap];
  });
  line.replaceChildren(...spans);
}

function drawGrid(side, way, past, isNow) {
  const source = labels(sentence().source, sentence().source_ends);
  const target = labels(sentence().target, sentence().target_ends);
  const widest = (pieces) => 7.2 * Math.max(...pieces.map((piece) => piece.length)) + 12;
  const [left, top] = [widest(target), widest(source)];
  const room = side.at("grid-box").clientWidth - left - 2;
  const cell = Math.max(13, Math.min(34, Math.floor(room / source.length)));
  const frame = {
    cell,
    x: (j) => left + (j - 1) * cell, // the left of the column where j tokens are read
    y: (i) => top + i * cell,
  };
  const last = isNow ? past.at(-1) : undefined;
  const written = past.filter((action) => action.isWrite).length;
  const read = past.length - written;
  const shapes = [
    ...source.map((piece, place) => {
      const [cx, cy] = [frame.x(place + 1) + cell / 2 + 4, top - 6];
      return label(piece, last && !last.isWrite, place, read, "--hue: var(--read)", {
        x: cx, y: cy, transform: `rotate(-90 ${cx} ${cy})`,
      });
    }),
    ...target.map((piece, i) => label(piece, last?.isWrite, i, written, "--hue: var(--write)", {
      x: left - 6, y: frame.y(i) + cell / 2 + 4, "text-anchor": "end",
    })),
    ...stateShapes(side, way, frame),
    ...wayShapes(past, frame),
    ...valueShapes(way, past, frame),
    ...goldShapes(way, written, frame),
  ];
  const [width, height] = [left + source.length * cell + 2, top + target.length * cell + 2];
  side.at("grid").replaceChildren(...shapes);
  for (const [key, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) {
    side.at("grid").setAttribute(key, value);
  }
}

/** A token at the edge of the grid. */
function label(piece, isNow, place, done, style, attributes) {
  const name = isNow && place === done - 1 ? "now" : place < done ? "done" : "";
  return svg("text", { ...attributes, style, class: name }, piece);
}

/** Every state: its colour says what would be done there, its depth how confident the model is. */
function stateShapes(side, { delays, confidence }, { x, y, cell }) {
  const { source, target } = sentence();
  return target.flatMap((piece, i) => source.map((heard, place) => {
    const j = place + 1;
    const value = confidence(i, j);
    const done = side.decision(delays, i, j);
    // Never so deep that a number could not be read on it.
    const depth = done === "unknown" ? 1 : 0.06 + 0.5 * Math.min(1, value ?? 0.4);
    const state = svg("rect", {
      x: x(j), y: y(i), width: cell, height: cell, rx: 3,
      class: `state ${done}`, "fill-opacity": depth,
    });
    const name = `state (${i}, ${j}): “${piece}” is next, read up to “${heard}”`;
    state.append(svg("title", {}, name + valueText(side, value)));
    return state;
  }));
}

/** Whether there is room for the number of a state. */
const hasNumber = (value, cell) => value !== undefined && cell >= 24;

/** The numbers of the states; those on the way have a halo around them. */
function valueShapes({ confidence }, past, { x, y, cell }) {
  const crossed = new Set(statesOf(past).map(([i, j]) => `${i},${j}`));
  const { source, target } = sentence();
  return target.flatMap((_, i) => source.flatMap((__, place) => {
    const value = confidence(i, place + 1);
    if (!hasNumber(value, cell)) return [];
    const name = crossed.has(`${i},${place + 1}`) ? "value crossed" : "value";
    const middle = { x: x(place + 1) + cell / 2, y: y(i) + cell / 2 + 6, class: name };
    return [svg("text", middle, Math.round(100 * value))];
  }));
}

/** The states that actions have led to. */
const statesOf = (past) => past.map(({ isWrite, i, j }) => (isWrite ? [i + 1, j] : [i, j + 1]));

/** The way so far, and the state it has led to; from the last token it leads out of the grid. */
function wayShapes(past, { x, y, cell }) {
  if (!past.length) return [];
  const states = statesOf(past);
  const [i, j] = states.at(-1);
  const isOver = i === sentence().target.length;
  const points = states.map(([row, column]) => {
    const isOut = row === sentence().target.length;
    return `${x(column) + cell / 2},${isOut ? y(row) - 2 : y(row) + cell / 2}`;
  });
  const way = svg("polyline", { points: points.join(" "), class: "way" });
  const here = { x: x(j) + 1, y: y(i) + 1, width: cell - 2, height: cell - 2, rx: 4 };
  return isOver ? [way] : [way, svg("rect", { ...here, class: "here" })];
}

/** Gold links, in a corner where they would hide a number: a disc once the word has been written in
 *  time, a cross if it came too early. */
function goldShapes({ delays, confidence }, written, { x, y, cell }) {
  return sentence().links.flatMap(([place, i, isSure]) => {
    const isSmall = hasNumber(confidence(i, place + 1), cell);
    const r = isSmall ? cell / 9 : cell / 5;
    const [right, down] = isSmall ? [cell - r - 2, r + 2] : [cell / 2, cell / 2];
    const [cx, cy] = [x(place + 1) + right, y(i) + down];
    if (i < written && delays[i] <= place) {
      const d = `M${cx - r} ${cy - r}l${2 * r} ${2 * r}m0 ${-2 * r}l${-2 * r} ${2 * r}`;
      return [svg("path", { d, class: "cross" })];
    }
    const met = i < written ? " met" : "";
    return [svg("circle", { cx, cy, r, class: `gold${met}${isSure ? "" : " possible"}` })];
  });
}

function actionText(side, action, isNow, confidence) {
  const { source, target } = sentence();
  if (!action) return "Nothing has been read. Play, or press → for the first action.";
  const { isWrite, i, j } = action;
  if (!isNow && i === target.length - 1 && isWrite) return "All is written";
  if (!isNow) return `“${target[isWrite ? i + 1 : i]}” has to wait; the other system writes`;
  const says = valueText(side, j ? confidence(i, j) : undefined);
  if (!isWrite) return `READ “${source[j]}”: “${target[i]}” has to wait${says}`;
  const end = j === source.length ? "; the source is at its end" : "";
  return `WRITE “${target[i]}” with ${j} of ${source.length} tokens read${says}${end}`;
}

/** What decided in a state; with other systems than SM² it need not be a confidence. */
function valueText(side, value) {
  if (value === undefined) return "";
  return `, ${side.system.grids ? "confidence" : "value"} ${value.toFixed(2)}`;
}

// --- numbers -------------------------------------------------------------------------------------

function number(element, value) {
  element.value = String(value);
  element.textContent = value.toFixed(2);
  return element;
}

function drawNumbers(side, delays) {
  side.at("delays").textContent = delays.join(" ");
  number(side.at("sentence-al"), sentenceLagging(delays, sentence(), play.latency));
  const furthest = new Map(); // of each target token with a sure link
  for (const [place, i, isSure] of sentence().links) {
    if (isSure) furthest.set(i, Math.max(place, furthest.get(i) ?? 0));
  }
  const met = [...furthest].filter(([i, place]) => delays[i] > place).length;
  side.at("satisfied").textContent = `${met} of ${furthest.size} words`;
  side.at("point").replaceChildren(...pointNumbers(side));
}

/** Scores of all aligned sentences at this knob value, each with its signature. */
function pointNumbers(side) {
  const knob = side.scoredKnob;
  if (!knob) {
    const scored = side.system.knobs.map((one) => one.value).join(", ");
    return [`not scored at ${side.knobName}; scored at ${scored}`];
  }
  const names = { [play.main_latency]: "average lagging", sa_word: "satisfied alignments" };
  return Object.entries(names).flatMap(([name, label]) => {
    const score = knob.scores[name];
    const value = number(document.createElement("data"), score.value);
    value.id = `point-${name}-${side.place}`;
    const signature = document.createElement("code");
    signature.textContent = score.signature;
    const line = document.createElement("div");
    line.append(value, ` ${label}`, signature);
    line.title = knob.file;
    return [line];
  });
}

// --- choosing ------------------------------------------------------------------------------------

function setSentence(place) {
  chosen.sentence = place;
  at("sentence").value = place;
}

/** Put a system on a side, or nobody; ``knobId`` is a knob value as links name it. */
function setSystem(side, place, knobId) {
  side.system = play.systems[place] ?? null;
  side.at("system").value = side.system ? place : "";
  at("viewer-panel").classList.toggle("is-single", onShow().length === 1);
  if (!side.system) return true;
  const { grids, knobs } = side.system;
  const [min, max, step] = grids ? [10, 990, 10] : [0, knobs.length - 1, 1];
  Object.assign(side.at("knob"), { min, max, step, disabled: knobs.length < 2 });
  const scored = knobs.map((knob, number) => (grids ? Math.round(knob.value * 1000) : number));
  side.at("scored").replaceChildren(...scored.map((value) => new Option("", value)));
  const wanted = grids
    ? Math.round(Number(knobId) * 1000) : knobs.findIndex((knob) => knob.id === knobId);
  const isKnown = knobId !== undefined && wanted >= min && wanted <= max;
  side.knob = isKnown ? wanted : scored[firstKnob(side)];
  side.at("knob").value = side.knob;
  return isKnown || knobId === undefined;
}

/** Which knob value to begin with: that with the lagging of the other side, so that both can be
 *  compared; alone, rather a fast one than a slow one, since there is more to see. */
function firstKnob(side) {
  const lagging = (knob) => knob.scores[play.main_latency].value;
  const { knobs } = side.system;
  const other = sides.find((one) => one !== side && one.system)?.scoredKnob;
  if (!other) return Math.floor(knobs.length / 3);
  const distances = knobs.map((knob) => Math.abs(lagging(knob) - lagging(other)));
  return distances.indexOf(Math.min(...distances));
}

function setKnob(side, value) {
  if (!side.system) return;
  const { min, max } = side.at("knob");
  side.knob = Math.min(Number(max), Math.max(Number(min), value));
  side.at("knob").value = side.knob;
  side.at("knob").setAttribute("aria-valuetext", side.knobName);
  goTo(chosen.timer ? chosen.step : END);
}

const next = (list, place, by) => (place + by + list.length) % list.length;

// --- a link to a state ---------------------------------------------------------------------------

const LINK = "#viewer?";

function linkToState() {
  const named = { sentence: sentence().number };
  onShow().forEach((side, place) => {
    named[place ? "beside" : "system"] = side.system.key;
    named[place ? "beside-knob" : "knob"] = side.knobId;
  });
  return LINK + new URLSearchParams({ ...named, step: chosen.step });
}

/** Show the state that the address names, if it names one; says what this report does not have. */
function followLink() {
  if (!location.hash.startsWith(LINK)) return false;
  const named = new URLSearchParams(location.hash.slice(LINK.length));
  const unknown = [];
  const place = (list, name, is) => {
    const found = list.findIndex(is);
    if (found < 0 && named.has(name)) unknown.push(`${name} ${named.get(name)}`);
    return found;
  };
  pause();
  setSentence(Math.max(0, place(play.sentences, "sentence",
    (one) => String(one.number) === named.get("sentence"))));
  const systems = ["system", "beside"].map((name) =>
    place(play.systems, name, (one) => one.key === named.get(name)));
  setSystem(sides[1], -1);
  sides.forEach((side, n) => {
    const knob = ["knob", "beside-knob"][n];
    const isKnown = setSystem(side, n ? systems[n] : Math.max(0, systems[n]),
      systems[n] < 0 ? undefined : named.get(knob) ?? undefined);
    if (!isKnown) unknown.push(`${knob} ${named.get(knob)}`);
  });
  goTo(Number(named.get("step")) || 0);
  if (unknown.length) at("said").textContent = `This report does not have: ${unknown.join(", ")}`;
  at("viewer-panel").scrollIntoView({ block: "start" });
  return true;
}

/** The link goes into the address bar in any case; into the clipboard where the browser lets us. */
async function copyLink() {
  const link = at("link").href;
  history.replaceState(null, "", link);
  try {
    await navigator.clipboard.writeText(link);
    at("said").textContent = "Copied.";
  } catch {
    at("said").textContent = "It is in the address bar.";
  }
}

// --- moving --------------------------------------------------------------------------------------

const END = Number.MAX_SAFE_INTEGER; // draw() cuts it to the number of moments

function goTo(step) {
  chosen.step = Math.max(0, step);
  at("said").textContent = "";
  draw();
}

function pause() {
  clearInterval(chosen.timer);
  chosen.timer = null;
}

function playOn() {
  const isAtEnd = () => chosen.step >= Number(at("step").max);
  if (isAtEnd()) chosen.step = 0;
  chosen.timer = setInterval(() => {
    chosen.step += 1;
    if (isAtEnd()) pause();
    draw();
  }, 420);
  draw();
}

function toggle() {
  if (chosen.timer) {
    pause();
    draw();
  } else playOn();
}

/** Show another sentence or system: played from its beginning, unless motion is unwelcome. */
function perform() {
  pause();
  goTo(calm.matches ? END : 0);
  if (!calm.matches) playOn();
}

/** What each key does; knob and system are those of a side. */
const KEYS = {
  ArrowRight: () => { pause(); goTo(chosen.step + 1); },
  ArrowLeft: () => { pause(); goTo(chosen.step - 1); },
  ArrowUp: (side) => setKnob(side, side.knob + Number(side.at("knob").step)),
  ArrowDown: (side) => setKnob(side, side.knob - Number(side.at("knob").step)),
  Home: () => { pause(); goTo(0); },
  End: () => { pause(); goTo(END); },
  " ": toggle,
  n: () => { setSentence(next(play.sentences, chosen.sentence, 1)); perform(); },
  p: () => { setSentence(next(play.sentences, chosen.sentence, -1)); perform(); },
  s: (side) => {
    setSystem(side, next(play.systems, play.systems.indexOf(side.system), 1));
    perform();
  },
};

function onKey(event) {
  const own = event.key === " " ? "input, select, button, summary" : "input, select";
  if (!KEYS[event.key] || event.target.matches(own)) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const focused = sides.find((side) => side.system && at(`side-${side.place}`).contains(event.target));
  KEYS[event.key](focused ?? sides[0]);
}

// --- opening -------------------------------------------------------------------------------------

function fill(element, labels) {
  element.replaceChildren(...labels.map((label, place) => new Option(label, place)));
}

function open() {
  const text = ({ source, source_ends: ends }) =>
    gaps(source, ends).map((gap, place) => source[place] + gap).slice(0, -1).join("").trim();
  fill(at("sentence"), play.sentences.map(text));
  for (const side of sides) fill(side.at("system"), play.systems.map((one) => one.label));
  sides[1].at("system").prepend(new Option("no other system", ""));
  const follow = (element, event, react) => {
    element.addEventListener(event, () => react(element.value === "" ? -1 : Number(element.value)));
  };
  follow(at("sentence"), "change", (place) => { setSentence(place); perform(); });
  follow(at("step"), "input", (step) => { pause(); goTo(step); });
  for (const side of sides) {
    follow(side.at("system"), "change", (place) => { setSystem(side, place); perform(); });
    follow(side.at("knob"), "input", (value) => setKnob(side, value));
    new ResizeObserver(draw).observe(side.at("grid-box"));
  }
  for (const [id, key] of Object.entries({
    first: "Home", back: "ArrowLeft", play: " ", forward: "ArrowRight", last: "End",
  })) at(id).addEventListener("click", KEYS[key]);
  at("viewer-panel").addEventListener("keydown", onKey);
  at("copy").addEventListener("click", copyLink);
  addEventListener("hashchange", followLink);
  if (followLink()) return;
  setSystem(sides[0], Math.max(0, play.systems.findLastIndex((one) => one.grids)));
  const hasRoom = matchMedia("(min-width: 821px)").matches;
  setSystem(sides[1], hasRoom ? play.systems.findIndex((one) => one !== sides[0].system) : -1);
  goTo(END);
}

open();
