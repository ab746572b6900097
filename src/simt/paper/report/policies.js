"use strict";
// What policies do, in numbers. Words: a state (i, j) is about to write target token i with j source
// tokens read; delays[i] is how many source tokens had been read when token i was written.

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

const writtenAt = (delays, read) => delays.filter((delay) => delay === read).length;

/** The moments of systems that hear the same speaker: a token is read by all, then each writes what
 *  it has to, one token a moment. With one system, a moment is an action. */
function momentsOf(systems) {
  const moments = [];
  const end = Math.max(...systems.map((delays) => delays.at(-1)));
  for (let read = 1; read <= end; read += 1) {
    const most = Math.max(...systems.map((delays) => writtenAt(delays, read)));
    for (let writing = 0; writing <= most; writing += 1) moments.push({ read, writing });
  }
  return moments;
}

/** How many actions a system has taken by a moment, and whether the last one was in it. */
function progress(delays, moment) {
  if (!moment) return { taken: 0, isNow: false };
  const { read, writing } = moment;
  const before = delays.filter((delay) => delay < read).length;
  const now = Math.min(writing, writtenAt(delays, read));
  return {
    taken: Math.min(read, delays.at(-1)) + before + now,
    isNow: writing ? now === writing : read <= delays.at(-1),
  };
}

/** Average lagging, Ma et al. (2019). */
function averageLagging(delays, sourceLength, targetLength) {
  const counted = delays.findIndex((delay) => delay >= sourceLength) + 1 || delays.length;
  const lags = delays.slice(0, counted).map((g, i) => g - (i * sourceLength) / targetLength);
  return lags.reduce((sum, lag) => sum + lag, 0) / counted;
}

/** Average lagging of a sentence in the units in which the study measures latency. */
function sentenceLagging(delays, sentence, latency) {
  const [m, n] = [sentence.source.length, sentence.target.length];
  if (latency === "bpe_eos_hyp") return averageLagging(delays, m, n);
  if (latency === "bpe_noeos_hyp") {
    return averageLagging(delays.slice(0, -1).map((g) => Math.min(g, m - 1)), m - 1, n - 1);
  }
  const wordsRead = (pieces) => sentence.source_ends.filter((end) => end <= pieces).length;
  const inWords = sentence.target_ends.map((end) => wordsRead(delays[end - 1]));
  return averageLagging(inWords, sentence.source_ends.length, inWords.length);
}
