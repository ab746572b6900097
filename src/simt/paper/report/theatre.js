"use strict";
// The policy theatre. Words: a state (i, j) is about to write target token i with j source tokens
// read; delays[i] is how many source tokens had been read when token i was written.

const play = JSON.parse(document.getElementById("play-data").textContent);
const at = (id) => document.getElementById(id);
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const chosen = { sentence: 0, system: 0, knob: 0, step: 0, timer: null };

// --- policies and latency ------------------------------------------------------------------------

/** Delays of a policy that writes as soon as the confidence reaches a threshold; in thousandths. */
function delaysAtThreshold(grid, threshold, firstRead) {
  let read = Math.min(firstRead, grid[0].length);
  return grid.map((row) => {
    while (read < row.length && row[read - 1] < threshold) read += 1;
    return read;
  });
}

/** All actions in their order, each with the state it was taken in. */
function actionsOf(delays) {
  const actions = [];
  let read = 0;
  delays.forEach((delay, written) => {
    for (; read < delay; read += 1) actions.push({ isWrite: false, i: written, j: read });
    actions.push({ isWrite: true, i: written, j: delay });
  });
  return actions;
}

/** Average lagging, Ma et al. (2019). */
function averageLagging(delays, sourceLength, targetLength) {
  const counted = delays.findIndex((delay) => delay >= sourceLength) + 1 || delays.length;
  const lags = delays.slice(0, counted).map((g, i) => g - (i * sourceLength) / targetLength);
  return lags.reduce((sum, lag) => sum + lag, 0) / counted;
}

/** Average lagging of a sentence in the units in which the study measures latency. */
function sentenceLagging(delays, sentence) {
  const [m, n] = [sentence.source.length, sentence.target.length];
  if (play.latency === "bpe_eos_hyp") return averageLagging(delays, m, n);
  if (play.latency === "bpe_noeos_hyp") {
    return averageLagging(delays.slice(0, -1).map((g) => Math.min(g, m - 1)), m - 1, n - 1);
  }
  const wordsRead = (pieces) => sentence.source_ends.filter((end) => end <= pieces).length;
  const inWords = sentence.target_ends.map((end) => wordsRead(delays[end - 1]));
  return averageLagging(inWords, sentence.source_ends.length, inWords.length);
}

// --- what is on stage ----------------------------------------------------------------------------

const system = () => play.systems[chosen.system];
const sentence = () => play.sentences[chosen.sentence];
const grid = () => system().grids?.[chosen.sentence];

/** The scored knob value that the slider is at; none between two of them. */
function scoredKnob() {
  const { knobs, grids } = system();
  if (!grids) return knobs[chosen.knob];
  return knobs.find((knob) => Math.round(knob.value * 1000) === chosen.knob);
}

function knobName() {
  return system().grids ? `${system().symbol} = ${chosen.knob / 1000}` : scoredKnob().name;
}

/** Delays, and a function that gives the confidence of a state, or what else its policy weighs. */
function currentWay() {
  if (grid()) {
    const delays = delaysAtThreshold(grid(), chosen.knob, system().first_read);
    return { delays, confidence: (i, j) => grid()[i][j - 1] / 1000 };
  }
  const path = scoredKnob().paths[chosen.sentence];
  const known = new Map();
  for (const action of path.write ? actionsOf(path.delays) : []) {
    const value = action.isWrite ? path.write[action.i] : path.read[action.j];
    if (value !== null) known.set(`${action.i},${action.j}`, value);
  }
  return { delays: path.delays, confidence: (i, j) => known.get(`${i},${j}`) };
}

/** What would be done in a state: by the threshold, or as it was done on the way. */
function decision(delays, i, j) {
  if (grid()) {
    const isLast = j === sentence().source.length;
    return isLast || grid()[i][j - 1] >= chosen.knob ? "write" : "read";
  }
  const before = i ? delays[i - 1] : 1;
  if (j < before || j > delays[i]) return "unknown";
  return j === delays[i] ? "write" : "read";
}

// --- drawing -------------------------------------------------------------------------------------

function svg(name, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

function draw() {
  const { delays, confidence } = currentWay();
  const actions = actionsOf(delays);
  chosen.step = Math.min(chosen.step, actions.length);
  const past = actions.slice(0, chosen.step);
  const last = past.at(-1);
  const written = past.filter((action) => action.isWrite).length;
  const read = past.length - written;
  drawLine("source", read, last && !last.isWrite, "ahead");
  drawLine("target", written, last?.isWrite, "hidden");
  drawGrid(delays, confidence, past, read, written);
  drawNumbers(delays);
  at("action").ariaLive = chosen.timer ? "off" : "polite"; // nobody can listen that fast
  at("action").textContent = actionText(last, confidence);
  at("step").max = actions.length;
  at("step").value = chosen.step;
  at("knob-name").textContent = knobName();
  const start = chosen.step < actions.length ? "Play" : "Replay";
  at("play").textContent = chosen.timer ? "Pause" : start;
}

/** What stands behind each piece: nothing where its word goes on, otherwise a blank. */
const gaps = (pieces, ends) => pieces.map((_, place) => (ends.includes(place + 1) ? " " : ""));

/** The pieces by themselves, with a hyphen where a word goes on; the last one ends the sentence. */
const labels = (pieces, ends) => gaps(pieces, [...ends, pieces.length])
  .map((gap, place) => pieces[place] + (gap ? "" : "-"));

/** A side of the sentence: what has been read or written, what just was, and what is to come. */
function drawLine(id, done, isNow, later) {
  const [pieces, ends] = [sentence()[id], sentence()[`${id}_ends`]];
  const spans = gaps(pieces, ends).flatMap((gap, place) => {
    const span = document.createElement("span");
    span.textContent = pieces[place];
    span.className = place >= done ? later : isNow && place === done - 1 ? "now" : "";
    return [span, gap];
  });
  at(id).replaceChildren(...spans);
}

function drawGrid(delays, confidence, past, read, written) {
  const source = labels(sentence().source, sentence().source_ends);
  const target = labels(sentence().target, sentence().target_ends);
  const widest = (pieces) => 7.2 * Math.max(...pieces.map((piece) => piece.length)) + 12;
  const [left, top] = [widest(target), widest(source)];
  const room = at("grid-box").clientWidth - left - 2;
  const cell = Math.max(13, Math.min(32, Math.floor(room / source.length)));
  const x = (j) => left + (j - 1) * cell; // the left of the column where j tokens are read
  const y = (i) => top + i * cell;
  const [shapes, values] = [[], []];
  const last = past.at(-1);
  source.forEach((piece, place) => {
    const isNow = last && !last.isWrite && place === read - 1;
    const [cx, cy] = [x(place + 1) + cell / 2 + 4, top - 6];
    shapes.push(svg("text", {
      x: cx, y: cy, transform: `rotate(-90 ${cx} ${cy})`, style: "--hue: var(--read)",
      class: isNow ? "now" : place < read ? "done" : "",
    }, piece));
  });
  target.forEach((piece, i) => {
    const isNow = last?.isWrite && i === written - 1;
    shapes.push(svg("text", {
      x: left - 6, y: y(i) + cell / 2 + 4, "text-anchor": "end", style: "--hue: var(--write)",
      class: isNow ? "now" : i < written ? "done" : "",
    }, piece));
    source.forEach((_, place) => {
      const [state, value] = stateShapes(i, place + 1, delays, confidence, x, y, cell);
      shapes.push(state);
      if (value) values.push(value);
    });
  });
  shapes.push(...wayShapes(past, x, y, cell), ...values);
  shapes.push(...goldShapes(delays, written, x, y, cell));
  const [width, height] = [left + source.length * cell + 2, top + target.length * cell + 2];
  at("grid").replaceChildren(...shapes);
  for (const [key, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) {
    at("grid").setAttribute(key, value);
  }
}

/** A state: its colour says what would be done there, its depth how confident the model is.
 *  Where there is room, also the number itself. */
function stateShapes(i, j, delays, confidence, x, y, cell) {
  const value = confidence(i, j);
  const done = decision(delays, i, j);
  const depth = done === "unknown" ? 1 : 0.08 + 0.72 * Math.min(1, value ?? 0.35);
  const rect = svg("rect", {
    x: x(j), y: y(i), width: cell, height: cell, rx: 3,
    class: `state ${done}`, "fill-opacity": depth,
  });
  const { source, target } = sentence();
  const place = `state (${i}, ${j}): “${target[i]}” is next, read up to “${source[j - 1]}”`;
  rect.append(svg("title", {}, place + valueText(value)));
  if (value === undefined || cell < 26) return [rect];
  const middle = { x: x(j) + cell / 2, y: y(i) + cell / 2 + 3.5, class: "value" };
  return [rect, svg("text", middle, Math.round(100 * value))];
}

/** The way so far, and the state it has led to; from the last token it leads out of the grid. */
function wayShapes(past, x, y, cell) {
  if (!past.length) return [];
  const states = past.map(({ isWrite, i, j }) => (isWrite ? [i + 1, j] : [i, j + 1]));
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

/** Gold links: a disc once the word has been written in time, a cross if it came too early. */
function goldShapes(delays, written, x, y, cell) {
  return sentence().links.flatMap(([place, i, isSure]) => {
    const [cx, cy, r] = [x(place + 1) + cell / 2, y(i) + cell / 2, cell / 4.5];
    if (i < written && delays[i] <= place) {
      const d = `M${cx - r} ${cy - r}l${2 * r} ${2 * r}m0 ${-2 * r}l${-2 * r} ${2 * r}`;
      return [svg("path", { d, class: "cross" })];
    }
    const met = i < written ? " met" : "";
    return [svg("circle", { cx, cy, r, class: `gold${met}${isSure ? "" : " possible"}` })];
  });
}

function actionText(action, confidence) {
  const { source, target } = sentence();
  if (!action) return "Nothing has been read. Play, or press → for the first action.";
  const { isWrite, i, j } = action;
  const says = valueText(j ? confidence(i, j) : undefined);
  if (!isWrite) return `READ “${source[j]}”: “${target[i]}” has to wait${says}`;
  const end = j === source.length ? "; the source is at its end" : "";
  return `WRITE “${target[i]}” with ${j} of ${source.length} tokens read${says}${end}`;
}

/** What decided in a state; with other systems than SM² it need not be a confidence. */
function valueText(value) {
  if (value === undefined) return "";
  return `, ${system().grids ? "confidence" : "value"} ${value.toFixed(2)}`;
}

// --- numbers -------------------------------------------------------------------------------------

function number(id, value, digits = 2) {
  const element = typeof id === "string" ? at(id) : id;
  element.value = String(value);
  element.textContent = value.toFixed(digits);
  return element;
}

function drawNumbers(delays) {
  at("delays").textContent = delays.join(" ");
  number("sentence-al", sentenceLagging(delays, sentence()));
  const furthest = new Map(); // of each target token with a sure link
  for (const [place, i, isSure] of sentence().links) {
    if (isSure) furthest.set(i, Math.max(place, furthest.get(i) ?? 0));
  }
  const met = [...furthest].filter(([i, place]) => delays[i] > place).length;
  at("satisfied").textContent = `${met} of ${furthest.size} words`;
  at("point").replaceChildren(...pointNumbers());
}

/** Scores of all aligned sentences at this knob value, each with its signature. */
function pointNumbers() {
  const knob = scoredKnob();
  if (!knob) {
    const scored = system().knobs.map((one) => one.value).join(", ");
    return [`not scored at ${knobName()}; scored at ${scored}`];
  }
  const names = { [play.main_latency]: "average lagging", sa_word: "satisfied alignments" };
  return Object.entries(names).flatMap(([name, label]) => {
    const score = knob.scores[name];
    const value = number(document.createElement("data"), score.value);
    value.id = `point-${name}`;
    const signature = document.createElement("code");
    signature.textContent = score.signature;
    const line = document.createElement("div");
    line.append(value, ` ${label}`, signature);
    line.title = knob.file;
    return [line];
  });
}

// --- moving --------------------------------------------------------------------------------------

const END = Number.MAX_SAFE_INTEGER; // draw() cuts it to the number of actions

function goTo(step) {
  chosen.step = Math.max(0, step);
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

function setSystem(place) {
  chosen.system = place;
  const { grids, knobs } = system();
  const start = knobs[Math.floor(knobs.length / 3)]; // rather fast than slow: there is more to see
  const [min, max, step] = grids ? [10, 990, 10] : [0, knobs.length - 1, 1];
  Object.assign(at("knob"), { min, max, step });
  const scored = knobs.map((knob, number) => (grids ? Math.round(knob.value * 1000) : number));
  at("scored").replaceChildren(...scored.map((value) => new Option("", value)));
  chosen.knob = grids ? Math.round(start.value * 1000) : knobs.indexOf(start);
  at("knob").value = chosen.knob;
  at("knob-label").textContent = grids ? "Threshold" : "Knob";
  at("knob").disabled = knobs.length < 2;
  at("system").value = place;
}

function setKnob(value) {
  const { min, max } = at("knob");
  chosen.knob = Math.min(Number(max), Math.max(Number(min), value));
  at("knob").value = chosen.knob;
  at("knob").setAttribute("aria-valuetext", knobName());
  if (!chosen.timer) chosen.step = END;
  draw();
}

function next(list, place, by) {
  return (place + by + list.length) % list.length;
}

function setSentence(place) {
  chosen.sentence = place;
  at("sentence").value = place;
}

const KEYS = {
  ArrowRight: () => { pause(); goTo(chosen.step + 1); },
  ArrowLeft: () => { pause(); goTo(chosen.step - 1); },
  ArrowUp: () => setKnob(chosen.knob + Number(at("knob").step)),
  ArrowDown: () => setKnob(chosen.knob - Number(at("knob").step)),
  Home: () => { pause(); goTo(0); },
  End: () => { pause(); goTo(END); },
  " ": toggle,
  n: () => { setSentence(next(play.sentences, chosen.sentence, 1)); perform(); },
  p: () => { setSentence(next(play.sentences, chosen.sentence, -1)); perform(); },
  s: () => { setSystem(next(play.systems, chosen.system, 1)); perform(); },
};

function fill(id, labels) {
  at(id).replaceChildren(...labels.map((label, place) => new Option(label, place)));
}

function open() {
  const text = ({ source, source_ends: ends }) =>
    gaps(source, ends).map((gap, place) => source[place] + gap).slice(0, -1).join("").trim();
  fill("sentence", play.sentences.map(text));
  fill("system", play.systems.map((one) => one.label));
  setSystem(Math.max(0, play.systems.findLastIndex((one) => one.grids)));
  const follow = (id, event, react) => {
    at(id).addEventListener(event, () => react(Number(at(id).value)));
  };
  follow("sentence", "change", (place) => { setSentence(place); perform(); });
  follow("system", "change", (place) => { setSystem(place); perform(); });
  follow("knob", "input", setKnob);
  follow("step", "input", (step) => { pause(); goTo(step); });
  for (const [id, key] of Object.entries({
    first: "Home", back: "ArrowLeft", play: " ", forward: "ArrowRight", last: "End",
  })) at(id).addEventListener("click", KEYS[key]);
  at("stage").addEventListener("keydown", (event) => {
    const isOwn = event.target.matches(event.key === " " ? "input, button, summary" : "input");
    if (!KEYS[event.key] || isOwn || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    KEYS[event.key]();
  });
  new ResizeObserver(draw).observe(at("grid-box"));
  goTo(END);
}

open();
