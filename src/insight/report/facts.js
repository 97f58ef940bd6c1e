'use strict';
// The facts, and how they are put into words and elements. Text from the facts only ever becomes text nodes.

const facts = JSON.parse(document.getElementById('facts').textContent);
const byId = (id) => document.getElementById(id);

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}
const html = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);

const shown = (x) => (Math.round(x * 10) / 10).toString();
const percent = (part) => Math.round(part * 100) + ' %';

function sizeWords(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (unit + 1 < units.length && bytes >= 1024) {
    bytes /= 1024;
    ++unit;
  }
  return (bytes === Math.floor(bytes) ? bytes : bytes.toFixed(1)) + ' ' + units[unit];
}

function timeWords(us) {
  if (us < 1e4) return us.toFixed(us < 100 ? 1 : 0) + ' µs';
  return us < 1e7 ? (us / 1e3).toFixed(1) + ' ms' : (us / 1e6).toFixed(1) + ' s';
}

// Numbers in a row as people write them: 0–3, 8, 9.
function listWords(numbers) {
  const parts = [];
  for (let i = 0; i < numbers.length; ++i) {
    let last = i;
    while (last + 1 < numbers.length && numbers[last + 1] === numbers[last] + 1) ++last;
    parts.push(last > i + 1 ? numbers[i] + '–' + numbers[last] : numbers[i]);
    if (last > i + 1) i = last;
  }
  return parts.join(', ');
}

function table(columns, rows) {
  const align = (column) => (column.startsWith('#') ? 'number' : null);
  return [
    html('thead', {}, html('tr', {}, columns.map((c) => html('th', { scope: 'col', class: align(c) }, c.replace('#', ''))))),
    html('tbody', {}, rows.map((row) =>
      html('tr', { class: row.mark || null }, (row.cells || row).map((cell, i) => html('td', { class: align(columns[i]) }, cell))))),
  ];
}

// One of the elements can be reached by Tab, the others from there by arrow keys. `across`: how many stand in a row.
function roving(elements, across) {
  elements.forEach((element, i) => {
    element.setAttribute('tabindex', i === 0 ? '0' : '-1');
    element.addEventListener('keydown', (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: across, ArrowUp: -across }[event.key];
      const next = step === undefined ? null : elements[i + step];
      if (!next) return;
      event.preventDefault();
      element.setAttribute('tabindex', '-1');
      next.setAttribute('tabindex', '0');
      next.focus();
    });
  });
}
