"use strict";
// A face only: the text and the knob values go to the server, what it tells is shown. Whatever is
// on the page follows from the events since the last "again" of each lane.

const SYSTEMS = JSON.parse(document.getElementById("systems").textContent);
const at = (id) => document.getElementById(id);
const text = at("text");
const lanes = SYSTEMS.map((system, place) => newLane(system, place));
let stream = null; // of events
let tab = null; // its name, once the server has opened it
let played = null; // how much of the text has been said in a replay; null: no replay
let isNew = false; // whether the clock begins again, even if the text is the same
let timer = 0;

function newLane(system, place) {
  const root = document.querySelector(`.lane[data-place="${place}"]`);
  root.style.setProperty("--hue", system.colour);
  return { system, root, part: (name) => root.querySelector(name), knob: system.knob, lines: [] };
}

function element(name, content, kind) {
  const one = document.createElement(name);
  if (kind) one.className = kind;
  if (content !== undefined) one.textContent = content;
  return one;
}

function say(message, isBad = false) {
  at("said").textContent = message;
  at("said").classList.toggle("bad", isBad);
}

// --- to the server ------------------------------------------------------------------------------

let isSending = false;
let hasNews = false;

// One request at a time, always with the newest state: requests cannot overtake each other.
async function send() {
  hasNews = true;
  if (!stream) openStream();
  if (isSending || !tab) return;
  isSending = true;
  while (hasNews && tab) {
    hasNews = false;
    await ask().catch(() => say("The server does not answer.", true));
  }
  isSending = false;
}

async function ask() {
  const asked = { text: saidText(), knobs: lanes.map((lane) => lane.knob), is_new: isNew };
  isNew = false;
  const answer = await fetch(`tabs/${tab}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(asked),
  });
  if (!answer.ok) {
    stop();
    say(sentence((await answer.json()).why), true);
  } else if (at("said").classList.contains("bad")) say("");
}

function isLost() {
  return document.body.dataset.state === "lost";
}

function sentence(words) {
  return `${words[0].toUpperCase()}${words.slice(1)}.`;
}

// --- from the server ----------------------------------------------------------------------------

function openStream() {
  stream = new EventSource("events");
  stream.onmessage = (message) => take(JSON.parse(message.data));
  stream.onerror = () => {
    tab = null;
    document.body.dataset.state = "lost";
    say("The server does not answer; trying again …", true);
    // The browser tries again by itself, but not after an answer that is no stream: a proxy's 502.
    if (stream.readyState === EventSource.CLOSED) setTimeout(openStream, 3000);
  };
}

const on = {
  open(event) {
    tab = event.tab;
    document.body.dataset.state = "open";
    if (at("said").classList.contains("bad")) say("");
    send();
  },
  closed(event) {
    stop();
    stream.close();
    stream = tab = null;
    document.body.dataset.state = "closed";
    say(event.is_idle ? `${sentence(event.why)} Type to go on.` : sentence(event.why), !event.is_idle);
  },
  again(event, lane) {
    for (const line of lane.lines.splice(event.line - 1)) line?.box.remove();
    lane.part(".acting").textContent = "";
    numbers(lane, {});
  },
  source(event, lane) {
    lineOf(lane, event.line).source.push(event);
  },
  read(event, lane) { act(lane, "READ", event); },
  write(event, lane) { act(lane, "WRITE", event); },
  word(event, lane) {
    const line = lineOf(lane, event.line);
    line.words.push(event);
    line.box.append(event.blank_before ? " " : "", wordBox(event));
  },
  numbers(event, lane) { numbers(lane, event); },
  end(event, lane) {
    lineOf(lane, event.line).box.classList.add("over");
    lane.part(".acting").textContent = "";
  },
  note(event, lane) { say(`${lane.system.label}: ${event.text}.`); },
};

function take(event) {
  on[event.event](event, lanes[event.system]);
  if (!isDrawing) {
    isDrawing = true;
    requestAnimationFrame(drawCourse);
  }
}

function lineOf(lane, number) {
  const box = element("p");
  lane.lines[number - 1] ??= { box, source: [], words: [] };
  if (!box.isConnected && lane.lines[number - 1].box === box) {
    lane.part(".translation").append(box);
  }
  return lane.lines[number - 1];
}

function saidOf(words) {
  return words.map((word) => `${word.blank_before ? " " : ""}${word.word}`).join("").trim();
}

function wordBox(event) {
  const box = element("span", undefined, event.blank_before ? "word" : "word close");
  box.append(element("b", event.word));
  const sure = event.confidence === null ? "" : `${event.confidence.toFixed(2)} · `;
  box.append(element("small", `${sure}${event.second.toFixed(2)} s`));
  if (event.confidence !== null) box.style.setProperty("--sure", event.confidence);
  box.classList.toggle("unsure", event.confidence === null);
  const heard = `after ${event.delay_words} source word${event.delay_words === 1 ? "" : "s"}`;
  box.title = `written ${heard}, ${event.ms.toFixed(1)} ms of computing`;
  return box;
}

function act(lane, verb, event) {
  const value = event.value === null ? "" : ` ${event.value.toFixed(2)}`;
  const acting = lane.part(".acting");
  acting.replaceChildren(element("b", verb, verb.toLowerCase()), ` ${event.piece}${value}`);
}

function numbers(lane, { lagging = null, computing_ms = 0, words = 0 }) {
  lane.part(".lagging").textContent = lagging === null ? "–" : lagging.toFixed(1);
  lane.part(".computing").textContent = words ? (computing_ms / words).toFixed(1) : "–";
  lane.part(".in-all").textContent = computing_ms ? computing_ms.toFixed(0) : "–";
}

// --- who said what when -------------------------------------------------------------------------

let isDrawing = false;

function drawCourse() {
  isDrawing = false;
  const number = Math.max(0, ...lanes.map((lane) => lane.lines.length));
  const ofLanes = lanes.map((lane) => lane.lines[number - 1] ?? { source: [], words: [] });
  const heard = ofLanes.map((line) => line.source).reduce((a, b) => (b.length > a.length ? b : a));
  at("course").hidden = !heard.length;
  const table = at("course").querySelector("table");
  const heads = heard.map((one) => cell("th", one.word, `${one.second.toFixed(1)} s`));
  table.tHead.rows[0].replaceChildren(element("td"), ...heads);
  table.tBodies[0].replaceChildren(...lanes.map((lane, place) => {
    const row = element("tr");
    row.style.setProperty("--hue", lane.system.colour);
    const cells = heard.map((_, column) => {
      const here = ofLanes[place].words.filter((word) => word.released_after === column + 1);
      const isHeard = column < ofLanes[place].source.length;
      return element("td", saidOf(here), isHeard ? "heard" : "");
    });
    row.append(element("th", lane.system.label), ...cells);
    return row;
  }));
}

function cell(name, content, below) {
  const one = element(name, content);
  one.append(element("small", below));
  return one;
}

// --- typing, replaying --------------------------------------------------------------------------

// All of the text, or in a replay the words that have been said; a blank ends the last one.
function saidText() {
  return played === null ? text.value : text.value.slice(0, played);
}

function complete() {
  if (text.value.trim() && !text.value.endsWith("\n")) text.value += "\n";
}

function play() {
  stop();
  complete();
  const perMinute = Number(at("speed").value);
  played = 0;
  isNew = true;
  at("play").textContent = "■ Stop";
  if (!perMinute) return stop();
  timer = setInterval(sayWord, 60000 / perMinute);
  return sayWord();
}

function sayWord() {
  const next = /^\s*\S+\s?/.exec(text.value.slice(played));
  played += next ? next[0].length : 0;
  send();
  if (played >= text.value.length || !next) stop();
}

function stop() {
  clearInterval(timer);
  if (played === null) return; // nothing is being replayed
  played = null;
  at("play").textContent = "▶ Replay";
  send();
}

function put(sentences) {
  stop();
  text.value = sentences;
  play();
}

text.addEventListener("input", () => {
  if (played !== null) stop();
  if (!isLost()) say("");
  send();
});
text.addEventListener("paste", () => setTimeout(() => {
  if (text.selectionStart === text.value.length) complete(); // who pastes has a whole sentence
  send();
}));
at("play").addEventListener("click", () => (played === null ? play() : stop()));
at("clear").addEventListener("click", () => {
  stop();
  text.value = "";
  text.focus();
  send();
});
for (const button of document.querySelectorAll(".examples button")) {
  button.addEventListener("click", () => put(button.textContent));
}
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.ctrlKey) play();
  else if (event.key === "Escape" && played !== null) stop();
  else return;
  event.preventDefault();
});

for (const lane of lanes) {
  const slider = lane.part(".knob input");
  slider?.addEventListener("input", () => {
    lane.knob = lane.system.knobs[Number(slider.value)];
    lane.part(".knob output").textContent = lane.knob;
    slider.setAttribute("aria-valuetext", lane.knob);
    if (saidText().trim() && !isLost()) {
      say(`${lane.system.label} says it again with ${lane.system.symbol} = ${lane.knob}.`);
    }
    send();
  });
}

// --- the beginning ------------------------------------------------------------------------------

const names = new Intl.DisplayNames(["en"], { type: "language" });
for (const one of document.querySelectorAll("[data-language]")) {
  try {
    one.textContent = names.of(one.dataset.language);
  } catch {
    // A name of the study's own, such as de_AT, stays as it is.
  }
}
openStream();
