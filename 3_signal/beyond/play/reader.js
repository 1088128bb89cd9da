// Reading a checkpoint: a ZIP archive, not compressed, of .npy files

import { range } from "./arrays.js";
import { has, refuse } from "./refusing.js";
import { CountingLetters, Difference, Signal } from "./models.js";
import { Transformer } from "./transformer.js";
import { usual } from "./measuring.js";

export const SETTINGS = { // The settings of each task, for their types.
  "Counting Letters": { max_len: 10, vocab_size: 3, hidden: 64 },
  Difference: { max_len: 10, vocab_size: 3, hidden: 64, self_att: false },
  Signal: { max_len: 10, vocab_size: 3, hidden: 64, pos_enc: false, enc_layers: 1 },
  Transformer: { pairs: 4, hidden: 32, layers: 2, heads: 4 },
};
const TASKS = { "Counting Letters": CountingLetters, Difference, Signal, Transformer };

function textOf(bytes) {
  return new TextDecoder("latin1").decode(bytes);
}

function crc32(bytes) { // The checksum of a ZIP archive.
  let crc = -1;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) {
      crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
    }
  }
  return ~crc >>> 0;
}

function readZip(buffer) { // Return the files, an object from their names to their bytes.
  const view = new DataView(buffer);
  const end = textOf(buffer).lastIndexOf("PK\x05\x06"); // This record tells where the list of files begins.
  refuse(end < 0, "it is no ZIP archive, as a checkpoint.npz is, or its end is missing");
  const files = {};
  let entry = view.getUint32(end + 16, true);
  for (let remaining = view.getUint16(end + 10, true); remaining > 0; remaining--) {
    refuse(view.getUint32(entry, true) !== 0x02014b50, "it is damaged");
    const compression = view.getUint16(entry + 10, true);
    const crc = view.getUint32(entry + 16, true);
    const size = view.getUint32(entry + 24, true);
    const nameLength = view.getUint16(entry + 28, true);
    const extraLength = view.getUint16(entry + 30, true);
    const commentLength = view.getUint16(entry + 32, true);
    const start = view.getUint32(entry + 42, true);
    const name = textOf(new Uint8Array(buffer, entry + 46, nameLength)).replace(/\.npy$/, "");
    refuse(compression, `${name} is compressed, and main.py saves without compression`);
    const header = 30 + view.getUint16(start + 26, true) + view.getUint16(start + 28, true);
    files[name] = new Uint8Array(buffer, start + header, size);
    refuse(crc32(files[name]) !== crc, `it is damaged: the checksum of ${name} is wrong`);
    entry += 46 + nameLength + extraLength + commentLength;
  }
  return files;
}

function readArray(name, bytes) { // Return the shape and the rows, or a text.
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const start = 10 + view.getUint16(8, true);
  const header = textOf(bytes.subarray(10, start))
    .match(/'descr': '(.+?)'.*'fortran_order': False.*'shape': \((.*?)\)/);
  refuse(!header, `${name} is no array of numbers, row by row`);
  const [, kind, sizes] = header;
  const places = range((bytes.length - start) / 4).map((index) => start + 4 * index);
  if (kind.startsWith("<U")) {
    return places.map((place) => String.fromCodePoint(view.getUint32(place, true))).join("");
  }
  refuse(kind !== "<f4", `${name} holds ${kind}, and main.py saves float32, which is <f4`);
  const shape = (sizes.match(/\d+/g) || [1]).map(Number); // A scalar has no sizes.
  const numbers = places.map((place) => view.getFloat32(place, true));
  const width = shape[shape.length - 1];
  const length = shape.slice(0, -1).reduce((product, size) => product * size, 1);
  const whole = numbers.length === length * width && numbers.every(isFinite);
  refuse(!whole, `${name} has missing or infinite numbers`);
  const rows = range(length).map((row) => numbers.slice(row * width, (row + 1) * width));
  return { shape, rows };
}

export function readCheckpoint(buffer, Kind) { // Return the model; .task and .step are as in its description.
  const files = readZip(buffer);
  refuse(!files.description, "it is no checkpoint");
  const description = JSON.parse(readArray("description", files.description));
  delete files.description;
  const task = description.task;
  refuse(!has(TASKS, task), `it is a model of ${task}, which is none of those that this page knows`);
  const program = TASKS[task].prototype.program;
  for (const name of Object.keys({ ...SETTINGS[task], ...description.settings })) {
    const value = description.settings[name];
    const whole = typeof value !== "number" || (Number.isInteger(value) && value >= (name === "enc_layers" ? 0 : 1));
    const strange = typeof value !== typeof SETTINGS[task][name] || !whole;
    refuse(strange, `its setting ${name}=${value} is not one of ${program}`, program);
  }
  const arrays = {};
  for (const name of Object.keys(files)) {
    arrays[name] = readArray(name, files[name]);
  }
  const model = new (Kind || TASKS[task])(description.settings, arrays);
  model.task = task;
  model.step = description.step;
  const used = new Set();
  const noting = new Proxy(arrays, { get: (all, name) => used.add(name) && all[name] });
  new model.constructor(model.settings, noting).run(usual(model)); // It refuses what is missing.
  for (const name of Object.keys(arrays)) {
    refuse(!used.has(name), `the array ${name} is not one of ${program}`, program);
  }
  return model;
}
